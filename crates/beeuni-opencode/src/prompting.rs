//! Prompts: they start a turn or steer the one that runs; and stopping it.
use std::sync::Arc;
use std::time::Duration;

use beeuni_agent::OnAsk;
use beeuni_agent::kit::{Actor, Kind, new_id, said, title_of};
use beeuni_protocol::session::{EventBody, OnAsk as WireOnAsk, Origin, PromptAnswer, PromptRequest};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::error::OpenCodeError;
use crate::inner::{Flow, Health, Inner, Running, Steer};
use crate::turn::{self, Wanted};

/// What comes of a prompt, and for a word to a running turn what ends when OpenCode has it.
type Taken = (PromptAnswer, Option<oneshot::Receiver<()>>);

/// After OpenCode could not be started it is not tried again for so long.
const REST: Duration = Duration::from_secs(5);

impl Inner {
    /// Takes a prompt; it is stored when this returns.
    pub(crate) fn prompt(self: &Arc<Self>, mut prompt: PromptRequest) -> Result<Taken, OpenCodeError> {
        if prompt.text.trim().is_empty() && prompt.files.is_empty() {
            return Err(OpenCodeError::Invalid("the prompt is empty".to_owned()));
        }
        prompt.text = (self.config.redact)(prompt.text);
        let mut flow = self.flow();
        if flow.closed {
            return Err(OpenCodeError::Unavailable("the session is closed".to_owned()));
        }
        if let Some(running) = &flow.running {
            return self.steer(running, prompt);
        }
        if let Health::Down { reason, since } = &flow.health
            && since.elapsed() < REST
        {
            return Err(OpenCodeError::Unavailable(reason.clone()));
        }
        Ok((self.begin(&mut flow, prompt)?, None))
    }

    fn begin(self: &Arc<Self>, flow: &mut Flow, prompt: PromptRequest) -> Result<PromptAnswer, OpenCodeError> {
        let agent = Actor::of_prompt(&flow.setup, &self.journal, prompt.agent.as_deref())?;
        let agent = agent.agent.name;
        let (id, turn) = (self.journal.root(), new_id(Kind::Turn));
        let (message, mut events) = said(id, &turn, &agent, Origin::Prompt, &prompt.text, prompt.files.clone());
        let untitled = self
            .journal
            .with(id, |transcript| transcript.title.is_none())
            .unwrap_or(false);
        if let Some(title) = title_of(&prompt.text).filter(|_| untitled) {
            events.push(EventBody::SessionTitled { title });
        }
        self.journal.publish_all(id, events)?;
        self.journal.sync_soon();
        let (steering, said_meanwhile) = mpsc::unbounded_channel();
        let stop = CancellationToken::new();
        let on_ask = on_ask(prompt.on_ask.unwrap_or_default());
        flow.running = Some(Running {
            turn: turn.clone(),
            agent: agent.clone(),
            model: prompt.model.clone(),
            on_ask,
            stop: stop.clone(),
            ended: watch::Sender::new(None),
            steering,
            block: None,
        });
        let wanted = Wanted {
            turn: turn.clone(),
            agent,
            model: prompt.model,
            on_ask,
            stop,
            prompt: Steer {
                message: message.clone(),
                text: prompt.text,
                files: prompt.files,
                taken: None,
            },
            steering: said_meanwhile,
        };
        tokio::spawn(turn::run(Arc::clone(self), wanted));
        Ok(PromptAnswer {
            turn,
            message,
            steering: false,
        })
    }

    /// A message to the turn that runs.
    fn steer(&self, running: &Running, prompt: PromptRequest) -> Result<Taken, OpenCodeError> {
        let same = |wanted: &Option<String>, running: Option<&String>| wanted.is_none() || wanted.as_ref() == running;
        let wanted = match &prompt {
            PromptRequest { agent, .. } if !same(agent, Some(&running.agent)) => agent,
            PromptRequest { model, .. } if !same(model, running.model.as_ref()) => model,
            _ => &None,
        };
        if let Some(wanted) = wanted {
            return Err(OpenCodeError::Busy(format!(
                "a turn runs with {}: wait for its end, or stop it, before you prompt with {wanted}",
                running.agent
            )));
        }
        let (id, turn) = (self.journal.root(), &running.turn);
        let files = prompt.files.clone();
        let (message, events) = said(id, turn, &running.agent, Origin::Steering, &prompt.text, files);
        self.journal.publish_all(id, events)?;
        self.journal.sync_soon();
        let (sender, taken) = oneshot::channel();
        let steer = Steer {
            message: message.clone(),
            text: prompt.text,
            files: prompt.files,
            taken: Some(sender),
        };
        // The turn takes what there is before it ends; one that failed leaves it for the next.
        let _ = running.steering.send(steer);
        let answer = PromptAnswer {
            turn: running.turn.clone(),
            message,
            steering: true,
        };
        Ok((answer, Some(taken)))
    }

    /// Stops the turn that runs; says whether one ran.
    pub(crate) fn abort(&self) -> bool {
        let flow = self.flow();
        flow.running.as_ref().inspect(|running| running.stop.cancel()).is_some()
    }

    /// Waits until no turn runs.
    pub(crate) async fn idle(&self) {
        loop {
            let Some(mut ended) = self.flow().running.as_ref().map(|running| running.ended.subscribe()) else {
                return;
            };
            // An error means that the sender is gone, and with it the turn.
            let _ = ended.wait_for(Option::is_some).await;
            tokio::task::yield_now().await;
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
