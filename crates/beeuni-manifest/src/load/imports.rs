//! The `imports` of every file, followed to their end and no further.
use std::collections::HashSet;
use std::rc::Rc;

use crate::lookup::Lookup;
use crate::names::quote;
use crate::repo_path::{PathKind, YAML_ENDINGS, clean};
use crate::report::{At, Findings, Spot};
use crate::tree::EntryKind;
use crate::yaml::{Kind, Node, Problem};

use super::gather::{Source, Sources, read};
use super::values;

/// How many levels of imports the root file may have below it.
pub(crate) const DEEPEST_IMPORT: usize = 8;

/// How many files may be imported.
pub(crate) const MOST_FILES: usize = 200;

/// How many folders and files a folder import looks at.
const MOST_ENTRIES: usize = 20_000;

/// Follows the imports of one root file.
pub(super) struct Imports<'a, 't> {
    lookup: &'a mut Lookup<'t>,
    findings: &'a mut Findings,
    /// Canonical paths of all files that were read or tried.
    seen: HashSet<String>,
    /// The limit on files was reported.
    full: bool,
    sources: &'a mut Sources,
}

/// A look through a folder.
#[derive(Default)]
struct Walk {
    found: Vec<String>,
    /// Canonical paths: a link back to a folder above ends there.
    visited: HashSet<String>,
    looked: usize,
}

/// The files from the root to the one being read: canonical path and name.
type Chain = Vec<(String, Rc<str>)>;

impl<'a, 't> Imports<'a, 't> {
    pub(super) fn new(lookup: &'a mut Lookup<'t>, findings: &'a mut Findings, sources: &'a mut Sources) -> Self {
        Self {
            lookup,
            findings,
            seen: HashSet::new(),
            full: false,
            sources,
        }
    }

    /// Keeps the root file `source` and reads what it imports.
    pub(super) fn follow(mut self, source: Source, canonical: String) {
        self.seen.insert(canonical.clone());
        let mut chain = vec![(canonical, Rc::clone(&source.file))];
        self.enter(source, &mut chain);
    }

    /// Keeps `source` and reads its imports.
    fn enter(&mut self, source: Source, chain: &mut Chain) {
        let file = Rc::clone(&source.file);
        for fault in &source.document.faults {
            let spot = Spot {
                file: Rc::clone(&file),
                path: fault.path.clone(),
                mark: fault.mark,
            };
            self.findings.error(&spot, fault.message.clone());
        }
        let root = source.document.root.clone();
        self.sources.files.push(source);
        if let Some(root) = root {
            self.imports(&file, &root, chain);
        }
    }

    fn imports(&mut self, file: &Rc<str>, root: &Node, chain: &mut Chain) {
        let fields = At::root(file, root).fields().unwrap_or_default();
        let Some(field) = fields.iter().find(|field| field.name == "imports") else {
            return;
        };
        let at = &field.value;
        match (at.items(), at.node.kind()) {
            (Some(items), _) => {
                for item in &items {
                    self.import(item, chain);
                }
            }
            (None, Kind::Null) => {}
            (None, Kind::Text(text)) => {
                let message = format!("must be a list: write {}", quote(&format!("[{text}]")));
                self.findings.error(&at.spot, message);
                self.sources.broken = true;
            }
            (None, kind) => {
                self.findings
                    .error(&at.spot, format!("must be a list of paths, not {}", kind.describe()));
                self.sources.broken = true;
            }
        }
    }

    /// Reads one line of `imports`.
    fn import(&mut self, at: &At<'_>, chain: &mut Chain) {
        match self.files_of(at) {
            Ok(paths) => {
                for path in paths {
                    if let Err(message) = self.import_file(at, &path, chain) {
                        self.fail(at, message);
                    }
                }
            }
            Err(message) => self.fail(at, message),
        }
    }

    /// A broken import: one finding at its line, none when the message is `None`.
    fn fail(&mut self, at: &At<'_>, message: Option<String>) {
        self.sources.broken = true;
        if let Some(message) = message {
            self.findings.error(&at.spot, message);
        }
    }

