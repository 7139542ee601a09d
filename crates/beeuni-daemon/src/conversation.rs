//! The routes of a conversation: prompt, abort, messages, state, subagents' sessions.
use beeuni_protocol::session::{AbortAnswer, PromptRequest, SessionList};
use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::header::HeaderMap;
use serde::de::DeserializeOwned;

use crate::answer::{self, Answer};
use crate::body;
use crate::harness::HarnessError;
use crate::local::core::Stage;
use crate::query::Query;
use crate::session::Session;

/// How many messages one answer holds at most, and when the client does not say.
const MOST_MESSAGES: usize = 500;

/// Answers a prompt.
pub(crate) async fn prompt(session: &Session, id: &str, headers: &HeaderMap, body: Incoming) -> Answer {
    let refusal = match session.core.stage() {
        Stage::Loading => "the tools are still loading",
        Stage::Stopping => "the daemon is stopping",
        Stage::Ready => return take(session, id, headers, body).await,
    };
    body::refuse(headers, body, answer::unavailable(refusal)).await
}

async fn take(session: &Session, id: &str, headers: &HeaderMap, body: Incoming) -> Answer {
    let bytes = match body::collect(headers, body).await {
        Ok(bytes) => bytes,
        Err(answer) => return answer,
    };
    let prompt: PromptRequest = match read(&bytes, "prompt", "{ text, agent?, model?, on_ask?, files? }") {
        Ok(prompt) => prompt,
        Err(text) => return bad_request(text),
    };
    match session.core.harness.prompt(id, prompt).await {
        Ok(taken) => answer::json(StatusCode::ACCEPTED, &taken),
        Err(error) => refusal(&error),
    }
}

/// Answers an abort.
pub(crate) async fn abort(session: &Session, id: &str, headers: &HeaderMap, body: Incoming) -> Answer {
    if let Err(answer) = body::collect(headers, body).await {
        return answer;
    }
    let aborted = session.core.harness.abort(id).await;
    given(aborted.map(|aborted| AbortAnswer { aborted }))
}

/// Answers the messages.
pub(crate) async fn messages(session: &Session, id: &str, query: Option<&str>) -> Answer {
    let query = match Query::read(query, &["after", "limit"]) {
        Ok(query) => query,
        Err(text) => return bad_request(text),
    };
    let limit = match query.number::<usize>("limit") {
        Ok(limit) => limit.map_or(MOST_MESSAGES, |limit| limit.clamp(1, MOST_MESSAGES)),
        Err(text) => return bad_request(text),
    };
    given(session.core.harness.messages(id, query.get("after"), limit).await)
}

/// Answers how the session stands.
pub(crate) async fn state(session: &Session, id: &str) -> Answer {
    given(session.core.harness.state(id).await)
}

/// Answers the sessions of its subagents.
pub(crate) async fn children(session: &Session, id: &str) -> Answer {
    given(
        session
            .core
            .harness
            .children(id)
            .await
            .map(|sessions| SessionList { sessions }),
    )
}

/// The answer for what a harness gave.
pub(crate) fn given(result: Result<impl serde::Serialize, HarnessError>) -> Answer {
    match result {
        Ok(value) => answer::json(StatusCode::OK, &value),
        Err(error) => refusal(&error),
    }
}

/// The answer for what a harness did not do.
pub(crate) fn refusal(error: &HarnessError) -> Answer {
    let status = match error {
        HarnessError::Unavailable(text) => return answer::unavailable(text),
        HarnessError::Off | HarnessError::Busy(_) => StatusCode::CONFLICT,
        HarnessError::NoSession(_) | HarnessError::NotFound(_) => StatusCode::NOT_FOUND,
        HarnessError::Invalid(_) => StatusCode::BAD_REQUEST,
        HarnessError::Failed(text) => {
            tracing::error!(error = text, "the harness failed");
            StatusCode::INTERNAL_SERVER_ERROR
        }
    };
    answer::error(status, error.to_string())
}

/// A body as JSON, or the text that refuses it; `what` it is and its `form` are for that.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8], what: &str, form: &str) -> Result<T, String> {
    // serde takes an array for a struct too.
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return Err(format!("the body is no {what}: it must be a JSON object {form}"));
    }
    serde_json::from_slice(bytes).map_err(|error| format!("the body is no {what} {form}: {error}"))
}

/// 400.
pub(crate) fn bad_request(text: String) -> Answer {
    answer::error(StatusCode::BAD_REQUEST, text)
}
