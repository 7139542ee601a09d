//! What a provider's refusal means: from status, code and words to a typed error.

use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use crate::error::{ChatError, ChatErrorKind};
use crate::provider::Provider;

/// Words with which providers say that the conversation is too long: OpenAI, Anthropic, Gemini,
/// OpenRouter, vLLM, llama.cpp, Ollama, Mistral.
const OVERFLOW_WORDS: [&str; 12] = [
    "context_length_exceeded",
    "exceed_context_size",
    "maximum context length",
    "context length",
    "context window",
    "context size",
    "prompt is too long",
    "input is too long",
    "input token count",
    "too many tokens",
    "reduce the length of",
    "max_model_len",
];

/// Words with which providers say that money or quota is used up, rather than that it is too fast.
const QUOTA_WORDS: [&str; 6] = [
    "insufficient_quota",
    "billing_hard_limit",
    "credit balance",
    "insufficient credits",
    "insufficient balance",
    "exceeded your current quota",
];

/// What an error's JSON says. Providers agree on `error.message`, more or less.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Words {
    pub(crate) message: Option<String>,
    pub(crate) code: Option<String>,
    /// A status inside the body: OpenRouter and Gemini report one in the stream.
    pub(crate) status: Option<u16>,
}

/// The error for an answer whose status is not one of success.
pub(crate) fn refusal(provider: &Provider, status: StatusCode, body: &[u8]) -> ChatError {
    let words = words_of_body(body);
    let kind = kind_of(Some(status.as_u16()), &words);
    let mut said = words
        .message
        .as_deref()
        .map(|it| provider.clean(it))
        .filter(|it| !it.is_empty());
    if said.is_none() && !body.is_empty() {
        said = Some(provider.clean(&describe(body))).filter(|it| !it.is_empty());
    }
    let mut message = format!("{} answered {status}", provider.name);
    if let Some(said) = &said {
        message.push_str(": ");
        message.push_str(said.trim_end_matches('.'));
    }
    message.push('.');
    if let Some(remedy) = remedy(provider, kind, status) {
        message.push(' ');
        message.push_str(&remedy);
    }
    let retryable = kind == ChatErrorKind::RateLimited
        || (kind == ChatErrorKind::Unavailable && status != StatusCode::NOT_IMPLEMENTED);
    ChatError::new(kind, message)
        .of_provider(&provider.name)
        .with_status(status)
        .with_provider_words(said, words.code.map(|code| provider.clean(&code)))
        .retry_if(retryable)
}

/// The error for an error object inside a stream.
pub(crate) fn in_stream(provider: &Provider, words: Words) -> ChatError {
    let kind = match kind_of(words.status, &words) {
        // Without a status nobody says whose fault it is.
        ChatErrorKind::BadRequest if words.status.is_none() => ChatErrorKind::Provider,
        kind => kind,
    };
    let clean = |text: &String| Some(provider.clean(text)).filter(|it| !it.is_empty());
    let said = words.message.as_ref().and_then(clean);
    let code = words.code.as_ref().and_then(clean);
    let mut message = format!("{} reported an error while it answered", provider.name);
    if let Some(detail) = said.as_ref().or(code.as_ref()) {
        message.push_str(": ");
        message.push_str(detail.trim_end_matches('.'));
    }
    message.push('.');
    let retryable = matches!(
        kind,
        ChatErrorKind::Provider | ChatErrorKind::RateLimited | ChatErrorKind::Unavailable
    );
    ChatError::new(kind, message)
        .of_provider(&provider.name)
        .with_provider_words(said, code)
        .retry_if(retryable)
}

