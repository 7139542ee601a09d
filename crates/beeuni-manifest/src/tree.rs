//! Where a project's files come from: the [`Tree`] trait and the folder on disk that implements it.
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The largest file that [`Folder`] reads, in bytes.
const LARGEST_FILE: u64 = 4 * 1024 * 1024;

/// What stands at a path of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
}

/// Where a project's files come from: a folder now, a git tree later.
///
/// Paths are repo-relative with `/`; `""` is the root.
pub trait Tree {
    /// What stands at `path`, links followed; `None` when nothing does.
    ///
    /// # Errors
    /// A link that leaves the project is an error of kind `PermissionDenied`; a path that is no path
    /// of a project (absolute, or with `..`) is one of kind `InvalidInput`.
    fn kind(&self, path: &str) -> io::Result<Option<EntryKind>>;

    /// The file's bytes.
    ///
    /// # Errors
    /// As [`Tree::kind`], and when the file is missing, unreadable, or too large for a text file.
    fn read(&self, path: &str) -> io::Result<Vec<u8>>;

    /// Names in the folder `path`, sorted. Names that are not valid Unicode are left out.
    ///
    /// # Errors
    /// As [`Tree::kind`], and when the folder is missing or unreadable.
    fn list(&self, path: &str) -> io::Result<Vec<String>>;

    /// The one path of what stands at `path` once links are followed, so that a file reached
    /// through a link and directly counts as one.
    ///
    /// # Errors
    /// As [`Tree::kind`], and when nothing stands there.
    fn canonical(&self, path: &str) -> io::Result<String> {
        Ok(path.to_owned())
    }
}

/// A project folder on disk.
#[derive(Debug, Clone)]
pub struct Folder {
    /// The project's root.
    pub root: PathBuf,
}

impl Folder {
    /// The project at `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The real path of `path` and of the root, after a check that the first is inside the second.
    fn resolve(&self, path: &str) -> io::Result<(PathBuf, PathBuf)> {
        if !is_inside(path) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the path is absolute or has a `..`",
            ));
        }
        let root = self.root.canonicalize()?;
        let real = root.join(path).canonicalize()?;
        if real.starts_with(&root) {
            Ok((real, root))
        } else {
            Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "a link on this path leaves the repository",
            ))
        }
    }
}

/// Whether `path` is made of plain names only.
fn is_inside(path: &str) -> bool {
    use std::path::Component;
    Path::new(path)
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

impl Tree for Folder {
    fn kind(&self, path: &str) -> io::Result<Option<EntryKind>> {
        let real = match self.resolve(path) {
            Ok((real, _)) => real,
            // A name with a file as its parent is as absent as one with no parent at all.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let meta = fs::metadata(real)?;
        if meta.is_dir() {
            Ok(Some(EntryKind::Folder))
        } else if meta.is_file() {
            Ok(Some(EntryKind::File))
        } else {
            Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "neither a file nor a folder (a pipe, a socket or a device)",
            ))
        }
    }

    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let (real, _) = self.resolve(path)?;
        // A pipe would block for ever on open.
        if !fs::metadata(&real)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let mut bytes = Vec::new();
        fs::File::open(real)?.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LARGEST_FILE {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "larger than 4 MiB"));
        }
        Ok(bytes)
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let (real, _) = self.resolve(path)?;
        let mut names = Vec::new();
        for entry in fs::read_dir(real)? {
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn canonical(&self, path: &str) -> io::Result<String> {
        let (real, root) = self.resolve(path)?;
        let inside = real.strip_prefix(&root).unwrap_or(&real);
        let parts: Vec<_> = inside
            .components()
            .map(|part| part.as_os_str().to_string_lossy())
            .collect();
        Ok(parts.join("/"))
    }
}
