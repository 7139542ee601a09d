//! Lines of a file as the model sees them: numbered, within the bound, with what there is to know about the rest.

use std::fmt::Write as _;

use serde_json::json;

use super::lines::Lines;
use super::{LONGEST_LINE, MOST_BYTES, Reading};
use crate::harness_tools::context::ToolOutput;

impl Reading<'_> {
    /// The lines with their numbers, as many as the bound lets through, and what there is to know about the rest.
    pub(super) fn numbered(&self, found: &Lines, mut notes: Vec<String>) -> ToolOutput {
        let mut lossy = false;
        let mut raw = String::new();
        for (index, line) in found.lines.iter().enumerate() {
            let text = String::from_utf8_lossy(line);
            lossy |= matches!(text, std::borrow::Cow::Owned(_));
            if index > 0 {
                raw.push('\n');
            }
            // NUL breaks whatever stores it.
            raw.push_str(&text.replace('\0', "\u{fffd}"));
        }
        // As one text: a secret may go over several lines.
        let clean = (self.redact)(raw);
        let mut text = String::new();
        let first = self.call.offset;
        let mut next = first;
        for (line, left_out) in clean.split('\n').zip(&found.left_out) {
            let before = text.len();
            let _ = write!(text, "{next:>6}\t");
            let cut = line.char_indices().nth(LONGEST_LINE).map_or(line.len(), |(at, _)| at);
            text.push_str(&line[..cut]);
            let hidden = line.len() - cut + left_out;
            if hidden > 0 {
                let _ = write!(text, "… [{hidden} more bytes in this line]");
            }
            text.push('\n');
            if text.len() > MOST_BYTES && next > first {
                text.truncate(before);
                break;
            }
            next += 1;
        }
        let last = next - 1;
        if last < found.total {
            notes.push(format!(
                "Lines {first} to {last} of {}. Go on with offset {next}.",
                found.total
            ));
        } else if first > 1 {
            notes.push(format!(
                "Lines {first} to {last} of {}: the end of the file.",
                found.total
            ));
        }
        if found.carriage_returns > 0 {
            notes.push("Lines end in CR LF. Write plain line ends in `edit`: it keeps the file's.".to_owned());
        }
        if lossy {
            notes.push("The file is not valid UTF-8: \u{fffd} stands for bytes that cannot be shown.".to_owned());
        }
        for note in notes {
            let _ = writeln!(text, "[{note}]");
        }
        text.pop();
        let shown = &self.call.place.shown;
        self.output(
            text,
            json!({"path": shown, "kind": "text", "first": first, "last": last, "total": found.total}),
        )
    }
}
