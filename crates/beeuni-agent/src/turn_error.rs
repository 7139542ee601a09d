//! How failures of a turn are told.
use beeuni_gateway::{ChatError, ChatErrorKind};
use beeuni_protocol::session::TurnError;

use crate::store::StoreError;

/// A model call that failed.
pub(crate) fn of_model(error: &ChatError) -> TurnError {
    let kind = match error.kind() {
        ChatErrorKind::UnknownModel => "unknown_model",
        ChatErrorKind::Auth => "auth",
        ChatErrorKind::RateLimited => "rate_limited",
        ChatErrorKind::QuotaExceeded => "quota_exceeded",
        ChatErrorKind::ContextOverflow => "context_overflow",
        ChatErrorKind::BadRequest => "bad_request",
        ChatErrorKind::Unavailable => "unavailable",
        ChatErrorKind::TimedOut => "timed_out",
        ChatErrorKind::CutStream => "cut_stream",
        ChatErrorKind::Provider => "provider",
        // Kinds that a later gateway tells apart.
        _ => "protocol",
    };
    TurnError {
        kind: kind.to_owned(),
        status: error.status().map(|status| status.as_u16()),
        message: error.to_string(),
    }
}

/// The transcript could not be written or read.
#[must_use]
pub fn of_store(error: &StoreError) -> TurnError {
    let mut message = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        message = format!("{message}: {cause}");
        source = cause.source();
    }
    TurnError {
        kind: "store".to_owned(),
        status: None,
        message,
    }
}

/// A failure of the loop's own.
pub fn of_kind(kind: &str, message: impl Into<String>) -> TurnError {
    TurnError {
        kind: kind.to_owned(),
        status: None,
        message: message.into(),
    }
}
