//! Whether an edit changed what it should and nothing else.
use crate::yaml::{Document, Kind, Node, Pair};

use super::Change;

/// Whether `after` is `before` with the entry of `change` and no other difference.
pub(super) fn differs_only(before: &Document, after: &Document, change: &Change<'_>) -> bool {
    let Some(new_root) = after.root.as_deref() else {
        return false;
    };
    let (Some(new), Some(new_tools)) = (new_root.pairs(), new_root.get("tools")) else {
        return false;
    };
    let Some(new_tools) = new_tools.value.pairs() else {
        return false;
    };
    let set = new_tools.iter().find(|pair| pair.name == change.name);
    if set.is_none_or(|pair| pair.value.kind() != Kind::Text(change.value)) {
        return false;
    }
    let Some(old_root) = before.root.as_deref() else {
        return new.iter().map(|pair| pair.name).eq(["beeuni_version", "tools"]) && only_others(&new_tools, change);
    };
    let old = old_root.pairs().unwrap_or_default();
    if !same_but(&old, &new, "tools") {
        return false;
    }
    match old.iter().find(|pair| pair.name == "tools") {
        None => only_others(&new_tools, change),
        Some(old) => same_but(&old.value.pairs().unwrap_or_default(), &new_tools, change.name),
    }
}

/// Whether a new `tools` key has the other entries, in order, and the changed one.
fn only_others(new: &[Pair<'_>], change: &Change<'_>) -> bool {
    let rest = new.iter().filter(|pair| pair.name != change.name);
    let others = change.others.iter().filter(|(name, _)| *name != change.name);
    rest.map(|pair| (pair.name, pair.value.text()))
        .eq(others.map(|&(name, value)| (name, Some(value))))
}

/// Whether both maps have the same entries in the same order, but for `name`.
fn same_but(old: &[Pair<'_>], new: &[Pair<'_>], name: &str) -> bool {
    let mut old = old.iter().filter(|pair| pair.name != name);
    let mut new = new.iter().filter(|pair| pair.name != name);
    loop {
        match (old.next(), new.next()) {
            (None, None) => return true,
            (Some(a), Some(b)) if a.name == b.name && same(a.value, b.value) => {}
            _ => return false,
        }
    }
}

/// Whether two nodes mean the same. The bound on what aliases stand for bounds this too.
fn same(a: &Node, b: &Node) -> bool {
    let (a, b) = (a.inner(), b.inner());
    if a.tag != b.tag {
        return false;
    }
    match (a.items(), b.items(), a.pairs(), b.pairs()) {
        (Some(a), Some(b), _, _) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (_, _, Some(a), Some(b)) => {
            a.len() == b.len()
                && a.iter()
                    .zip(&b)
                    .all(|(a, b)| a.name == b.name && same(a.value, b.value))
        }
        (None, None, None, None) => a.text() == b.text() && (a.kind() == Kind::Null) == (b.kind() == Kind::Null),
        _ => false,
    }
}
