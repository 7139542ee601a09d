//! An entry that is not there yet, and the `tools` key itself.
use crate::yaml::{Entry, Node, Value, after_colon, skip_space};

use super::splice::{Splices, line_break, line_end, line_start};
use super::{Change, entry as written};

/// How far the entries of a map are indented in a file that shows no other habit.
const STEP: usize = 2;

/// A new entry after the last one of `map`, which has some.
pub(super) fn entry(text: &str, map: &Node, change: &Change<'_>) -> Splices {
    match map.value {
        Value::Map {
            flow: false, indent, ..
        } => {
            let lines = [format!("{}{}", " ".repeat(indent), change.entry(false))];
            below(
                text,
                end_of_map(text, map, change.after_blanks),
                &lines,
                change.comment.as_deref(),
            )
        }
        _ => inside_braces(text, map, &change.entry(true), change.comment.as_deref()),
    }
}

/// The first entry of a `tools` key that has none: nothing, `~`, or `{}`.
pub(super) fn first_entry(text: &str, root: &Node, tools: &Entry, change: &Change<'_>) -> Splices {
    let comment = change.comment.as_deref();
    let value = &tools.value;
    let braces = value.entries().is_some();
    let Value::Map {
        flow: false, indent, ..
    } = root.value
    else {
        if braces {
            return into_braces(text, value, &change.entry(true), comment);
        }
        let mut splices = Splices::default();
        let map = format!("{{ {} }}", change.entry(true));
        if value.is_absent() {
            let colon = after_colon(text, tools.key.range.end);
            let sign = if colon.is_some() { " " } else { ": " };
            splices.insert(value.range.start, format!("{sign}{map}"));
        } else {
            splices.replace(value.range.clone(), map);
        }
        splices.comment(text, value.range.end, comment);
        return splices;
    };
    let line = format!("{}{}", " ".repeat(indent + step(root)), change.entry(false));
    if value.is_absent() {
        return below(text, value.range.start, &[line], comment);
    }
    let Some(colon) = after_colon(text, tools.key.range.end) else {
        return Splices::default();
    };
    let between = &text[colon..value.range.start];
    let plain = between.bytes().all(|b| b == b' ');
    let inner = &text[value.range.clone()];
    if braces && !(plain && inner.bytes().all(|b| matches!(b, b'{' | b'}' | b' '))) {
        return into_braces(text, value, &change.entry(true), comment);
    }
    if between.contains(['\n', '\r']) {
        // `~` on a line of its own: the entry takes its place.
        let mut splices = Splices::default();
        splices.replace(value.range.clone(), change.entry(false));
        splices.comment(text, value.range.end, comment);
        return splices;
    }
    let mut splices = below(text, value.range.end, &[line], comment);
    let begin = value.range.start - (between.len() - between.trim_end_matches(' ').len());
    splices.replace(begin..value.range.end, "");
    splices
}

/// `tools: *name`: the alias becomes a map that merges it.
pub(super) fn beside_alias(text: &str, alias: &Node, change: &Change<'_>) -> Splices {
    let mut splices = Splices::default();
    let name = &text[alias.range.clone()];
    splices.replace(alias.range.clone(), format!("{{ <<: {name}, {} }}", change.entry(true)));
    splices.comment(text, alias.range.end, change.comment.as_deref());
    splices
}

/// A `tools` key at the end of the root map, with the other entries first.
pub(super) fn new_tools(text: &str, root: &Node, change: &Change<'_>) -> Splices {
    let comment = change.comment.as_deref();
    match root.value {
        Value::Map {
            flow: false, indent, ..
        } => {
            let lines = block(change, indent, indent + step(root));
            below(text, end_of_map(text, root, change.after_blanks), &lines, comment)
        }
        _ => {
            let mut inner: Vec<String> = change
                .others
                .iter()
                .map(|(name, value)| written(name, value, true))
                .collect();
            inner.push(change.entry(true));
            let tools = format!("tools: {{ {} }}", inner.join(", "));
            if root.entries().is_some_and(<[_]>::is_empty) {
                into_braces(text, root, &tools, comment)
            } else {
                inside_braces(text, root, &tools, comment)
            }
        }
    }
}

/// A manifest in a file that has none: after its comments, before an end mark.
pub(super) fn into_empty(text: &str, change: &Change<'_>) -> Splices {
    let mut lines = vec!["beeuni_version: 2".to_owned()];
    lines.extend(block(change, 0, STEP));
    let mark = |sign: &str| {
        let mut at = 0;
        text.split_inclusive('\n').find_map(|line| {
            let begin = at;
            at += line.len();
            line.starts_with(sign).then_some(begin)
        })
    };
    let at = match (mark("---"), mark("...")) {
        (Some(begin), _) => line_end(text, begin),
        (None, Some(end)) => text[..end].trim_end().len(),
        (None, None) => text.len(),
    };
    let sign = line_break(text, at);
    let comment = change
        .comment
        .as_ref()
        .map_or_else(String::new, |comment| format!("  # {comment}"));
    let body = format!("{}{comment}", lines.join(sign));
    let mut splices = Splices::default();
    // A file that ended with a line break still does, and an empty one becomes a file that does.
    let (before, after) = if at == line_start(text, at) {
        ("", sign)
    } else {
        (sign, "")
    };
    splices.insert(at, format!("{before}{body}{after}"));
    splices
}

