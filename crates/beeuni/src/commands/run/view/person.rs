//! A turn as a person sees it: text on standard output, everything else on standard error.
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use beeuni_protocol::session::{Event, EventBody, PartBody};
use beeuni_tools::{LogLine, LogStream};

use super::View;
use super::call;
use super::live::{Live, PATIENCE};
use crate::commands::run::follow::{Follow, Step};
use crate::output::{DIM, Output, duration_in_words, visible};

/// Shows a turn to a person.
///
/// On a terminal text appears as it comes. Where standard output is a file or a pipe it gets the answer alone,
/// when the turn is over: what the model says between its calls goes to standard error with the calls.
pub(in crate::commands::run) struct Person {
    /// Whether text goes to standard output as it comes.
    streams: bool,
    live: Live,
    /// What stands last on the screen.
    last: Last,
    /// Since when nothing has come.
    quiet_since: Instant,
}

/// What stands last on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    /// Nothing yet.
    Nothing,
    /// Text; whether its line is complete.
    Text { complete: bool },
    /// A line about the turn.
    Line,
}

impl Person {
    /// `streams`: whether standard output is a terminal.
    pub(in crate::commands::run) fn new(output: &Output, streams: bool) -> Self {
        Self {
            streams,
            live: Live::new(output.err),
            last: Last::Nothing,
            quiet_since: Instant::now(),
        }
    }

    /// Writes text as it comes.
    fn text(&mut self, output: &mut Output, text: &str) {
        self.live.clear();
        // The first words of a text often are line ends.
        let text = if matches!(self.last, Last::Text { .. }) {
            text
        } else {
            text.trim_start_matches('\n')
        };
        if text.is_empty() {
            return;
        }
        if self.last == Last::Line {
            output.print("\n");
        }
        output.print(&visible(text));
        output.flush();
        self.last = Last::Text {
            complete: text.ends_with('\n'),
        };
    }

    /// Writes a line about the turn.
    fn line(&mut self, output: &mut Output, line: &str) {
        self.make_room(output);
        output.note(line);
        self.last = Last::Line;
    }
}

impl View for Person {
    fn event(&mut self, output: &mut Output, follow: &mut Follow, event: &Event) {
        self.quiet_since = Instant::now();
        let look = output.err;
        let step = follow.take(event);
        if let Some(agent) = follow.subagent(event) {
            if let Step::CallEnds(ended) = step {
                let line = call::of_subagent(look, agent, ended);
                self.line(output, &line);
            }
            return;
        }
        match step {
            Step::Text(text) if self.streams => self.text(output, text),
            Step::MessageEnds { calls: true } if !self.streams => {
                let said = follow.answer();
                if !said.is_empty() {
                    self.line(output, &visible(&said));
                }
            }
            Step::CallBegins(begun) => self.line(output, &call::begin(look, begun)),
            Step::CallEnds(ended) => self.line(output, &call::end(look, ended)),
            _ => {}
        }
        if let Some(note) = note(event) {
            self.line(output, &look.paint(DIM, &note));
        }
    }

    fn log(&mut self, output: &mut Output, follow: &mut Follow, line: &LogLine) {
        if line.stream != LogStream::Host {
            follow.printed(&line.tool, &line.text);
        }
        let text = output.err.paint(DIM, &visible(&line.text));
        self.line(output, &format!("  {} {text}", output.err.paint(DIM, "│")));
    }

    fn tick(&mut self, _: &mut Output, follow: &Follow) {
        if matches!(self.last, Last::Text { complete: false }) {
            return;
        }
        let Some(call) = follow.longest() else {
            let quiet = self.quiet_since.elapsed();
            if quiet >= PATIENCE && follow.started.is_some() && follow.ended.is_none() {
                self.live.show("waiting for the model", quiet, None);
            }
            return;
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let running = now.saturating_sub(Duration::from_millis(call.since));
        if running >= PATIENCE {
            let others = follow.calls() - 1;
            let what = if others == 0 {
                call.tool.clone()
            } else {
                format!("{} (and {others} more)", call.tool)
            };
            self.live.show(&what, running, call.line.as_deref());
        }
    }

    fn make_room(&mut self, output: &mut Output) {
        self.live.clear();
        self.quiet_since = Instant::now();
        if let Last::Text { complete } = self.last {
            output.print(if complete { "\n" } else { "\n\n" });
            output.flush();
            self.last = Last::Line;
        }
    }

    fn end(&mut self, output: &mut Output, follow: &Follow) {
        self.live.clear();
        if self.streams {
            if self.last == (Last::Text { complete: false }) {
                output.print("\n");
            }
        } else {
            let answer = follow.answer();
            if !answer.is_empty() {
                output.print(&answer);
                output.print("\n");
            }
        }
        output.flush();
    }
}

/// What is worth a line besides text and calls.
fn note(event: &Event) -> Option<String> {
    match &event.body {
        EventBody::ModelRetry(retry) => {
            let wait = duration_in_words(Duration::from_millis(retry.wait_ms));
            Some(visible(&format!("{} Trying again in {wait}.", retry.error.message)).into_owned())
        }
        EventBody::PartUpdated { part } => match &part.body {
            PartBody::Compaction(_) => Some("The conversation was long: its older part is summed up now.".to_owned()),
            _ => None,
        },
        EventBody::Resync {} => Some("… (some text was not shown)".to_owned()),
        _ => None,
    }
}
