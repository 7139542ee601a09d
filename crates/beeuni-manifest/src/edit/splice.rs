//! Pieces of text put in the place of others, and the lines around a place.
use std::ops::Range;

/// Replacements in one text. They may come in any order and never overlap; of two insertions at one
/// place the one that was added first stands first.
#[derive(Debug, Default)]
pub(super) struct Splices(Vec<(Range<usize>, String)>);

impl Splices {
    /// Puts `text` in the place of the bytes `range`.
    pub(super) fn replace(&mut self, range: Range<usize>, text: impl Into<String>) {
        self.0.push((range, text.into()));
    }

    /// Puts `text` before the byte `at`.
    pub(super) fn insert(&mut self, at: usize, text: impl Into<String>) {
        self.replace(at..at, text);
    }

    /// Ends the line of byte `at` with `comment`, unless it does already.
    pub(super) fn comment(&mut self, text: &str, at: usize, comment: Option<&str>) {
        let Some(comment) = comment else { return };
        let end = line_end(text, at);
        let rest = &text[at..end];
        let sign = format!("# {comment}");
        // Only what follows the changed value can be its comment.
        if let Some(before) = rest.trim_end().strip_suffix(sign.as_str())
            && before.ends_with([' ', '\t'])
        {
            return;
        }
        let blanks = rest.len() - rest.trim_end_matches(' ').len();
        self.insert(end, format!("{}{sign}", &"  "[blanks.min(2)..]));
    }

    /// The new text.
    pub(super) fn apply(mut self, text: &str) -> String {
        self.0.sort_by_key(|(range, _)| (range.start, range.end));
        let mut out = String::with_capacity(text.len() + 256);
        let mut at = 0;
        for (range, new) in self.0 {
            out.push_str(&text[at..range.start.max(at)]);
            out.push_str(&new);
            at = range.end.max(at);
        }
        out.push_str(&text[at..]);
        out
    }
}

/// The end of the line of byte `at`, before its break.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    text[at..].find(['\n', '\r']).map_or(text.len(), |length| at + length)
}

/// The beginning of the line of byte `at`.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind(['\n', '\r']).map_or(0, |index| index + 1)
}

/// The line break to write after the line of byte `at`: its own, else the one before it, else `\n`.
pub(super) fn line_break(text: &str, at: usize) -> &str {
    let end = line_end(text, at);
    let own = break_at(text, end);
    if !own.is_empty() {
        return own;
    }
    match text[..end].rfind('\n') {
        Some(last) if text[..last].ends_with('\r') => "\r\n",
        Some(_) => "\n",
        None if text[..end].contains('\r') => "\r",
        None => "\n",
    }
}

/// The line break at byte `at`, if there is one.
fn break_at(text: &str, at: usize) -> &str {
    ["\r\n", "\n", "\r"]
        .into_iter()
        .find(|sign| text[at..].starts_with(sign))
        .unwrap_or_default()
}

/// `comment` on one line.
pub(super) fn one_line(comment: &str) -> String {
    comment.split_whitespace().collect::<Vec<_>>().join(" ")
}
