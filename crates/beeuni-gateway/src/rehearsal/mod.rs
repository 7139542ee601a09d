//! `beeuni/rehearsal`: a deterministic stand-in for a model, for people without a key and for CI.
//!
//! It reads an instruction such as "Call the weather_now tool once with city Berlin and print its
//! output.", makes that call and prints what came back. It never passes for a language model: it
//! names itself in every answer that is not a tool's own output. Its grammar is in
//! `docs/rehearsal.md`. The same request always gets the same answer, byte for byte.

mod arguments;
mod conversation;
mod lexer;
mod parser;
mod plan;
mod reply;
mod values;
mod wire;

use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::error::{ChatError, ChatErrorKind};
use crate::models::{ModelInfo, REHEARSAL};
use crate::net::full;
use crate::send::Reply;

/// Tokens that it claims to hold: enough for any test, small enough to try out compaction.
const WINDOW: u64 = 128_000;

/// What the list of models says about it.
pub(crate) fn info() -> ModelInfo {
    ModelInfo {
        id: REHEARSAL.to_owned(),
        provider: "beeuni".to_owned(),
        context_window: Some(WINDOW),
        max_output: None,
        price: None,
    }
}

/// Answers a chat-completions body as a provider would: as an event stream, or as one JSON object.
pub(crate) fn answer(body: &[u8]) -> Result<Reply, ChatError> {
    let request: conversation::Request = serde_json::from_slice(body).map_err(|error| {
        let message = format!("{REHEARSAL} cannot read the request: {error}.");
        ChatError::new(ChatErrorKind::BadRequest, message).of_provider("beeuni")
    })?;
    let reply = reply::to(&request);
    let (content_type, text) = if request.stream {
        ("text/event-stream; charset=utf-8", wire::events(&request, &reply))
    } else {
        ("application/json", wire::whole(&request, &reply))
    };
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(Reply {
        status: StatusCode::OK,
        headers,
        body: full(text),
    })
}
