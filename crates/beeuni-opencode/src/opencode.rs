//! The handle over a session of the standard harness, cheap to clone.
use std::future::{Future, ready};
use std::sync::Arc;
use std::time::Duration;

use beeuni_agent::harness_tools::Refusal;
use beeuni_agent::{EventStream, Setup};
use beeuni_protocol::session::{
    MessageList, PermissionAnswer, PermissionRequest, PromptAnswer, PromptRequest, QuestionAnswer, QuestionRequest,
    SessionState,
};
use beeuni_tools::LoadReport;

use crate::config::Config;
use crate::error::{OpenCodeError, StartError};
use crate::inner::{Health, Inner};
use crate::link::LinkError;
use crate::permit::{BridgedCall, Permitted};
use crate::server::Overridden;

/// A session of the standard harness. Clones are handles to the same session.
#[derive(Clone)]
pub struct OpenCode(Arc<Inner>);

/// How long OpenCode may take to store what is said to a running turn.
const TAKEN: Duration = Duration::from_secs(2);

/// How long the end of a session waits for an OpenCode that is just being started.
const STARTING: Duration = Duration::from_secs(5);

/// How OpenCode is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// `starting`, `idle`, `running`, `reloading`, `stopping` or `failed`.
    pub state: &'static str,
    /// Whether it takes prompts.
    pub ready: bool,
    /// Why it does not run, and what a person should know about the project's own OpenCode folder: one line each.
    pub notices: Vec<String>,
}

impl OpenCode {
    /// Opens the session (a new one, or the one whose transcript is in the state folder) and starts OpenCode with the
    /// tools that `config.hosted` has loaded. Must be called in a Tokio runtime.
    ///
    /// # Errors
    /// The transcript cannot be used, or OpenCode does not start.
    pub async fn start(config: Config, setup: Setup) -> Result<Self, StartError> {
        let report = config.hosted.report();
        Self::start_while(config, setup, ready(report)).await
    }

