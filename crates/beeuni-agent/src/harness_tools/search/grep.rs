//! `grep`: lines that match a regular expression.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use serde_json::json;

use crate::permission::Access;

use super::matches::{Found, Line, Wanted, count, search};
use super::names::Names;
use super::{Until, files};
use crate::harness_tools::arguments::Arguments;
use crate::harness_tools::context::{CallContext, ReadRule, ToolFailure, ToolOutput};
use crate::harness_tools::paths::{Paths, Place, external};
use crate::harness_tools::spec::Spec;
use crate::harness_tools::{Inner, blocking, nearest};

/// What the model reads about the tool.
pub(in crate::harness_tools) const SPEC: Spec = Spec {
    name: "grep",
    description: "Search the content of files with a regular expression (Rust's: no look-around, no back-references; \
        escape `( ) [ ] { } . * + ? | ^ $ \\` to find them as they are). It matches within single lines. Results come \
        by file, with line numbers. Leaves out what .gitignore names, hidden files and binary files; a file named by \
        `path` is always searched.",
    parameters: r#"{"type":"object","properties":{"pattern":{"type":"string","description":"The regular expression."},"path":{"type":"string","description":"The file or folder to search. Default: the checkout."},"include":{"type":"string","description":"Only files that match this glob pattern, e.g. *.rs or src/**/*.{ts,tsx}."},"ignore_case":{"type":"boolean","description":"Take upper and lower case as the same. Default: false."},"context":{"type":"integer","description":"Lines to show before and after each match, up to 10. Default: 0."},"files_with_matches":{"type":"boolean","description":"List only the files. Default: false."},"limit":{"type":"integer","description":"How many matches (or files) to show. Default: 100, at most 1,000."}},"required":["pattern"]}"#,
};

const LIMIT: u64 = 100;
const LARGEST_LIMIT: u64 = 1000;
const MOST_CONTEXT: u64 = 10;
/// Memory that a compiled expression may take.
const LARGEST_EXPRESSION: usize = 10 * 1024 * 1024;

/// A call whose arguments are read.
pub(in crate::harness_tools) struct Call {
    pattern: String,
    matcher: RegexMatcher,
    place: Place,
    include: Option<Names>,
    context: usize,
    names_only: bool,
    limit: usize,
}

pub(in crate::harness_tools) fn prepare(
    tools: &Inner,
    arguments: &Arguments,
) -> Result<(Call, Vec<Access>), ToolFailure> {
    let pattern = arguments.text(&["pattern"], "the regular expression")?;
    let path = arguments
        .filled_text(&["path"], "the file or folder to search")?
        .unwrap_or_else(|| ".".to_owned());
    let include = arguments.filled_text(&["include", "glob"], "a glob pattern")?;
    let ignore_case = arguments.flag(&["ignore_case", "ignoreCase", "-i"])?;
    let context = arguments
        .number(&["context", "-C"], "lines")?
        .unwrap_or(0)
        .min(MOST_CONTEXT);
    let names_only = arguments.flag(&["files_with_matches", "filesWithMatches"])?;
    let limit = arguments
        .number(&["limit"], "how many matches")?
        .filter(|limit| *limit > 0)
        .unwrap_or(LIMIT);
    let matcher = compile(&pattern, ignore_case)?;
    let place = tools.paths.resolve(&path)?;
    let mut accesses = vec![Access::new("grep", SPEC.name, &pattern, "*")];
    if place.real.is_file() {
        // Searching one file is reading it.
        accesses.extend(tools.paths.accesses(&place, "read", "read"));
    } else if place.is_outside_for_reading() {
        accesses.push(external(&place.real));
    }
    let call = Call {
        pattern,
        matcher,
        place,
        include: include.as_deref().map(Names::new).transpose()?,
        context: usize::try_from(context).unwrap_or(0),
        names_only,
        limit: usize::try_from(limit.min(LARGEST_LIMIT)).unwrap_or(usize::MAX),
    };
    Ok((call, accesses))
}

fn compile(pattern: &str, ignore_case: bool) -> Result<RegexMatcher, ToolFailure> {
    if pattern.is_empty() {
        return Err(ToolFailure::arguments(
            "The pattern is empty: it would match every line.",
        ));
    }
    RegexMatcherBuilder::new()
        .case_insensitive(ignore_case)
        .line_terminator(Some(b'\n'))
        .size_limit(LARGEST_EXPRESSION)
        .dfa_size_limit(LARGEST_EXPRESSION)
        .build(pattern)
        .map_err(|error| {
            // The matcher puts the expression into a group first, which is not what the model wrote.
            let text = match regex_syntax::Parser::new().parse(pattern) {
                Err(error) => error.to_string(),
                Ok(_) => error.to_string(),
            };
            let hint = if text.contains("\\n") {
                "`grep` matches within single lines: search for one of them, or use `rg -U` in `bash`."
            } else if text.contains("look-around") || text.contains("backreference") {
                "Look-around and back-references are not supported: use `grep -P` in `bash`."
            } else {
                "To find special characters as they are, put a backslash before each."
            };
            ToolFailure::arguments(format!("The regular expression is not valid: {text}\n{hint}"))
        })
}

