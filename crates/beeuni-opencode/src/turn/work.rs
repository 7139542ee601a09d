//! The work of a turn: what OpenCode tells goes into the transcript, what a person says goes to OpenCode.
use std::sync::Arc;
use std::time::Duration;

use beeuni_agent::StoreError;
use beeuni_agent::kit::{is_unread, turn_error};
use beeuni_protocol::session::TurnOutcome;
use tokio::time::Instant;

use super::asks::Asking;
use super::{HARNESS, Wanted};
use crate::client::{Happening, Incoming, Status};
use crate::failure;
use crate::inner::Inner;
use crate::link::Up;
use crate::scribe::{Closing, Scribe};
use crate::server::Ended;

/// After so long without an event OpenCode is asked how it is doing.
const QUIET: Duration = Duration::from_secs(5);
/// How long OpenCode may take to turn to what was said to it.
const HEARD: Duration = Duration::from_secs(3);
/// How long what is missing may take to arrive once OpenCode is done.
const SETTLE: Duration = Duration::from_millis(400);
/// How long a pause in the stream of a process that is gone means its end.
const LAST_WORDS: Duration = Duration::from_millis(30);

/// A turn at work.
pub(super) struct Work<'a> {
    pub(super) inner: &'a Arc<Inner>,
    pub(super) up: &'a mut Up,
    pub(super) wanted: &'a mut Wanted,
    pub(super) asking: Asking,
    /// Why it is being stopped, and until when what comes is waited for.
    pub(super) stopping: Option<(Closing, Instant)>,
    /// Whether OpenCode has heard of the stop.
    pub(super) told_to_stop: bool,
    /// Whether OpenCode was seen at work.
    pub(super) begun: bool,
    /// Since when OpenCode is idle.
    pub(super) idle_since: Option<Instant>,
    /// The last that a person said.
    pub(super) last_said: Option<String>,
    pub(super) model: String,
}

/// What the loop comes to.
enum Next {
    GoOn,
    End(Closing),
    Died(Closing),
}

impl<'a> Work<'a> {
    pub(super) fn new(inner: &'a Arc<Inner>, up: &'a mut Up, wanted: &'a mut Wanted) -> Self {
        let model = inner.flow().running.as_ref().and_then(|running| running.model.clone());
        Self {
            inner,
            up,
            wanted,
            asking: Asking::default(),
            stopping: None,
            told_to_stop: false,
            begun: false,
            idle_since: None,
            last_said: None,
            model: model.unwrap_or_default(),
        }
    }

    /// Works to the end, and tells it. Says whether OpenCode died.
    pub(super) async fn run(mut self) -> bool {
        loop {
            let next = match self.step().await {
                Ok(next) => next,
                Err(error) => Next::End(error.into()),
            };
            let (closing, died) = match next {
                Next::GoOn => continue,
                Next::End(closing) => (closing, false),
                Next::Died(closing) => (closing, true),
            };
            if self.finish(closing, died).await {
                return died;
            }
        }
    }

    /// Waits for one thing and does what follows from it.
    async fn step(&mut self) -> Result<Next, StoreError> {
        let until = self.wait_until();
        let stopped = self.wanted.stop.clone();
        tokio::select! {
            biased;
            () = stopped.cancelled(), if self.stopping.is_none() => {
                self.stop(Closing::stopped(TurnOutcome::Aborted, None));
            }
            incoming = self.up.events.next() => self.hear(incoming).await?,
            ended = self.up.server.ended() => return self.died(&ended).await,
            Some(answered) = self.asking.next() => self.answered(answered).await?,
            Some(steer) = self.wanted.steering.recv() => {
                match self.say(&steer).await {
                    Ok(()) => {
                        // Whoever said it may have gone on.
                        let _ = steer.taken.map(|taken| taken.send(()));
                    }
                    Err(error) => self.stop(Closing::failed(error, "the turn failed")),
                }
            }
            () = self.inner.bell.notified() => {}
            () = tokio::time::sleep_until(until) => self.look().await?,
        }
        self.judge().await
    }

    /// OpenCode's process is gone; what it told last may still be on its way.
    async fn died(&mut self, ended: &Ended) -> Result<Next, StoreError> {
        while let Ok(incoming) = tokio::time::timeout(LAST_WORDS, self.up.events.next()).await {
            if let Incoming::Happened(happening) = incoming {
                self.with(|scribe| scribe.take(&happening))?;
            }
        }
        // Who had stopped it already knows more.
        if let Some((closing, _)) = &self.stopping {
            return Ok(Next::Died(closing.clone()));
        }
        // What it printed last may hold anything.
        let printed = (self.inner.config.redact)(ended.to_string());
        let error = turn_error(HARNESS, format!("OpenCode ended in the middle of the turn: {printed}"));
        Ok(Next::Died(Closing::failed(error, "OpenCode ended")))
    }

