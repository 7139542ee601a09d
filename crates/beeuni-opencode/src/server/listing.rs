//! The files of the project's own OpenCode folder, and what each is to OpenCode.

use std::path::{Component, Path, PathBuf};

/// How many files of the folder are looked at, and how deep.
const MOST_FILES: usize = 2_000;
const DEEPEST: usize = 8;
/// What is not OpenCode's business: packages and what describes them.
pub(super) const PASSED_OVER: &[&str] = &[
    "node_modules",
    ".git",
    ".gitignore",
    "package.json",
    "package-lock.json",
    "bun.lock",
    "bun.lockb",
];
/// Folders of skills: OpenCode is told where they are.
pub(super) const SKILLS: [&str; 2] = ["skill", "skills"];

/// What a file is to OpenCode.
pub(super) enum Kind {
    /// Its exports are tools.
    Tool,
    /// Its exports are plugins.
    Plugin,
    /// Configuration.
    Config,
    /// Anything else.
    Other,
}

/// What the file at `relative` is.
pub(super) fn kind(relative: &Path) -> Kind {
    let parts: Vec<_> = relative.components().map(Component::as_os_str).collect();
    let code = relative
        .extension()
        .is_some_and(|extension| extension == "js" || extension == "ts");
    match parts[..] {
        [folder, _] if code && (folder == "tool" || folder == "tools") => Kind::Tool,
        [folder, _] if code && (folder == "plugin" || folder == "plugins") => Kind::Plugin,
        [file] if file == "opencode.json" || file == "opencode.jsonc" => Kind::Config,
        _ => Kind::Other,
    }
}

/// Every file below `root`, sorted; links to folders count as folders.
pub(super) fn list(root: &Path, below: &Path, found: &mut Vec<PathBuf>) {
    let mut names: Vec<_> = std::fs::read_dir(root.join(below))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    names.sort();
    for name in names {
        let top = below.as_os_str().is_empty();
        if PASSED_OVER.iter().any(|passed| name == *passed) || top && SKILLS.iter().any(|folder| name == *folder) {
            continue;
        }
        let relative = below.join(&name);
        match std::fs::metadata(root.join(&relative)) {
            Ok(metadata) if metadata.is_dir() && relative.components().count() < DEEPEST => {
                list(root, &relative, found)
            }
            Ok(metadata) if metadata.is_file() && found.len() < MOST_FILES => found.push(relative),
            _ => {}
        }
    }
}
