//! The experimental harness: the agent loop in this process.
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use beeuni_agent::harness_tools::HarnessTools;
use beeuni_agent::{OnAsk, PromptError, PromptOptions, ReplyError, Session};
use beeuni_protocol::session::{
    Activity, MessageList, OnAsk as WireOnAsk, PermissionAnswer, PermissionRequest, PromptAnswer, PromptRequest,
    QuestionAnswer, QuestionRequest, SessionState,
};
use beeuni_tools::{LoadReport, ToolHost};

use super::journal::JournalEvents;
use super::{BoxFuture, EventSource, Given, Harness, HarnessError, HarnessStatus};
use crate::local::project::Reading;

/// The agent loop in this process.
pub(crate) struct Experimental {
    session: Session,
    tools: HarnessTools,
    host: ToolHost,
}

impl Experimental {
    pub(crate) fn new(session: Session, tools: HarnessTools, host: ToolHost) -> Self {
        Self { session, tools, host }
    }

    /// Whether a session is ours.
    fn known(&self, session: &str) -> Result<SessionState, HarnessError> {
        let state = self.session.state_of(session);
        state.ok_or_else(|| HarnessError::NoSession(session.chars().take(80).collect()))
    }

    /// Whether a session is the daemon's own: turns of subagents belong to the calls that made them.
    fn own(&self, session: &str) -> Result<(), HarnessError> {
        if session == self.session.id() {
            return Ok(());
        }
        self.known(session)?;
        let text = "this is a subagent's session: prompt and stop the session that it belongs to";
        Err(HarnessError::Invalid(text.to_owned()))
    }

    /// Whether something that waits in `request_session` is answered through `session`.
    fn concerns(&self, session: &str, request_session: &str) -> bool {
        session == self.session.id() || session == request_session
    }

    fn take(&self, session: &str, prompt: PromptRequest) -> Result<PromptAnswer, HarnessError> {
        self.own(session)?;
        let options = PromptOptions {
            agent: prompt.agent,
            model: prompt.model,
            on_ask: on_ask(prompt.on_ask.unwrap_or_default()),
            files: prompt.files,
        };
        let turn = self.session.prompt(&self.host.redact(prompt.text), options)?;
        Ok(PromptAnswer {
            turn: turn.turn().to_owned(),
            message: turn.message().unwrap_or_default().to_owned(),
            steering: turn.is_steering(),
        })
    }

    fn page(&self, session: &str, after: Option<&str>, limit: usize) -> Result<MessageList, HarnessError> {
        let state = self.known(session)?;
        let start = match after {
            None => 0,
            Some(message) => {
                let place = self.session.position_of(session, message);
                let unknown = || HarnessError::NotFound(format!("this session has no message {message:?}"));
                place.ok_or_else(unknown)? + 1
            }
        };
        let end = start.saturating_add(limit);
        let messages = self.session.messages_of(session, start..end)?.unwrap_or_default();
        Ok(MessageList {
            more: start + messages.len() < state.messages,
            messages,
        })
    }

    fn waiting_permissions(&self, session: &str) -> Result<Vec<PermissionRequest>, HarnessError> {
        self.known(session)?;
        let mut waiting = self.session.permissions();
        waiting.retain(|request| self.concerns(session, &request.session));
        Ok(waiting)
    }

    fn waiting_questions(&self, session: &str) -> Result<Vec<QuestionRequest>, HarnessError> {
        self.known(session)?;
        let mut waiting = self.session.questions();
        waiting.retain(|request| self.concerns(session, &request.session));
        Ok(waiting)
    }

    fn reply_now(&self, session: &str, request: &str, mut answer: PermissionAnswer) -> Result<(), HarnessError> {
        if !self
            .waiting_permissions(session)?
            .iter()
            .any(|waiting| waiting.id == request)
        {
            return Err(ReplyError::NotWaiting(request.chars().take(80).collect()).into());
        }
        answer.message = answer.message.map(|text| self.host.redact(text));
        Ok(self.session.reply_permission(request, answer)?)
    }

