//! The sessions that a state folder holds, for those who choose one to go on with.
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use beeuni_protocol::session::{EventBody, SessionCreated};

use crate::store;

/// A session on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSession {
    /// Its id.
    pub id: String,
    /// A short title, made from its first prompt; none when it had none.
    pub title: Option<String>,
    /// The agent that it began with.
    pub agent: String,
    /// When it was made, in milliseconds since 1970.
    pub created: u64,
    /// When something last happened in it.
    pub updated: u64,
}

/// The sessions below a state folder, the last used first. Only the beginning of each is read; what is no session is
/// passed over. Sessions may be open meanwhile.
///
/// # Errors
/// The folder is there and cannot be listed.
pub fn stored_sessions(state: &Path) -> io::Result<Vec<StoredSession>> {
    let entries = match std::fs::read_dir(state.join("sessions")) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut sessions: Vec<StoredSession> = entries.filter_map(|entry| read(&entry.ok()?)).collect();
    sessions.sort_by(|a, b| b.updated.cmp(&a.updated).then_with(|| a.id.cmp(&b.id)));
    Ok(sessions)
}

fn read(entry: &std::fs::DirEntry) -> Option<StoredSession> {
    let id = entry.file_name().into_string().ok()?;
    let file = File::open(entry.path().join(store::FILE)).ok()?;
    let modified = file.metadata().ok()?.modified().ok()?;
    let mut created: Option<(SessionCreated, u64)> = None;
    let mut title = None;
    store::first_events(&file, |event| {
        match event.body {
            EventBody::SessionCreated(begun) if event.session == id => created = Some((begun, event.time)),
            EventBody::SessionTitled { title: given } if event.session == id => title = Some(given),
            // The title comes with the first prompt: behind that there is none.
            EventBody::TurnStarted(_) => return false,
            _ => {}
        }
        title.is_none()
    });
    let (begun, at) = created?;
    let updated = modified.duration_since(UNIX_EPOCH).ok()?.as_millis();
    Some(StoredSession {
        title,
        agent: begun.agent,
        created: at,
        updated: u64::try_from(updated).ok()?,
        id,
    })
}
