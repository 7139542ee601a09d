//! `glob` and `grep`: files by their names and by their content.

pub(super) mod glob;
pub(super) mod grep;
mod matches;
mod names;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::context::ToolFailure;

/// When a search has to end before it is through.
#[derive(Clone)]
struct Until {
    stop: CancellationToken,
    deadline: Instant,
}

impl Until {
    fn new(stop: &CancellationToken, limit: Duration) -> Self {
        let now = Instant::now();
        Self {
            stop: stop.clone(),
            deadline: now.checked_add(limit).unwrap_or(now),
        }
    }

    fn is_over(&self) -> bool {
        self.stop.is_cancelled() || Instant::now() >= self.deadline
    }
}

/// More files than this are not looked at.
const MOST_FILES: usize = 500_000;

/// The files below `root` that are not ignored, and whether those are all. `sorted`: by their paths. `hidden`: with
/// those whose names begin with a dot, but never what is in `.git`.
fn files(root: &Path, hidden: bool, sorted: bool, until: &Until) -> Result<(Vec<PathBuf>, bool), ToolFailure> {
    let mut walk = ignore::WalkBuilder::new(root);
    walk.hidden(!hidden)
        // A checkout without git has its .gitignore too; what the user of this machine ignores is nothing to a project.
        .require_git(false)
        .git_global(false)
        .follow_links(false)
        .filter_entry(|entry| entry.file_name() != ".git");
    if sorted {
        walk.sort_by_file_path(Path::cmp);
    }
    let mut found = Vec::new();
    for entry in walk.build() {
        if until.stop.is_cancelled() {
            return Err(ToolFailure::stopped());
        }
        if found.len() >= MOST_FILES || until.is_over() {
            return Ok((found, false));
        }
        // What cannot be read is left out: a folder without permission must not end the search.
        let Ok(entry) = entry else { continue };
        if entry.file_type().is_some_and(|kind| !kind.is_dir()) {
            found.push(entry.into_path());
        }
    }
    Ok((found, true))
}
