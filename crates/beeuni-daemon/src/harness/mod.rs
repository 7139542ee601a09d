//! What runs a session's turns, behind one trait: no route knows which harness it is.
//!
//! Everything that crosses it is a wire type of `beeuni_protocol`. Every method may wait, because a harness may be a
//! process of its own that is just being started again; none may wait for the end of a turn, but for `idle`,
//! `reload` and `close`. An adapter is asked about the daemon's own session and its subagents' sessions only: for others it
//! answers [`HarnessError::NoSession`].
mod experimental;
mod none;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use beeuni_protocol::session::{
    Event, MessageList, PermissionAnswer, PermissionRequest, PromptAnswer, PromptRequest, QuestionAnswer,
    QuestionRequest, SessionState,
};
use beeuni_tools::LoadReport;

use crate::local::project::Reading;

pub(crate) use experimental::Experimental;
pub(crate) use none::NoHarness;

/// A boxed future: the trait is used behind `dyn`.
pub(crate) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a harness gives, or why not.
pub(crate) type Given<'a, T> = BoxFuture<'a, Result<T, HarnessError>>;

/// Runs the turns of one session.
pub(crate) trait Harness: Send + Sync {
    /// How it is doing. Never waits.
    fn status(&self) -> HarnessStatus;

    /// Waits until no turn runs.
    fn idle(&self) -> BoxFuture<'_, ()>;

    /// Loads the tools of the project as it was read, and exchanges agents, skills and prompts: at once when no turn
    /// runs, else after the turn. The conversation goes on (C2).
    fn reload(&self, reading: Arc<Reading>) -> Given<'_, Arc<LoadReport>>;

    /// Takes a prompt: it starts a turn, or the turn that runs reads it at its next step. It is stored when this
    /// returns.
    fn prompt<'a>(&'a self, session: &'a str, prompt: PromptRequest) -> Given<'a, PromptAnswer>;

    /// Stops the turn that runs; whether one ran.
    fn abort<'a>(&'a self, session: &'a str) -> Given<'a, bool>;

    /// At most `limit` messages after the message `after`, oldest first.
    fn messages<'a>(&'a self, session: &'a str, after: Option<&'a str>, limit: usize) -> Given<'a, MessageList>;

    /// How a session's conversation stands.
    fn state<'a>(&'a self, session: &'a str) -> Given<'a, SessionState>;

    /// The sessions of a session's subagents, oldest first.
    fn children<'a>(&'a self, session: &'a str) -> Given<'a, Vec<SessionState>>;

    /// The events after number `after`, with those of subagents; with `None` those from now on.
    fn events(&self, after: Option<u64>) -> Given<'_, Box<dyn EventSource>>;

    /// The permission requests that wait in a session and its subagents, oldest first.
    fn permissions<'a>(&'a self, session: &'a str) -> Given<'a, Vec<PermissionRequest>>;

    /// Answers a permission request.
    fn reply<'a>(&'a self, session: &'a str, request: &'a str, answer: PermissionAnswer) -> Given<'a, ()>;

    /// The questions that wait, oldest first.
    fn questions<'a>(&'a self, session: &'a str) -> Given<'a, Vec<QuestionRequest>>;

    /// Answers questions; with `None` they are rejected.
    fn answer<'a>(&'a self, session: &'a str, request: &'a str, answer: Option<QuestionAnswer>) -> Given<'a, ()>;

    /// Takes no more prompts, gives a running turn `grace`, stops it, makes everything durable and ends the streams
    /// of events.
    fn close(&self, grace: Duration) -> BoxFuture<'_, ()>;
}

/// A reader's place in a session's events. Whoever stays behind is told so by an event `resync`, and slows nobody.
pub(crate) trait EventSource: Send {
    /// The next event; `None` when there will be no more. Dropping the future loses none.
    fn next(&mut self) -> Given<'_, Option<Arc<Event>>>;
}

/// How a harness is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HarnessStatus {
    /// Its name, as `--harness` takes it.
    pub(crate) id: &'static str,
    /// `off`, `idle`, `running`, `reloading` or `stopping`.
    pub(crate) state: &'static str,
    /// Whether it takes prompts.
    pub(crate) ready: bool,
}

/// Why a harness did not do something. Display is the text for the client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HarnessError {
    /// There is no harness.
    #[error("this daemon only hosts tools: start it with `--harness experimental` to talk to an agent")]
    Off,
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