fn kind_of(status: Option<u16>, words: &Words) -> ChatErrorKind {
    let text = format!(
        "{} {}",
        words.code.as_deref().unwrap_or_default(),
        words.message.as_deref().unwrap_or_default()
    )
    .to_lowercase();
    let says = |list: &[&str]| list.iter().any(|word| text.contains(word));
    match status {
        Some(401 | 403) => ChatErrorKind::Auth,
        Some(402) => ChatErrorKind::QuotaExceeded,
        Some(404) => ChatErrorKind::UnknownModel,
        Some(429 | 400) if says(&QUOTA_WORDS) => ChatErrorKind::QuotaExceeded,
        Some(429) => ChatErrorKind::RateLimited,
        // 500: Ollama and some proxies answer so.
        Some(400 | 413 | 422 | 500) | None if says(&OVERFLOW_WORDS) => ChatErrorKind::ContextOverflow,
        Some(408 | 409 | 425 | 500..) => ChatErrorKind::Unavailable,
        None if says(&["rate_limit", "rate limit"]) => ChatErrorKind::RateLimited,
        None if says(&["overloaded", "server_error", "internal error", "unavailable"]) => ChatErrorKind::Unavailable,
        _ => ChatErrorKind::BadRequest,
    }
}

fn remedy(provider: &Provider, kind: ChatErrorKind, status: StatusCode) -> Option<String> {
    match kind {
        ChatErrorKind::Auth => Some(provider.key_remedy()),
        ChatErrorKind::UnknownModel => {
            Some("The model's name or the provider's base URL is wrong: `models` lists what there is.".to_owned())
        }
        ChatErrorKind::ContextOverflow => Some("The conversation is longer than the model's window.".to_owned()),
        ChatErrorKind::QuotaExceeded => Some("The account has no credit or quota left.".to_owned()),
        _ if status.is_redirection() => Some("Redirects are not followed: correct its base URL.".to_owned()),
        _ => None,
    }
}

/// What an error body says.
pub(crate) fn words_of_body(body: &[u8]) -> Words {
    match serde_json::from_slice::<Value>(body) {
        // Gemini wraps its error into a list.
        Ok(Value::Array(mut list)) if !list.is_empty() => words_of(&list.swap_remove(0)),
        Ok(value) => words_of(&value),
        Err(_) => Words::default(),
    }
}

/// What an error object says, whether it is the whole object or its `error` member.
pub(crate) fn words_of(value: &Value) -> Words {
    let error = value.get("error").filter(|it| !it.is_null()).unwrap_or(value);
    if let Some(text) = error.as_str() {
        return Words {
            message: Some(text.to_owned()),
            ..Words::default()
        };
    }
    let text = |name: &str| error.get(name).and_then(Value::as_str).map(str::to_owned);
    // OpenRouter: the provider behind it, in its own words.
    let raw = error.pointer("/metadata/raw").and_then(Value::as_str);
    let mut message = text("message").or_else(|| text("msg")).or_else(|| text("detail"));
    message = message.or_else(|| value.get("message").and_then(Value::as_str).map(str::to_owned));
    if let (Some(message), Some(raw)) = (&mut message, raw) {
        message.push_str(" · ");
        message.push_str(raw);
    }
    let number = error.get("code").and_then(|code| u16::deserialize(code).ok());
    Words {
        message: message.or_else(|| error.get("detail").filter(|it| !it.is_null()).map(Value::to_string)),
        code: text("code").or_else(|| text("type")).or_else(|| text("status")),
        status: number.filter(|number| (400..600).contains(number)),
    }
}

/// A body that is no error object: a web page by its title, anything else as its text.
pub(crate) fn describe(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let trimmed = text.trim_start();
    if !trimmed.starts_with('<') {
        return text.into_owned();
    }
    let lower = trimmed.to_ascii_lowercase();
    let title = lower.find("<title").and_then(|at| {
        let start = at + lower.get(at..)?.find('>')? + 1;
        let end = start + lower.get(start..)?.find('<')?;
        trimmed.get(start..end)
    });
    match title.map(str::trim) {
        Some(title) if !title.is_empty() => format!("a web page, \"{title}\""),
        _ => "a web page".to_owned(),
    }
}
