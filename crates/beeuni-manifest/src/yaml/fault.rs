//! Mistakes that leave the tree readable: keys given twice, and merges of what is no map.
use std::collections::{HashMap, hash_map};

use crate::names::quote;

use super::merge::{MERGE_KEY, merge_sources};
use super::node::{Entry, Fault, Node};

/// What is wrong with `key` in a map that has the keys `seen`; its path is the key alone.
pub(super) fn key_fault(seen: &mut HashMap<String, usize>, key: &Node) -> Option<Fault> {
    let mark = key.mark;
    let Some(text) = key.text() else {
        let message = "a key is a text, and this one is a list or a map: write a name".to_owned();
        return Some(Fault {
            path: String::new(),
            message,
            mark,
        });
    };
    // The parser reads a quoted `"<<"` as the same text, and a duplicate it is.
    match seen.entry(text.to_owned()) {
        hash_map::Entry::Vacant(place) => {
            place.insert(mark.line);
            None
        }
        hash_map::Entry::Occupied(first) => {
            let (first, second) = (first.get(), mark.line);
            let key = quote(text);
            let what = if *first == second {
                format!("{key} stands twice on line {second}")
            } else {
                format!("{key} stands here on line {second} and already on line {first}")
            };
            let advice = if text == MERGE_KEY {
                "write one `<<: [*a, *b]`"
            } else {
                "keep one of the two"
            };
            Some(Fault {
                path: text.to_owned(),
                message: format!("{what}: {advice}"),
                mark,
            })
        }
    }
}

/// What is wrong with a merge key's value; its path is the key alone.
pub(super) fn merge_fault(entry: &Entry) -> Option<Fault> {
    let maps = || {
        merge_sources(&entry.value)
            .iter()
            .all(|source| source.entries().is_some())
    };
    (entry.is_merge() && !maps()).then(|| Fault {
        path: MERGE_KEY.to_owned(),
        message: "`<<` merges a map: write `<<: *name` or `<<: [*a, *b]` with anchors of maps".to_owned(),
        mark: entry.value.mark,
    })
}