    /// The files that a line of `imports` names, sorted.
    fn files_of(&mut self, at: &At<'_>) -> Result<Vec<String>, Option<String>> {
        let text = values::text(at, "a path", self.findings).ok_or(None)?;
        let path = clean(text, PathKind::Import)?;
        let kind = if path.is_empty() {
            EntryKind::Folder
        } else {
            self.lookup.find(&path, &mut self.findings.hints)?
        };
        if kind == EntryKind::File {
            if is_yaml(&path) {
                return Ok(vec![path]);
            }
            return Err(Some(
                "must end in `.yaml` or `.yml`, or be a folder of such files".to_owned(),
            ));
        }
        let mut walk = Walk::default();
        self.walk(&path, &mut walk)?;
        if walk.found.is_empty() {
            self.findings.warn(
                &at.spot,
                format!("no YAML file is below {}: nothing is imported", quote(&path)),
            );
        }
        walk.found.sort_unstable();
        Ok(walk.found)
    }

    /// Every YAML file below `folder`. Names that begin with a dot are editors' and tools' own.
    fn walk(&mut self, folder: &str, walk: &mut Walk) -> Result<(), Option<String>> {
        let tree = self.lookup.tree;
        let unreadable = |error: std::io::Error| Some(format!("cannot be read: {}: {error}", quote(folder)));
        if !walk.visited.insert(tree.canonical(folder).map_err(unreadable)?) {
            return Ok(());
        }
        for name in tree.list(folder).map_err(unreadable)? {
            if name.starts_with('.') {
                continue;
            }
            let path = if folder.is_empty() {
                name
            } else {
                format!("{folder}/{name}")
            };
            match tree.kind(&path) {
                Ok(Some(EntryKind::Folder)) => self.walk(&path, walk)?,
                // A link to nothing that is named like a manifest is told when it is read.
                Ok(Some(EntryKind::File) | None) if is_yaml(&path) => walk.found.push(path),
                Err(error) if is_yaml(&path) => {
                    return Err(Some(format!("cannot be used: {}: {error}", quote(&path))));
                }
                _ => {}
            }
            walk.looked += 1;
            if walk.found.len() > MOST_FILES || walk.looked > MOST_ENTRIES {
                return Err(self.too_many());
            }
        }
        Ok(())
    }

    fn import_file(&mut self, at: &At<'_>, path: &str, chain: &mut Chain) -> Result<(), Option<String>> {
        let canonical = self.lookup.tree.canonical(path).unwrap_or_else(|_| path.to_owned());
        if let Some(first) = chain.iter().position(|(known, _)| *known == canonical) {
            let mut names: Vec<&str> = chain[first..].iter().map(|(_, name)| &**name).collect();
            names.push(path);
            return Err(Some(format!(
                "the imports form a cycle, {}: remove one of them",
                names.join(" → ")
            )));
        }
        if self.seen.contains(&canonical) {
            return Ok(());
        }
        if chain.len() > DEEPEST_IMPORT {
            let names: Vec<&str> = chain.iter().map(|(_, name)| &**name).collect();
            return Err(Some(format!(
                "imports nest more than {DEEPEST_IMPORT} levels deep, {} → {path}: import the file from one of the first",
                names.join(" → ")
            )));
        }
        if self.sources.files.len() > MOST_FILES {
            return Err(self.too_many());
        }
        self.seen.insert(canonical.clone());
        let file: Rc<str> = Rc::from(path);
        let source = read(self.lookup.tree, &file).map_err(|Problem { message, mark }| {
            Some(format!(
                "cannot import {}: {path}:{}:{}: {message}",
                quote(path),
                mark.line,
                mark.column
            ))
        })?;
        match source.document.root.as_deref().map(Node::kind) {
            Some(Kind::Map) => {}
            None => self
                .findings
                .warn(&at.spot, format!("imports {}, which is empty", quote(path))),
            Some(kind) => {
                return Err(Some(format!(
                    "cannot import {}: it must be a map of keys such as `tools`, not {}",
                    quote(path),
                    kind.describe()
                )));
            }
        }
        chain.push((canonical, file));
        self.enter(source, chain);
        chain.pop();
        Ok(())
    }

    /// The message on too many files, once.
    fn too_many(&mut self) -> Option<String> {
        let first = !std::mem::replace(&mut self.full, true);
        first.then(|| format!("more than {MOST_FILES} files are imported: import fewer, or name the files one by one"))
    }
}

fn is_yaml(path: &str) -> bool {
    YAML_ENDINGS.iter().any(|ending| path.ends_with(ending))
}
