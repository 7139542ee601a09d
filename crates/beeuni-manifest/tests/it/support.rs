//! Projects for tests: files in memory, and how a finding is shown.
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::path::Path;

use beeuni_manifest::{EntryKind, Issue, Loaded, Tree, load};

/// A project in memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Files(pub(crate) BTreeMap<String, Vec<u8>>);

impl Files {
    /// A project with these files.
    pub(crate) fn new<'f>(files: impl IntoIterator<Item = (&'f str, &'f str)>) -> Self {
        let files = files.into_iter();
        Self(
            files
                .map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()))
                .collect(),
        )
    }

    /// A project with a manifest, the agents `a`, `b` and `beeuni`, and one module.
    pub(crate) fn with(manifest: &str) -> Self {
        Self::new([
            ("beeuni.yaml", manifest),
            ("agents/a.md", ""),
            ("agents/b.md", ""),
            ("agents/beeuni.md", ""),
            ("tools/a.ts", ""),
        ])
    }

    /// Every file below `folder` on disk.
    pub(crate) fn read(folder: &Path) -> Self {
        let mut files = Self::default();
        files.add(folder, "");
        files
    }

    fn add(&mut self, folder: &Path, prefix: &str) {
        for entry in std::fs::read_dir(folder).expect("the folder is there") {
            let entry = entry.unwrap();
            let path = format!("{prefix}{}", entry.file_name().into_string().unwrap());
            if entry.file_type().unwrap().is_dir() {
                self.add(&entry.path(), &format!("{path}/"));
            } else {
                self.0.insert(path, std::fs::read(entry.path()).unwrap());
            }
        }
    }

    /// The findings on `beeuni.yaml`, one a line.
    pub(crate) fn findings(&self) -> String {
        shown(&self.load().issues)
    }

    pub(crate) fn load(&self) -> Loaded {
        load(self, "beeuni.yaml")
    }
}

impl Tree for Files {
    fn kind(&self, path: &str) -> io::Result<Option<EntryKind>> {
        let below = format!("{path}/");
        Ok(if self.0.contains_key(path) {
            Some(EntryKind::File)
        } else if path.is_empty() || self.0.keys().any(|name| name.starts_with(&below)) {
            Some(EntryKind::Folder)
        } else {
            None
        })
    }

    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        self.0
            .get(path)
            .cloned()
            .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let below = if path.is_empty() {
            String::new()
        } else {
            format!("{path}/")
        };
        let mut names: Vec<String> = self
            .0
            .keys()
            .filter_map(|name| name.strip_prefix(&below))
            .map(|rest| rest.split('/').next().unwrap().to_owned())
            .collect();
        names.dedup();
        Ok(names)
    }
}

/// Findings as a person reads them, one a line.
pub(crate) fn shown(issues: &[Issue]) -> String {
    let mut out = String::new();
    for Issue {
        path,
        message,
        severity,
        place,
    } in issues
    {
        let path = if path.is_empty() {
            String::new()
        } else {
            format!("{path}: ")
        };
        let severity = severity.as_str();
        writeln!(
            out,
            "{}:{}:{}: {severity}: {path}{message}",
            place.file, place.line, place.column
        )
        .unwrap();
    }
    out
}