    fn answer_now(&self, session: &str, request: &str, answer: Option<QuestionAnswer>) -> Result<(), HarnessError> {
        if !self
            .waiting_questions(session)?
            .iter()
            .any(|waiting| waiting.id == request)
        {
            return Err(ReplyError::NotWaiting(request.chars().take(80).collect()).into());
        }
        match answer {
            None => Ok(self.session.reject_question(request)?),
            Some(QuestionAnswer { answers }) => {
                let clean = |texts: Vec<String>| texts.into_iter().map(|text| self.host.redact(text)).collect();
                let answers = answers.into_iter().map(clean).collect();
                Ok(self.session.answer_question(request, QuestionAnswer { answers })?)
            }
        }
    }
}

fn on_ask(wanted: WireOnAsk) -> OnAsk {
    match wanted {
        WireOnAsk::Wait => OnAsk::Wait,
        WireOnAsk::Deny => OnAsk::Deny,
        WireOnAsk::Allow => OnAsk::Allow,
        WireOnAsk::Fail => OnAsk::Fail,
    }
}

/// A result that is there already.
fn given<'a, T: Send + 'a>(result: Result<T, HarnessError>) -> Given<'a, T> {
    Box::pin(ready(result))
}

impl Harness for Experimental {
    fn status(&self) -> HarnessStatus {
        let state = match self.session.state().activity {
            Activity::Idle => "idle",
            Activity::Running => "running",
            Activity::Reloading => "reloading",
            Activity::Closed => "stopping",
        };
        HarnessStatus {
            id: "experimental",
            state,
            ready: state != "stopping",
        }
    }

    fn idle(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.session.idle())
    }

    fn reload(&self, reading: Arc<Reading>) -> Given<'_, Arc<LoadReport>> {
        Box::pin(async move { Ok(self.session.reload(reading.setup.clone()).await?) })
    }

    fn prompt<'a>(&'a self, session: &'a str, prompt: PromptRequest) -> Given<'a, PromptAnswer> {
        given(self.take(session, prompt))
    }

    fn abort<'a>(&'a self, session: &'a str) -> Given<'a, bool> {
        given(self.own(session).map(|()| self.session.abort()))
    }

    fn messages<'a>(&'a self, session: &'a str, after: Option<&'a str>, limit: usize) -> Given<'a, MessageList> {
        given(self.page(session, after, limit))
    }

    fn state<'a>(&'a self, session: &'a str) -> Given<'a, SessionState> {
        given(self.known(session))
    }

    fn children<'a>(&'a self, session: &'a str) -> Given<'a, Vec<SessionState>> {
        let mut children = self.session.children();
        children.retain(|child| child.parent.as_deref() == Some(session));
        given(self.known(session).map(|_| children))
    }

    fn events(&self, after: Option<u64>) -> Given<'_, Box<dyn EventSource>> {
        let source: Box<dyn EventSource> = Box::new(JournalEvents(self.session.events(after)));
        given(Ok(source))
    }

    fn permissions<'a>(&'a self, session: &'a str) -> Given<'a, Vec<PermissionRequest>> {
        given(self.waiting_permissions(session))
    }

    fn reply<'a>(&'a self, session: &'a str, request: &'a str, answer: PermissionAnswer) -> Given<'a, ()> {
        given(self.reply_now(session, request, answer))
    }

    fn questions<'a>(&'a self, session: &'a str) -> Given<'a, Vec<QuestionRequest>> {
        given(self.waiting_questions(session))
    }

    fn answer<'a>(&'a self, session: &'a str, request: &'a str, answer: Option<QuestionAnswer>) -> Given<'a, ()> {
        given(self.answer_now(session, request, answer))
    }

    fn close(&self, grace: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let _ = tokio::time::timeout(grace, self.session.idle()).await;
            self.session.close().await;
            self.tools.shutdown().await;
        })
    }
}

impl From<PromptError> for HarnessError {
    fn from(error: PromptError) -> Self {
        let text = error.to_string();
        match error {
            PromptError::Empty | PromptError::Agent(_) => Self::Invalid(text),
            PromptError::Busy { .. } => Self::Busy(text),
            PromptError::Closed => Self::Unavailable(text),
            PromptError::Store(error) => error.into(),
        }
    }
}
