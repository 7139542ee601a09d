//! The bridge: where the standard harness finds hosted tools and models.
//!
//! A loopback listener of its own, in a daemon and in `beeuni run` alike: the daemon's may be a Unix socket, which the
//! harness's HTTP clients cannot reach, and `run` has none at all. It knows one credential and three routes.
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use beeuni_tools::SecretValue;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Request, StatusCode};
use serde_json::json;
use subtle::ConstantTimeEq;

use crate::access::{names_this_machine, presented};
use crate::answer::{self, Answer};
use crate::answer_body::AnswerBody;
use crate::call::Door;
use crate::config::Listen;
use crate::error::DaemonError;
use crate::listen::Listener;
use crate::local::core::Core;
use crate::routes::{self, Endpoint, Found};
use crate::server::{Serve, Server};
use crate::{body, call, llm};

/// The header in which OpenCode names the session that asks a model.
const SESSION: HeaderName = HeaderName::from_static("x-session-id");
/// How long a request waits whose session is about to be stopped.
const LEAVING: Duration = Duration::from_secs(10);
/// The header with the status that a model's provider answered with.
const TRUE_STATUS: HeaderName = HeaderName::from_static("x-beeuni-status");
/// The header with what the provider said, in base64.
const TRUE_TEXT: HeaderName = HeaderName::from_static("x-beeuni-error");
/// How much of that is passed on, in bytes.
const MOST_TEXT: usize = 4 * 1024;
/// How long its arrival may take.
const TEXT_TIME: Duration = Duration::from_secs(5);

/// A port that was taken for the bridge. Who connects waits until it is served.
pub(crate) struct BridgePort {
    listener: Listener,
    url: String,
    key: SecretValue,
}

/// The running bridge, for as long as the value lives.
pub(crate) struct Bridge {
    server: Server,
}

impl BridgePort {
    /// Takes a free port of 127.0.0.1; `key` is what callers must present.
    pub(crate) async fn take(key: SecretValue) -> Result<Self, DaemonError> {
        let listen = Listen::Tcp(([127, 0, 0, 1], 0).into());
        let listener = Listener::bind(&listen).await?;
        let url = listener.url().map_err(|source| DaemonError::Bind {
            listen: listen.to_string(),
            source,
        })?;
        Ok(Self { listener, url, key })
    }

    /// Its address.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// What callers must present.
    pub(crate) fn key(&self) -> &SecretValue {
        &self.key
    }

    /// Serves the tools and models of a session from now on.
    pub(crate) fn serve(self, core: Arc<Core>) -> Bridge {
        let Self { listener, key, .. } = self;
        Bridge {
            server: Server::start(listener, Arc::new(Routes { core, key })),
        }
    }
}

impl Bridge {
    /// Takes no further connection, and waits until the last answers are written, but not long.
    pub(crate) async fn end(self) {
        self.server.stop();
        self.server.ended().await;
    }
}

/// The bridge's routes, and nothing else.
struct Routes {
    core: Arc<Core>,
    key: SecretValue,
}

impl Serve for Routes {
    async fn serve(&self, _over_network: bool, request: Request<Incoming>) -> Answer {
        let (parts, body) = request.into_parts();
        let headers = &parts.headers;
        let refuse = async |body, answer| body::refuse(headers, body, answer).await;
        if !names_this_machine(&parts) {
            let text = "the Host header must name 127.0.0.1, localhost or [::1]";
            return refuse(body, answer::error(StatusCode::FORBIDDEN, text)).await;
        }
        let (endpoint, segments) = match routes::find(&parts.method, parts.uri.path()) {
            Found::Route(route, segments) if is_of_the_bridge(route.endpoint) => (route.endpoint, segments),
            _ => return refuse(body, answer::error(StatusCode::NOT_FOUND, "there is no such route")).await,
        };
        let known = presented(headers).is_some_and(|key| self.key.expose().as_bytes().ct_eq(key).into());
        if !known {
            return refuse(body, answer::unauthorized()).await;
        }
        match endpoint {
            Endpoint::CallTool => call::call(&self.core, Door::Bridge, segments[0], headers, body).await,
            Endpoint::Completions => {
                let asking = async {
                    if self.asks_no_more(headers) {
                        // OpenCode hears of its stop in this moment, and leaves.
                        tokio::time::sleep(LEAVING).await;
                    }
                    final_answer(llm::bridged_completions(&self.core, headers, body).await).await
                };
                Box::pin(asking).await
            }
            _ => llm::models(&self.core).await,
        }
    }
}

