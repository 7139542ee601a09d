//! Changing one tool entry of a manifest and no other byte.
//!
//! An edit is a few splices at places that the tree knows. Afterwards the new text is read again, and
//! unless its tree differs from the old one in that entry alone, nothing comes of it.
mod insert;
mod replace;
mod scalar;
mod splice;
mod verify;

use std::rc::Rc;

use crate::load::{Source, Sources, gather, read};
use crate::lookup::Lookup;
use crate::report::Findings;
use crate::tree::Tree;
use crate::yaml::{self, Entry, Kind, Mark, Node, Problem};

use scalar::plain_or_quoted;
use splice::{Splices, one_line};

/// One file with its new text, as an edit leaves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The file, repo-relative.
    pub file: String,
    /// Its whole new text; the old one when there was nothing to change.
    pub text: String,
}

/// Why an edit was refused. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The file has errors that make an edit unsafe (duplicate keys, does not parse, …).
    #[error("{file} cannot be edited: {reason}")]
    Unsafe {
        /// The file.
        file: String,
        /// Why, with line and column, and what to write by hand.
        reason: String,
    },
}

/// What to write.
struct Change<'a> {
    name: &'a str,
    value: &'a str,
    comment: Option<String>,
    /// Entries that a new `tools` key begins with.
    others: &'a [(&'a str, &'a str)],
    /// A new entry stands behind the blank lines that may belong to a text before it.
    after_blanks: bool,
}

impl Change<'_> {
    /// `name: value` as it stands in a block, or inside braces.
    fn entry(&self, flow: bool) -> String {
        entry(self.name, self.value, flow)
    }

    /// The refusal to edit `file` because of `why`.
    fn refuse(&self, file: &str, why: &str) -> EditError {
        let line = self.entry(false);
        let comment = self
            .comment
            .as_ref()
            .map_or_else(String::new, |comment| format!("  # {comment}"));
        let reason = format!("{why}. Correct that first, or write `{line}{comment}` under `tools:` by hand");
        EditError::Unsafe {
            file: file.to_owned(),
            reason,
        }
    }

    fn refuse_at(&self, file: &str, mark: Mark, why: &str) -> EditError {
        self.refuse(file, &format!("line {}, column {}: {why}", mark.line, mark.column))
    }
}

fn entry(name: &str, value: &str, flow: bool) -> String {
    format!("{}: {}", plain_or_quoted(name, flow), plain_or_quoted(value, flow))
}

/// Sets `tools.<name>` to `value` in the file that declares it (a new entry goes to the root file).
///
/// `comment` (without `#`) ends the changed line. `others` are entries written first, in order, when
/// no file has a `tools` key (E3). Every other byte stays; the same edit again changes nothing.
///
/// # Errors
/// When the file cannot be read or parsed, has a key twice, or is written in a way that a splice
/// would change more than the entry: the error says where, and what to write by hand.
pub fn set_tool(
    tree: &dyn Tree,
    file: &str,
    name: &str,
    value: &str,
    comment: Option<&str>,
    others: &[(&str, &str)],
) -> Result<Edit, EditError> {
    let comment = comment.map(one_line);
    let mut change = Change {
        name,
        value,
        comment,
        others,
        after_blanks: false,
    };
    let root: Rc<str> = Rc::from(file);
    let source = read(tree, &root).map_err(|Problem { message, mark }| change.refuse_at(file, mark, &message))?;
    if source.document.root.is_none() {
        let start = Mark { line: 1, column: 1 };
        return finish(&source, &change, insert::into_empty(&source.text, &change), start);
    }
    let mut findings = Findings::new();
    let sources = gather(&mut Lookup::new(tree), file, &mut findings);
    let (target, known) = target(&sources, &change, file)?;
    if known {
        change.others = &[];
    }
    if let Some(fault) = target.document.faults.first() {
        return Err(change.refuse_at(&target.file, fault.mark, &fault.message));
    }
    let Some(root) = target.document.root.as_deref() else {
        return Err(change.refuse(&target.file, "the file is empty"));
    };
    let (first, mark) = splices(target, root, &change)?;
    finish(target, &change, first, mark).or_else(|error| {
        change.after_blanks = true;
        let (second, mark) = splices(target, root, &change)?;
        finish(target, &change, second, mark).map_err(|_| error)
    })
}

