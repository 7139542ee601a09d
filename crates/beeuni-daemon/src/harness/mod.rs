//! What runs a session's turns, behind one trait: no route knows which harness it is.
//!
//! Everything that crosses it is a wire type of `beeuni_protocol`. Every method may wait, because a harness may be a
//! process of its own that is just being started again; none may wait for the end of a turn, but for `idle`,
//! `reload` and `close`. An adapter is asked about the daemon's own session and its subagents' sessions only: for others it
//! answers [`HarnessError::NoSession`].
mod build;
mod experimental;
mod journal;
mod none;
mod standard;

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use beeuni_protocol::CallOrigin;
use beeuni_protocol::session::{
    Event, MessageList, PermissionAnswer, PermissionRequest, PromptAnswer, PromptRequest, QuestionAnswer,
    QuestionRequest, SessionState,
};
use beeuni_tools::LoadReport;

use crate::local::project::Reading;

pub(crate) use build::{HarnessPlace, Programs, build, programs};

/// A boxed future: the trait is used behind `dyn`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a harness gives, or why not.
pub type Given<'a, T> = BoxFuture<'a, Result<T, HarnessError>>;

/// Runs the turns of one session.
pub(crate) trait Harness: Send + Sync {
    /// How it is doing. Never waits.
    fn status(&self) -> HarnessStatus;

    /// Starts what it consists of while `loading` loads the tools; both are done when this returns. Called once,
    /// before anything but `status`.
    fn start<'a>(&'a self, loading: BoxFuture<'a, Arc<LoadReport>>) -> Given<'a, Arc<LoadReport>> {
        Box::pin(async move { Ok(loading.await) })
    }

    /// Asks the agent's permission rules about a call of a hosted tool that comes in over HTTP; where they say `ask`,
    /// it waits for a person, as long as the future lives. Gives the agent on whose behalf the call runs, `None` when
    /// that is the caller itself. An error is the text for the model.
    ///
    /// A harness whose own calls come another way has nothing to say here.
    fn permit<'a>(&'a self, call: BridgedCall<'a>) -> BoxFuture<'a, Result<Option<String>, String>> {
        let _ = call;
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Whether a model is not to be asked any more for the harness's own session `session`, whose turn ends.
    fn asks_no_more(&self, session: &str) -> bool {
        let _ = session;
        false
    }

    /// The hosted tools in whose place the harness has tools of the project's own (O1).
    fn replaced(&self) -> Vec<Replaced> {
        Vec::new()
    }

    /// What a person should know about it, one line each: for the log, never for an answer that is open to everybody.
    fn notices(&self) -> Vec<String> {
        Vec::new()
    }

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
pub trait EventSource: Send {
    /// The next event; `None` when there will be no more. Dropping the future loses none.
    fn next(&mut self) -> Given<'_, Option<Arc<Event>>>;
}

/// A hosted tool in whose place the harness has one of the project's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// The tool.
    pub tool: String,
    /// The file that has the other one.
    pub file: PathBuf,
}

/// A call of a hosted tool that comes in over HTTP.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BridgedCall<'a> {
    /// Which of the harness's calls it is; `None`: that of somebody beside the harness.
    pub(crate) origin: Option<&'a CallOrigin<'a>>,
    /// The calling agent, which may use the tool.
    pub(crate) agent: &'a str,
    /// The tool.
    pub(crate) tool: &'a str,
    /// The text of a JSON object.
    pub(crate) args: &'a str,
}

/// How a harness is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HarnessStatus {
    /// Its name, as `--harness` takes it.
    pub(crate) id: &'static str,
    /// `off`, `starting`, `idle`, `running`, `reloading`, `stopping` or `failed`.
    pub(crate) state: &'static str,
    /// Whether it takes prompts.
    pub(crate) ready: bool,
}

/// Why a harness did not do something. Display is the text for the client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HarnessError {
    /// There is no harness.
    #[error(
        "this daemon only hosts tools: start it with `--harness standard` or `--harness experimental` to talk to an agent"
    )]
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
