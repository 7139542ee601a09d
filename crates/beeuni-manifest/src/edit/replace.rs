//! Another value for an entry that is there.
use crate::yaml::{Entry, Node, Style, Value, after_colon, after_properties};

use super::Change;
use super::scalar::{in_style, plain_or_quoted};
use super::splice::{Splices, line_break, line_end};

/// Puts the new value in the place of the old one. The error is why that cannot be done.
pub(super) fn value(text: &str, map: &Node, entry: &Entry, change: &Change<'_>) -> Result<Splices, &'static str> {
    let flow = matches!(map.value, Value::Map { flow: true, .. });
    let comment = change.comment.as_deref();
    let plain = plain_or_quoted(change.value, flow);
    let node = &entry.value;
    let mut splices = Splices::default();
    match &node.value {
        Value::Alias(_) => {
            splices.replace(node.range.clone(), plain);
            splices.comment(text, node.range.end, comment);
        }
        Value::Scalar {
            text: old,
            style: Style::Plain,
        } if old.is_empty() => {
            missing(text, map, entry, &plain, comment, &mut splices);
        }
        Value::Scalar {
            style: Style::Block, ..
        } => block(text, entry, &plain, comment, &mut splices)?,
        Value::Scalar { text: old, style } => {
            if old != change.value {
                splices.replace(node.range.clone(), in_style(change.value, *style, flow));
            }
            splices.comment(text, node.range.end, comment);
        }
        Value::List { .. } | Value::Map { .. } => return Err("its value is a list or a map"),
    }
    Ok(splices)
}

/// `name:` with nothing behind it, or a name without a colon.
fn missing(text: &str, map: &Node, entry: &Entry, value: &str, comment: Option<&str>, splices: &mut Splices) {
    let (key, node) = (&entry.key, &entry.value);
    if node.range.start > key.range.end {
        // Behind the colon, or behind the anchor that follows it.
        splices.insert(node.range.start, format!(" {value}"));
        splices.comment(text, node.range.start, comment);
        return;
    }
    match map.value {
        Value::Map {
            flow: false, indent, ..
        } => {
            // `? name` alone: its value goes on a line of its own.
            let end = line_end(text, key.range.end);
            let comment = comment.map_or_else(String::new, |comment| format!("  # {comment}"));
            let sign = line_break(text, end);
            splices.insert(end, format!("{sign}{}: {value}{comment}", " ".repeat(indent)));
        }
        _ => {
            splices.insert(key.range.end, format!(": {value}"));
            splices.comment(text, key.range.end, comment);
        }
    }
}

/// A text below `|` or `>`: the sign becomes the value, the lines below go.
fn block(
    text: &str,
    entry: &Entry,
    value: &str,
    comment: Option<&str>,
    splices: &mut Splices,
) -> Result<(), &'static str> {
    let colon = after_colon(text, entry.key.range.end).ok_or("its value is a text of several lines")?;
    let begin = after_properties(text, colon);
    let sign = text[begin..]
        .find(char::is_whitespace)
        .map_or(text.len(), |length| begin + length);
    let header = line_end(text, sign);
    let end = text[..entry.value.range.end.max(header)].trim_end().len().max(header);
    splices.replace(begin..sign, value);
    splices.comment(text, sign, comment);
    splices.replace(header..end, "");
    Ok(())
}
