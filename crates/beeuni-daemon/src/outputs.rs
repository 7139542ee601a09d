//! The folder for outputs over the bound (M5): where it is and when it goes.
//!
//! It is in the sandbox's temp folder and named after the session, so that a session that comes back finds
//! the files that its messages name. The tool host removes files after a week; here the whole folder goes
//! with the daemon when its session's id was made for this one run.
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::{env, fs, io};

use crate::error::DaemonError;
use crate::state::own_folder;

/// The outputs folder of one session.
pub(crate) struct Outputs {
    /// Absolute.
    pub(crate) folder: PathBuf,
    keep: bool,
}

impl Outputs {
    /// Makes the folder of `session`; `keep` says that the session may be started again.
    pub(crate) fn prepare(session: &str, keep: bool) -> Result<Self, DaemonError> {
        let folder = env::temp_dir().join(format!("beeuni-outputs-{session}"));
        let prepared = std::path::absolute(&folder).and_then(|folder| {
            // In a shared temp folder anybody can make the name first, as a link for example.
            if fs::symlink_metadata(&folder).is_ok_and(|found| !found.is_dir()) {
                return Err(io::Error::new(io::ErrorKind::NotADirectory, "it is no folder"));
            }
            own_folder(&folder)?;
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o700))?;
            Ok(Self { folder, keep })
        });
        prepared.map_err(|source| DaemonError::State {
            action: "make the outputs folder",
            path: folder,
            source,
        })
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        // `remove_dir` leaves a folder that has something to keep.
        let removed = if self.keep {
            fs::remove_dir(&self.folder)
        } else {
            fs::remove_dir_all(&self.folder)
        };
        if let (Err(error), false) = (removed, self.keep) {
            tracing::debug!(folder = %self.folder.display(), %error, "the outputs folder stays");
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    #[test]
    fn a_session_that_may_come_back_keeps_its_files() {
        let session = crate::identifier::random_uuid().unwrap();
        let outputs = Outputs::prepare(&session, true).unwrap();
        let folder = outputs.folder.clone();
        fs::write(folder.join("output.txt"), "text").unwrap();
        drop(outputs);
        assert!(folder.join("output.txt").is_file());
        drop(Outputs::prepare(&session, false).unwrap());
        assert!(!folder.exists());
    }
}
