//! The harness `none`: the daemon only hosts tools.
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use beeuni_protocol::session::{
    MessageList, PermissionAnswer, PermissionRequest, PromptAnswer, PromptRequest, QuestionAnswer, QuestionRequest,
    SessionState,
};
use beeuni_tools::{LoadReport, ToolHost};

use super::{BoxFuture, EventSource, Given, Harness, HarnessError, HarnessStatus};
use crate::local::project::Reading;

/// No harness.
pub(crate) struct NoHarness(pub(crate) ToolHost);

fn off<'a, T: Send + 'a>() -> Given<'a, T> {
    Box::pin(ready(Err(HarnessError::Off)))
}

impl Harness for NoHarness {
    fn status(&self) -> HarnessStatus {
        HarnessStatus {
            id: "none",
            state: "off",
            ready: false,
        }
    }

    fn idle(&self) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }

    fn reload(&self, reading: Arc<Reading>) -> Given<'_, Arc<LoadReport>> {
        Box::pin(async move { Ok(self.0.load(&reading.setup.tools).await) })
    }

    fn prompt<'a>(&'a self, _session: &'a str, _prompt: PromptRequest) -> Given<'a, PromptAnswer> {
        off()
    }

    fn abort<'a>(&'a self, _session: &'a str) -> Given<'a, bool> {
        off()
    }

    fn messages<'a>(&'a self, _session: &'a str, _after: Option<&'a str>, _limit: usize) -> Given<'a, MessageList> {
        off()
    }

    fn state<'a>(&'a self, _session: &'a str) -> Given<'a, SessionState> {
        off()
    }

    fn children<'a>(&'a self, _session: &'a str) -> Given<'a, Vec<SessionState>> {
        off()
    }

    fn events(&self, _after: Option<u64>) -> Given<'_, Box<dyn EventSource>> {
        off()
    }

    fn permissions<'a>(&'a self, _session: &'a str) -> Given<'a, Vec<PermissionRequest>> {
        off()
    }

    fn reply<'a>(&'a self, _session: &'a str, _request: &'a str, _answer: PermissionAnswer) -> Given<'a, ()> {
        off()
    }

    fn questions<'a>(&'a self, _session: &'a str) -> Given<'a, Vec<QuestionRequest>> {
        off()
    }

    fn answer<'a>(&'a self, _session: &'a str, _request: &'a str, _answer: Option<QuestionAnswer>) -> Given<'a, ()> {
        off()
    }

    fn close(&self, _grace: Duration) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }
}
