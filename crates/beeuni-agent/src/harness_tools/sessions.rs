//! What the tools remember of each session: its todos, what it has read, its background jobs.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::bash::Jobs;
use super::todowrite::Todo;

/// Everything that is kept per session.
#[derive(Default)]
pub(super) struct Sessions {
    all: Mutex<HashMap<String, Session>>,
}

#[derive(Default)]
struct Session {
    todos: Vec<Todo>,
    seen: HashMap<PathBuf, Stamp>,
    jobs: Arc<Jobs>,
}

/// What a file was like when the session last saw its content: whether it is still the same is told from this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    modified: (i64, i64),
    length: u64,
    inode: u64,
}

impl Stamp {
    pub(super) fn of(metadata: &std::fs::Metadata) -> Self {
        Self {
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            length: metadata.len(),
            inode: metadata.ino(),
        }
    }
}

impl Sessions {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn todos(&self, session: &str) -> Vec<Todo> {
        self.all()
            .get(session)
            .map(|session| session.todos.clone())
            .unwrap_or_default()
    }

    pub(super) fn set_todos(&self, session: &str, todos: Vec<Todo>) {
        self.all().entry(session.to_owned()).or_default().todos = todos;
    }

    /// The session has seen the content of the file at `path`, which was like `stamp`.
    pub(super) fn saw(&self, session: &str, path: &Path, stamp: Stamp) {
        let mut all = self.all();
        all.entry(session.to_owned())
            .or_default()
            .seen
            .insert(path.to_owned(), stamp);
    }

    /// What the file was like when the session last saw it.
    pub(super) fn seen(&self, session: &str, path: &Path) -> Option<Stamp> {
        self.all().get(session)?.seen.get(path).copied()
    }

    pub(super) fn jobs(&self, session: &str) -> Arc<Jobs> {
        Arc::clone(&self.all().entry(session.to_owned()).or_default().jobs)
    }

    /// Forgets a session; its jobs are for the caller to end.
    pub(super) fn remove(&self, session: &str) -> Option<Arc<Jobs>> {
        self.all().remove(session).map(|session| session.jobs)
    }

    pub(super) fn all_jobs(&self) -> Vec<Arc<Jobs>> {
        self.all().values().map(|session| Arc::clone(&session.jobs)).collect()
    }
}
