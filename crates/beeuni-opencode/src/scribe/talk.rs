//! The sessions of a conversation: the one itself, and those of its subagents.
use std::collections::HashSet;

use beeuni_agent::StoreError;
use beeuni_agent::kit::{FORMAT, Kind, new_id};
use beeuni_protocol::session::{EventBody, SessionCreated, TurnEnded, TurnError, TurnOutcome, TurnStarted, Usage};

use super::{Noted, Scribe};
use crate::client::SessionInfo;

/// One session as OpenCode knows it.
#[derive(Debug)]
pub(crate) struct Talk {
    /// Our id: the daemon's session, or for a subagent OpenCode's.
    pub(crate) id: String,
    /// OpenCode's id of the session whose call made this one.
    pub(crate) parent: Option<String>,
    /// The agent.
    pub(crate) agent: String,
    /// The turn that runs.
    pub(crate) turn: Option<TurnState>,
    /// Whether OpenCode works on it.
    pub(crate) busy: bool,
}

/// A turn that runs.
#[derive(Debug, Default)]
pub(crate) struct TurnState {
    /// Its id.
    pub(crate) id: String,
    /// The message that started it.
    pub(crate) prompt: Option<String>,
    /// The model.
    pub(crate) model: String,
    /// How often the model was asked.
    pub(crate) steps: u32,
    /// How often it was asked since a person last said something.
    pub(crate) answers: u32,
    /// How many answers there may be for one prompt: one more ends the turn.
    pub(crate) limit: Option<u32>,
    /// What subagents used.
    pub(crate) below: Usage,
    /// The last answer.
    pub(crate) last: Option<String>,
    /// The message that it answers.
    pub(crate) answered: Option<String>,
    /// What went wrong, not yet told in a message.
    pub(crate) error: Option<TurnError>,
    /// Whether somebody else stopped it.
    pub(crate) aborted: bool,
    /// Whether it takes no further answers.
    pub(crate) sealed: bool,
    /// Whether an answer came though it was sealed.
    pub(crate) overran: bool,
    /// Whether the limit was passed.
    pub(crate) beyond_limit: bool,
}

/// A turn of the session itself that begins.
#[derive(Debug)]
pub(crate) struct Begun<'a> {
    pub(crate) turn: &'a str,
    pub(crate) prompt: &'a str,
    pub(crate) agent: &'a str,
    pub(crate) model: &'a str,
    pub(crate) limit: u32,
}

impl Scribe {
    /// Makes the sessions known that the transcript has.
    pub(super) fn know_sessions(&mut self) {
        let ours = self.journal.root().to_owned();
        for id in self.journal.sessions() {
            let created = self.journal.with(&id, |transcript| transcript.created.clone());
            let Some(created) = created else { continue };
            let is_root = id == ours;
            // A subagent's subagent has its parent by OpenCode's id already.
            let parent = created
                .parent
                .map(|parent| if parent == ours { self.root.clone() } else { parent });
            let key = if is_root { self.root.clone() } else { id.clone() };
            self.talks.insert(
                key,
                Talk {
                    id,
                    parent,
                    agent: created.agent,
                    turn: None,
                    busy: false,
                },
            );
        }
    }

    /// A turn of the session itself begins; `hosted` are the tools that the tool host runs.
    pub(crate) fn begin(&mut self, begun: &Begun<'_>, hosted: HashSet<String>) {
        self.hosted = hosted;
        self.messages.clear();
        self.parts.clear();
        self.permitted.clear();
        self.stopping = false;
        for talk in self.talks.values_mut() {
            (talk.turn, talk.busy) = (None, false);
        }
        self.messages.insert(begun.prompt.to_owned(), Noted::User);
        if let Some(talk) = self.talks.get_mut(&self.root) {
            begun.agent.clone_into(&mut talk.agent);
            talk.turn = Some(TurnState {
                id: begun.turn.to_owned(),
                prompt: Some(begun.prompt.to_owned()),
                model: begun.model.to_owned(),
                limit: Some(begun.limit),
                ..TurnState::default()
            });
        }
    }

    /// The turn is over; gives the messages that OpenCode has of it.
    pub(crate) fn end(&mut self) -> Vec<String> {
        for talk in self.talks.values_mut() {
            talk.turn = None;
        }
        self.parts.clear();
        self.messages.drain().map(|(id, _)| id).collect()
    }

