//! A turn as JSON lines: each event as the daemon sends it, then a summary.
use beeuni_protocol::session::{Event, TurnError, TurnOutcome, Usage};
use beeuni_tools::LogLine;
use serde::Serialize;

use super::View;
use crate::commands::run::follow::Follow;
use crate::output::{Output, visible};

/// Shows a turn to a program.
pub(in crate::commands::run) struct Json;

/// The last line. Its `type` is none that an event has.
#[derive(Debug, Serialize)]
pub(in crate::commands::run) struct Summary<'a> {
    /// `run.ended`.
    #[serde(rename = "type")]
    pub(in crate::commands::run) kind: &'static str,
    /// The session, for `--continue`.
    pub(in crate::commands::run) session: &'a str,
    /// How the turn ended; absent when it never began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::commands::run) outcome: Option<TurnOutcome>,
    /// The program's exit code.
    pub(in crate::commands::run) exit_code: u8,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::commands::run) agent: Option<&'a str>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::commands::run) model: Option<&'a str>,
    /// The text of the model's last message.
    pub(in crate::commands::run) answer: &'a str,
    /// How many times the model was asked.
    pub(in crate::commands::run) steps: u32,
    /// What it used.
    pub(in crate::commands::run) usage: Usage,
    /// Why it failed, or what it is blocked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::commands::run) error: Option<&'a TurnError>,
    /// From the prompt to the end.
    pub(in crate::commands::run) duration_ms: u128,
}

impl View for Json {
    fn event(&mut self, output: &mut Output, follow: &mut Follow, event: &Event) {
        output.json_line(event);
        // A program reads each event when it happens.
        output.flush();
        follow.take(event);
    }

    fn log(&mut self, output: &mut Output, _: &mut Follow, line: &LogLine) {
        output.note(&visible(&format!("{}: {}", line.tool, line.text)));
    }

    fn tick(&mut self, _: &mut Output, _: &Follow) {}

    fn make_room(&mut self, _: &mut Output) {}

    fn end(&mut self, _: &mut Output, _: &Follow) {}
}