/// The file to change, and whether any file has a `tools` key.
fn target<'s>(sources: &'s Sources, change: &Change<'_>, file: &str) -> Result<(&'s Source, bool), EditError> {
    let mut declaring = sources
        .files
        .iter()
        .filter(|source| tools_of(source).is_some_and(|pair| pair.value.get(change.name).is_some()));
    let known = sources.files.iter().any(|source| tools_of(source).is_some());
    match (declaring.next(), declaring.next(), sources.files.first()) {
        (Some(first), Some(second), _) => {
            let why = format!("`{}` is declared in {} too", change.name, second.file);
            Err(change.refuse(&first.file, &why))
        }
        (Some(only), None, _) => Ok((only, known)),
        (None, _, Some(_)) if sources.broken => {
            let why = format!("an import cannot be read, and `{}` may be declared there", change.name);
            Err(change.refuse(file, &why))
        }
        (None, _, Some(root)) => Ok((root, known)),
        (None, _, None) => Err(change.refuse(file, "it is not a map of keys")),
    }
}

fn tools_of(source: &Source) -> Option<yaml::Pair<'_>> {
    source.document.root.as_deref()?.get("tools")
}

/// The splices that make the change in `source`, and the place that they are about.
fn splices(source: &Source, root: &Node, change: &Change<'_>) -> Result<(Splices, Mark), EditError> {
    let text = &source.text;
    let Some(tools) = own_entry(root, "tools") else {
        if let Some(merged) = root.get("tools") {
            let why = "`tools` comes from a merge key, and a change there could change more";
            return Err(change.refuse_at(&source.file, merged.key.mark, why));
        }
        return Ok((insert::new_tools(text, root, change), root.mark));
    };
    let map = &tools.value;
    let splices = match (map.kind(), &map.value) {
        (Kind::Map, yaml::Value::Alias(_)) => insert::beside_alias(text, map, change),
        (Kind::Map, _) => {
            if let Some(entry) = own_entry(map, change.name) {
                let mark = entry.key.mark;
                let splices = replace::value(text, map, entry, change)
                    .map_err(|why| change.refuse_at(&source.file, mark, why))?;
                return Ok((splices, mark));
            }
            if map.entries().is_some_and(<[_]>::is_empty) {
                insert::first_entry(text, root, tools, change)
            } else {
                insert::entry(text, map, change)
            }
        }
        (Kind::Null, _) => insert::first_entry(text, root, tools, change),
        _ => return Err(change.refuse_at(&source.file, map.mark, "`tools` is not a map")),
    };
    Ok((splices, tools.key.mark))
}

/// The entry that `map` itself has for `name`, not one that it merges.
fn own_entry<'n>(map: &'n Node, name: &str) -> Option<&'n Entry> {
    let mut entries = map.entries().unwrap_or_default().iter();
    entries.find(|entry| !entry.is_merge() && entry.key.text() == Some(name))
}

/// Applies the splices and checks what came of them.
fn finish(source: &Source, change: &Change<'_>, splices: Splices, mark: Mark) -> Result<Edit, EditError> {
    let text = splices.apply(&source.text);
    let safe = yaml::parse(&text)
        .is_ok_and(|after| after.faults.is_empty() && verify::differs_only(&source.document, &after, change));
    if !safe {
        let why = "this is written in a way that an edit could change more than the one entry";
        return Err(change.refuse_at(&source.file, mark, why));
    }
    let bom = if source.bom { "\u{feff}" } else { "" };
    Ok(Edit {
        file: source.file.to_string(),
        text: format!("{bom}{text}"),
    })
}