    fn wait_until(&self) -> Instant {
        let now = Instant::now();
        let mut until = now + QUIET;
        if let Some((_, deadline)) = &self.stopping {
            until = until.min(*deadline);
        }
        if let Some(since) = self.idle_since {
            until = until.min(since + SETTLE).max(now + Duration::from_millis(20));
        }
        until
    }

    async fn hear(&mut self, incoming: Incoming) -> Result<(), StoreError> {
        match incoming {
            Incoming::Resumed => self.catch_up().await,
            Incoming::Happened(happening) => self.take(*happening).await,
        }
    }

    pub(super) async fn take(&mut self, happening: Happening) -> Result<(), StoreError> {
        match happening {
            Happening::PermissionAsked(permission) => self.ask_permission(permission)?,
            Happening::QuestionAsked(questions) => self.ask_questions(questions).await?,
            Happening::PermissionReplied { request } | Happening::QuestionReplied { request } => {
                self.asking.forget(&request);
            }
            happening => {
                if let Happening::Status {
                    session,
                    status: Status::Retry { message },
                } = &happening
                    && self.stopping.is_none()
                    && self.with(|scribe| scribe.turn(session).is_some())
                {
                    // The gateway has tried as often as it makes sense.
                    let error = failure::of_retry(message);
                    self.with(|scribe| scribe.fail(session, &error));
                    self.stop(Closing::failed(error, "the model failed"));
                }
                self.with(|scribe| scribe.take(&happening))?;
                self.inner.heard.notify_waiters();
            }
        }
        Ok(())
    }

    /// Looks whether the turn is at its end.
    async fn judge(&mut self) -> Result<Next, StoreError> {
        let now = Instant::now();
        let busy = self.with(|scribe| scribe.is_busy());
        self.begun |= busy || self.with(|scribe| scribe.root_steps() > 0);
        self.idle_since = match (busy, self.idle_since) {
            (true, _) => None,
            (false, since) => Some(since.unwrap_or(now)),
        };
        // What OpenCode says after a stop is no failure of the turn.
        if self.stopping.is_none() && self.wanted.stop.is_cancelled() {
            self.stop(Closing::stopped(TurnOutcome::Aborted, None));
        }
        if let Some((closing, deadline)) = &self.stopping {
            let settled =
                self.told_to_stop && self.begun && !busy && self.with(|scribe| scribe.unfinished().is_empty());
            return Ok(if settled || now >= *deadline {
                Next::End(closing.clone())
            } else {
                Next::GoOn
            });
        }
        let block = self
            .inner
            .flow()
            .running
            .as_ref()
            .and_then(|running| running.block.clone());
        if let Some((session, error)) = block {
            let over = self.with(|scribe| scribe.overran() || scribe.is_between_steps(&session));
            if over {
                self.stop(Closing::stopped(TurnOutcome::Blocked, Some(error)));
            }
            return Ok(Next::GoOn);
        }
        if self.with(|scribe| scribe.is_beyond_limit()) {
            self.stop(Closing::done(TurnOutcome::Steps, None));
            return Ok(Next::GoOn);
        }
        let failed = self.with(|scribe| scribe.root_error().is_some());
        if busy || !(self.begun || failed) {
            return Ok(Next::GoOn);
        }
        let waited = self.idle_since.map_or(Duration::ZERO, |since| since.elapsed());
        if self.with(|scribe| !scribe.unfinished().is_empty()) || (failed && !self.begun) {
            // What is missing follows at once, or was missed.
            return Ok(if waited < SETTLE {
                Next::GoOn
            } else {
                self.done().await?
            });
        }
        let unheard = !failed && self.is_unheard();
        if unheard && waited < HEARD {
            return Ok(Next::GoOn);
        }
        if unheard && self.inner.journal.with(self.inner.journal.root(), is_unread) == Some(true) {
            let error = turn_error(HARNESS, "OpenCode did not turn to what was said to it");
            return Ok(Next::End(Closing::failed(error, "the turn failed")));
        }
        self.done().await
    }

    /// Whether something was said that OpenCode has not answered yet.
    fn is_unheard(&self) -> bool {
        let answered = self.with(|scribe| scribe.answered());
        let last = self.last_said.as_ref();
        last.is_some_and(|last| answered.as_ref() != Some(last))
            || self.inner.journal.with(self.inner.journal.root(), is_unread) == Some(true)
    }

    /// OpenCode is done.
    async fn done(&mut self) -> Result<Next, StoreError> {
        self.reconcile().await?;
        let (outcome, error) = self.with(|scribe| scribe.outcome(scribe.root()));
        Ok(Next::End(Closing::done(outcome, error)))
    }

    /// Does something with the scribe.
    pub(super) fn with<T>(&self, what: impl FnOnce(&mut Scribe) -> T) -> T {
        what(&mut self.inner.scribe())
    }
}
