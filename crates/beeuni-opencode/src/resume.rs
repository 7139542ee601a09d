//! What is kept beside the transcript: which of OpenCode's sessions carries it, and how much of it was told there.
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The file, in the session's folder.
const FILE: &str = "opencode.json";

/// Which of OpenCode's sessions carries the transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Carrier {
    /// OpenCode's session.
    pub(crate) session: String,
    /// The last message of the transcript that was told there as an earlier conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) told: Option<String>,
}

impl Carrier {
    /// What is kept in the session's folder; `None` when there is nothing that can be used.
    pub(crate) fn read(folder: &Path) -> Option<Self> {
        let path = folder.join(FILE);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(file = %path.display(), %error, "cannot be read: OpenCode begins a new session");
                return None;
            }
        };
        serde_json::from_slice(&text)
            .inspect_err(|error| {
                tracing::warn!(file = %path.display(), %error, "cannot be understood: OpenCode begins a new session");
            })
            .ok()
    }

    /// Keeps it. Only the owner can read it.
    pub(crate) fn write(&self, folder: &Path) -> std::io::Result<()> {
        let path: PathBuf = folder.join(FILE);
        // Files of this library are 0600.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer(&mut file, self)?;
        file.write_all(b"\n")?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    #[test]
    fn what_is_kept_is_read_again_and_a_damaged_file_counts_as_none() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Carrier::read(folder.path()), None);
        let carrier = Carrier {
            session: "ses_1".to_owned(),
            told: Some("msg_1".to_owned()),
        };
        carrier.write(folder.path()).unwrap();
        assert_eq!(Carrier::read(folder.path()), Some(carrier));
        let file = folder.path().join(FILE);
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::write(file, "{").unwrap();
        assert_eq!(Carrier::read(folder.path()), None);
    }
}
