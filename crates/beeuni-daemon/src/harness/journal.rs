//! What the adapters of both harnesses have in common: both write the transcript of `beeuni-agent`.
use std::sync::Arc;

use beeuni_agent::{EventStream, ReplyError, StoreError};
use beeuni_protocol::session::Event;

use super::{EventSource, Given, HarnessError};

/// The events of a session's journal.
pub(super) struct JournalEvents(pub(super) EventStream);

impl EventSource for JournalEvents {
    fn next(&mut self) -> Given<'_, Option<Arc<Event>>> {
        Box::pin(async { Ok(self.0.next().await?) })
    }
}

impl From<ReplyError> for HarnessError {
    fn from(error: ReplyError) -> Self {
        let text = error.to_string();
        match error {
            ReplyError::NotWaiting(_) => Self::NotFound(text),
            ReplyError::Count { .. } => Self::Invalid(text),
            ReplyError::Store(error) => error.into(),
        }
    }
}

impl From<StoreError> for HarnessError {
    fn from(error: StoreError) -> Self {
        // With its cause: clients see the text only.
        let cause = std::error::Error::source(&error)
            .map(|cause| format!(": {cause}"))
            .unwrap_or_default();
        Self::Failed(format!("{error}{cause}"))
    }
}
