//! What goes wrong between a session and a model, in one type that a caller can act on.

use std::time::Duration;

use http::StatusCode;

/// A model call that failed, before or in the middle of the answer.
///
/// `Display` is a whole sentence for a person: provider, status, the provider's own message, and
/// what to do where there is something to do. It never holds a key.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}", .0.message)]
pub struct ChatError(Box<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    kind: ChatErrorKind,
    message: String,
    status: Option<StatusCode>,
    provider: Option<String>,
    provider_message: Option<String>,
    provider_code: Option<String>,
    retryable: bool,
    retry_after: Option<Duration>,
}

/// What kind of trouble a [`ChatError`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChatErrorKind {
    /// No such provider is set up, or it has no such model (also the provider's own 404).
    UnknownModel,
    /// The provider refused the key (401, 403), or it needs one and has none.
    Auth,
    /// 429: too many requests. Tried again already; `retry_after` says when it may work.
    RateLimited,
    /// The account has no credit or quota left (402, or 429 that says so). Waiting does not help.
    QuotaExceeded,
    /// The conversation is longer than the model's window. Compact it and send it again.
    ContextOverflow,
    /// The provider refuses what it was sent (400, 413, 422): the same request fails again.
    BadRequest,
    /// The provider does not answer, cannot be reached, or reports a fault of its own (5xx).
    Unavailable,
    /// No byte came for the time that [`Limits`](crate::Limits) allows.
    TimedOut,
    /// The answer stopped in the middle: no finish reason came before the connection ended.
    CutStream,
    /// The provider reported an error inside the stream, after it had begun to answer.
    Provider,
    /// What came is no answer: no event stream, a malformed chunk, an event over the size limit.
    Protocol,
}

impl ChatError {
    /// What kind of trouble it is.
    pub fn kind(&self) -> ChatErrorKind {
        self.0.kind
    }

    /// The provider's HTTP status; absent when it never answered, and for errors inside a stream.
    pub fn status(&self) -> Option<StatusCode> {
        self.0.status
    }

    /// The provider's name, as in `provider/model`.
    pub fn provider(&self) -> Option<&str> {
        self.0.provider.as_deref()
    }

    /// What the provider itself said, on one line, at most 2,000 characters.
    pub fn provider_message(&self) -> Option<&str> {
        self.0.provider_message.as_deref()
    }

    /// The provider's own code or type for the error, such as `context_length_exceeded`.
    pub fn provider_code(&self) -> Option<&str> {
        self.0.provider_code.as_deref()
    }

    /// Whether the same request may work later, with nothing changed.
    pub fn retryable(&self) -> bool {
        self.0.retryable
    }

    /// How long the provider asks to wait, when it says so.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// An error of this kind; whether it is retryable follows from the kind.
    pub(crate) fn new(kind: ChatErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            status: None,
            provider: None,
            provider_message: None,
            provider_code: None,
            retryable: matches!(
                kind,
                ChatErrorKind::RateLimited
                    | ChatErrorKind::Unavailable
                    | ChatErrorKind::TimedOut
                    | ChatErrorKind::CutStream
            ),
            retry_after: None,
        }))
    }

    pub(crate) fn of_provider(mut self, name: &str) -> Self {
        self.0.provider = Some(name.to_owned());
        self
    }

    pub(crate) fn with_status(mut self, status: StatusCode) -> Self {
        self.0.status = Some(status);
        self
    }

    pub(crate) fn with_provider_words(mut self, message: Option<String>, code: Option<String>) -> Self {
        self.0.provider_message = message;
        self.0.provider_code = code;
        self
    }

    pub(crate) fn retry_if(mut self, retryable: bool) -> Self {
        self.0.retryable = retryable;
        self
    }

    /// Says in the message how long the provider asks to wait.
    pub(crate) fn wait(mut self, retry_after: Option<Duration>) -> Self {
        if let Some(wait) = retry_after.filter(|it| !it.is_zero() && self.0.retryable) {
            let seconds = wait.as_secs_f64().ceil();
            self.0.message.push_str(&format!(" It asks to wait {seconds} s."));
        }
        self.0.retry_after = retry_after;
        self
    }

    /// Says in the message how often the request was sent, when that was more than once.
    pub(crate) fn after_tries(mut self, tries: u32) -> Self {
        if tries > 1 {
            self.0.message.push_str(&format!(" (tried {tries} times)"));
        }
        self
    }
}
