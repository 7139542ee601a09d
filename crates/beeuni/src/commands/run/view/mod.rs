//! What a run shows while it goes on: to a person, or as JSON lines to a program.
mod call;
mod json;
mod live;
mod person;
mod starting;
mod text;

pub(super) use json::{Json, Summary};
pub(super) use person::Person;
pub(super) use starting::Starting;

use beeuni_protocol::session::Event;
use beeuni_tools::LogLine;

use super::follow::Follow;
use crate::output::Output;

/// Shows a turn.
pub(super) trait View {
    /// Something happened. `follow` is to take it in.
    fn event(&mut self, output: &mut Output, follow: &mut Follow, event: &Event);

    /// A hosted tool printed a line.
    fn log(&mut self, output: &mut Output, follow: &mut Follow, line: &LogLine);

    /// Time passes.
    fn tick(&mut self, output: &mut Output, follow: &Follow);

    /// Makes room for lines that others write to standard error.
    fn make_room(&mut self, output: &mut Output);

    /// The turn is over: what was held back until now.
    fn end(&mut self, output: &mut Output, follow: &Follow);
}
