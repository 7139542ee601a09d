//! Where a project's manifest is: the nearest folder above that has one.
use std::io;
use std::path::{Path, PathBuf};

/// The names under which a manifest is found.
const FILES: [&str; 2] = ["beeuni.yaml", "beeuni.yml"];

/// Where the manifest was found.
#[derive(Debug, Clone)]
pub struct Found {
    /// The project's root folder, absolute.
    pub root: PathBuf,
    /// `beeuni.yaml` or `beeuni.yml`.
    pub file: String,
}

/// Why no manifest was found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// None here or above, up to the repository root.
    #[error("no beeuni.yaml in {} or a folder above it", start.display())]
    None {
        /// Where the search began.
        start: PathBuf,
    },
    /// `beeuni.yaml` and `beeuni.yml` stand side by side.
    #[error("{} has both beeuni.yaml and beeuni.yml: keep one of them", folder.display())]
    Both {
        /// The folder.
        folder: PathBuf,
    },
    /// The start folder does not exist.
    #[error("no such folder: {}", start.display())]
    NoFolder {
        /// Where the search should begin.
        start: PathBuf,
    },
    /// Something could not be read.
    #[error("cannot look into {}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Finds the manifest in `start` or the nearest parent that has one; stops at the repository root
/// (a folder with `.git`) and at the root of the file system.
///
/// # Errors
/// See [`FindError`]; the two "nothing to work on" cases, no manifest and no such folder, differ.
pub fn find(start: &Path) -> Result<Found, FindError> {
    let begin = std::path::absolute(start)
        .and_then(|path| path.canonicalize())
        .map_err(|source| no_start(start, source))?;
    if !begin.is_dir() {
        return Err(FindError::NoFolder {
            start: start.to_owned(),
        });
    }
    for folder in begin.ancestors() {
        let mut found = Vec::new();
        for file in FILES {
            if exists(&folder.join(file))? {
                found.push(file);
            }
        }
        match found[..] {
            [file] => {
                return Ok(Found {
                    root: folder.to_owned(),
                    file: file.to_owned(),
                });
            }
            [] => {}
            _ => {
                return Err(FindError::Both {
                    folder: folder.to_owned(),
                });
            }
        }
        if exists(&folder.join(".git"))? {
            break;
        }
    }
    Err(FindError::None {
        start: start.to_owned(),
    })
}

fn no_start(start: &Path, source: io::Error) -> FindError {
    match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidInput => FindError::NoFolder {
            start: start.to_owned(),
        },
        _ => FindError::Io {
            path: start.to_owned(),
            source,
        },
    }
}

/// Whether something, even a dangling link, has this name: a manifest that cannot be read must not
/// let the one above it take its place.
fn exists(path: &Path) -> Result<bool, FindError> {
    match path.symlink_metadata() {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(FindError::Io {
            path: path.to_owned(),
            source,
        }),
    }
}
