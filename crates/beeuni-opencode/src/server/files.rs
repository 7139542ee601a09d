//! Writing OpenCode's files: whole or not at all, for this user only.

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::StartError;

/// Makes a folder that only this user can enter, and those above it; an existing one is made so.
pub(super) fn folder(path: &Path) -> Result<(), StartError> {
    let failed = failed(path);
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(failed)?;
    let metadata = std::fs::symlink_metadata(path).map_err(failed)?;
    if !metadata.is_dir() {
        return Err(failed(std::io::Error::other("it is a link, not a folder of its own")));
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)).map_err(failed)?;
    }
    Ok(())
}

/// Writes a file (0600) that appears whole. Whether it was another one before.
pub(super) fn write(path: &Path, content: &[u8]) -> Result<bool, StartError> {
    if is_own_file(path) && std::fs::read(path).is_ok_and(|old| old == content) {
        return Ok(false);
    }
    let failed = failed(path);
    let parent = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".beeuni-")
        .tempfile_in(parent)
        .map_err(failed)?;
    file.write_all(content).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(true)
}

fn is_own_file(path: &Path) -> bool {
    std::fs::symlink_metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o077 == 0)
}

/// Makes a link to `target`. Whether it led elsewhere before.
pub(super) fn link(target: &Path, path: &Path) -> Result<bool, StartError> {
    if std::fs::read_link(path).is_ok_and(|old| old == target) {
        return Ok(false);
    }
    let failed = failed(path);
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    std::os::unix::fs::symlink(target, path).map_err(failed)?;
    Ok(true)
}

/// Removes what is there: a file, a link, a folder with all that is in it. Whether there was anything.
pub(super) fn remove(path: &Path) -> Result<bool, StartError> {
    let metadata = match std::fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(_) => return Ok(false),
    };
    let removed = if metadata.is_dir() {
        std::fs::remove_dir_all(path)
    } else {
        std::fs::remove_file(path)
    };
    removed.map(|()| true).map_err(failed(path))
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> StartError + Copy + '_ {
    move |source| StartError::Write {
        path: PathBuf::from(path),
        source,
    }
}
