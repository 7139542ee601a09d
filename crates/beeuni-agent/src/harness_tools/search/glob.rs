//! `glob`: files whose paths match a pattern, newest first.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::SystemTime;

use serde_json::json;

use crate::permission::Access;

use super::names::Names;
use super::{Until, files};
use crate::harness_tools::arguments::Arguments;
use crate::harness_tools::context::{CallContext, ToolFailure, ToolOutput};
use crate::harness_tools::paths::{Place, external};
use crate::harness_tools::spec::Spec;
use crate::harness_tools::{Inner, blocking, nearest};

/// What the model reads about the tool.
pub(in crate::harness_tools) const SPEC: Spec = Spec {
    name: "glob",
    description: "Find files by a pattern of their paths, newest first: `**/*.rs`, `src/**/*.test.ts`, `*.md` (names at \
        any depth), `{a,b}/*.json`. Leaves out what .gitignore names, and hidden files unless the pattern itself names \
        them (`.github/**`).",
    parameters: r#"{"type":"object","properties":{"pattern":{"type":"string","description":"The glob pattern."},"path":{"type":"string","description":"The folder to look in. Default: the checkout."},"limit":{"type":"integer","description":"How many files to list. Default: 100, at most 1,000."}},"required":["pattern"]}"#,
};

const LIMIT: u64 = 100;
const LARGEST_LIMIT: u64 = 1000;

/// A call whose arguments are read.
pub(in crate::harness_tools) struct Call {
    pattern: String,
    names: Names,
    place: Place,
    limit: usize,
}

pub(in crate::harness_tools) fn prepare(
    tools: &Inner,
    arguments: &Arguments,
) -> Result<(Call, Vec<Access>), ToolFailure> {
    let pattern = arguments.text(&["pattern"], "the glob pattern")?;
    let path = arguments
        .filled_text(&["path"], "the folder to look in")?
        .unwrap_or_else(|| ".".to_owned());
    let limit = arguments
        .number(&["limit"], "how many files")?
        .filter(|limit| *limit > 0)
        .unwrap_or(LIMIT);
    let limit = usize::try_from(limit.min(LARGEST_LIMIT)).unwrap_or(usize::MAX);
    let names = Names::new(&pattern)?;
    let folder = tools.paths.resolve(&path)?;
    let place = if names.folder.is_empty() {
        folder
    } else {
        tools.paths.resolve_from(&folder.real, &names.folder)?
    };
    let mut accesses = vec![Access::new("glob", SPEC.name, &pattern, "*")];
    if place.is_outside_for_reading() {
        accesses.push(external(&place.real));
    }
    Ok((
        Call {
            pattern,
            names,
            place,
            limit,
        },
        accesses,
    ))
}

/// Metadata: `{ path, count, truncated }`.
pub(in crate::harness_tools) async fn run(
    tools: &Inner,
    call: Call,
    context: CallContext<'_>,
) -> Result<ToolOutput, ToolFailure> {
    let until = Until::new(context.stop, tools.limits.search);
    let (paths, outputs) = (tools.paths.clone(), tools.outputs.clone());
    blocking(move || {
        let shown = &call.place.shown;
        if !call.place.real.exists() {
            let show = |path: &std::path::Path| paths.shown(path);
            return Err(ToolFailure::failed(nearest::missing(&call.place.real, shown, show)));
        }
        if !call.place.real.is_dir() {
            return Err(ToolFailure::failed(format!(
                "{shown} is a file: `path` names the folder to look in."
            )));
        }
        let (all, complete) = files(&call.place.real, call.names.hidden, false, &until)?;
        let mut found: Vec<(SystemTime, PathBuf)> = all
            .into_iter()
            .filter(|path| {
                let relative = path.strip_prefix(&call.place.real).unwrap_or(path);
                call.names.matches(relative)
            })
            .map(|path| {
                let modified = path.symlink_metadata().and_then(|metadata| metadata.modified());
                (modified.unwrap_or(SystemTime::UNIX_EPOCH), path)
            })
            .collect();
        found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let (total, limit) = (found.len(), call.limit);
        let mut text = String::new();
        for (_, path) in found.iter().take(limit) {
            let _ = writeln!(text, "{}", paths.shown(path));
        }
        if total == 0 {
            text = format!(
                "No file matches {} in `{shown}`. Ignored and hidden files are left out: `find` in `bash` sees them.\n",
                call.pattern
            );
        }
        if total > limit {
            let _ = writeln!(
                text,
                "[The newest {limit} of {total} files. Narrow the pattern, or raise `limit`.]"
            );
        }
        if !complete {
            text.push_str("[The search ended early: there may be more. Narrow the pattern or `path`.]\n");
        }
        text.pop();
        Ok(ToolOutput {
            text: outputs.bounded(SPEC.name, text),
            title: call.pattern,
            metadata: json!({"path": shown, "count": total, "truncated": total > limit || !complete}),
            ..ToolOutput::default()
        })
    })
    .await
}
