//! Asking a project's tree for a file, with an answer that says what to do when it is not there.
use std::collections::HashMap;
use std::rc::Rc;

use unicode_normalization::UnicodeNormalization;

use crate::names::{Hints, quote};
use crate::tree::{EntryKind, Tree};

/// A tree and the folders that were listed already.
pub(crate) struct Lookup<'t> {
    /// The tree itself.
    pub(crate) tree: &'t dyn Tree,
    lists: HashMap<String, Option<Rc<[String]>>>,
}

impl<'t> Lookup<'t> {
    pub(crate) fn new(tree: &'t dyn Tree) -> Self {
        Self {
            tree,
            lists: HashMap::new(),
        }
    }

    /// What stands at `path`, which has to be there by exactly this name.
    ///
    /// The error is the rest of a sentence about the path's key.
    pub(crate) fn find(&mut self, path: &str, hints: &mut Hints) -> Result<EntryKind, String> {
        let kind = match self.tree.kind(path) {
            Ok(Some(kind)) => kind,
            Ok(None) => return Err(self.missing(path, hints)),
            Err(error) => return Err(format!("cannot be used: {}: {error}", quote(path))),
        };
        // Some file systems find `Tools/A.ts` for `tools/a.ts`; the sandbox's does not.
        match self.first_absent(path) {
            None => Ok(kind),
            Some(_) => Err(self.missing(path, hints)),
        }
    }

    /// Like [`Lookup::find`], for what has to be a file.
    pub(crate) fn file(&mut self, path: &str, hints: &mut Hints) -> Result<(), String> {
        match self.find(path, hints)? {
            EntryKind::File => Ok(()),
            EntryKind::Folder => Err(format!("names the folder {}: name a file in it", quote(path))),
        }
    }

    /// The first name of `path` that is not in its folder.
    fn first_absent<'p>(&mut self, path: &'p str) -> Option<Absent<'p>> {
        let mut begin = 0;
        for part in path.split('/') {
            let end = begin + part.len();
            let names = self.names(&path[..begin.saturating_sub(1)])?;
            if names.binary_search_by(|name| name.as_str().cmp(part)).is_err() {
                return Some(Absent {
                    before: &path[..begin],
                    part,
                    after: &path[end..],
                    names,
                });
            }
            begin = end + 1;
        }
        None
    }

    /// The names in `folder`, sorted; `None` when it cannot be listed.
    fn names(&mut self, folder: &str) -> Option<Rc<[String]>> {
        if let Some(known) = self.lists.get(folder) {
            return known.clone();
        }
        let names = self.tree.list(folder).ok().map(|mut names| {
            names.sort_unstable();
            Rc::from(names)
        });
        self.lists.insert(folder.to_owned(), names.clone());
        names
    }

    /// Why nothing is found at `path`, and what stands there instead.
    fn missing(&mut self, path: &str, hints: &mut Hints) -> String {
        let none = format!("names {}, which does not exist", quote(path));
        let Some(absent) = self.first_absent(path) else {
            return match self.tree.kind(path) {
                // Every name of the path is there, yet it leads nowhere.
                Ok(None) => format!("names {}, which is a link to nothing", quote(path)),
                _ => none,
            };
        };
        let Absent {
            before,
            part,
            after,
            names,
        } = absent;
        if !hints.afford(names.len()) {
            return format!("{none}: create it, or correct the path");
        }
        let full = |name: &str| quote(&format!("{before}{name}{after}"));
        let composed: String = part.nfc().collect();
        if let Some(name) = names.iter().find(|name| name.nfc().eq(composed.chars())) {
            return format!(
                "{none}; a file with the same name in another Unicode form exists ({}): rename the file, or copy its \
                 name into this line",
                escaped(name)
            );
        }
        let folded = composed.to_lowercase();
        if let Some(name) = names
            .iter()
            .find(|name| name.nfc().collect::<String>().to_lowercase() == folded)
        {
            return format!("{none}: letter case counts, did you mean {}?", full(name));
        }
        match hints.nearest(part, names.iter().map(String::as_str)) {
            Some(name) => format!("{none}: did you mean {}?", full(name)),
            None => format!("{none}: create it, or correct the path"),
        }
    }
}

/// The part of a path that is not there.
struct Absent<'p> {
    /// The path before it, with its `/`.
    before: &'p str,
    part: &'p str,
    /// The path after it, with its `/`.
    after: &'p str,
    /// What its folder has instead, sorted.
    names: Rc<[String]>,
}

/// `name` with everything beyond ASCII as code points: two Unicode forms look the same on a screen.
fn escaped(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars().take(100) {
        if c.is_ascii() && !c.is_control() {
            out.push(c);
        } else {
            out.extend(c.escape_unicode());
        }
    }
    out
}
