//! `POST /beeuni/tools/<name>`: one call of a tool, on the daemon's own listener and on the one of the bridge.
use std::time::Instant;

use beeuni_protocol::CallRequest;
use beeuni_tools::{Call, CallError};
use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::header::HeaderMap;
use serde_json::value::RawValue;

use crate::answer::{self, Answer, CLIENT_CLOSED_REQUEST};
use crate::body;
use crate::harness::BridgedCall;
use crate::local::core::{Core, Stage};

/// By which door a call comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    /// The daemon's route, with the session token: its holder decides what is allowed.
    Token,
    /// The daemon's route, with the bridge key: the permission rules hold, as for the harness itself.
    Key,
    /// The bridge's own listener. The harness may finish its turn while the daemon stops.
    Bridge,
}

/// Answers a call by somebody with a credential. Everything that can refuse it is asked before the tool
/// host is, so that a refused call starts nothing.
pub(crate) async fn call(core: &Core, door: Door, tool: &str, headers: &HeaderMap, body: Incoming) -> Answer {
    let refusal = match core.stage() {
        Stage::Loading => Some(answer::unavailable("the tools are still loading")),
        Stage::Stopping if door != Door::Bridge => Some(answer::unavailable("the daemon is stopping")),
        Stage::Ready | Stage::Stopping if !core.hosting.host.has(tool) => Some(not_loaded(tool)),
        Stage::Ready | Stage::Stopping => None,
    };
    if let Some(refusal) = refusal {
        return body::refuse(headers, body, refusal).await;
    }
    let bytes = match body::collect(headers, body).await {
        Ok(bytes) => bytes,
        Err(answer) => return answer,
    };
    let request = match read(&bytes) {
        Ok(request) => request,
        Err(text) => return bad_request(text),
    };
    let agents = core.agents();
    let mut agent = request.agent.as_deref().unwrap_or(&agents.default);
    // A harness may have agents of its own, which work for one of the project's: it says for which.
    if door != Door::Bridge
        && let Err(denied) = agents.check(agent, tool)
    {
        return answer::error(StatusCode::FORBIDDEN, denied.to_string());
    }
    let Some(args) = arguments(request.args) else {
        return bad_request("args must be a JSON object");
    };
    let passed_on = request.call.as_ref().filter(|_| door == Door::Bridge);
    let exact = passed_on.and_then(|call| core.hosting.arguments.exact(&call.id, args));
    let args = exact.as_deref().map_or(args, str::trim_ascii);
    let directory = match core.project.directory(request.directory.as_deref()) {
        Ok(directory) => directory,
        Err(text) => return bad_request(text),
    };
    let on_behalf_of;
    if door != Door::Token {
        let asked = BridgedCall {
            origin: request.call.as_ref(),
            agent,
            tool,
            args,
        };
        // Dropped with the request when its client goes away: then nobody is asked any more.
        match core.harness.permit(asked).await {
            Ok(other) => on_behalf_of = other,
            Err(refusal) => {
                tracing::info!(tool, agent, "a call was refused by the permission rules");
                return answer::error(StatusCode::FORBIDDEN, refusal);
            }
        }
        agent = on_behalf_of.as_deref().unwrap_or(agent);
        if let Err(denied) = agents.check(agent, tool) {
            return answer::error(StatusCode::FORBIDDEN, denied.to_string());
        }
    }
    let running = Running::start(tool, agent);
    let outcome = core
        .hosting
        .host
        .call(Call {
            tool,
            args,
            agent,
            directory,
        })
        .await;
    let answer = match &outcome {
        Ok(output) => answer::output(output),
        Err(error) => failure(error),
    };
    running.end(answer.status(), outcome.err());
    answer
}

fn read(body: &[u8]) -> Result<CallRequest<'_>, String> {
    // serde takes an array for a struct too.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err("the body is no call: it must be a JSON object { args, agent, directory, call }".to_owned());
    }
    serde_json::from_slice(body).map_err(|error| format!("the body is no call: {error}"))
}

/// The arguments as the text of an object. None, `null` and `""` are what models send for a tool that
/// takes no arguments; any other value that is no object stays what it is and is refused (M2).
fn arguments(args: Option<&RawValue>) -> Option<&str> {
    match args.map_or("{}", RawValue::get) {
        "null" | "\"\"" => Some("{}"),
        text => text.starts_with('{').then_some(text),
    }
}

fn failure(error: &CallError) -> Answer {
    match error {
        CallError::NotLoaded(name) => not_loaded(name),
        CallError::Failed(_) | CallError::TimedOut(_) => {
            answer::error(StatusCode::UNPROCESSABLE_ENTITY, error.to_string())
        }
        CallError::ShuttingDown => answer::unavailable("the daemon is stopping"),
    }
}

/// S8. The name is the caller's own, so it is kept short.
fn not_loaded(name: &str) -> Answer {
    let name: String = name.chars().take(100).collect();
    answer::error(StatusCode::NOT_FOUND, format!("no tool named {name} is loaded"))
}

fn bad_request(text: impl Into<String>) -> Answer {
    answer::error(StatusCode::BAD_REQUEST, text)
}

/// Logs how a call ended. hyper drops a request's future when its client goes away, which stops the call
/// in the tool host; this is what notices it.
struct Running<'a> {
    tool: &'a str,
    agent: &'a str,
    started: Instant,
    ended: bool,
}

impl<'a> Running<'a> {
    fn start(tool: &'a str, agent: &'a str) -> Self {
        Self {
            tool,
            agent,
            started: Instant::now(),
            ended: false,
        }
    }

    fn end(mut self, status: StatusCode, error: Option<CallError>) {
        self.ended = true;
        let (tool, agent, status) = (self.tool, self.agent, status.as_u16());
        match error {
            // One line a call would be most of a busy daemon's work.
            None => tracing::debug!(tool, agent, status, ms = self.ms(), "call"),
            Some(error) => {
                // Quoted: an error text with line ends must not look like log lines of its own.
                let error = error.to_string();
                tracing::info!(tool, agent, status, ms = self.ms(), error, "call failed");
            }
        }
    }

    fn ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.ended {
            let (tool, agent) = (self.tool, self.agent);
            tracing::info!(
                tool,
                agent,
                status = CLIENT_CLOSED_REQUEST,
                ms = self.ms(),
                "the client left, the call is stopped"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    /// What `args` in the body `text` means.
    fn args(text: &str) -> Option<String> {
        arguments(read(text.as_bytes()).unwrap().args).map(str::to_owned)
    }

    #[test]
    fn nothing_means_no_arguments() {
        for none in [r#"{}"#, r#"{"args":null}"#, r#"{"args":""}"#, r#"{"args":{}}"#] {
            assert_eq!(args(none).as_deref(), Some("{}"), "{none}");
        }
    }

    #[test]
    fn an_object_passes_as_it_is_written() {
        assert_eq!(
            args(r#"{"args" : {"n": 1.0e3 } }"#).as_deref(),
            Some(r#"{"n": 1.0e3 }"#)
        );
    }

    #[test]
    fn nothing_else_is_an_object() {
        for other in ["[]", "1", "true", r#"" ""#, r#""{}""#, r#""{\"a\":1}""#] {
            assert_eq!(args(&format!(r#"{{"args":{other}}}"#)), None, "{other}");
        }
    }
}
