//! Writes what OpenCode does into the transcript: its events in, our events out.
//!
//! Whatever comes is the whole state of a message or part, so that hearing it twice, or reading it from OpenCode's store
//! after events were missed, changes nothing.
mod call_form;
mod calls;
mod closing;
mod compaction;
mod messages;
mod outcome;
mod parts;
mod talk;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use beeuni_agent::StoreError;
use beeuni_agent::kit::{Journal, Models};
use beeuni_protocol::session::{Message, TurnError};

use crate::client::{Happening, Status, WholeMessage};
use crate::config::Written;
use crate::failure;

use calls::CallState;
pub(crate) use closing::Closing;
use compaction::Summary;
pub(crate) use talk::{Begun, Talk, TurnState};

/// Takes secrets out of a text.
pub(crate) type Redact = Arc<dyn Fn(String) -> String + Send + Sync>;

/// Writes OpenCode's events into the transcript.
pub(crate) struct Scribe {
    journal: Arc<Journal>,
    models: Models,
    redact: Redact,
    written: Written,
    /// OpenCode's id of the session itself.
    root: String,
    /// The session and its subagents, by OpenCode's ids.
    talks: HashMap<String, Talk>,
    /// The messages of the turn that runs.
    messages: HashMap<String, Noted>,
    /// Their parts.
    parts: HashMap<String, PartState>,
    /// Messages that are no part of the conversation.
    passed_over: HashSet<String>,
    /// Tools that the tool host runs: they begin when they are permitted.
    hosted: HashSet<String>,
    /// Calls that were permitted before their part was seen.
    permitted: HashSet<(String, String)>,
    /// Whether the turn was told to stop: what comes now is what it left.
    stopping: bool,
}

/// A message of the turn.
enum Noted {
    /// A person's, or the harness's; in the transcript.
    User,
    /// The same, before its first part says what it is.
    Unsaid { session: String, created: u64 },
    /// The mark of a compaction.
    Compaction {
        keep_from: Option<String>,
        reason: &'static str,
    },
    /// An answer of the model.
    Answer(Box<Answer>),
    /// The summary that a compaction makes.
    Summary(Box<Summary>),
}

/// An answer of the model.
struct Answer {
    /// OpenCode's session.
    session: String,
    /// As it was told last.
    message: Message,
    /// Whether OpenCode's step has come to its end.
    stepped: bool,
}

/// A part of an answer.
enum PartState {
    /// Text or reasoning with nothing in it yet.
    Empty { message: String, reasoning: bool },
    /// Text or reasoning that is being written.
    Open { message: String },
    /// In the transcript as it ended.
    Ended,
    /// A call.
    Call(Box<CallState>),
}

impl Scribe {
    pub(crate) fn new(journal: Arc<Journal>, models: Models, redact: Redact, written: Written, root: &str) -> Self {
        let mut scribe = Self {
            journal,
            models,
            redact,
            written,
            root: root.to_owned(),
            talks: HashMap::new(),
            messages: HashMap::new(),
            parts: HashMap::new(),
            passed_over: HashSet::new(),
            hosted: HashSet::new(),
            permitted: HashSet::new(),
            stopping: false,
        };
        scribe.know_sessions();
        scribe
    }

    /// Leaves a message out of the transcript.
    pub(crate) fn pass_over(&mut self, message: &str) {
        self.passed_over.insert(message.to_owned());
    }

    /// From here on calls that end were stopped.
    pub(crate) fn stopping(&mut self) {
        self.stopping = true;
    }

