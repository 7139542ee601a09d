//! What a log holds when it is opened.
use std::collections::HashMap;
use std::path::Path;

use beeuni_protocol::session::SessionCreated;

use super::log::Place;
use super::transcript::{Change, Record, Transcript};
use crate::ids;

/// What a scan of the log found.
#[derive(Default)]
pub(super) struct Found {
    pub(super) transcripts: HashMap<String, Transcript>,
    pub(super) records: Vec<(u64, Place)>,
    /// The greatest number of an event.
    pub(super) last: u64,
}

impl Found {
    /// Takes in a record.
    pub(super) fn take(&mut self, json: &[u8], place: Place, path: &Path) {
        if let Err(error) = self.record(json, place) {
            // The checksum was right, so this is a form of another version: what it says is not needed to go on.
            tracing::warn!(file = %path.display(), %error, "a record could not be understood");
        }
    }

    fn record(&mut self, json: &[u8], place: Place) -> serde_json::Result<()> {
        let record: Record<'_> = serde_json::from_slice(json)?;
        self.records.push((record.id, place));
        self.last = self.last.max(record.id);
        if record.kind == "session.created" {
            let created: SessionCreated = serde_json::from_str(record.data.get())?;
            let transcript = Transcript::new(created, record.time);
            self.transcripts.insert(record.session.to_owned(), transcript);
        } else if let Some(transcript) = self.transcripts.get_mut(record.session) {
            transcript.apply(record.time, Change::read(&record, place)?);
            if let Some(entry) = transcript.messages.last() {
                ids::observe(&entry.message.id);
                if let Some(slot) = entry.parts.last() {
                    ids::observe(&slot.id);
                }
            }
        }
        Ok(())
    }
}
