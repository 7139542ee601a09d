//! One reader of a session's events: from memory while it keeps up, from the file when it does not.
use std::collections::VecDeque;
use std::sync::Arc;

use beeuni_protocol::session::{Event, EventBody};
use tokio::sync::watch;

use super::StoreError;
use super::journal::Journal;
use crate::clock;

/// How many events are taken at once.
const BATCH: usize = 64;

/// The events of a session, in order, with those of its subagents. It never slows the session down: a reader that
/// stays behind the memory gets `resync`, then the stored events that it missed, then the present state of
/// unfinished parts.
#[derive(Debug)]
pub struct EventStream {
    journal: Arc<Journal>,
    latest: watch::Receiver<u64>,
    ready: VecDeque<Arc<Event>>,
    /// The last event that was taken from the journal.
    at: u64,
    stored: Option<Stored>,
}

/// What is still to be read from the file, and what follows it.
#[derive(Debug)]
struct Stored {
    next: usize,
    end: usize,
    then: Vec<Arc<Event>>,
    last: u64,
}

impl EventStream {
    /// The events after number `after`; with `None` those from now on.
    #[must_use]
    pub fn new(journal: &Arc<Journal>, after: Option<u64>) -> Self {
        let latest = journal.subscribe();
        let last = journal.last();
        let mut stream = Self {
            journal: Arc::clone(journal),
            latest,
            ready: VecDeque::new(),
            at: after.unwrap_or(last).min(last),
            stored: None,
        };
        // A number that was never given: of another session, or of a transcript that is gone.
        if after.is_some_and(|after| after > last) {
            stream.at = 0;
            stream.resync();
        }
        stream
    }

    /// The next event; `None` when the session was closed and everything was read. Cancel-safe.
    ///
    /// # Errors
    /// The transcript could not be read; the stream is at its end then.
    pub async fn next(&mut self) -> Result<Option<Arc<Event>>, StoreError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            self.latest.mark_unchanged();
            let closed = self.fill()?;
            if self.ready.is_empty() && self.stored.is_none() {
                if closed {
                    return Ok(None);
                }
                // The sender lives in the journal that this stream holds.
                let _ = self.latest.changed().await;
            }
        }
    }

    /// The next event if there is one already.
    ///
    /// # Errors
    /// The transcript could not be read.
    pub fn try_next(&mut self) -> Result<Option<Arc<Event>>, StoreError> {
        if self.ready.is_empty() {
            self.fill()?;
            while self.ready.is_empty() && self.stored.is_some() {
                self.fill()?;
            }
        }
        Ok(self.ready.pop_front())
    }

    /// Takes what there is; says whether the session is closed.
    fn fill(&mut self) -> Result<bool, StoreError> {
        if self.stored.is_some() {
            return self.fill_from_file().map(|()| false);
        }
        let state = self.journal.lock();
        match state.ring.after(self.at, BATCH) {
            Some(events) => {
                let closed = state.closed;
                drop(state);
                if let Some(last) = events.last() {
                    self.at = last.id;
                }
                self.ready.extend(events);
                Ok(closed)
            }
            None => {
                drop(state);
                self.resync();
                Ok(false)
            }
        }
    }

    /// Turns to the file for everything after `at`.
    fn resync(&mut self) {
        let state = self.journal.lock();
        let event = |session: &str, id, body| {
            Arc::new(Event {
                id,
                session: session.to_owned(),
                time: clock::now(),
                body,
            })
        };
        let open = state.open.iter().map(|(session, part)| {
            let body = EventBody::PartUpdated { part: part.clone() };
            event(session, state.last, body)
        });
        let next = state.records.partition_point(|(id, _)| *id <= self.at);
        self.stored = Some(Stored {
            next,
            end: state.records.len(),
            then: open.collect(),
            last: state.last,
        });
        // Who has seen nothing yet has nothing to throw away.
        if self.at > 0 {
            self.ready
                .push_back(event(self.journal.root(), self.at, EventBody::Resync {}));
        }
    }

    fn fill_from_file(&mut self) -> Result<(), StoreError> {
        let Some(stored) = &mut self.stored else { return Ok(()) };
        let until = stored.end.min(stored.next + BATCH);
        let places: Vec<_> = self.journal.lock().records[stored.next..until].to_vec();
        for (_, place) in places {
            let json = self.journal.read(place)?;
            let event: Event = serde_json::from_slice(&json).map_err(|error| self.journal.read_error(error.into()))?;
            self.ready.push_back(Arc::new(event));
        }
        stored.next = until;
        if until == stored.end {
            self.at = stored.last;
            self.ready.extend(stored.then.drain(..));
            self.stored = None;
        }
        Ok(())
    }
}