    /// Takes in what happened.
    pub(crate) fn take(&mut self, happening: &Happening) -> Result<(), StoreError> {
        match happening {
            Happening::Session(info) => self.session(info),
            Happening::Status { session, status } => self.status(session, status),
            Happening::Message(info) => self.message(info),
            Happening::Part(part) => self.part(part),
            Happening::Delta { part, text } => self.delta(part, text),
            Happening::Error {
                session: Some(session),
                error,
            } => {
                // It may come late, into the turn after the one that was stopped.
                if !failure::is_interruption(error) {
                    self.failed(session, failure::of_error(error));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Takes in messages as OpenCode has stored them, but for those before the turn.
    pub(crate) fn reconcile(&mut self, session: &str, messages: &[WholeMessage]) -> Result<(), StoreError> {
        let turn = self.turn(session);
        if turn.is_none() && session == self.root {
            return Ok(());
        }
        let first = turn.and_then(|turn| turn.prompt.clone());
        let start = first.and_then(|first| messages.iter().position(|message| message.info.id == first));
        // When the limit cut off the beginning of the turn all of them belong to it.
        for message in &messages[start.unwrap_or(0)..] {
            let is_known = self.messages.contains_key(&message.info.id);
            let is_told = self
                .journal
                .position_of(&self.id_of(session), &message.info.id)
                .is_some();
            if is_told && !is_known {
                continue;
            }
            let mut begun = message.info.clone();
            begun.time.completed = None;
            if !is_known {
                self.message(&begun)?;
            }
            for part in &message.parts {
                self.part(part)?;
            }
            self.message(&message.info)?;
        }
        Ok(())
    }

    fn failed(&mut self, session: &str, error: Option<TurnError>) {
        let Some(turn) = self.talks.get_mut(session).and_then(|talk| talk.turn.as_mut()) else {
            return;
        };
        match error {
            // The first says it best: the second repeats it with a stack.
            Some(error) => {
                turn.error.get_or_insert(error);
            }
            None => turn.aborted = true,
        }
    }

    fn status(&mut self, session: &str, status: &Status) -> Result<(), StoreError> {
        let Some(talk) = self.talks.get_mut(session) else {
            return Ok(());
        };
        talk.busy = *status != Status::Idle;
        if session != self.root && !talk.busy {
            self.end_child(session)?;
        }
        Ok(())
    }

    /// OpenCode's id of the session itself.
    pub(crate) fn root(&self) -> &str {
        &self.root
    }

    /// Our id of a session.
    pub(crate) fn id_of(&self, session: &str) -> String {
        self.talks
            .get(session)
            .map_or_else(|| session.to_owned(), |talk| talk.id.clone())
    }

    /// A session of the conversation.
    pub(crate) fn talk(&self, session: &str) -> Option<&Talk> {
        self.talks.get(session)
    }

    /// The turn that runs in a session.
    pub(crate) fn turn(&self, session: &str) -> Option<&TurnState> {
        self.talks.get(session)?.turn.as_ref()
    }

    fn root_turn(&self) -> Option<&TurnState> {
        self.turn(&self.root)
    }

    pub(super) fn root_turn_mut(&mut self) -> Option<&mut TurnState> {
        self.talks.get_mut(&self.root)?.turn.as_mut()
    }

    /// How often the model was asked, subagents' left out.
    pub(crate) fn root_steps(&self) -> u32 {
        self.root_turn().map_or(0, |turn| turn.steps)
    }

    /// What went wrong and is not told in a message.
    pub(crate) fn root_error(&self) -> Option<&TurnError> {
        self.root_turn()?.error.as_ref()
    }

    /// The message that the last answer answers.
    pub(crate) fn answered(&self) -> Option<String> {
        self.root_turn()?.answered.clone()
    }

    /// Whether a session went on though the turn was sealed.
    pub(crate) fn overran(&self) -> bool {
        self.talks
            .values()
            .any(|talk| talk.turn.as_ref().is_some_and(|turn| turn.overran))
    }

    /// Whether the turn has passed its limit.
    pub(crate) fn is_beyond_limit(&self) -> bool {
        self.root_turn().is_some_and(|turn| turn.beyond_limit)
    }

    /// OpenCode's ids of the sessions.
    pub(crate) fn sessions(&self) -> Vec<String> {
        self.talks.keys().cloned().collect()
    }

    /// Whether OpenCode works on the session itself.
    pub(crate) fn is_busy(&self) -> bool {
        self.talks.get(&self.root).is_some_and(|talk| talk.busy)
    }

    /// The sessions in which something is not finished.
    pub(crate) fn unfinished(&self) -> HashSet<String> {
        let answers = self.messages.values().filter_map(|noted| match noted {
            Noted::Answer(answer) if answer.message.time.completed.is_none() => Some(answer.session.clone()),
            _ => None,
        });
        let calls = self.parts.values().filter_map(|part| match part {
            PartState::Call(call) if !call.is_final() => Some(call.session.clone()),
            _ => None,
        });
        answers.chain(calls).collect()
    }

    /// How many messages the turn has had so far in a session.
    pub(crate) fn count(&self, session: &str) -> usize {
        let of = |noted: &&Noted| match noted {
            Noted::Answer(answer) => answer.session == session,
            Noted::Summary(summary) => summary.session == session,
            _ => true,
        };
        self.messages.values().filter(of).count()
    }

    fn clean(&self, text: &str) -> String {
        (self.redact)(text.to_owned())
    }
}
