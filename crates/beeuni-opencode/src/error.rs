//! Why the standard harness did not do something.
use beeuni_agent::{NoAgent, ReplyError, StoreError};

/// Why a request was not done. Display is the text for the client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenCodeError {
    /// No such session here.
    #[error("there is no session {0:?} here: a daemon has its own session and those of its subagents")]
    NoSession(String),
    /// Nothing of that id.
    #[error("{0}")]
    NotFound(String),
    /// The request makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// Not now.
    #[error("{0}")]
    Busy(String),
    /// It takes nothing at the moment, or no more.
    #[error("{0}")]
    Unavailable(String),
    /// It failed.
    #[error("{0}")]
    Failed(String),
}

impl From<StoreError> for OpenCodeError {
    fn from(error: StoreError) -> Self {
        // With its cause: clients see the text only.
        let cause = std::error::Error::source(&error)
            .map(|cause| format!(": {cause}"))
            .unwrap_or_default();
        Self::Failed(format!("{error}{cause}"))
    }
}

impl From<ReplyError> for OpenCodeError {
    fn from(error: ReplyError) -> Self {
        let text = error.to_string();
        match error {
            ReplyError::NotWaiting(_) => Self::NotFound(text),
            ReplyError::Count { .. } => Self::Invalid(text),
            ReplyError::Store(error) => error.into(),
        }
    }
}

impl From<NoAgent> for OpenCodeError {
    fn from(error: NoAgent) -> Self {
        Self::Invalid(error.to_string())
    }
}

/// The session could not be opened, or OpenCode could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Its id cannot be one.
    #[error("`{0}` cannot be a session's id: use 1 to 128 of A-Z a-z 0-9 . _ -, not beginning with a dot")]
    Id(String),
    /// Its transcript cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// OpenCode's process did not start.
    #[error("OpenCode could not be started")]
    Server(#[source] crate::server::StartError),
    /// OpenCode started and does not do what it is asked.
    #[error("OpenCode started and cannot be used: {0}")]
    Answer(String),
}