    /// From here on no answer begins.
    pub(crate) fn seal(&mut self) {
        for turn in self.talks.values_mut().filter_map(|talk| talk.turn.as_mut()) {
            turn.sealed = true;
        }
    }

    /// What went wrong in a session's turn.
    pub(crate) fn fail(&mut self, session: &str, error: &TurnError) {
        if let Some(turn) = self.talks.get_mut(session).and_then(|talk| talk.turn.as_mut()) {
            turn.error.get_or_insert_with(|| error.clone());
        }
    }

    /// A person said something to the turn that runs.
    pub(crate) fn steered(&mut self, message: &str) {
        self.messages.insert(message.to_owned(), Noted::User);
        if let Some(turn) = self.root_turn_mut() {
            // Who says something has the whole limit for it.
            turn.answers = 0;
        }
    }

    /// A session was made: if one of ours made it, it is a subagent's.
    pub(super) fn session(&mut self, info: &SessionInfo) -> Result<(), StoreError> {
        let Some(parent) = info.parent.as_ref().filter(|_| !self.talks.contains_key(&info.id)) else {
            return Ok(());
        };
        let Some(above) = self.talks.get(parent) else {
            return Ok(());
        };
        let above = above.id.clone();
        let agent = info.agent.clone().unwrap_or_default();
        let environment = self
            .journal
            .with(&above, |transcript| transcript.created.environment.clone());
        let created = EventBody::SessionCreated(SessionCreated {
            format: FORMAT,
            parent: Some(above),
            agent: agent.clone(),
            environment: environment.unwrap_or_default(),
        });
        let mut events = vec![created];
        // OpenCode adds `(@agent subagent)` to what the model calls the task.
        let title = info
            .title
            .rsplit_once(" (@")
            .map_or(info.title.as_str(), |(title, _)| title);
        if !title.is_empty() {
            let title = self.clean(title);
            events.push(EventBody::SessionTitled { title });
        }
        self.journal.publish_all(&info.id, events)?;
        self.talks.insert(
            info.id.clone(),
            Talk {
                id: info.id.clone(),
                parent: Some(parent.clone()),
                agent,
                turn: None,
                busy: false,
            },
        );
        Ok(())
    }

    /// A subagent's turn begins with this message.
    pub(super) fn begin_child(&mut self, session: &str, prompt: &str) -> Option<TurnStarted> {
        let model = self.turn(&self.root)?.model.clone();
        let talk = self.talks.get_mut(session)?;
        let turn = TurnState {
            id: new_id(Kind::Turn),
            prompt: Some(prompt.to_owned()),
            model: model.clone(),
            ..TurnState::default()
        };
        let started = TurnStarted {
            turn: turn.id.clone(),
            agent: talk.agent.clone(),
            model,
            chosen: false,
            message: Some(prompt.to_owned()),
        };
        talk.turn = Some(turn);
        Some(started)
    }

    /// A subagent is done.
    pub(super) fn end_child(&mut self, session: &str) -> Result<(), StoreError> {
        let unfinished = self.unfinished().contains(session);
        let has_turn = self
            .turn(session)
            .is_some_and(|turn| turn.steps > 0 || turn.error.is_some());
        // What was stopped ends when all of it has come to its end, at the latest with the turn above it.
        if unfinished || !has_turn {
            return Ok(());
        }
        let (outcome, error) = self.outcome(session);
        self.finish_child(session, outcome, error)
    }

    pub(super) fn finish_child(
        &mut self,
        session: &str,
        outcome: TurnOutcome,
        error: Option<TurnError>,
    ) -> Result<(), StoreError> {
        let usage = self.used(session);
        let Some(talk) = self.talks.get_mut(session) else {
            return Ok(());
        };
        let Some(turn) = talk.turn.take() else { return Ok(()) };
        let (id, parent) = (talk.id.clone(), talk.parent.clone());
        if let Some(above) = parent.and_then(|parent| self.talks.get_mut(&parent)?.turn.as_mut()) {
            above.below.add(&usage);
        }
        let ended = TurnEnded {
            turn: turn.id,
            outcome,
            steps: turn.steps,
            usage,
            error,
        };
        self.journal.publish(&id, EventBody::TurnEnded(ended))
    }
}
