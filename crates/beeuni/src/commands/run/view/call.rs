//! How a tool call looks: one line when it begins, and what came of it.
use std::time::Duration;

use beeuni_agent::harness_tools::HARNESS_TOOL_NAMES;
use beeuni_protocol::session::{ToolCall, ToolStatus};
use serde_json::Value;

use super::live::columns;
use super::text::shorten;
use crate::output::{DIM, ERROR, GOOD, Look, STRONG, WARNING, count, duration, visible};

/// How many lines of an output are shown: enough to see what it is.
const OUTPUT_LINES: usize = 5;
/// An error is shown further: it is what somebody has to act on.
const ERROR_LINES: usize = 20;

/// Arguments of the harness tools that say what a call is about, in the order of preference.
const SUBJECTS: [&str; 9] = [
    "command",
    "path",
    "file_path",
    "filePath",
    "pattern",
    "url",
    "description",
    "name",
    "question",
];

/// `▸ lookup_order {"id":"A-1042"}`
pub(super) fn begin(look: Look, call: &ToolCall) -> String {
    let tool = visible(&call.tool);
    let room = columns().saturating_sub(tool.chars().count() + 4);
    let about = shorten(&one_line(&about(call)), room);
    format!(
        "{} {} {}",
        look.paint(DIM, "▸"),
        look.paint(STRONG, &tool),
        look.paint(DIM, &about)
    )
    .trim_end()
    .to_owned()
}

/// `✓ lookup_order 12 ms`, and the beginning of what came out.
pub(super) fn end(look: Look, call: &ToolCall) -> String {
    let (mark, style, verb) = match call.status {
        ToolStatus::Completed => ("✓", GOOD, ""),
        ToolStatus::Interrupted => ("■", WARNING, "stopped after "),
        _ => ("✗", ERROR, "failed after "),
    };
    let took = format!("{verb}{}", duration(took(call)));
    let mut text = format!(
        "{} {} {}",
        look.paint(style, mark),
        visible(&call.tool),
        look.paint(DIM, &took)
    );
    let (body, most, style) = match (&call.error, &call.output) {
        (Some(error), _) => (error.as_str(), ERROR_LINES, ERROR),
        (None, Some(output)) => (output.as_str(), OUTPUT_LINES, DIM),
        (None, None) => return text,
    };
    if body.trim().is_empty() {
        return text + "\n  " + &look.paint(DIM, "(no output)");
    }
    let room = columns().saturating_sub(3);
    let lines: Vec<&str> = body.trim_end().lines().collect();
    for line in lines.iter().take(most) {
        let line = shorten(&visible(line).replace('\t', "    "), room);
        text = text + "\n  " + &look.paint(style, &line);
    }
    if lines.len() > most {
        let more = format!("… {} (the model reads them)", count(lines.len() - most, "more line"));
        text = text + "\n  " + &look.paint(DIM, &more);
    }
    text
}

/// A subagent's call, on one line.
pub(super) fn of_subagent(look: Look, agent: &str, call: &ToolCall) -> String {
    let (mark, style) = match call.status {
        ToolStatus::Completed => ("✓", GOOD),
        ToolStatus::Interrupted => ("■", WARNING),
        _ => ("✗", ERROR),
    };
    let head = format!("{agent}: {} ", call.tool);
    let about = match &call.error {
        Some(error) => error.lines().next().unwrap_or_default().to_owned(),
        None => about(call),
    };
    let text = shorten(&one_line(&format!("{head}{about}")), columns().saturating_sub(5));
    format!("  {} {}", look.paint(style, mark), look.paint(DIM, text.trim_end()))
}

/// How long the call ran.
fn took(call: &ToolCall) -> Duration {
    let from = call.time.started.unwrap_or(call.time.created);
    Duration::from_millis(call.time.ended.unwrap_or(from).saturating_sub(from))
}

/// What a call is about: of a harness tool the argument that tells it, else all arguments.
fn about(call: &ToolCall) -> String {
    let arguments = call.arguments.trim();
    let known = HARNESS_TOOL_NAMES.contains(&call.tool.as_str()) || call.tool == "task";
    let subject = known
        .then(|| serde_json::from_str::<Value>(arguments).ok())
        .flatten()
        .and_then(|value| {
            SUBJECTS
                .iter()
                .find_map(|name| value.get(name)?.as_str().map(str::to_owned))
        });
    match subject {
        Some(subject) => subject,
        None if arguments == "{}" => String::new(),
        None => arguments.to_owned(),
    }
}

/// On one line, nothing that moves the cursor.
fn one_line(text: &str) -> String {
    visible(&text.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
}

#[cfg(test)]
mod tests {
    use beeuni_protocol::session::ToolTime;

    use super::*;

    fn call(tool: &str, arguments: &str) -> ToolCall {
        ToolCall {
            call: "call_1".to_owned(),
            tool: tool.to_owned(),
            arguments: arguments.to_owned(),
            status: ToolStatus::Completed,
            title: None,
            output: None,
            error: None,
            extra: None,
            metadata: serde_json::Map::new(),
            attachments: Vec::new(),
            time: ToolTime {
                created: 1_000,
                started: Some(2_000),
                ended: Some(2_012),
            },
        }
    }

    #[test]
    fn a_call_begins_with_its_name_and_what_it_is_about() {
        let shown = |tool, arguments| begin(Look::plain(), &call(tool, arguments));
        assert_eq!(
            shown("lookup_order", r#"{"id":"A-1042"}"#),
            r#"▸ lookup_order {"id":"A-1042"}"#
        );
        assert_eq!(
            shown("bash", r#"{"description":"d","command":"git\n  status"}"#),
            "▸ bash git status"
        );
        assert_eq!(shown("todowrite", "{}"), "▸ todowrite");
        assert_eq!(shown("probe", "not \u{1b}[31m JSON"), "▸ probe not \\u{1b}[31m JSON");
        assert!(shown("probe", &"x".repeat(500)).ends_with("x…"));
    }

    #[test]
    fn a_long_output_is_shortened_and_says_so() {
        let mut call = call("probe", "{}");
        call.output = Some("one\ntwo\nthree\nfour\nfive\nsix\nseven\n".to_owned());
        let shown = end(Look::plain(), &call);
        assert_eq!(
            shown,
            "✓ probe 12 ms\n  one\n  two\n  three\n  four\n  five\n  … 2 more lines (the model reads them)"
        );
        call.output = Some(" \n".to_owned());
        assert_eq!(end(Look::plain(), &call), "✓ probe 12 ms\n  (no output)");
    }

    #[test]
    fn a_failed_call_shows_its_error() {
        let mut call = call("probe", "{}");
        call.status = ToolStatus::Error;
        call.error = Some("no such order: A-9\nsee the list".to_owned());
        assert_eq!(
            end(Look::plain(), &call),
            "✗ probe failed after 12 ms\n  no such order: A-9\n  see the list"
        );
        assert_eq!(
            of_subagent(Look::plain(), "explore", &call),
            "  ✗ explore: probe no such order: A-9"
        );
    }
}
