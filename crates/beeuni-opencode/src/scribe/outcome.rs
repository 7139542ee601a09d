//! What a turn comes to: how it ended, what it used.
use beeuni_protocol::session::{Finish, TurnError, TurnOutcome, Usage};

use super::{Closing, Noted, Scribe};

impl Scribe {
    /// What the turn of a session used, subagents included.
    pub(crate) fn used(&self, session: &str) -> Usage {
        let mut usage = self.turn(session).map(|turn| turn.below).unwrap_or_default();
        let turn = self.turn(session).map(|turn| turn.id.clone()).unwrap_or_default();
        for noted in self.messages.values() {
            match noted {
                Noted::Answer(answer) if answer.session == session && answer.message.turn == turn => {
                    usage.add(&answer.message.usage.unwrap_or_default());
                }
                Noted::Summary(summary) if summary.session == session => usage.add(&summary.usage),
                _ => {}
            }
        }
        usage
    }

    /// How the turn of a session ended, as its last answer says.
    pub(crate) fn outcome(&self, session: &str) -> (TurnOutcome, Option<TurnError>) {
        let Some(turn) = self.turn(session) else {
            return (TurnOutcome::Done, None);
        };
        let last = turn.last.as_ref().and_then(|id| self.messages.get(id));
        let message = match last {
            Some(Noted::Answer(answer)) => Some(&answer.message),
            _ => None,
        };
        let error = turn
            .error
            .clone()
            .or_else(|| message.and_then(|message| message.error.clone()));
        match message.and_then(|message| message.finish) {
            _ if turn.beyond_limit => (TurnOutcome::Steps, None),
            Some(Finish::ContentFilter) => (TurnOutcome::ContentFilter, None),
            Some(Finish::Aborted) => (TurnOutcome::Aborted, None),
            _ if turn.aborted => (TurnOutcome::Aborted, None),
            Some(Finish::Interrupted) => (TurnOutcome::Interrupted, None),
            _ if error.is_some() => (TurnOutcome::Failed, error),
            Some(Finish::Length) => (TurnOutcome::Length, None),
            _ if turn.limit.is_some_and(|limit| turn.answers >= limit) => (TurnOutcome::Steps, None),
            Some(_) => (TurnOutcome::Done, None),
            None => {
                let closing = Closing::silent();
                (closing.outcome, closing.error)
            }
        }
    }
}
