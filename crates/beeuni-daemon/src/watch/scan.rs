//! One look at the project's files: which there are, and what they hold.
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use beeuni_manifest::{Found, ToolSource};

use crate::local::project::Reading;

/// The most files that are looked at below the folders of modules and skills.
const MOST_FILES: usize = 2_000;
/// How deep below such a folder.
const DEPTH: usize = 8;
/// The largest file whose content is compared; of larger ones size and time are.
const LARGEST: u64 = 4 * 1024 * 1024;
/// The folder of packages.
const PACKAGES: &str = "node_modules";

/// Where to look.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Targets {
    /// Files by name, there or not.
    files: BTreeSet<PathBuf>,
    /// Folders whose entries matter.
    folders: BTreeSet<PathBuf>,
    /// Folders with everything below them that agents read: skills.
    skills: BTreeSet<PathBuf>,
    /// Folders of tool modules, with everything below them.
    modules: BTreeSet<PathBuf>,
    /// Folders in which modules lie that have nothing below them looked at: the project's root.
    beside: BTreeSet<PathBuf>,
    /// The folder of the standard harness's own configuration, with everything below it.
    config: Option<PathBuf>,
    /// Folders in which packages may be.
    packages: BTreeSet<PathBuf>,
}

/// The state of every file that was looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Snapshot {
    stamps: BTreeMap<PathBuf, Option<Stamp>>,
    /// The packages, where they matter.
    packages: Option<u64>,
}

/// What tells two states of a file apart without reading it. A revert that brings an old time back changes `changed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Targets {
    /// Everything that `reading` was made from and its tools are made of.
    pub(super) fn of(found: &Found, reading: &Reading, with_config: bool) -> Self {
        let root = &found.root;
        let mut targets = Self {
            config: with_config.then(|| root.join(&reading.manifest.opencode_config_dir)),
            ..Self::default()
        };
        for file in reading.manifest.files.iter().chain([&found.file]) {
            let file = root.join(file);
            // A folder may be imported: a file that is new in it is one more import.
            targets.folders.extend(file.parent().map(Path::to_owned));
            targets.files.insert(file);
        }
        targets
            .files
            .extend(reading.manifest.agents.iter().map(|agent| root.join(&agent.file)));
        targets.skills.insert(root.join("skills"));
        for tool in &reading.setup.tools {
            let ToolSource::Module(path) = &tool.source else {
                continue;
            };
            targets.add_module(root, &root.join(path));
        }
        targets
    }

    fn add_module(&mut self, root: &Path, module: &Path) {
        self.files.insert(module.to_owned());
        // A linked module resolves its imports from where it really is.
        let real = module.canonicalize().unwrap_or_else(|_| module.to_owned());
        for folder in [module.parent(), real.parent()].into_iter().flatten() {
            if folder == root {
                self.beside.insert(folder.to_owned());
            } else {
                self.modules.insert(folder.to_owned());
            }
            for above in folder.ancestors() {
                self.packages.insert(above.join(PACKAGES));
                if above == root {
                    break;
                }
            }
        }
    }

    /// Whether `path` is a file that a tool is made of.
    fn is_of_module(&self, path: &Path) -> bool {
        self.modules.iter().any(|folder| path.starts_with(folder))
            || path.parent().is_some_and(|folder| self.beside.contains(folder))
    }
}

/// Looks at everything, at packages too when they matter.
pub(super) fn look(targets: &Targets, with_packages: bool) -> Snapshot {
    let mut stamps = BTreeMap::new();
    for path in targets.files.iter().chain(&targets.folders) {
        stamps.insert(path.clone(), stamp(path));
    }
    let mut left = MOST_FILES;
    for folder in targets.skills.iter().chain(&targets.modules) {
        walk(folder, DEPTH, &mut left, &mut stamps);
    }
    for folder in &targets.beside {
        walk(folder, 0, &mut left, &mut stamps);
    }
    if let Some(folder) = &targets.config {
        walk(folder, DEPTH, &mut left, &mut stamps);
    }
    Snapshot {
        stamps,
        packages: with_packages.then(|| packages(targets)),
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    // Through links: one that is exchanged leads to another inode.
    let found = fs::metadata(path).ok()?;
    Some(Stamp {
        inode: found.ino(),
        size: found.size(),
        modified: (found.mtime(), found.mtime_nsec()),
        changed: (found.ctime(), found.ctime_nsec()),
    })
}

/// The files in `folder` and, `depth` levels down, below it; hidden ones and packages aside.
fn walk(folder: &Path, depth: usize, left: &mut usize, stamps: &mut BTreeMap<PathBuf, Option<Stamp>>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if *left == 0 || name == PACKAGES || name.as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let path = entry.path();
        match fs::metadata(&path) {
            Ok(found) if found.is_dir() && depth > 0 => walk(&path, depth - 1, left, stamps),
            Ok(found) if found.is_file() => {
                *left -= 1;
                let state = stamp(&path);
                stamps.insert(path, state);
            }
            _ => {}
        }
    }
}

/// A number for the packages that modules can import: names and times of their folders.
pub(super) fn packages(targets: &Targets) -> u64 {
    let mut hasher = DefaultHasher::new();
    for folder in &targets.packages {
        hash_folder(folder, true, &mut hasher);
    }
    hasher.finish()
}

fn hash_folder(folder: &Path, scopes: bool, hasher: &mut DefaultHasher) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let times = stamp(&path).map(|stamp| (stamp.inode, stamp.modified));
        (&path, times).hash(hasher);
        if scopes
            && path
                .file_name()
                .is_some_and(|name| name.as_encoded_bytes().starts_with(b"@"))
        {
            hash_folder(&path, false, hasher);
        }
    }
}

/// What files hold, by the state in which they were read.
pub(super) type Known = HashMap<PathBuf, (Stamp, u64)>;

/// A number for what the files of tool modules hold, and one for those of the standard harness's own configuration.
/// Files that `known` has in their present state are not read again; it is brought up to date.
pub(super) fn contents(targets: &Targets, now: &Snapshot, known: &mut Known) -> (u64, u64) {
    let (mut modules, mut config) = (DefaultHasher::new(), DefaultHasher::new());
    let before = std::mem::take(known);
    for (path, stamp) in &now.stamps {
        let of_module = targets.is_of_module(path);
        let of_config = targets.config.as_ref().is_some_and(|folder| path.starts_with(folder));
        let (Some(stamp), true) = (stamp, of_module || of_config) else {
            continue;
        };
        let content = match before.get(path) {
            Some((state, content)) if state == stamp => *content,
            _ => content(path, stamp),
        };
        if of_module {
            (path, content).hash(&mut modules);
        }
        if of_config {
            (path, content).hash(&mut config);
        }
        known.insert(path.clone(), (*stamp, content));
    }
    (modules.finish(), config.finish())
}

fn content(path: &Path, stamp: &Stamp) -> u64 {
    let mut hasher = DefaultHasher::new();
    if stamp.size <= LARGEST
        && let Ok(bytes) = fs::read(path)
    {
        bytes.hash(&mut hasher);
    } else {
        (stamp.inode, stamp.size, stamp.modified, stamp.changed).hash(&mut hasher);
    }
    hasher.finish()
}
