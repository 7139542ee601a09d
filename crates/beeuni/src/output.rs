//! What the user sees: data on stdout, everything else on stderr, colour only where it belongs.
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, BufWriter, IsTerminal, Write as _};

use anstyle::{AnsiColor, Style};
use serde::Serialize;

/// Whether output is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum ColorChoice {
    // On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    Always,
    Never,
}

pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const HINT: Style = AnsiColor::Cyan.on_default();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
pub(crate) const STRONG: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();

/// How one stream may look.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    color: bool,
}

impl Look {
    fn new(choice: ColorChoice, terminal: bool) -> Self {
        let color = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => terminal && !set("NO_COLOR") && !dumb_terminal(),
        };
        Self { color }
    }

    /// No colour.
    #[cfg(test)]
    pub(crate) fn plain() -> Self {
        Self { color: false }
    }

    /// Whether there is colour.
    pub(crate) fn colored(self) -> bool {
        self.color
    }

    /// `text` in `style`, or as it is where there is no colour.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        if self.color {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }
}

/// Standard output and standard error of a command.
///
/// Standard output is buffered; [`Output::finish`] says whether it could be written. A reader that
/// closed its end (`beeuni tools ls | head -1`) has all that it wanted: that is no error.
pub(crate) struct Output {
    stdout: BufWriter<io::Stdout>,
    failed: Option<io::Error>,
    closed: bool,
    /// How standard output may look.
    pub(crate) out: Look,
    /// How standard error may look.
    pub(crate) err: Look,
    /// Whether a person reads standard output: then findings show their line of source.
    pub(crate) person: bool,
}

impl Output {
    /// The process's streams.
    pub(crate) fn new(choice: ColorChoice) -> Self {
        let stdout = io::stdout();
        let terminal = stdout.is_terminal();
        Self {
            stdout: BufWriter::new(stdout),
            failed: None,
            closed: false,
            out: Look::new(choice, terminal),
            err: Look::new(choice, io::stderr().is_terminal()),
            person: terminal || choice == ColorChoice::Always,
        }
    }

    /// Writes `text` to standard output as it is.
    pub(crate) fn print(&mut self, text: &str) {
        if !self.closed && self.failed.is_none() {
            let written = self.stdout.write_all(text.as_bytes());
            self.note_failure(written);
        }
    }

    /// Writes `text` and a line end to standard output.
    pub(crate) fn println(&mut self, text: &str) {
        self.print(text);
        self.print("\n");
    }

    /// Writes `value` as indented JSON to standard output.
    pub(crate) fn json(&mut self, value: &impl Serialize) {
        match serde_json::to_string_pretty(value) {
            Ok(text) => self.println(&text),
            Err(error) => self.failed = Some(error.into()),
        }
    }

    /// Writes `value` as one line of JSON to standard output.
    pub(crate) fn json_line(&mut self, value: &impl Serialize) {
        match serde_json::to_string(value) {
            Ok(text) => self.println(&text),
            Err(error) => self.failed = Some(error.into()),
        }
    }

    /// Whether the reader of standard output went away, as far as writing has shown.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Writes a line to standard error. Nobody is left to tell when that fails.
    pub(crate) fn note(&self, text: &str) {
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// Writes a warning to standard error.
    pub(crate) fn warn(&self, text: &str) {
        self.note(&format!("{} {}", self.err.paint(WARNING, "warning:"), visible(text)));
    }

    /// Hands what was written so far to the reader of standard output.
    pub(crate) fn flush(&mut self) {
        if !self.closed && self.failed.is_none() {
            let flushed = self.stdout.flush();
            self.note_failure(flushed);
        }
    }

    /// Hands everything to the reader.
    ///
    /// # Errors
    /// The first failure of this or an earlier write.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.flush();
        self.failed.take().map_or(Ok(()), Err)
    }

    fn note_failure(&mut self, outcome: io::Result<()>) {
        match outcome {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.closed = true,
            Err(error) => self.failed = Some(error),
        }
    }
}

/// `text` with every control character but line ends and tabs spelled out: what a project's files or
/// tools say must not move the cursor or change the terminal's title.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    let hidden = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if hidden(c) {
            // Writing to a String cannot fail.
            let _ = write!(shown, "{}", c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// `1 error`, `2 errors`.
pub(crate) fn count(number: usize, one: &str) -> String {
    if number == 1 {
        format!("1 {one}")
    } else {
        format!("{number} {one}s")
    }
}

/// `1204` as `1,204`.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `12 ms` or `1.24 s`.
pub(crate) fn duration(time: std::time::Duration) -> String {
    if time.as_millis() < 1000 {
        format!("{} ms", time.as_millis())
    } else {
        format!("{:.2} s", time.as_secs_f64())
    }
}

/// `5 s`, `2 min 5 s`: a time that somebody waits.
pub(crate) fn duration_in_words(time: std::time::Duration) -> String {
    match (time.as_secs() / 60, time.as_secs() % 60) {
        (0, 0) => duration(time),
        (0, seconds) => format!("{seconds} s"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

/// Whether the variable is set to something: an empty `NO_COLOR` counts as absent (no-color.org).
fn set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

fn dumb_terminal() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_spelled_out() {
        assert_eq!(visible("a\u{1b}[31mb\r\n\tc"), "a\\u{1b}[31mb\\u{d}\n\tc");
        assert!(matches!(visible("plain – text"), Cow::Borrowed(_)));
    }
}
