//! What a journal holds in memory: the numbers, the transcripts, the last events, the parts being written.
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use beeuni_protocol::session::{
    Event, EventBody, Message, Part, Role, ToolStatus, TurnEnded, TurnOutcome, TurnStarted, Usage,
};

use super::found::Found;
use super::log::{Log, Place};
use super::ring::Ring;
use super::transcript::{Change, Transcript};
use crate::clock;

/// Event numbers begin anew at a multiple of this when a session is opened, so that one that a reader has seen
/// but the file has not (a delta) is never given twice.
const EPOCH: u64 = 1_000_000;

/// What a journal holds in memory.
#[derive(Debug)]
pub(super) struct State {
    pub(super) log: Log,
    pub(super) records: Vec<(u64, Place)>,
    pub(super) ring: Ring,
    /// Parts that are being written by a model, with the session they belong to.
    pub(super) open: Vec<(String, Part)>,
    pub(super) transcripts: HashMap<String, Transcript>,
    /// The number of the last event.
    pub(super) last: u64,
    last_stored: u64,
    pub(super) closed: bool,
}

impl State {
    /// The state after a log was opened.
    pub(super) fn new(log: Log, found: Found, ring_bytes: usize) -> Self {
        let last = match found.last {
            0 => 0,
            last => (last / EPOCH + 1) * EPOCH,
        };
        Self {
            log,
            records: found.records,
            ring: Ring::new(ring_bytes, last),
            open: Vec::new(),
            transcripts: found.transcripts,
            last,
            last_stored: last,
            closed: false,
        }
    }

    /// Gives an event its number, stores it and tells it.
    pub(super) fn store(&mut self, session: &str, body: EventBody) -> io::Result<()> {
        // Another process may have it by now.
        if self.closed {
            return Err(io::Error::other("the session was closed"));
        }
        let event = self.number(session, body);
        let place = self.log.add(&event)?;
        self.records.push((event.id, place));
        self.last = event.id;
        self.last_stored = event.id;
        if let EventBody::SessionCreated(created) = &event.body {
            let transcript = Transcript::new(created.clone(), event.time);
            self.transcripts.insert(session.to_owned(), transcript);
        } else if let Some(transcript) = self.transcripts.get_mut(session) {
            transcript.apply(event.time, Change::of(&event.body, place));
        }
        self.ring.push(Arc::new(event));
        Ok(())
    }

    /// The same without storing it.
    pub(super) fn announce(&mut self, session: &str, body: EventBody) {
        // The next epoch must lie above every number that was given out; a part's end brings its whole text.
        if self.last - self.last_stored >= EPOCH * 9 / 10 {
            return;
        }
        let event = self.number(session, body);
        self.last = event.id;
        self.ring.push(Arc::new(event));
    }

    fn number(&self, session: &str, body: EventBody) -> Event {
        Event {
            id: self.last + 1,
            session: session.to_owned(),
            time: clock::now(),
            body,
        }
    }

    /// Every unfinished tool call and message, and every turn, request and question that was left open.
    pub(super) fn unfinished(&self) -> Vec<Unfinished> {
        let of = |(session, transcript): (&String, &Transcript)| {
            let calls = transcript.messages.iter().flat_map(|entry| &entry.parts);
            let messages = transcript.messages.iter().map(|entry| &entry.message);
            Unfinished {
                session: session.clone(),
                calls: calls
                    .filter(|slot| matches!(slot.status, Some(ToolStatus::Pending | ToolStatus::Running)))
                    .map(|slot| slot.place)
                    .collect(),
                messages: messages
                    .filter(|message| message.time.completed.is_none())
                    .cloned()
                    .collect(),
                turn: transcript
                    .turn
                    .clone()
                    .filter(|_| transcript.running)
                    .map(|turn| of_turn(transcript, turn)),
                permissions: transcript.permissions.clone(),
                questions: transcript.questions.clone(),
            }
        };
        self.transcripts.iter().map(of).collect()
    }
}

/// What the end of a process left unfinished in one session.
#[derive(Debug)]
pub(super) struct Unfinished {
    pub(super) session: String,
    pub(super) calls: Vec<Place>,
    pub(super) messages: Vec<Message>,
    pub(super) turn: Option<TurnEnded>,
    pub(super) permissions: Vec<String>,
    pub(super) questions: Vec<String>,
}

/// The end of a turn that was cut off, with what its answers used.
fn of_turn(transcript: &Transcript, turn: TurnStarted) -> TurnEnded {
    let messages = transcript.messages.iter().map(|entry| &entry.message);
    let answers = messages.filter(|message| message.turn == turn.turn && message.role == Role::Assistant);
    let (mut usage, mut steps) = (Usage::default(), 0);
    for answer in answers {
        steps += 1;
        usage.add(&answer.usage.unwrap_or_default());
    }
    TurnEnded {
        turn: turn.turn,
        outcome: TurnOutcome::Interrupted,
        steps,
        usage,
        error: None,
    }
}
