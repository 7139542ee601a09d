//! The transcript: every event of a session in one file as it happens, and what the file adds up to.
//!
//! `<state>/sessions/<id>/log.jsonl` holds the stored events of a session and of its subagents, one per line with
//! a checksum. A line is in the hands of the operating system before anything is built on it, so the end of this
//! process at any moment loses nothing; the disk has it a moment later, at the ends of parts and turns. SQLite was
//! the alternative: it brings a C library and a page cache for what is a list that only grows.
mod found;
mod journal;
mod log;
mod recover;
mod ring;
mod state;
mod stream;
mod sync;
mod transcript;

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use beeuni_protocol::session::Event;

pub use journal::{FORMAT, Journal};
pub(crate) use log::Place;
pub use stream::EventStream;
pub use transcript::{Entry, Transcript};

/// The file of a session in its folder.
pub(crate) const FILE: &str = "log.jsonl";

/// Gives the first events of a log to `each`, until it says that it has enough. Needs no lock: a session may be
/// writing behind them.
pub(crate) fn first_events(file: &File, mut each: impl FnMut(Event) -> bool) {
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    loop {
        line.clear();
        if !matches!(reader.read_until(b'\n', &mut line), Ok(1..)) {
            return;
        }
        let event = log::whole(&line).and_then(|json| serde_json::from_slice(json).ok());
        if event.is_some_and(|event| !each(event)) {
            return;
        }
    }
}

/// The transcript could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder or file could not be made or opened.
    #[error("cannot open the transcript {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Another process runs this session.
    #[error("the transcript {} is in use by another process: end that one first", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The file is no transcript of this session, or of a later form.
    #[error("the transcript {} cannot be used: {reason}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// An event could not be stored.
    #[error("cannot write the transcript {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A stored event could not be read.
    #[error("cannot read the transcript {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}
