//! Writing several files as one step: all of them, or none.
//!
//! Every new content first goes into a temporary file beside its destination, where most failures
//! show (a full disk, a folder that is a file, no permission) while nothing has changed yet. Only then
//! each takes its place by a rename. Should one of those fail, the ones before it are put back.
use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    /// A file that should be new is there.
    #[error("{} exists already", path.display())]
    Exists { path: PathBuf },
    /// A file is no longer what it was when it was read.
    #[error("{} was changed meanwhile", path.display())]
    Changed { path: PathBuf },
    /// A folder or file could not be made.
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    /// A file could not be put back after a failure: the one case in which something has changed.
    #[error("cannot write {}, and {} could not be put back as it was ({restore})", path.display(), other.display())]
    Restore {
        path: PathBuf,
        other: PathBuf,
        restore: io::Error,
        source: io::Error,
    },
}

/// What has to stand at a file's path for it to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Before {
    /// Nothing.
    Nothing,
    /// A file with these bytes: what the new content was made from.
    Bytes(Vec<u8>),
    /// A file of any content, or nothing.
    Anything,
}

/// Files that are written together.
#[derive(Debug, Default)]
pub(crate) struct Files {
    planned: Vec<Planned>,
}

#[derive(Debug)]
struct Planned {
    path: PathBuf,
    bytes: Vec<u8>,
    before: Before,
}

impl Files {
    /// Adds a file; files take their places in this order.
    pub(crate) fn add(&mut self, path: PathBuf, bytes: impl Into<Vec<u8>>, before: Before) {
        self.planned.push(Planned {
            path,
            bytes: bytes.into(),
            before,
        });
    }

    /// Writes all of them, or changes nothing.
    ///
    /// # Errors
    /// The first thing that could not be done. Everything is then as it was, but for
    /// [`WriteError::Restore`].
    pub(crate) fn write(self) -> Result<(), WriteError> {
        let mut made = MadeFolders::default();
        let outcome = self.prepare(&mut made).and_then(place);
        if outcome.is_err() {
            made.remove();
        }
        outcome
    }

    fn prepare(self, made: &mut MadeFolders) -> Result<Vec<Prepared>, WriteError> {
        self.planned.into_iter().map(|planned| prepare(planned, made)).collect()
    }
}

/// A content that waits beside its destination.
struct Prepared {
    path: PathBuf,
    waiting: NamedTempFile,
    /// The file that is there now.
    old: Option<Old>,
}

struct Old {
    bytes: Vec<u8>,
    permissions: Permissions,
}

fn prepare(planned: Planned, made: &mut MadeFolders) -> Result<Prepared, WriteError> {
    let Planned { path, bytes, before } = planned;
    let failed = |source| WriteError::Write {
        path: path.clone(),
        source,
    };
    let old = read_old(&path).map_err(failed)?;
    match (&before, &old) {
        (Before::Nothing, Some(_)) => return Err(WriteError::Exists { path }),
        (Before::Bytes(expected), Some((old, _))) if *expected == old.bytes => {}
        (Before::Bytes(_), _) => return Err(WriteError::Changed { path }),
        (Before::Nothing, None) | (Before::Anything, _) => {}
    }
    // A link stays a link: what it leads to is written.
    let path = if old.is_some() {
        path.canonicalize().map_err(failed)?
    } else {
        path
    };
    let failed = |source| WriteError::Write {
        path: path.clone(),
        source,
    };
    let folder = path.parent().unwrap_or(Path::new("."));
    made.make(folder).map_err(failed)?;
    let waiting = wait_beside(folder, &bytes, old.as_ref()).map_err(failed)?;
    Ok(Prepared {
        old: old.map(|(old, _)| old),
        waiting,
        path,
    })
}

fn read_old(path: &Path) -> io::Result<Option<(Old, fs::Metadata)>> {
    match fs::symlink_metadata(path) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    }
    let bytes = fs::read(path)?;
    let metadata = fs::metadata(path)?;
    Ok(Some((
        Old {
            bytes,
            permissions: metadata.permissions(),
        },
        metadata,
    )))
}

fn wait_beside(folder: &Path, bytes: &[u8], old: Option<&(Old, fs::Metadata)>) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    // The process's umask takes away what it takes from every new file.
    let mode = Permissions::from_mode(0o666);
    let mut waiting = builder.prefix(".beeuni-").permissions(mode).tempfile_in(folder)?;
    waiting.as_file_mut().write_all(bytes)?;
    if let Some((old, metadata)) = old {
        waiting.as_file().set_permissions(old.permissions.clone())?;
        let now = waiting.as_file().metadata()?;
        if (now.uid(), now.gid()) != (metadata.uid(), metadata.gid()) {
            // Only root can: for others the file becomes theirs, as with any editor that renames.
            let _ = chown(waiting.path(), Some(metadata.uid()), Some(metadata.gid()));
        }
    }
    waiting.as_file().sync_all()?;
    Ok(waiting)
}

/// Lets every prepared file take its place, and undoes that when one cannot.
fn place(prepared: Vec<Prepared>) -> Result<(), WriteError> {
    let mut placed: Vec<(PathBuf, Option<Old>)> = Vec::with_capacity(prepared.len());
    for Prepared { path, waiting, old } in prepared {
        let renamed = match old {
            Some(_) => waiting.persist(&path),
            // Never over a file that appeared meanwhile.
            None => waiting.persist_noclobber(&path),
        };
        if let Err(error) = renamed {
            return Err(undo(path, error.error, placed));
        }
        placed.push((path, old));
    }
    for (path, _) in &placed {
        sync_folder(path);
    }
    Ok(())
}

fn undo(path: PathBuf, source: io::Error, placed: Vec<(PathBuf, Option<Old>)>) -> WriteError {
    for (other, old) in placed.into_iter().rev() {
        let restored = match old {
            None => fs::remove_file(&other),
            Some(old) => restore(&other, &old),
        };
        if let Err(restore) = restored {
            return WriteError::Restore {
                path,
                other,
                restore,
                source,
            };
        }
    }
    if source.kind() == io::ErrorKind::AlreadyExists {
        return WriteError::Exists { path };
    }
    WriteError::Write { path, source }
}

fn restore(path: &Path, old: &Old) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut waiting = tempfile::Builder::new().prefix(".beeuni-").tempfile_in(folder)?;
    waiting.as_file_mut().write_all(&old.bytes)?;
    waiting.as_file().set_permissions(old.permissions.clone())?;
    waiting.persist(path)?;
    Ok(())
}

/// The rename itself becomes durable with its folder. Some file systems cannot: then it is as durable
/// as they make it.
fn sync_folder(path: &Path) {
    if let Some(folder) = path.parent().and_then(|folder| File::open(folder).ok()) {
        let _ = folder.sync_all();
    }
}

/// The folders that were made on the way, innermost last.
#[derive(Default)]
struct MadeFolders(Vec<PathBuf>);

impl MadeFolders {
    fn make(&mut self, folder: &Path) -> io::Result<()> {
        let missing: Vec<&Path> = folder
            .ancestors()
            .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
            .collect();
        for folder in missing.into_iter().rev() {
            fs::create_dir(folder)?;
            self.0.push(folder.to_owned());
        }
        Ok(())
    }

    /// Removes those that are still empty.
    fn remove(self) {
        for folder in self.0.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