/// Metadata: `{ path, matches, files, truncated }`.
pub(in crate::harness_tools) async fn run(
    tools: &Inner,
    call: Call,
    context: CallContext<'_>,
) -> Result<ToolOutput, ToolFailure> {
    let until = Until::new(context.stop, tools.limits.search);
    let (paths, outputs) = (tools.paths.clone(), tools.outputs.clone());
    let rule = context.gate.read_rule();
    blocking(move || {
        let shown = &call.place.shown;
        if !call.place.real.exists() {
            let show = |path: &Path| paths.shown(path);
            return Err(ToolFailure::failed(nearest::missing(&call.place.real, shown, show)));
        }
        let (candidates, complete) = call.candidates(&until)?;
        let may_show = |path: &Path| call.may_show(path, &paths, rule.as_ref());
        let wanted = Wanted {
            matcher: &call.matcher,
            context: if call.names_only { 0 } else { call.context },
            names_only: call.names_only,
            limit: call.limit,
            may_show: &may_show,
        };
        let found = search(&candidates, &wanted, &until);
        if until.stop.is_cancelled() {
            return Err(ToolFailure::stopped());
        }
        let (text, matches, files) = call.text(&candidates, &found, &paths, complete);
        Ok(ToolOutput {
            text: outputs.bounded(SPEC.name, text),
            metadata: json!({
                "path": shown, "matches": matches, "files": files, "truncated": !(complete && found.complete),
            }),
            title: call.pattern,
            ..ToolOutput::default()
        })
    })
    .await
}

impl Call {
    /// The files to search, and whether those are all.
    fn candidates(&self, until: &Until) -> Result<(Vec<PathBuf>, bool), ToolFailure> {
        let root = &self.place.real;
        if !root.is_dir() {
            return Ok((vec![root.clone()], true));
        }
        let hidden = self.include.as_ref().is_some_and(|include| include.hidden);
        let (mut all, complete) = files(root, hidden, true, until)?;
        if let Some(include) = &self.include {
            all.retain(|path| {
                let relative = path.strip_prefix(root).unwrap_or(path);
                match relative.strip_prefix(&include.folder) {
                    Ok(relative) => include.matches(relative),
                    Err(_) => false,
                }
            });
        }
        // A pipe would wait for its other end, a link may lead anywhere.
        all.retain(|path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_file()));
        Ok((all, complete))
    }

    /// Whether the rules let a file be read without asking. The file that was named has been asked about.
    fn may_show(&self, path: &Path, paths: &Paths, rule: Option<&ReadRule>) -> bool {
        let Some(rule) = rule.filter(|_| path != self.place.real) else {
            return true;
        };
        let Ok(place) = paths.resolve(&path.to_string_lossy()) else {
            return false;
        };
        let accesses = paths.accesses(&place, "read", "read");
        accesses
            .iter()
            .filter(|access| access.capability == "read")
            .all(|access| rule(access))
    }

    /// The result as text, and how many matches and files are in it.
    fn text(&self, candidates: &[PathBuf], found: &Found, paths: &Paths, complete: bool) -> (String, usize, usize) {
        let (mut text, mut matches, mut files) = (String::new(), 0, 0);
        let mut more = !found.complete;
        for (index, lines) in &found.files {
            let enough = if self.names_only { files } else { matches };
            if enough >= self.limit {
                more = true;
                break;
            }
            files += 1;
            let Some(path) = candidates.get(*index) else { continue };
            let _ = writeln!(text, "{}", paths.shown(path));
            if self.names_only {
                continue;
            }
            let room = self.limit - matches;
            more |= count(lines) > room;
            matches += count(lines).min(room);
            write_lines(&mut text, lines, room);
        }
        let shown = &self.place.shown;
        if files == 0 {
            let _ = writeln!(text, "No match for {} in `{shown}`.", self.pattern);
        }
        if found.withheld > 0 {
            let _ = writeln!(
                text,
                "[{} more file(s) match but may not be shown without permission: `read` asks for it.]",
                found.withheld
            );
        }
        if more || !complete {
            text.push_str("[There may be more matches. Narrow the pattern, `path` or `include`, or raise `limit`.]\n");
        }
        text.pop();
        (text, if self.names_only { files } else { matches }, files)
    }
}

/// The lines up to `room` matches: `12: match`, `11- context`.
fn write_lines(text: &mut String, lines: &[Line], room: usize) {
    let mut left = room;
    for line in lines {
        match line {
            Line::Match(..) if left == 0 => return,
            Line::Match(number, line) => {
                left -= 1;
                let _ = writeln!(text, "  {number}: {line}");
            }
            Line::Context(number, line) => {
                let _ = writeln!(text, "  {number}- {line}");
            }
            Line::Break => text.push_str("  --\n"),
        }
    }
}
