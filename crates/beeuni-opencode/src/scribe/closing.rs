//! The end of a turn: what is not finished by then is marked.
use beeuni_agent::StoreError;
use beeuni_agent::kit::{STOPPED, STOPPED_BEFORE, now, turn_error};
use beeuni_protocol::session::{EventBody, Finish, ToolStatus, TurnError, TurnOutcome};

use super::{Noted, PartState, Scribe};

/// How a turn ends, and what becomes of what it leaves unfinished.
#[derive(Debug, Clone)]
pub(crate) struct Closing {
    /// How it ends.
    pub(crate) outcome: TurnOutcome,
    /// Why.
    pub(crate) error: Option<TurnError>,
    /// How unfinished answers end.
    finish: Finish,
    /// What the model reads about calls that had begun.
    begun: String,
    /// And about those that had not.
    not_begun: String,
}

impl Closing {
    /// A person stopped it, or it is blocked.
    pub(crate) fn stopped(outcome: TurnOutcome, error: Option<TurnError>) -> Self {
        Self {
            outcome,
            error,
            finish: Finish::Aborted,
            begun: STOPPED.to_owned(),
            not_begun: STOPPED_BEFORE.to_owned(),
        }
    }

    /// It failed; `what` says how OpenCode left, for calls.
    pub(crate) fn failed(error: TurnError, what: &str) -> Self {
        Self {
            outcome: TurnOutcome::Failed,
            error: Some(error),
            finish: Finish::Error,
            begun: format!(
                "interrupted: {what} while this call ran. It may have done all, some or none of its work. Check before \
                 you repeat it."
            ),
            not_begun: format!("interrupted: {what} before this call began. It was not run."),
        }
    }

    /// It came to its end.
    pub(crate) fn done(outcome: TurnOutcome, error: Option<TurnError>) -> Self {
        let finish = match outcome {
            TurnOutcome::Failed => Finish::Error,
            TurnOutcome::Aborted | TurnOutcome::Blocked => Finish::Aborted,
            _ => Finish::Other,
        };
        Self {
            finish,
            ..Self::stopped(outcome, error)
        }
    }

    /// Nothing came of it and nobody says why.
    pub(crate) fn silent() -> Self {
        let message = "OpenCode ended the turn without an answer and without a reason: its log tells more";
        Self::failed(turn_error("internal", message), "the turn ended")
    }
}

impl Scribe {
    /// Marks what is unfinished, ends the turns of subagents. The turn itself is left to whoever runs it.
    pub(crate) fn close(&mut self, closing: &Closing) -> Result<(), StoreError> {
        let open: Vec<String> = self
            .parts
            .iter()
            .filter(|(_, part)| matches!(part, PartState::Open { .. }))
            .map(|(id, _)| id.clone())
            .collect();
        for id in open {
            self.journal.end_part(&id, |_| {})?;
            self.parts.insert(id, PartState::Ended);
        }
        let mut calls: Vec<String> = self
            .parts
            .iter()
            .filter(|(_, part)| matches!(part, PartState::Call(call) if !call.is_final()))
            .map(|(id, _)| id.clone())
            .collect();
        calls.sort();
        for id in calls {
            self.change_call(&id, |call| {
                let begun = call.status == ToolStatus::Running;
                call.status = ToolStatus::Interrupted;
                call.error = Some(if begun { &closing.begun } else { &closing.not_begun }.clone());
                call.time.ended = Some(now());
            })?;
        }
        self.close_answers(closing)?;
        let mut children: Vec<String> = self
            .talks
            .iter()
            .filter(|(id, talk)| **id != self.root && talk.turn.is_some())
            .map(|(id, _)| id.clone())
            .collect();
        children.sort();
        for child in children {
            self.finish_child(&child, closing.outcome, closing.error.clone())?;
        }
        Ok(())
    }

    fn close_answers(&mut self, closing: &Closing) -> Result<(), StoreError> {
        let mut changed = Vec::new();
        for noted in self.messages.values_mut() {
            let Noted::Answer(answer) = noted else { continue };
            if answer.message.time.completed.is_some() {
                continue;
            }
            answer.message.time.completed = Some(now());
            answer.message.finish = Some(closing.finish);
            if closing.finish == Finish::Error {
                answer.message.error.clone_from(&closing.error);
            }
            changed.push((answer.session.clone(), answer.message.clone()));
        }
        changed.sort_by_key(|(_, message)| message.time.created);
        for (session, message) in changed {
            let id = self.id_of(&session);
            self.journal.publish(&id, EventBody::MessageUpdated { message })?;
        }
        Ok(())
    }
}
