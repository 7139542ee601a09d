//! The line at the bottom of a terminal while a harness starts that takes a moment.
use std::time::Instant;

use beeuni_daemon::HarnessChoice;

use super::live::{Live, PATIENCE};
use crate::output::Output;

/// Tells that the harness starts; where there is no terminal, or it starts at once, nothing.
pub(in crate::commands::run) struct Starting {
    live: Live,
    since: Instant,
    what: Option<&'static str>,
}

impl Starting {
    pub(in crate::commands::run) fn new(output: &Output, harness: HarnessChoice) -> Self {
        Self {
            live: Live::new(output.err),
            since: Instant::now(),
            what: (harness == HarnessChoice::Standard).then_some("Starting OpenCode …"),
        }
    }

    /// Time passes.
    pub(in crate::commands::run) fn tick(&mut self) {
        match (self.what, self.since.elapsed()) {
            (Some(what), time) if time >= PATIENCE => self.live.show(what, time, None),
            (Some(what), _) => self.live.say(&format!("  {what}")),
            (None, _) => {}
        }
    }

    /// It has started, or will not.
    pub(in crate::commands::run) fn end(&mut self) {
        self.live.clear();
    }
}
