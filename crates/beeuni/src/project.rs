//! The project that a command works on, and how its files are named to the user.
use std::collections::BTreeMap;
use std::env;
use std::io;
use std::path::{Component, Path, PathBuf};

use beeuni_manifest::{EntryKind, FindError, Folder, Issue, Loaded, Manifest, Severity, Tree};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, count};

/// A project folder and its manifest file.
pub(crate) struct Project {
    /// The folder that has the manifest, absolute.
    pub(crate) root: PathBuf,
    /// `beeuni.yaml` or `beeuni.yml`.
    pub(crate) file: String,
    /// The folder as the manifest crate reads it.
    pub(crate) tree: Folder,
}

impl Project {
    /// The project of `start`, or of the current folder.
    pub(crate) fn find(start: Option<&Path>) -> Result<Self, Failure> {
        let here;
        let start = match start {
            Some(start) => start,
            None => {
                here = env::current_dir()
                    .map_err(|error| Failure::user("cannot find the current folder").caused_by(&error))?;
                &here
            }
        };
        let found = beeuni_manifest::find(start).map_err(|error| not_found(&error))?;
        Ok(Self {
            tree: Folder::new(&found.root),
            root: found.root,
            file: found.file,
        })
    }

    /// The manifest's path.
    pub(crate) fn manifest_path(&self) -> String {
        self.root.join(&self.file).display().to_string()
    }

    /// Reads the manifest and its imports.
    pub(crate) fn load(&self) -> Loaded {
        beeuni_manifest::load(&self.tree, &self.file)
    }

    /// The manifest as far as it can be understood. Errors in it are told on standard error, for what
    /// they concern may be missing.
    pub(crate) fn usable(&self, output: &Output) -> Result<(Manifest, Vec<Issue>), Failure> {
        let Loaded { manifest, issues } = self.load();
        let Some(manifest) = manifest else {
            return Err(self.unreadable(&issues));
        };
        let errors = issues.iter().filter(|issue| issue.severity == Severity::Error).count();
        if errors > 0 {
            output.warn(&format!(
                "{} has {}: `beeuni validate` shows what is wrong",
                self.shown(&self.file),
                count(errors, "error"),
            ));
        }
        Ok((manifest, issues))
    }

    /// The failure of a manifest that cannot be read at all.
    pub(crate) fn unreadable(&self, issues: &[Issue]) -> Failure {
        let failure = Failure::manifest(format!("cannot read {}", self.shown(&self.file)));
        issues
            .iter()
            .filter(|issue| issue.severity == Severity::Error)
            .fold(failure, |failure, issue| failure.because(&self.finding(issue)))
    }

    /// `file:line:column: message`.
    pub(crate) fn finding(&self, issue: &Issue) -> String {
        let place = &issue.place;
        format!(
            "{}:{}:{}: {}",
            self.shown(&place.file),
            place.line,
            place.column,
            issue.message
        )
    }

    /// `file`, a path of the project, as seen from the current folder: what an editor or a shell can
    /// open.
    pub(crate) fn shown(&self, file: &str) -> String {
        let Some(prefix) = self.way_from_here() else {
            return self.root.join(file).display().to_string();
        };
        if prefix.as_os_str().is_empty() {
            return file.to_owned();
        }
        prefix.join(file).display().to_string()
    }

    /// The way from the current folder to the project: empty, up or down, `None` when it is neither.
    fn way_from_here(&self) -> Option<PathBuf> {
        let here = env::current_dir().ok()?;
        let root = self.root.canonicalize().ok()?;
        let here = here.canonicalize().ok()?;
        if let Ok(below) = root.strip_prefix(&here) {
            return Some(below.to_owned());
        }
        let above = here.strip_prefix(&root).ok()?;
        Some(above.components().map(|_| Component::ParentDir).collect())
    }
}

/// What a search that found nothing means to the user.
fn not_found(error: &FindError) -> Failure {
    let failure = match error {
        FindError::None { .. } => {
            Failure::usage(error.to_string()).hint("`beeuni init` makes a new project, `-C DIR` works on one elsewhere")
        }
        FindError::NoFolder { .. } => Failure::usage(error.to_string()),
        FindError::Both { .. } | FindError::Io { .. } => Failure::user(error.to_string()).with_exit(Exit::FAILED),
    };
    failure.with_causes_of(error)
}

/// A project as it will be once some files are written: what a change would lead to is checked
/// before anything is.
pub(crate) struct Overlay<'a> {
    /// The project as it is.
    pub(crate) base: &'a Folder,
    /// Contents by path, in place of those in the folder.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
}

impl Tree for Overlay<'_> {
    fn kind(&self, path: &str) -> io::Result<Option<EntryKind>> {
        if self.files.contains_key(path) {
            return Ok(Some(EntryKind::File));
        }
        if self.files.keys().any(|file| is_below(file, path)) {
            return Ok(Some(EntryKind::Folder));
        }
        self.base.kind(path)
    }

    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        match self.files.get(path) {
            Some(bytes) => Ok(bytes.clone()),
            None => self.base.read(path),
        }
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let mut names = match self.base.list(path) {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let new = self
            .files
            .keys()
            .filter(|file| is_below(file, path))
            .filter_map(|file| {
                let rest = if path.is_empty() { file } else { &file[path.len() + 1..] };
                rest.split('/').next().map(str::to_owned)
            });
        names.extend(new);
        names.sort();
        names.dedup();
        Ok(names)
    }
}

/// Whether `file` is in the folder `folder` or further down.
fn is_below(file: &str, folder: &str) -> bool {
    folder.is_empty() || file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}
