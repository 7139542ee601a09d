//! An output that is too long to show: its beginning and end in memory, all of it in a file.

use std::io::Write as _;
use std::path::PathBuf;

use beeuni_tools::output::{self, MAX_OUTPUT_BYTES, MAX_OUTPUT_LINES};
use tempfile::NamedTempFile;

use crate::harness_tools::outputs::Outputs;

/// How much of a longer one's beginning and end is kept for the model: before control characters are taken out.
pub(super) const KEPT: usize = 256 * 1024;
/// Of the bound, this many parts in ten are for the beginning.
const HEAD_TENTHS: usize = 4;
/// What stands between the beginning and the end.
const MIDDLE: &str = "[… the middle is left out …]\n";

/// An output that is too long for memory.
pub(super) struct Spilled {
    file: std::io::Result<NamedTempFile>,
    written: u64,
    pub(super) bytes: u64,
    lines: u64,
    ends_in_line: bool,
    head: String,
    tail: String,
}

impl Spilled {
    pub(super) fn new(file: std::io::Result<NamedTempFile>) -> Self {
        Self {
            file,
            written: 0,
            bytes: 0,
            lines: 0,
            ends_in_line: false,
            head: String::new(),
            tail: String::new(),
        }
    }

    /// Takes in the next piece; the file takes no more than `limit` bytes in all.
    pub(super) fn take(&mut self, text: &str, limit: u64) {
        self.bytes += text.len() as u64;
        self.lines += memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64;
        self.ends_in_line = text.chars().next_back().map_or(self.ends_in_line, |last| last != '\n');
        let room = KEPT.saturating_sub(self.head.len());
        self.head
            .push_str(&text[..text.floor_char_boundary(room.min(text.len()))]);
        self.tail.push_str(text);
        if self.tail.len() > 2 * KEPT {
            let from = self.tail.ceil_char_boundary(self.tail.len() - KEPT);
            self.tail.drain(..from);
        }
        let room = usize::try_from(limit.saturating_sub(self.written)).unwrap_or(usize::MAX);
        let part = &text[..text.floor_char_boundary(room.min(text.len()))];
        if let Ok(file) = &mut self.file {
            match file.write_all(part.as_bytes()) {
                Ok(()) => self.written += part.len() as u64,
                Err(error) => self.file = Err(error),
            }
        }
    }

    /// The beginning and the end with `notes` below them, within the bound.
    pub(super) fn finish(self, outputs: &Outputs, limit: u64, notes: &[String]) -> String {
        let saved: std::io::Result<PathBuf> = self
            .file
            .and_then(|file| file.keep().map(|(_, path)| path).map_err(|error| error.error));
        let lines = self.lines + u64::from(self.ends_in_line);
        let mut notes = notes.to_vec();
        if saved.is_ok() && self.written < self.bytes {
            let mib = limit / (1024 * 1024);
            notes.push(format!("[The file holds the first {mib} MiB.]"));
        }
        notes.push(output::cut_note(self.bytes, lines, &saved, &outputs.folder));
        let (head, tail) = (output::readable(&self.head), output::readable(&self.tail));
        let notes_bytes: usize = notes.iter().map(|note| note.len() + 1).sum();
        let bytes = MAX_OUTPUT_BYTES.saturating_sub(notes_bytes + MIDDLE.len() + 2);
        let lines = MAX_OUTPUT_LINES.saturating_sub(notes.len() + 1);
        let (head_bytes, head_lines) = (bytes * HEAD_TENTHS / 10, lines * HEAD_TENTHS / 10);
        let mut text = first(&head, head_bytes, head_lines).to_owned();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(MIDDLE);
        text.push_str(last(&tail, bytes - head_bytes, lines - head_lines));
        with_notes(text, &notes)
    }
}

/// A text with a few lines below it.
pub(super) fn with_notes(mut text: String, notes: &[String]) -> String {
    for note in notes {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(note);
    }
    text
}

/// The start of `text` within both limits: whole lines, unless the first one is too long.
fn first(text: &str, bytes: usize, lines: usize) -> &str {
    let end = text.floor_char_boundary(bytes.min(text.len()));
    let end = memchr::memchr_iter(b'\n', &text.as_bytes()[..end])
        .nth(lines.saturating_sub(1))
        .map_or(end, |at| at + 1);
    match text[..end].rfind('\n') {
        Some(at) if end < text.len() => &text[..=at],
        _ => &text[..end],
    }
}

/// The end of `text` within both limits.
fn last(text: &str, bytes: usize, lines: usize) -> &str {
    let start = text.ceil_char_boundary(text.len().saturating_sub(bytes));
    let inside = text.len().saturating_sub(1).max(start);
    let start = memchr::memrchr_iter(b'\n', &text.as_bytes()[start..inside])
        .nth(lines.saturating_sub(1))
        .map_or(start, |at| start + at + 1);
    match memchr::memchr(b'\n', &text.as_bytes()[start..inside]) {
        Some(at) if start > 0 && !text[..start].ends_with('\n') => &text[start + at + 1..],
        _ => &text[start..],
    }
}