impl Routes {
    /// Whether the request is of a session whose turn is about to end.
    fn asks_no_more(&self, headers: &HeaderMap) -> bool {
        let session = headers.get(SESSION).and_then(|value| value.to_str().ok());
        session.is_some_and(|session| self.core.harness.asks_no_more(session))
    }
}

/// A model's answer as OpenCode is to take it. The gateway has tried again as often as makes sense, and OpenCode would
/// go on for ever: after these statuses, and after any other whose text speaks of them. It reads a 400 that says
/// nothing; the true status and text are in headers, for the transcript.
async fn final_answer(answer: Answer) -> Answer {
    let status = answer.status();
    if !matches!(status.as_u16(), 408 | 409 | 429 | 500..) {
        return answer;
    }
    let text = BASE64.encode(beginning(answer.into_body()).await);
    let nothing = json!({ "error": { "message": "the model could not answer", "type": "beeuni", "code": null } });
    let mut answer = answer::json(StatusCode::BAD_REQUEST, &nothing);
    let headers = answer.headers_mut();
    headers.insert(TRUE_STATUS, status.as_u16().into());
    if let Ok(text) = HeaderValue::from_str(&text) {
        headers.insert(TRUE_TEXT, text);
    }
    answer
}

/// The beginning of a body: what is there of it, at most [`MOST_TEXT`].
async fn beginning(mut body: AnswerBody) -> Vec<u8> {
    let mut bytes = Vec::new();
    let reading = async {
        while let Some(Ok(frame)) = body.frame().await {
            let data = frame.into_data().unwrap_or_default();
            let room = MOST_TEXT - bytes.len();
            bytes.extend_from_slice(&data[..data.len().min(room)]);
            if bytes.len() == MOST_TEXT {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(TEXT_TIME, reading).await;
    bytes
}

fn is_of_the_bridge(endpoint: Endpoint) -> bool {
    matches!(endpoint, Endpoint::CallTool | Endpoint::Completions | Endpoint::Models)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    #[tokio::test]
    async fn an_answer_after_which_opencode_would_ask_for_ever_is_a_400_that_says_nothing() {
        for (status, seen) in [
            (200, 200),
            (400, 400),
            (401, 401),
            (404, 404),
            (408, 400),
            (429, 400),
            (500, 400),
            (503, 400),
        ] {
            let said = answer::error(StatusCode::from_u16(status).unwrap(), "429: rate limit, try again");
            let answer = final_answer(said).await;
            let header = |name: HeaderName| Some(answer.headers().get(name)?.to_str().unwrap().to_owned());
            let (told, text) = (header(TRUE_STATUS), header(TRUE_TEXT));
            assert_eq!(answer.status().as_u16(), seen, "{status}");
            let body = beginning(answer.into_body()).await;
            let hidden = !String::from_utf8(body).unwrap().contains("rate limit");
            let changed = status != seen;
            assert_eq!((told.is_some(), hidden), (changed, changed), "{status}");
            if changed {
                assert_eq!(told.unwrap(), status.to_string());
                let text = BASE64.decode(text.unwrap()).unwrap();
                assert_eq!(text, br#"{"error":"429: rate limit, try again"}"#);
            }
        }
    }

    #[tokio::test]
    async fn of_a_long_text_the_beginning_is_passed_on() {
        let said = answer::error(StatusCode::BAD_GATEWAY, "x".repeat(100_000));
        let answer = final_answer(said).await;
        let text = BASE64.decode(&answer.headers()[TRUE_TEXT]).unwrap();
        assert_eq!(text.len(), MOST_TEXT);
    }
}
