//! A map as its readers see it: own entries first, merged ones where nothing overrides them.
use std::collections::HashSet;

use super::node::{Entry, Node, Style, Value};

/// The merge key.
pub(crate) const MERGE_KEY: &str = "<<";

/// One entry of a map after merging.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair<'n> {
    /// The key's text as written.
    pub(crate) name: &'n str,
    /// The key.
    pub(crate) key: &'n Node,
    /// The value, an alias not yet followed.
    pub(crate) value: &'n Node,
}

impl Entry {
    /// Whether it is `<<: …`. A quoted `"<<"` is a key like any other.
    pub(crate) fn is_merge(&self) -> bool {
        matches!(&self.key.value, Value::Scalar { text, style: Style::Plain } if text == MERGE_KEY)
    }
}

impl Node {
    /// The entries of a map with merge keys resolved, in order, a merged entry at its `<<`; of a key
    /// given twice the first. `None` when the node is no map.
    ///
    /// The tree's bound on what aliases may stand for bounds this too.
    pub(crate) fn pairs(&self) -> Option<Vec<Pair<'_>>> {
        let entries = self.entries()?;
        let mut own = HashSet::new();
        let mut pairs = Vec::with_capacity(entries.len());
        let mut merges = Vec::new();
        for entry in entries {
            if entry.is_merge() {
                merges.push((pairs.len(), &*entry.value));
            } else if let Some(name) = entry.key.text()
                && own.insert(name)
            {
                pairs.push(Pair {
                    name,
                    key: &entry.key,
                    value: &entry.value,
                });
            }
        }
        // From the last merge to the first, so that the places of earlier ones stay right; but of two
        // merged maps the one that stands first wins.
        let mut merged: Vec<(usize, Vec<Pair<'_>>)> = Vec::new();
        for (place, value) in merges {
            let mut found = Vec::new();
            for source in merge_sources(value) {
                for pair in source.pairs().unwrap_or_default() {
                    if own.insert(pair.name) {
                        found.push(pair);
                    }
                }
            }
            merged.push((place, found));
        }
        for (place, found) in merged.into_iter().rev() {
            pairs.splice(place..place, found);
        }
        Some(pairs)
    }

    /// The value of the key `name`, merge keys resolved.
    pub(crate) fn get(&self, name: &str) -> Option<Pair<'_>> {
        self.pairs()?.into_iter().find(|pair| pair.name == name)
    }
}

/// The maps that `<<: value` merges.
pub(super) fn merge_sources(value: &Node) -> Vec<&Node> {
    match value.items() {
        Some(items) => items.iter().map(|item| item.inner()).collect(),
        None => vec![value.inner()],
    }
}
