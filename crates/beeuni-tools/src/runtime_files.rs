//! The files that workers run: the worker's own code and the five Beeuni tools, embedded in this binary.

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::HostError;

const WORKER: [(&str, &str); 4] = [
    ("worker.ts", include_str!("../../../runtime/worker.ts")),
    ("channel.ts", include_str!("../../../runtime/channel.ts")),
    ("module.ts", include_str!("../../../runtime/module.ts")),
    ("text.ts", include_str!("../../../runtime/text.ts")),
];

const BEEUNI_TOOLS: [(&str, &str); 5] = [
    ("web_search", include_str!("../../../tools/web_search.ts")),
    ("image_search", include_str!("../../../tools/image_search.ts")),
    ("scrape_webpage", include_str!("../../../tools/scrape_webpage.ts")),
    ("memory", include_str!("../../../tools/memory.ts")),
    ("show", include_str!("../../../tools/show.ts")),
];

/// The Beeuni source of a Beeuni tool: the bytes that sandboxes run and `beeuni tools eject` writes.
pub fn beeuni_tool_source(name: &str) -> Option<&'static str> {
    BEEUNI_TOOLS
        .iter()
        .find(|(tool, _)| *tool == name)
        .map(|(_, source)| *source)
}

/// The type declarations for tool authors (`beeuni.d.ts`).
pub fn type_declarations() -> &'static str {
    include_str!("../../../runtime/beeuni.d.ts")
}

/// Where the embedded files were written.
pub(crate) struct RuntimeFiles {
    folder: PathBuf,
    /// The worker's entry file.
    pub(crate) worker: PathBuf,
}

impl RuntimeFiles {
    /// Writes what is missing or differs. Several hosts may do so at once: each file appears whole.
    pub(crate) fn write(folder: &Path) -> Result<Self, HostError> {
        private_folder(folder)?;
        let tools = folder.join("tools");
        private_folder(&tools)?;
        for (name, text) in WORKER {
            write_whole(&folder.join(name), text)?;
        }
        for (name, text) in BEEUNI_TOOLS {
            write_whole(&tools.join(format!("{name}.ts")), text)?;
        }
        Ok(Self {
            folder: folder.to_owned(),
            worker: folder.join("worker.ts"),
        })
    }

    pub(crate) fn beeuni_tool(&self, name: &str) -> PathBuf {
        self.folder.join("tools").join(format!("{name}.ts"))
    }
}

/// Makes a folder that only this user can enter; an existing one is made so.
pub(crate) fn private_folder(folder: &Path) -> Result<(), HostError> {
    let failed = |source| HostError::Prepare {
        path: folder.to_owned(),
        source,
    };
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(failed)?;
    let metadata = std::fs::symlink_metadata(folder).map_err(failed)?;
    if !metadata.is_dir() {
        return Err(failed(std::io::Error::other("it is a link, not a folder of its own")));
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700)).map_err(failed)?;
    }
    Ok(())
}

fn write_whole(path: &Path, text: &str) -> Result<(), HostError> {
    if std::fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    let failed = |source| HostError::Prepare {
        path: path.to_owned(),
        source,
    };
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}
