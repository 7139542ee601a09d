//! Where Beeuni keeps what is in no project: Bun, the workers' code, long outputs, sessions.
use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::process::getuid;

/// The folder that `beeuni setup` fills: `BEEUNI_RUNTIME_DIR`, else `$XDG_DATA_HOME/beeuni/runtime`,
/// else `~/.local/share/beeuni/runtime`. `None` without a home.
pub(crate) fn managed() -> Option<PathBuf> {
    if let Some(folder) = env::var_os("BEEUNI_RUNTIME_DIR").filter(|value| !value.is_empty()) {
        return Some(std::path::absolute(&folder).unwrap_or_else(|_| folder.into()));
    }
    user_folder("XDG_DATA_HOME", ".local/share").map(|data| data.join("beeuni/runtime"))
}

/// The folder for the workers' code: `$XDG_CACHE_HOME/beeuni`, else `~/.cache/beeuni`. `None` without
/// a home.
pub(crate) fn cache() -> Option<PathBuf> {
    user_folder("XDG_CACHE_HOME", ".cache").map(|cache| cache.join("beeuni"))
}

/// The folder for what is kept about projects: `$XDG_STATE_HOME/beeuni`, else `~/.local/state/beeuni`. `None`
/// without a home.
pub(crate) fn state() -> Option<PathBuf> {
    user_folder("XDG_STATE_HOME", ".local/state").map(|state| state.join("beeuni"))
}

/// The cache folder, made when it is missing; where that cannot be, a folder of the user's own
/// among the temporary ones.
pub(crate) fn usable_cache() -> io::Result<PathBuf> {
    match cache() {
        Some(folder) if make_private(&folder).is_ok() => Ok(folder),
        _ => temporary("cache"),
    }
}

/// The folder for outputs that are too long for a model: `$TMPDIR/beeuni-<uid>/output`, 0700. It
/// outlives the command, so that the path in an output can be opened.
pub(crate) fn output() -> io::Result<PathBuf> {
    temporary("output")
}

/// `$TMPDIR/beeuni-<uid>/<name>`. The temporary folder is everybody's: a folder of that name which is
/// a link or somebody else's is not used, and one with a random name is made.
fn temporary(name: &str) -> io::Result<PathBuf> {
    let prefix = format!("beeuni-{}", getuid().as_raw());
    let shared = env::temp_dir().join(&prefix);
    let folder = match make_private(&shared) {
        Ok(()) => shared,
        Err(_) => tempfile::Builder::new().prefix(&format!("{prefix}-")).tempdir()?.keep(),
    };
    let folder = folder.join(name);
    make_private(&folder)?;
    Ok(folder)
}

/// Makes `folder` (and those above it) for this user alone; one that is there must be this user's own
/// and closed to others.
pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let found = fs::symlink_metadata(folder)?;
    if !found.is_dir() || found.uid() != getuid().as_raw() || found.mode() & 0o022 != 0 {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("{} is not a folder of this user alone", folder.display()),
        ));
    }
    Ok(())
}

/// `$variable`, else `~/fallback`. A relative value counts as absent, as the XDG rules say.
fn user_folder(variable: &str, fallback: &str) -> Option<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(variable).or_else(|| absolute("HOME").map(|home| home.join(fallback)))
}
