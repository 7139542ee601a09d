//! The daemon's folder on disk: its lock, and the tool-bridge key.
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use beeuni_tools::SecretValue;
use rustix::fs::{FlockOperation, OFlags, flock};

use crate::error::DaemonError;
use crate::identifier::random_key;

const LOCK_FILE: &str = "daemon.lock";
const KEY_FILE: &str = "tool-bridge.key";

/// A state folder that this daemon alone uses until the value is dropped.
pub(crate) struct State {
    /// The tool-bridge key.
    pub(crate) key: SecretValue,
    /// Holds the lock: the kernel frees it with the process, however that ends.
    _lock: File,
}

impl State {
    /// Opens `folder`, made when it is missing, locks it, and reads its key, made when it is missing.
    pub(crate) fn open(folder: &Path) -> Result<Self, DaemonError> {
        private_folder(folder).map_err(failed("use the state folder", folder))?;
        let lock = lock(folder)?;
        let key = key(folder)?;
        Ok(Self {
            key: SecretValue::new(key),
            _lock: lock,
        })
    }
}

/// Wraps an I/O error with what was tried.
fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> DaemonError {
    let path = path.to_owned();
    move |source| DaemonError::State { action, path, source }
}

/// Makes sure that `folder` is there and this user's; its permissions.
pub(crate) fn own_folder(folder: &Path) -> io::Result<u32> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let found = fs::metadata(folder)?;
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "it belongs to another user",
        ));
    }
    Ok(found.mode() & 0o777)
}

/// Makes sure that the state folder is there, ours, and closed to others.
fn private_folder(folder: &Path) -> io::Result<()> {
    if own_folder(folder)? & 0o077 == 0 {
        return Ok(());
    }
    // A folder of ours that was opened up is closed again. Somebody's home or /tmp is not ours to close.
    if folder.join(KEY_FILE).is_file() {
        tracing::warn!(folder = %folder.display(), "closed a state folder that others could enter (now 0700)");
    } else if fs::read_dir(folder)?.next().is_some() {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "others can enter it and it has files of its own: name a folder that is empty or does not exist yet",
        ));
    }
    fs::set_permissions(folder, Permissions::from_mode(0o700))
}

fn lock(folder: &Path) -> Result<File, DaemonError> {
    let path = folder.join(LOCK_FILE);
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(&path)
        .map_err(failed("open", &path))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let mut text = String::new();
            let pid = file
                .read_to_string(&mut text)
                .ok()
                .and_then(|_| text.trim().parse().ok());
            return Err(DaemonError::Locked {
                path: folder.to_owned(),
                pid,
            });
        }
        Err(error) => return Err(failed("lock", &path)(error.into())),
    }
    let written = file
        .set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| writeln!(file, "{}", std::process::id()));
    written.map_err(failed("write", &path))?;
    Ok(file)
}

fn key(folder: &Path) -> Result<String, DaemonError> {
    let path = folder.join(KEY_FILE);
    match read_key(&path) {
        Ok(Some(key)) => return Ok(key),
        Ok(None) => {}
        Err(error) => return Err(failed("read", &path)(error)),
    }
    let key = random_key()?;
    write_key(folder, &path, &key).map_err(failed("write", &path))?;
    Ok(key)
}

/// The key at `path`, closed to others; `None` when there is none that can be used.
fn read_key(path: &Path) -> io::Result<Option<String>> {
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
        .open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            tracing::warn!(path = %path.display(), "the bridge key was a link: a new key takes its place");
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let found = file.metadata()?;
    if found.mode() & 0o777 != 0o600 {
        tracing::warn!(path = %path.display(), "the bridge key's permissions were {:o}: repaired to 600", found.mode() & 0o777);
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    let mut text = String::new();
    // A key is 64 bytes: no need to read more of whatever else stands there.
    let read = file.take(256).read_to_string(&mut text);
    let key = text.trim_end();
    if read.is_ok() && key.len() == 64 && key.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(Some(key.to_owned()));
    }
    tracing::warn!(path = %path.display(), "the bridge key was no 32 bytes in hex: a new key takes its place");
    Ok(None)
}

/// Writes the key so that a reader sees all of it or the file before.
fn write_key(folder: &Path, path: &PathBuf, key: &str) -> io::Result<()> {
    let mut file = tempfile::Builder::new()
        .prefix(".tool-bridge.")
        .permissions(Permissions::from_mode(0o600))
        .tempfile_in(folder)?;
    file.write_all(key.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn the_key_is_made_once_in_a_private_file_of_a_private_folder() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("a/state");
        let first = State::open(&folder).unwrap().key;
        assert_eq!(mode(&folder), 0o700);
        assert_eq!(mode(&folder.join(KEY_FILE)), 0o600);
        assert_eq!(fs::read_to_string(folder.join(KEY_FILE)).unwrap(), first.expose());
        assert!(
            State::open(&folder).unwrap().key == first,
            "the second start made another key"
        );
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "no temporary file is left");
    }

    #[test]
    fn wrong_permissions_are_repaired_and_the_key_kept() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("state");
        let first = State::open(&folder).unwrap().key;
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(folder.join(KEY_FILE), Permissions::from_mode(0o644)).unwrap();
        assert!(State::open(&folder).unwrap().key == first);
        assert_eq!((mode(&folder), mode(&folder.join(KEY_FILE))), (0o700, 0o600));
    }

    #[test]
    fn an_unusable_key_is_replaced_and_a_link_is_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("state");
        let outside = root.path().join("outside");
        let first = State::open(&folder).unwrap().key;
        fs::write(&outside, first.expose()).unwrap();
        fs::remove_file(folder.join(KEY_FILE)).unwrap();
        std::os::unix::fs::symlink(&outside, folder.join(KEY_FILE)).unwrap();
        let second = State::open(&folder).unwrap().key;
        assert!(second != first);
        assert_eq!(
            fs::read_to_string(&outside).unwrap(),
            first.expose(),
            "the link's target stays"
        );
        for broken in ["", "not hex at all", &second.expose()[..63]] {
            fs::write(folder.join(KEY_FILE), broken).unwrap();
            let key = State::open(&folder).unwrap().key;
            assert!(key.expose().len() == 64 && key != second, "{broken:?}");
        }
    }

    #[test]
    fn a_second_daemon_is_refused_with_the_process_of_the_first() {
        let root = tempfile::tempdir().unwrap();
        let first = State::open(root.path()).unwrap();
        let refused = State::open(root.path()).err().unwrap().to_string();
        assert!(
            refused.contains(&format!("process {}", std::process::id())),
            "{refused}"
        );
        drop(first);
        State::open(root.path()).unwrap();
    }

    #[test]
    fn an_open_folder_with_other_files_is_not_closed_but_refused() {
        let root = tempfile::tempdir().unwrap();
        fs::set_permissions(root.path(), Permissions::from_mode(0o755)).unwrap();
        fs::write(root.path().join("notes.txt"), "mine").unwrap();
        let refused = State::open(root.path()).err().unwrap();
        assert!(matches!(refused, DaemonError::State { .. }), "{refused}");
        assert_eq!(mode(root.path()), 0o755);
    }
}
