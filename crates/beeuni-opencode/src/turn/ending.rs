//! What is said to a turn, its stop, and its end.
use std::time::Duration;

use beeuni_agent::kit::turn_error;
use beeuni_protocol::session::{TurnEnded, TurnError, TurnOutcome};
use tokio::time::Instant;

use super::work::Work;
use super::{HARNESS, end, post};
use crate::inner::Steer;
use crate::link::told;
use crate::scribe::{Closing, Scribe};

impl Work<'_> {
    /// What a person says to the turn.
    pub(super) async fn say(&mut self, steer: &Steer) -> Result<(), TurnError> {
        if self.stopping.is_some() {
            return Ok(());
        }
        self.with(|scribe| scribe.steered(&steer.message));
        post(self.up, &self.wanted.agent, &self.model, steer)
            .await
            .map_err(|error| turn_error(HARNESS, told(&error)))?;
        self.last_said = Some(steer.message.clone());
        self.idle_since = None;
        Ok(())
    }

    /// Begins to stop: what still comes in a short while belongs to the turn.
    pub(super) fn stop(&mut self, closing: Closing) {
        if self.stopping.is_some() {
            return;
        }
        self.asking.clear();
        self.with(Scribe::stopping);
        self.stopping = Some((closing, Instant::now() + self.inner.config.settings.stop_grace));
        self.told_to_stop = true;
        self.abort();
    }

    /// Tells OpenCode to stop, without waiting for it.
    fn abort(&self) {
        let (client, session) = (self.up.client.clone(), self.up.carrier.session.clone());
        tokio::spawn(async move {
            if let Err(error) = client.abort(&session).await {
                tracing::warn!("{}", told(&error));
            }
        });
    }

    /// Tells the end, unless something was said in the last moment.
    pub(super) async fn finish(&mut self, closing: Closing, died: bool) -> bool {
        self.asking.clear();
        let mut closing = closing;
        if self.stopping.is_some() && !died && (!self.begun || self.with(|scribe| scribe.is_busy())) {
            // It may have begun just after the first word.
            self.abort();
        }
        if self.stopping.is_some() && !died {
            let reconciling = tokio::time::timeout(Duration::from_millis(150), self.reconcile()).await;
            if let Ok(Err(error)) = reconciling {
                closing = error.into();
            }
        }
        let closed = self.with(|scribe| scribe.close(&closing));
        if let Err(error) = closed {
            tracing::error!(%error, "the end of a turn could not be stored");
            closing = error.into();
        }
        let (steps, usage) = self.with(|scribe| (scribe.root_steps(), scribe.used(scribe.root())));
        let ended = TurnEnded {
            turn: self.wanted.turn.clone(),
            outcome: closing.outcome,
            steps,
            usage,
            error: closing.error.clone(),
        };
        let goes_on = matches!(closing.outcome, TurnOutcome::Done | TurnOutcome::Steps) && self.stopping.is_none();
        if !end(self.inner, &ended, goes_on.then_some(&self.wanted.steering)) {
            return false;
        }
        let heard = self.with(Scribe::end);
        self.up.known.extend(heard);
        true
    }
}