    /// The same while the tools are being loaded: OpenCode starts meanwhile.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub async fn start_while(
        config: Config,
        setup: Setup,
        loading: impl Future<Output = Arc<LoadReport>>,
    ) -> Result<Self, StartError> {
        let inner = Inner::open(config, setup).await?;
        let mut link = inner.link.lock().await;
        let (connected, report) = tokio::join!(async { inner.connect(&mut link).await.map(drop) }, loading);
        let failed = |error| match error {
            LinkError::Start(error) => StartError::Server(error),
            other => StartError::Answer(other.to_string()),
        };
        connected.map_err(failed)?;
        if !report.tools.is_empty() {
            link.given = inner.given(&report, &[]).await;
            inner.apply(&mut link).await.map_err(failed)?;
        }
        drop(link);
        Ok(Self(inner))
    }

    /// The session's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0.config.id
    }

    /// How it is doing. Never waits.
    #[must_use]
    pub fn status(&self) -> Status {
        let flow = self.0.flow();
        let state = match &flow.health {
            _ if flow.closed => "stopping",
            _ if flow.running.is_some() => "running",
            Health::Starting => "starting",
            Health::Down { .. } => "failed",
            Health::Up if flow.reloads > 0 => "reloading",
            Health::Up => "idle",
        };
        let mut notices = Vec::new();
        if let Health::Down { reason, .. } = &flow.health {
            notices.push(reason.clone());
        }
        if let Some(server) = &flow.server {
            let checkout = &self.0.config.checkout;
            notices.extend(server.overridden().into_iter().map(|tool| {
                let file = tool.file.strip_prefix(checkout).unwrap_or(&tool.file).display();
                format!(
                    "{} of {file} takes the place of the hosted tool of that name",
                    tool.name
                )
            }));
            notices.extend(server.left_out().into_iter().map(|left| {
                let file = left.file.strip_prefix(checkout).unwrap_or(&left.file).display();
                format!("{file} is left out: {}", left.reason)
            }));
        }
        Status {
            state,
            ready: !matches!(state, "stopping" | "failed"),
            notices,
        }
    }

    /// The project's own tools that take the place of hosted ones (O1).
    #[must_use]
    pub fn overridden(&self) -> Vec<Overridden> {
        let server = self.0.flow().server.clone();
        server.map(|server| server.overridden()).unwrap_or_default()
    }

    /// Waits until no turn runs.
    pub async fn idle(&self) {
        self.0.idle().await;
    }

    /// Loads the tools of `setup` and exchanges agents, skills, prompts and what stands in the project's own OpenCode
    /// folder: at once when no turn runs, else after the turn. The conversation goes on (C2).
    ///
    /// # Errors
    /// The session was closed, or OpenCode does not take it.
    pub async fn reload(&self, setup: Setup) -> Result<Arc<LoadReport>, OpenCodeError> {
        let inner = Arc::clone(&self.0);
        inner.flow().reloads += 1;
        // A task of its own: who asked for it may go away, the reload is still done.
        let reloading = tokio::spawn(async move {
            let reloaded = inner.reload(setup).await;
            inner.flow().reloads -= 1;
            reloaded
        });
        let stopped = || OpenCodeError::Unavailable("the session is closed".to_owned());
        reloading.await.unwrap_or_else(|_| Err(stopped()))
    }

    /// Takes a prompt: it starts a turn, or the turn that runs reads it at its next step. It is stored when this
    /// returns.
    ///
    /// # Errors
    /// The prompt is empty, the agent cannot take it, another agent's turn runs, OpenCode does not run and was tried a
    /// moment ago, or it cannot be stored.
    pub async fn prompt(&self, session: &str, prompt: PromptRequest) -> Result<PromptAnswer, OpenCodeError> {
        self.own(session)?;
        let (answer, taken) = self.0.prompt(prompt)?;
        if let Some(taken) = taken {
            // So that the step that begins next has it; it is stored in any case.
            let _ = tokio::time::timeout(TAKEN, taken).await;
        }
        Ok(answer)
    }

    /// Stops the turn that runs; whether one ran.
    ///
    /// # Errors
    /// The session is not this one.
    #[expect(clippy::unused_async, reason = "callers need not know that nothing is waited for")]
    pub async fn abort(&self, session: &str) -> Result<bool, OpenCodeError> {
        self.own(session)?;
        Ok(self.0.abort())
    }

    /// At most `limit` messages after the message `after`, oldest first.
    ///
    /// # Errors
    /// There is no such session or message, or the transcript cannot be read.
    pub fn messages(&self, session: &str, after: Option<&str>, limit: usize) -> Result<MessageList, OpenCodeError> {
        self.state(session)?;
        let page = self.0.journal.page(session, after, limit)?;
        page.ok_or_else(|| {
            let after = after.unwrap_or_default();
            OpenCodeError::NotFound(format!("this session has no message {after:?}"))
        })
    }

    /// How a session's conversation stands.
    ///
    /// # Errors
    /// There is no such session.
    pub fn state(&self, session: &str) -> Result<SessionState, OpenCodeError> {
        let state = self.0.view().state(session);
        state.ok_or_else(|| OpenCodeError::NoSession(session.chars().take(80).collect()))
    }

    /// The sessions of a session's subagents, oldest first.
    ///
    /// # Errors
    /// There is no such session.
    pub fn children(&self, session: &str) -> Result<Vec<SessionState>, OpenCodeError> {
        self.state(session)?;
        let mut children = self.0.view().children();
        children.retain(|child| child.parent.as_deref() == Some(session));
        Ok(children)
    }

    /// The events after number `after`, with those of subagents; with `None` those from now on.
    #[must_use]
    pub fn events(&self, after: Option<u64>) -> EventStream {
        EventStream::new(&self.0.journal, after)
    }

    /// The permission requests that wait in a session and its subagents, oldest first.
    ///
    /// # Errors
    /// There is no such session.
    pub fn permissions(&self, session: &str) -> Result<Vec<PermissionRequest>, OpenCodeError> {
        self.state(session)?;
        Ok(self.0.view().permissions(session))
    }

    /// Answers a permission request.
    ///
    /// # Errors
    /// It does not wait, or the answer cannot be stored.
    pub fn reply(&self, session: &str, request: &str, mut answer: PermissionAnswer) -> Result<(), OpenCodeError> {
        let waiting = self.permissions(session)?;
        if !waiting.iter().any(|waiting| waiting.id == request) {
            return Err(not_waiting(request));
        }
        answer.message = answer.message.map(|text| (self.0.config.redact)(text));
        Ok(self.0.asks.reply(request, answer)?)
    }

    /// The questions that wait, oldest first.
    ///
    /// # Errors
    /// There is no such session.
    pub fn questions(&self, session: &str) -> Result<Vec<QuestionRequest>, OpenCodeError> {
        self.state(session)?;
        Ok(self.0.view().questions(session))
    }

    /// Answers questions; with `None` they are rejected.
    ///
    /// # Errors
    /// They do not wait, the number of answers is wrong, or they cannot be stored.
    pub fn answer(&self, session: &str, request: &str, answer: Option<QuestionAnswer>) -> Result<(), OpenCodeError> {
        let waiting = self.questions(session)?;
        if !waiting.iter().any(|waiting| waiting.id == request) {
            return Err(not_waiting(request));
        }
        let clean = |texts: Vec<String>| texts.into_iter().map(|text| (self.0.config.redact)(text)).collect();
        let answer = answer.map(|answer| QuestionAnswer {
            answers: answer.answers.into_iter().map(clean).collect(),
        });
        Ok(self.0.asks.answer(request, answer)?)
    }

    /// Whether a call of a hosted tool may run: what the agent sees, its rules, and a person where they say "ask".
    /// Waits for that person. Dropping the future takes the request back.
    ///
    /// # Errors
    /// It may not; the text is for the model.
    pub async fn permit(&self, call: BridgedCall) -> Result<Permitted, Refusal> {
        self.0.permit(call).await
    }

    /// Whether OpenCode's session `session` is to ask its model no more: a person refused a call there, and the turn ends
    /// when the step has. OpenCode itself would ask once more before the stop reaches it.
    #[must_use]
    pub fn asks_no_more(&self, session: &str) -> bool {
        let flow = self.0.flow();
        let block = flow.running.as_ref().and_then(|running| running.block.as_ref());
        block.is_some_and(|(blocked, _)| blocked == session)
    }

    /// Takes no more prompts, gives a running turn `grace`, stops it, ends OpenCode, makes everything durable and ends
    /// the streams of events.
    pub async fn close(&self, grace: Duration) {
        let inner = &self.0;
        inner.flow().closed = true;
        let _ = tokio::time::timeout(grace, inner.idle()).await;
        inner.abort();
        inner.idle().await;
        // Held for long only while OpenCode is just being started: it then ends with this process.
        if let Ok(mut link) = tokio::time::timeout(STARTING, inner.link.lock()).await
            && let Some(up) = link.up.take()
        {
            up.server.stop(Duration::from_secs(2)).await;
        }
        inner.journal.synced().await;
        inner.journal.close();
    }

    /// Whether a session is the daemon's own: turns of subagents belong to the calls that made them.
    fn own(&self, session: &str) -> Result<(), OpenCodeError> {
        if session == self.0.config.id {
            return Ok(());
        }
        self.state(session)?;
        let text = "this is a subagent's session: prompt and stop the session that it belongs to";
        Err(OpenCodeError::Invalid(text.to_owned()))
    }
}

fn not_waiting(request: &str) -> OpenCodeError {
    beeuni_agent::ReplyError::NotWaiting(request.chars().take(80).collect()).into()
}
