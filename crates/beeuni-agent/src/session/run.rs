//! The task of one turn: waits its turn, finds agent, model and tools, works, and tells the end.
use std::sync::{Arc, Mutex};

use beeuni_protocol::session::{EventBody, TurnEnded, TurnOutcome, TurnStarted, Usage};
use tokio_util::sync::CancellationToken;

use super::Inner;
use crate::actor::Actor;
use crate::conversation::Conversation;
use crate::engine::OnAsk;
use crate::setup::Setup;
use crate::turn::compaction;
use crate::turn::{self, End, Progress, Turn};
use crate::turn_error;

/// What a turn is to do.
pub(super) enum Job {
    /// Answer a prompt: the message.
    Prompt { message: String },
    /// Sum up older messages.
    Compact,
}

/// A turn as it was asked for.
pub(super) struct Wanted {
    pub(super) turn: String,
    pub(super) agent: String,
    pub(super) model: Option<String>,
    pub(super) on_ask: OnAsk,
    pub(super) stop: CancellationToken,
    pub(super) job: Job,
}

/// Runs a turn to its end.
pub(super) async fn run(session: Arc<Inner>, wanted: Wanted) {
    let mut guard = Guard {
        session: Arc::clone(&session),
        turn: wanted.turn.clone(),
        ended: false,
    };
    let conversation = Arc::clone(&session.conversation);
    let lock = tokio::select! {
        biased;
        () = wanted.stop.cancelled() => None,
        lock = conversation.lock_owned() => Some(lock),
    };
    let Some(mut conversation) = lock else {
        let aborted = End::of(TurnOutcome::Aborted);
        end(&session, &without_work(&wanted.turn, aborted), false);
        guard.ended = true;
        return;
    };
    let setup = Arc::clone(&session.flow().setup);
    match prepare(&session, setup, &wanted).await {
        Ok(turn) => work(&session, &turn, &wanted.job, &mut conversation).await,
        Err(failed) => {
            end(&session, &without_work(&wanted.turn, failed), false);
        }
    }
    guard.ended = true;
}

async fn work(session: &Inner, turn: &Turn, job: &Job, conversation: &mut Conversation) {
    if let Job::Compact = job {
        let made = compaction::run(turn, conversation, compaction::Reason::Asked, None).await;
        let outcome = if turn.stop.is_cancelled() {
            TurnOutcome::Aborted
        } else {
            TurnOutcome::Done
        };
        let ended = turn.ended(made.map_or_else(End::from, |_| End::of(outcome)));
        // What was said meanwhile is answered now.
        if end(session, &ended, ended.outcome == TurnOutcome::Done) {
            return;
        }
    }
    loop {
        let ended = turn.ended(turn.work(conversation).await);
        let goes_on = matches!(ended.outcome, TurnOutcome::Done | TurnOutcome::Steps);
        if end(session, &ended, goes_on) {
            return;
        }
    }
}

/// Finds what the turn works with and tells its start.
async fn prepare(session: &Inner, setup: Arc<Setup>, wanted: &Wanted) -> Result<Turn, End> {
    let engine = &session.engine;
    let actor = Actor::of_session(&setup, Some(&wanted.agent))
        .map_err(|error| End::failed(turn_error::of_kind("no_agent", error.to_string())))?;
    let (named, chosen) = actor.model(&setup, &engine.journal, wanted.model.as_deref());
    let model = match named {
        Some(model) => model,
        None => engine.gateway.default_model().await.id,
    };
    if let Some(running) = &mut session.flow().running {
        running.model = Some(model.clone());
    }
    let (head, offer) = engine.surroundings(&setup, &actor, &session.id);
    let turn = Turn {
        engine: Arc::clone(engine),
        session: session.id.clone(),
        id: wanted.turn.clone(),
        permissions: session.permissions.with_rules(engine.rules(&actor.agent)),
        actor,
        setup,
        model,
        on_ask: wanted.on_ask,
        head,
        offer,
        stop: wanted.stop.clone(),
        progress: Mutex::new(Progress::default()),
    };
    turn.publish(EventBody::TurnStarted(TurnStarted {
        turn: turn.id.clone(),
        agent: turn.actor.agent.name.clone(),
        model: turn.model.clone(),
        chosen,
        message: match &wanted.job {
            Job::Prompt { message } => Some(message.clone()),
            Job::Compact => None,
        },
    }))?;
    Ok(turn)
}

fn without_work(turn: &str, end: End) -> TurnEnded {
    TurnEnded {
        turn: turn.to_owned(),
        outcome: end.outcome,
        steps: 0,
        usage: Usage::default(),
        error: end.error,
    }
}

/// Tells the end of a turn and lets the next one begin; not when `goes_on` and a message came in the last moment.
fn end(session: &Inner, ended: &TurnEnded, goes_on: bool) -> bool {
    // Held throughout, so that a prompt is either seen here or starts a turn of its own.
    let mut flow = session.flow();
    let journal = &session.engine.journal;
    let unread = journal.with(&session.id, turn::is_unread);
    if goes_on && unread == Some(true) {
        return false;
    }
    if let Err(error) = journal.publish(&session.id, EventBody::TurnEnded(ended.clone())) {
        tracing::error!(%error, "the end of a turn could not be stored");
        // Readers still have to learn it.
        journal.announce(&session.id, EventBody::TurnEnded(ended.clone()));
    }
    journal.sync_soon();
    if let Some(running) = flow.running.take() {
        running.ended.send_replace(Some(ended.clone()));
    }
    true
}

/// Frees the session when the task of a turn does not come to its end: by a fault of ours, or with the runtime.
struct Guard {
    session: Arc<Inner>,
    turn: String,
    ended: bool,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        if std::thread::panicking() {
            let error = turn_error::of_kind(
                "internal",
                "the turn ended by a fault of Beeuni's own; its log tells more",
            );
            end(&self.session, &without_work(&self.turn, End::failed(error)), false);
        } else {
            // The next opening of the session marks what was running.
            self.session.flow().running = None;
        }
    }
}
