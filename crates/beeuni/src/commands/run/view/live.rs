//! The one line at the bottom of a terminal that tells what is going on.
use std::io::{IsTerminal, Write as _};
use std::time::Duration;

use super::text::shorten;
use crate::output::{DIM, Look, duration_in_words, visible};

/// A call or a model that takes longer than this is worth a word.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// The line, or nothing where there is no terminal to write it on.
pub(super) struct Live {
    look: Look,
    terminal: bool,
    shown: bool,
}

impl Live {
    /// On standard error.
    pub(super) fn new(look: Look) -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self {
            look,
            terminal: std::io::stderr().is_terminal() && !dumb,
            shown: false,
        }
    }

    /// Shows that `what` has been going on for `time`, with the last that is known of it.
    pub(super) fn show(&mut self, what: &str, time: Duration, detail: Option<&str>) {
        let mut text = format!("  {what} {}", duration_in_words(time));
        if let Some(detail) = detail {
            text = format!("{text} · {}", detail.trim());
        }
        self.say(&text);
    }

    /// Shows `text`.
    pub(super) fn say(&mut self, text: &str) {
        if !self.terminal {
            return;
        }
        let text = shorten(&visible(text).replace(['\n', '\t'], " "), columns().saturating_sub(1));
        // Written over: the line begins anew and what was behind its end goes away.
        let _ = write!(std::io::stderr().lock(), "\r{}\x1b[K", self.look.paint(DIM, &text));
        self.shown = true;
    }

    /// Takes the line away.
    pub(super) fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[K");
        }
    }
}

/// The columns of the terminal behind standard error; 100 where there is none or it does not say.
pub(super) fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stderr());
    size.map(|size| usize::from(size.ws_col))
        .ok()
        .filter(|columns| *columns >= 20)
        .unwrap_or(100)
}
