//! Prompts: they start a turn or steer the one that runs; and stopping it.
use std::sync::Arc;

use beeuni_protocol::session::{Attachment, EventBody, Origin};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::run::{self, Job, Wanted};
use super::{Flow, Running, Session, TurnHandle};
use crate::actor::{Actor, NoAgent};
use crate::engine::OnAsk;
use crate::setup::Setup;
use crate::store::StoreError;
use crate::{ids, title, turn};

/// A prompt was not taken.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// There is nothing in it.
    #[error("the prompt is empty")]
    Empty,
    /// The session was closed.
    #[error("the session is closed")]
    Closed,
    /// The agent cannot take it.
    #[error(transparent)]
    Agent(#[from] NoAgent),
    /// A turn runs with another agent or model; a message to it cannot change that.
    #[error("a turn runs with {running}: wait for its end, or stop it, before you prompt with {wanted}")]
    Busy {
        /// The agent or model that runs.
        running: String,
        /// What was asked for.
        wanted: String,
    },
    /// It could not be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How a prompt is to be answered.
#[derive(Debug, Clone, Default)]
pub struct PromptOptions {
    /// The agent; `None`: that of the turn before, else the project's default.
    pub agent: Option<String>,
    /// The model as `provider/model`; `None`: what the turn before was told to use, else the agent's, else the
    /// project's, else the gateway's default.
    pub model: Option<String>,
    /// What happens where a person would be asked. A message to a running turn does not change it.
    pub on_ask: OnAsk,
    /// Images that come with the text, as `data:` URLs.
    pub files: Vec<Attachment>,
}

impl Session {
    /// Takes a prompt: it starts a turn, or, while one runs, is read by the model at that turn's next step. It is
    /// stored when this returns. Must be called in a Tokio runtime.
    ///
    /// # Errors
    /// It is empty, the agent cannot take it, another agent's turn runs, or it cannot be stored.
    pub fn prompt(&self, text: &str, options: PromptOptions) -> Result<TurnHandle, PromptError> {
        if text.trim().is_empty() && options.files.is_empty() {
            return Err(PromptError::Empty);
        }
        let mut flow = self.0.flow();
        if flow.closed {
            return Err(PromptError::Closed);
        }
        if let Some(running) = &flow.running {
            return self.steer(running, text, options);
        }
        let agent = self.agent(&flow.setup, options.agent.as_deref())?;
        let turn = ids::new(ids::Kind::Turn);
        let journal = &self.0.engine.journal;
        let (message, mut events) = turn::said(&self.0.id, &turn, &agent, Origin::Prompt, text, options.files);
        let untitled = journal
            .with(&self.0.id, |transcript| transcript.title.is_none())
            .unwrap_or(false);
        if let Some(title) = title::of(text).filter(|_| untitled) {
            events.push(EventBody::SessionTitled { title });
        }
        journal.publish_all(&self.0.id, events)?;
        journal.sync_soon();
        let job = Job::Prompt {
            message: message.clone(),
        };
        Ok(self
            .start(&mut flow, turn, agent, options.model, options.on_ask, job)
            .with_message(message))
    }

    /// A message to the turn that runs.
    fn steer(&self, running: &Running, text: &str, options: PromptOptions) -> Result<TurnHandle, PromptError> {
        let same = |wanted: &Option<String>, running: Option<&String>| wanted.is_none() || wanted.as_ref() == running;
        let wanted = match &options {
            PromptOptions { agent, .. } if !same(agent, Some(&running.agent)) => agent,
            PromptOptions { model, .. } if !same(model, running.model.as_ref()) => model,
            _ => &None,
        };
        if let Some(wanted) = wanted {
            return Err(PromptError::Busy {
                running: running.agent.clone(),
                wanted: wanted.clone(),
            });
        }
        let (id, turn) = (&self.0.id, &running.turn);
        let (message, events) = turn::said(id, turn, &running.agent, Origin::Steering, text, options.files);
        let journal = &self.0.engine.journal;
        journal.publish_all(id, events)?;
        journal.sync_soon();
        Ok(TurnHandle::new(running.turn.clone(), running.ended.subscribe()).steering(message))
    }

    /// Sums up older messages now, whatever the size of the conversation.
    ///
    /// # Errors
    /// A turn runs, the session is closed, or the agent is gone.
    pub fn compact(&self) -> Result<TurnHandle, PromptError> {
        let mut flow = self.0.flow();
        if flow.closed {
            return Err(PromptError::Closed);
        }
        if let Some(running) = &flow.running {
            return Err(PromptError::Busy {
                running: running.agent.clone(),
                wanted: "a compaction".to_owned(),
            });
        }
        let agent = self.agent(&flow.setup, None)?;
        let turn = ids::new(ids::Kind::Turn);
        Ok(self.start(&mut flow, turn, agent, None, OnAsk::Deny, Job::Compact))
    }

    fn start(
        &self,
        flow: &mut Flow,
        turn: String,
        agent: String,
        model: Option<String>,
        on_ask: OnAsk,
        job: Job,
    ) -> TurnHandle {
        let ended = watch::Sender::new(None);
        let handle = TurnHandle::new(turn.clone(), ended.subscribe());
        let stop = CancellationToken::new();
        flow.running = Some(Running {
            turn: turn.clone(),
            agent: agent.clone(),
            model: model.clone(),
            stop: stop.clone(),
            ended,
        });
        let wanted = Wanted {
            turn,
            agent,
            model,
            on_ask,
            stop,
            job,
        };
        tokio::spawn(run::run(Arc::clone(&self.0), wanted));
        handle
    }

    /// The agent of the next turn.
    fn agent(&self, setup: &Setup, wanted: Option<&str>) -> Result<String, NoAgent> {
        let journal = &self.0.engine.journal;
        Ok(Actor::of_prompt(setup, journal, wanted)?.agent.name)
    }

    /// Stops the turn that runs: the model's stream ends at once, running calls within a second. Says whether one
    /// ran. [`Session::idle`] waits until it is over.
    pub fn abort(&self) -> bool {
        let flow = self.0.flow();
        flow.running.as_ref().inspect(|running| running.stop.cancel()).is_some()
    }

    /// Waits until no turn runs.
    pub async fn idle(&self) {
        loop {
            let Some(mut ended) = self.0.flow().running.as_ref().map(|running| running.ended.subscribe()) else {
                return;
            };
            // An error means that the sender is gone, and with it the turn.
            let _ = ended.wait_for(Option::is_some).await;
            tokio::task::yield_now().await;
        }
    }
}
