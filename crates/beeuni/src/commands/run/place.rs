//! Where the sessions of a checkout are kept, and which of them goes on.
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::dirs;
use crate::failure::Failure;

/// The session that a prompt goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Continue {
    /// A new one.
    New,
    /// The one that was used last.
    Last,
    /// The one whose id begins so.
    Id(String),
}

/// The state folder of the checkout at `root`, made when it is missing: `named`, else a folder of the user's
/// own. Never one inside the checkout: what agents are told and what they answer is nobody's source.
pub(super) fn state(named: Option<&Path>, root: &Path) -> Result<PathBuf, Failure> {
    let folder = match named {
        Some(named) => std::path::absolute(named)
            .map_err(|error| Failure::usage(format!("cannot use {}", named.display())).caused_by(&error))?,
        None => {
            let state = dirs::state().ok_or_else(|| {
                Failure::user("there is no home folder to keep the session in").hint("name a folder with --state")
            })?;
            state.join("projects").join(folder_name(root))
        }
    };
    dirs::make_private(&folder).map_err(|error| {
        Failure::user(format!("cannot keep the session in {}", folder.display()))
            .caused_by(&error)
            .hint("name another folder with --state")
    })?;
    if named.is_none() {
        // For people who look around there. The session does not depend on it.
        let _ = fs::write(folder.join("checkout"), format!("{}\n", root.display()));
    }
    Ok(folder)
}

/// A name for the checkout that says which it is and that no other checkout has.
fn folder_name(root: &Path) -> String {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    let good = |c: char| {
        if c.is_ascii_alphanumeric() || "._-".contains(c) {
            c
        } else {
            '-'
        }
    };
    let name: String = name.chars().map(good).take(40).collect();
    format!("{name}-{:016x}", fnv(root.as_os_str().as_encoded_bytes()))
}

/// FNV-1a. The standard library's hash may differ in its next version, and sessions would be lost.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The id of the session that goes on; `None` for a new one.
pub(super) fn session(state: &Path, wanted: &Continue) -> Result<Option<String>, Failure> {
    let sessions = || {
        list(&state.join("sessions")).map_err(|error| {
            Failure::user(format!("cannot read the sessions in {}", state.display())).caused_by(&error)
        })
    };
    match wanted {
        Continue::New => Ok(None),
        Continue::Last => match sessions()?.into_iter().max_by_key(|(_, used)| *used) {
            Some((id, _)) => Ok(Some(id)),
            None => Err(Failure::usage("this checkout has no session to continue")
                .hint("leave out --continue: the first run makes one")),
        },
        Continue::Id(start) => {
            let all = sessions()?;
            if all.iter().any(|(id, _)| id == start) {
                return Ok(Some(start.clone()));
            }
            let mut found = all
                .into_iter()
                .map(|(id, _)| id)
                .filter(|id| id.starts_with(start.as_str()));
            match (found.next(), found.next()) {
                (Some(id), None) => Ok(Some(id)),
                (Some(first), Some(second)) => Err(Failure::usage(format!(
                    "several sessions begin with {start}: {first}, {second}"
                ))
                .hint("give more of the id")),
                (None, _) => Err(Failure::usage(format!("this checkout has no session {start}")).hint(
                    "`--continue` alone continues the last one: write a prompt before it, or in quotes behind it",
                )),
            }
        }
    }
}

/// The sessions with the time of their last event.
fn list(folder: &Path) -> io::Result<Vec<(String, SystemTime)>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut sessions = Vec::new();
    for entry in entries {
        let entry = entry?;
        // A folder without a transcript is no session.
        let Ok(log) = fs::metadata(entry.path().join("log.jsonl")) else {
            continue;
        };
        if let Ok(id) = entry.file_name().into_string() {
            sessions.push((id, log.modified()?));
        }
    }
    Ok(sessions)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use std::time::Duration;

    use super::*;

    fn sessions(ids: &[&str]) -> tempfile::TempDir {
        let state = tempfile::tempdir().unwrap();
        for (age, id) in ids.iter().enumerate() {
            let folder = state.path().join("sessions").join(id);
            fs::create_dir_all(&folder).unwrap();
            let log = fs::File::create(folder.join("log.jsonl")).unwrap();
            log.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000 - age as u64))
                .unwrap();
        }
        fs::create_dir_all(state.path().join("sessions/empty")).unwrap();
        state
    }

    #[test]
    fn the_last_session_is_the_one_that_was_used_last() {
        let state = sessions(&["b-newest", "a-older"]);
        assert_eq!(
            session(state.path(), &Continue::Last).unwrap().as_deref(),
            Some("b-newest")
        );
        assert_eq!(session(state.path(), &Continue::New).unwrap(), None);
        assert!(session(sessions(&[]).path(), &Continue::Last).is_err());
    }

    #[test]
    fn an_id_may_be_shortened_as_long_as_it_is_one() {
        let state = sessions(&["0190-aa", "0190-ab", "0190"]);
        let found = |id: &str| session(state.path(), &Continue::Id(id.to_owned()));
        assert_eq!(found("0190-ab").unwrap().as_deref(), Some("0190-ab"));
        assert_eq!(found("0190").unwrap().as_deref(), Some("0190"));
        assert_eq!(found("0190-a").unwrap_err().exit(), crate::exit::Exit::USAGE);
        assert_eq!(found("7").unwrap_err().message(), "this checkout has no session 7");
    }

    #[test]
    fn a_checkout_has_a_folder_that_tells_its_name() {
        let name = folder_name(Path::new("/nowhere/my shop"));
        assert_eq!(name, folder_name(Path::new("/nowhere/my shop")));
        assert!(name.starts_with("my-shop-"), "{name}");
        assert_ne!(name, folder_name(Path::new("/elsewhere/my shop")));
        assert!(folder_name(Path::new("/")).starts_with('-'));
    }
}