/// The lines of a new `tools` key.
fn block(change: &Change<'_>, outer: usize, inner: usize) -> Vec<String> {
    let mut lines = vec![format!("{}tools:", " ".repeat(outer))];
    let others = change.others.iter().map(|(name, value)| written(name, value, false));
    let entries = others.chain([change.entry(false)]);
    lines.extend(entries.map(|entry| format!("{}{entry}", " ".repeat(inner))));
    lines
}

/// New lines below the line of byte `at`, the comment behind the last. Where `at` begins a line they
/// stand before it.
fn below(text: &str, at: usize, lines: &[String], comment: Option<&str>) -> Splices {
    let begins_line = at > 0 && at == line_start(text, at);
    let sign = line_break(
        text,
        if begins_line {
            text[..at].trim_end_matches(['\n', '\r']).len()
        } else {
            at
        },
    );
    let mut new = lines.join(sign);
    if let Some(comment) = comment {
        new.push_str("  # ");
        new.push_str(comment);
    }
    let mut splices = Splices::default();
    if begins_line {
        splices.insert(at, format!("{new}{sign}"));
    } else {
        splices.insert(line_end(text, at), format!("{sign}{new}"));
    }
    splices
}

/// A new entry behind the last one of a map in braces.
fn inside_braces(text: &str, map: &Node, entry: &str, comment: Option<&str>) -> Splices {
    let mut splices = Splices::default();
    let last = end_of_map(text, map, false);
    let next = skip_space(text, last);
    let comma = text.as_bytes().get(next) == Some(&b',');
    let close = map.range.end.saturating_sub(1);
    let begin = map
        .entries()
        .unwrap_or_default()
        .last()
        .map_or(last, |entry| entry.key.range.start);
    let own_line = text[line_start(text, begin)..begin].bytes().all(|b| b == b' ');
    // Where each entry has its own line the new one gets one too.
    if own_line && begin > map.range.start && line_end(text, last) < close {
        if !comma {
            splices.insert(last, ",");
        }
        let indent = " ".repeat(begin - line_start(text, begin));
        let end = line_end(text, if comma { next } else { last });
        let tail = if comma { "," } else { "" };
        let comment = comment.map_or_else(String::new, |comment| format!("  # {comment}"));
        splices.insert(end, format!("{}{indent}{entry}{tail}{comment}", line_break(text, end)));
        return splices;
    }
    if comma {
        splices.insert(next + 1, format!(" {entry}"));
        splices.comment(text, next + 1, comment);
    } else {
        splices.insert(last, format!(", {entry}"));
        splices.comment(text, last, comment);
    }
    splices
}

/// The first entry of a map in braces.
fn into_braces(text: &str, map: &Node, entry: &str, comment: Option<&str>) -> Splices {
    let mut splices = Splices::default();
    let inner = map.range.start + 1..map.range.end.saturating_sub(1);
    if text[inner.clone()].trim().is_empty() {
        splices.replace(inner, format!(" {entry} "));
        splices.comment(text, map.range.end, comment);
    } else {
        // Comments stand between the braces: below the last of them.
        let last = text[..inner.end].trim_end().len();
        let close = line_start(text, inner.end);
        let indent = text[close..inner.end].len() - text[close..inner.end].trim_start_matches(' ').len();
        let lines = [format!("{}{entry}", " ".repeat(indent + STEP))];
        return below(text, last, &lines, comment);
    }
    splices
}

/// The byte after the last entry of `map`. Only a text below `|` reaches past its last letter: blank
/// lines behind it are counted to it when `blanks` says so.
fn end_of_map(text: &str, map: &Node, blanks: bool) -> usize {
    let entries = map.entries().unwrap_or_default();
    let end = entries
        .last()
        .map_or(map.range.end, |entry| entry.key.range.end.max(entry.value.range.end));
    if blanks {
        end
    } else {
        text[..end].trim_end().len().max(map.range.start)
    }
}

/// How far the file indents the entries of a map.
fn step(root: &Node) -> usize {
    let Value::Map { indent: outer, .. } = root.value else {
        return STEP;
    };
    let inner = root
        .entries()
        .unwrap_or_default()
        .iter()
        .find_map(|entry| match entry.value.value {
            Value::Map {
                flow: false, indent, ..
            } => indent.checked_sub(outer),
            _ => None,
        });
    inner.filter(|&step| step > 0).unwrap_or(STEP)
}
