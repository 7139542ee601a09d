//! What went wrong, in the words and kinds of the transcript.
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use beeuni_agent::kit::turn_error;
use beeuni_protocol::session::TurnError;
use serde::Deserialize;
use serde_json::Value;

use crate::client::ErrorInfo;

/// The status of the provider, where the bridge answers with another one so that OpenCode does not ask again.
const STATUS_HEADER: &str = "x-beeuni-status";
/// The body of that answer in base64: OpenCode would find words in it after which it asks again.
const BODY_HEADER: &str = "x-beeuni-error";

/// The turn's error; `None` when it was only stopped.
pub(crate) fn of_error(error: &ErrorInfo) -> Option<TurnError> {
    let data = &error.data;
    if error.name == "MessageAbortedError" {
        return None;
    }
    let header = |name: &str| data.response_headers.get(name).and_then(Value::as_str);
    let status = header(STATUS_HEADER)
        .and_then(|status| status.parse().ok())
        .or(data.status_code);
    let hidden = header(BODY_HEADER).and_then(|body| BASE64.decode(body).ok());
    let hidden = hidden.map(|body| String::from_utf8_lossy(&body).into_owned());
    let said = hidden.as_deref().or(data.response_body.as_deref()).and_then(said);
    let kind = match error.name.as_str() {
        "ContextOverflowError" => "context_overflow",
        "ProviderAuthError" => "auth",
        "MessageOutputLengthError" => "bad_request",
        "APIError" => kind_of(status, said.as_ref()),
        _ if data.message.starts_with("Model not found") => "unknown_model",
        _ if data.message.starts_with("Agent not found") => "no_agent",
        _ => "internal",
    };
    let told = said.and_then(|said| said.message).filter(|message| !message.is_empty());
    let mut message = told.unwrap_or_else(|| first_line(&data.message).to_owned());
    if message.is_empty() {
        message = format!(
            "OpenCode reports {}",
            if error.name.is_empty() { "an error" } else { &error.name }
        );
    }
    Some(TurnError {
        status,
        ..turn_error(kind, message)
    })
}

/// A model that OpenCode would ask again and again: the gateway has tried as often as it makes sense. Nothing but the
/// message is known of it.
pub(crate) fn of_retry(message: &str) -> TurnError {
    let says = |words: &[&str]| {
        let message = message.to_lowercase();
        words.iter().any(|word| message.contains(word))
    };
    if says(&[
        "socket connection was closed",
        "terminated",
        "econnreset",
        "connection lost",
    ]) {
        return turn_error("cut_stream", "the model's answer broke off before it was complete");
    }
    let kind = if says(&["rate limit", "rate_limit", "too many requests", "429"]) {
        "rate_limited"
    } else if says(&["timeout", "timed out"]) {
        "timed_out"
    } else if says(&[
        "overloaded",
        "unavailable",
        "500",
        "502",
        "503",
        "504",
        "server error",
        "connect",
        "fetch",
    ]) {
        "unavailable"
    } else {
        "provider"
    };
    turn_error(kind, first_line(message))
}

/// Whether OpenCode only says that a stop caught it before it had turned to a prompt.
pub(crate) fn is_interruption(error: &ErrorInfo) -> bool {
    error.data.message.contains("All fibers interrupted without error")
}

/// Whether the provider held the answer back.
pub(crate) fn is_filter(error: &ErrorInfo) -> bool {
    error.name == "ContentFilterError"
}

/// What the gateway or a provider says in the body of a refusal.
struct Said {
    code: String,
    message: Option<String>,
}

fn said(body: &str) -> Option<Said> {
    #[derive(Deserialize)]
    struct Body {
        error: Inner,
    }
    #[derive(Deserialize)]
    struct Inner {
        #[serde(default)]
        message: Option<String>,
        #[serde(default)]
        code: Value,
        #[serde(default, rename = "type")]
        kind: Value,
    }
    let Body { error } = serde_json::from_str(body).ok()?;
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let code = Some(word(&error.code)).filter(|code| !code.is_empty());
    Some(Said {
        code: code.unwrap_or_else(|| word(&error.kind)),
        message: error.message,
    })
}

fn kind_of(status: Option<u16>, said: Option<&Said>) -> &'static str {
    match said.map_or("", |said| said.code.as_str()) {
        "model_not_found" => return "unknown_model",
        "context_length_exceeded" => return "context_overflow",
        "insufficient_quota" => return "quota_exceeded",
        "rate_limit_exceeded" | "rate_limit_error" => return "rate_limited",
        "timeout" => return "timed_out",
        _ => {}
    }
    match status {
        Some(401 | 403) => "auth",
        Some(402) => "quota_exceeded",
        Some(404) => "unknown_model",
        Some(429) => "rate_limited",
        Some(504) => "timed_out",
        Some(400..=499) => "bad_request",
        Some(500..=599) | None => "unavailable",
        Some(_) => "protocol",
    }
}

/// Without the stack that OpenCode adds to some.
fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim()
}
