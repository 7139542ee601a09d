//! `edit`: replaces a text in a file by another, literally, and only where there is no doubt which one is meant.

mod closest;
mod replacement;

use std::sync::PoisonError;

use serde_json::json;

use crate::permission::Access;

use super::arguments::Arguments;
use super::context::{CallContext, ToolFailure, ToolOutput};
use super::paths::{Paths, Place};
use super::read::{bytes, count_of};
use super::sessions::Stamp;
use super::spec::Spec;
use super::{Inner, blocking, nearest, write};
use replacement::{NoReplacement, replacement};

/// What the model reads about the tool.
pub(super) const SPEC: Spec = Spec {
    name: "edit",
    description: "Replace a text in a file. `old_string` has to be in the file exactly as given, with its indentation, \
        and only once: take in lines around it until it is unique, or set `replace_all` to change every occurrence. \
        Leave out the line numbers that `read` shows. Nothing in either text has a special meaning. An empty \
        `new_string` removes the text. Line ends stay as the file has them. To create a file, use `write`.",
    parameters: r#"{"type":"object","properties":{"path":{"type":"string","description":"The file: relative to the checkout, absolute, or beginning with ~."},"old_string":{"type":"string","description":"The text to replace, exactly as in the file."},"new_string":{"type":"string","description":"The text to put in its place."},"replace_all":{"type":"boolean","description":"Replace every occurrence. Default: false."}},"required":["path","old_string","new_string"]}"#,
};

/// Largest file that is changed.
const LARGEST: u64 = 64 * 1024 * 1024;
/// How many places are listed.
const LISTED: usize = 10;

/// A call whose arguments are read.
pub(super) struct Call {
    place: Place,
    old: String,
    new: String,
    all: bool,
}

pub(super) fn prepare(tools: &Inner, arguments: &Arguments) -> Result<(Call, Vec<Access>), ToolFailure> {
    let path = arguments.text(&["path", "file_path", "filePath", "file"], "the file to change")?;
    let old = arguments.text(&["old_string", "oldString", "old_str"], "the text to replace")?;
    let new = arguments.text(
        &["new_string", "newString", "new_str"],
        "the new text, \"\" to remove the old one",
    )?;
    let all = arguments.flag(&["replace_all", "replaceAll"])?;
    let place = tools.paths.resolve(&path)?;
    if old.is_empty() {
        return Err(ToolFailure::arguments(
            "`old_string` is empty: give the text to replace. To create a file or write a whole one, use `write`.",
        ));
    }
    if old == new {
        return Err(ToolFailure::arguments(
            "`old_string` and `new_string` are the same: nothing would change.",
        ));
    }
    // A failed edit shows lines of the file, so it reads it too.
    let mut accesses = tools.paths.accesses(&place, "edit", SPEC.name);
    for access in tools.paths.accesses(&place, "read", "read") {
        if access.capability == "read" {
            accesses.push(access);
        }
    }
    Ok((Call { place, old, new, all }, accesses))
}

/// Metadata: `{ path, replacements, lines: [first line of each, at most 10] }`.
pub(super) async fn run(tools: &Inner, call: Call, context: CallContext<'_>) -> Result<ToolOutput, ToolFailure> {
    let (lock, redact, paths) = (tools.changes.clone(), tools.outputs.redact.clone(), tools.paths.clone());
    let real = call.place.real.clone();
    let (output, stamp) = blocking(move || {
        let _one_at_a_time = lock.lock().unwrap_or_else(PoisonError::into_inner);
        edit(&call, &paths, &*redact)
    })
    .await?;
    // What the session knows of the file, it knows of the new one.
    if let Some(stamp) = stamp {
        tools.sessions.saw(context.session, &real, stamp);
    }
    Ok(output)
}

fn edit(
    call: &Call,
    paths: &Paths,
    redact: &dyn Fn(String) -> String,
) -> Result<(ToolOutput, Option<Stamp>), ToolFailure> {
    let (place, shown) = (&call.place, &call.place.shown);
    let Some(metadata) = write::existing(place)? else {
        return Err(ToolFailure::failed(nearest::missing(&place.real, shown, |path| {
            paths.shown(path)
        })));
    };
    if metadata.len() > LARGEST {
        return Err(ToolFailure::failed(format!(
            "{shown} has {}: `edit` changes files up to 64 MiB. Use `sed` or a script in `bash`.",
            bytes(metadata.len())
        )));
    }
    let failed = |error: std::io::Error| ToolFailure::failed(format!("{shown} cannot be changed: {error}"));
    let content = std::fs::read(&place.real).map_err(failed)?;
    let changed = replacement(&content, &call.old, &call.new, call.all).map_err(|why| match why {
        NoReplacement::NotFound => {
            let text = String::from_utf8_lossy(&content);
            ToolFailure::failed(closest::explain(shown, &text, &call.old, redact))
        }
        NoReplacement::Several(lines) => ToolFailure::failed(several(shown, &lines)),
    })?;
    let old = String::from_utf8_lossy(&content);
    write::refuse_hidden_secret(shown, &call.new, &old, redact)?;
    let stamp = write::replace(&place.real, &changed.content, Some(&metadata)).map_err(failed)?;
    let lines: Vec<usize> = changed.lines.iter().take(LISTED).copied().collect();
    let count = changed.lines.len();
    let output = ToolOutput {
        text: format!(
            "Edited {shown}: {} at {}.",
            count_of(count as u64, "replacement"),
            list_lines(&changed.lines)
        ),
        title: shown.clone(),
        metadata: json!({"path": shown, "replacements": count, "lines": lines}),
        ..ToolOutput::default()
    };
    Ok((output, stamp))
}

fn several(shown: &str, lines: &[usize]) -> String {
    format!(
        "`old_string` occurs {} times in {shown}, at {}: nothing was changed. Take in more lines around the one that you \
         mean, or set `replace_all` to change every one.",
        lines.len(),
        list_lines(lines)
    )
}

/// `line 3`, `lines 3 and 9`, `lines 1, 2, … and 90 more`.
fn list_lines(lines: &[usize]) -> String {
    let numbers: Vec<String> = lines.iter().take(LISTED).map(usize::to_string).collect();
    match numbers.as_slice() {
        [one] => format!("line {one}"),
        _ if lines.len() > LISTED => format!("lines {} and {} more", numbers.join(", "), lines.len() - LISTED),
        [rest @ .., last] => format!("lines {} and {last}", rest.join(", ")),
        [] => "no line".to_owned(),
    }
}
