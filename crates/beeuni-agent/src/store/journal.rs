//! The one place where events get their number, are stored, change the transcripts and reach readers.
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use beeuni_protocol::session::{Delta, DeltaField, EventBody, Message, Part, PartBody, SessionCreated};
use serde::Deserialize;
use tokio::sync::watch;

use super::found::Found;
use super::log::{Log, LogError, LogReader, Place};
use super::state::State;
use super::transcript::Transcript;
use super::{StoreError, recover};
use crate::ids;

/// The form of the log that this version writes.
pub const FORMAT: u32 = 1;

/// The events of a session and its subagents. All methods are short: none waits for the disk.
#[derive(Debug)]
pub struct Journal {
    state: Mutex<State>,
    root: String,
    path: PathBuf,
    reader: LogReader,
    /// The number of the last event; readers wait for it to change.
    latest: watch::Sender<u64>,
}

impl Journal {
    /// Opens the journal of session `root` in `folder`, or begins one with `created`. What was unfinished when the
    /// process before ended is marked interrupted. Must be called in a Tokio runtime.
    ///
    /// # Errors
    /// The folder or file cannot be used, another process has it open, or it is not this session's.
    pub fn open(
        folder: &Path,
        root: &str,
        ring_bytes: usize,
        created: impl FnOnce() -> SessionCreated,
    ) -> Result<Self, StoreError> {
        let path = folder.join(super::FILE);
        let open = |source| StoreError::Open {
            path: path.clone(),
            source,
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(open)?;
        let mut found = Found::default();
        let log = Log::open(&path, |json, place| found.take(json, place, &path)).map_err(|error| match error {
            LogError::InUse => StoreError::InUse { path: path.clone() },
            LogError::Io(source) => open(source),
        })?;
        let unusable = |reason: String| StoreError::Unusable {
            path: path.clone(),
            reason,
        };
        let begun = found.transcripts.get(root).map(|transcript| transcript.created.format);
        match begun {
            Some(FORMAT) => {}
            Some(other) => return Err(unusable(format!("it has form {other}, this version reads {FORMAT}"))),
            None if found.records.is_empty() => {}
            None => return Err(unusable(format!("it holds no session {root}"))),
        }
        let reader = log.reader();
        let state = State::new(log, found, ring_bytes);
        let journal = Self {
            reader,
            root: root.to_owned(),
            path,
            latest: watch::Sender::new(state.last),
            state: Mutex::new(state),
        };
        if begun.is_none() {
            journal.publish(root, EventBody::SessionCreated(created()))?;
        }
        recover::mark_interrupted(&journal)?;
        Ok(journal)
    }

    /// Stores an event of `session` and tells it to readers.
    ///
    /// # Errors
    /// It could not be written.
    pub fn publish(&self, session: &str, body: EventBody) -> Result<(), StoreError> {
        self.publish_all(session, [body])
    }

    /// The same for several that belong together: no reader sees one of them without having the others.
    ///
    /// # Errors
    /// One of them could not be written.
    pub fn publish_all(&self, session: &str, bodies: impl IntoIterator<Item = EventBody>) -> Result<(), StoreError> {
        let mut state = self.lock();
        let stored = bodies.into_iter().try_for_each(|body| state.store(session, body));
        self.latest.send_replace(state.last);
        drop(state);
        stored.map_err(|source| self.write_error(source))
    }

    /// Tells an event to readers without storing it.
    pub fn announce(&self, session: &str, body: EventBody) {
        let mut state = self.lock();
        state.announce(session, body);
        self.latest.send_replace(state.last);
    }

    /// Begins a part that a model writes. It is stored when it ends.
    pub(crate) fn begin_part(&self, session: &str, message: &str, body: PartBody) -> String {
        let part = Part {
            id: ids::new(ids::Kind::Part),
            message: message.to_owned(),
            body,
        };
        let id = part.id.clone();
        self.begin(session, part);
        id
    }

    /// The same with a part that has its id already: one greater than those of the message's parts before it.
    pub fn begin(&self, session: &str, part: Part) {
        let mut state = self.lock();
        state.open.push((session.to_owned(), part.clone()));
        state.announce(session, EventBody::PartUpdated { part });
        self.latest.send_replace(state.last);
    }

    /// Adds text to a part that was begun.
    pub fn add(&self, part: &str, field: DeltaField, text: &str) {
        let mut state = self.lock();
        let Some((session, open)) = state.open.iter_mut().find(|(_, open)| open.id == part) else {
            return;
        };
        match (&mut open.body, field) {
            (PartBody::Text(body), DeltaField::Text) => body.text.push_str(text),
            (PartBody::Reasoning(body), DeltaField::Text) => body.text.push_str(text),
            (PartBody::Tool(call), DeltaField::Arguments) => call.arguments.push_str(text),
            _ => return,
        }
        let session = session.clone();
        let delta = Delta {
            message: open.message.clone(),
            part: part.to_owned(),
            field,
            text: text.to_owned(),
        };
        state.announce(&session, EventBody::PartDelta(delta));
        self.latest.send_replace(state.last);
    }

    /// Ends a part that was begun: `finish` may change it, then it is stored. Gives the part back; `None` when no such
    /// part is being written.
    ///
    /// # Errors
    /// It could not be written.
    pub fn end_part(&self, part: &str, finish: impl FnOnce(&mut PartBody)) -> Result<Option<Part>, StoreError> {
        let mut state = self.lock();
        let Some(at) = state.open.iter().position(|(_, open)| open.id == part) else {
            return Ok(None);
        };
        let (session, mut part) = state.open.remove(at);
        finish(&mut part.body);
        let stored = state.store(&session, EventBody::PartUpdated { part: part.clone() });
        state.log.sync_soon();
        self.latest.send_replace(state.last);
        drop(state);
        stored.map_err(|source| self.write_error(source))?;
        Ok(Some(part))
    }

    /// Drops the parts of a message that never ended, as when nothing of them is worth keeping.
    pub fn drop_parts(&self, message: &str) {
        self.lock().open.retain(|(_, open)| open.message != message);
    }

    /// Reads something off the transcript of a session.
    pub fn with<T>(&self, session: &str, read: impl FnOnce(&Transcript) -> T) -> Option<T> {
        self.lock().transcripts.get(session).map(read)
    }

    /// The sessions in this journal, in no order.
    pub fn sessions(&self) -> Vec<String> {
        self.lock().transcripts.keys().cloned().collect()
    }

    /// The messages `range` of a session (from 0, oldest first) with all their parts, unfinished ones as they are now. A
    /// range may go beyond the end.
    ///
    /// # Errors
    /// The file could not be read.
    pub fn messages(&self, session: &str, range: std::ops::Range<usize>) -> Result<Vec<Message>, StoreError> {
        let state = self.lock();
        let Some(transcript) = state.transcripts.get(session) else {
            return Ok(Vec::new());
        };
        let range = range.start.min(transcript.messages.len())..range.end.min(transcript.messages.len());
        let found: Vec<(Message, Vec<Place>, Vec<Part>)> = transcript.messages[range]
            .iter()
            .map(|entry| {
                let open = state.open.iter().filter(|(_, part)| part.message == entry.message.id);
                (
                    entry.message.clone(),
                    entry.parts.iter().map(|slot| slot.place).collect(),
                    open.map(|(_, part)| part.clone()).collect(),
                )
            })
            .collect();
        drop(state);
        let read = |(mut message, places, open): (Message, Vec<Place>, Vec<Part>)| {
            message.parts = places
                .into_iter()
                .map(|place| self.part(place))
                .collect::<Result<_, _>>()?;
            message.parts.extend(open);
            message.parts.sort_by(|a, b| a.id.cmp(&b.id));
            Ok(message)
        };
        found.into_iter().map(read).collect()
    }

    /// The part that is stored at `place`.
    pub(crate) fn part(&self, place: Place) -> Result<Part, StoreError> {
        #[derive(Deserialize)]
        struct Stored {
            data: Data,
        }
        #[derive(Deserialize)]
        struct Data {
            part: Part,
        }
        let json = self.read(place)?;
        let stored: Stored = serde_json::from_slice(&json).map_err(|error| self.read_error(error.into()))?;
        Ok(stored.data.part)
    }

    pub(super) fn read(&self, place: Place) -> Result<Vec<u8>, StoreError> {
        self.reader.read(place).map_err(|source| self.read_error(source))
    }

    fn write_error(&self, source: io::Error) -> StoreError {
        StoreError::Write {
            path: self.path.clone(),
            source,
        }
    }

    pub(super) fn read_error(&self, source: io::Error) -> StoreError {
        StoreError::Read {
            path: self.path.clone(),
            source,
        }
    }

    /// The session that this is the journal of.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// The number of the last event.
    pub fn last(&self) -> u64 {
        self.lock().last
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.latest.subscribe()
    }

    /// Makes what was stored durable, in the background.
    pub fn sync_soon(&self) {
        self.lock().log.sync_soon();
    }

    /// Waits until everything that was stored is durable.
    pub async fn synced(&self) {
        let syncer = self.lock().log.syncer();
        syncer.wait().await;
    }

    /// Ends the streams of readers once they have read what there is, and lets another process open the session. Nothing
    /// can be written from here on.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.log.release();
        self.latest.send_replace(state.last);
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
