//! Closing brackets that stand no deeper than the key of their list or map:
//!
//! ```yaml
//! tools: [
//!   read,
//! ]
//! ```
//!
//! YAML asks for one more space before the `]`; nearly every other parser lets it pass, and people
//! write it that way. The parser gets a copy with spaces put in, and its counts are taken back to the
//! text as it is.
use std::borrow::Cow;

/// How many bytes may be read again for the sake of brackets, so that a hostile file costs no more.
const BUDGET: usize = 8 * 1024 * 1024;

/// Indentation beyond this is no person's.
const WIDEST: usize = 1000;

/// A text for the parser and the way back from its counts.
pub(super) struct Repaired<'t> {
    source: &'t str,
    text: Cow<'t, str>,
    /// The brackets, as characters of the source, in order.
    brackets: Vec<usize>,
    /// How many spaces stand before each.
    pad: usize,
    spent: usize,
}

impl<'t> Repaired<'t> {
    pub(super) fn new(source: &'t str) -> Self {
        Self {
            source,
            text: Cow::Borrowed(source),
            brackets: Vec::new(),
            pad: 0,
            spent: 0,
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Indents the bracket at the character `at` of the source; `false` when that cannot help.
    pub(super) fn indent_bracket(&mut self, at: usize) -> bool {
        self.spent += self.text.len();
        let Err(place) = self.brackets.binary_search(&at) else {
            return false;
        };
        if self.spent > BUDGET {
            return false;
        }
        self.brackets.insert(place, at);
        if self.pad == 0 {
            let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
            self.pad = self.source.lines().map(indent).max().unwrap_or(0).min(WIDEST) + 2;
        }
        let spaces = " ".repeat(self.pad);
        let mut text = String::with_capacity(self.source.len() + self.pad * self.brackets.len());
        let mut brackets = self.brackets.iter().peekable();
        for (index, c) in self.source.chars().enumerate() {
            if brackets.next_if_eq(&&index).is_some() {
                text.push_str(&spaces);
            }
            text.push(c);
        }
        self.text = Cow::Owned(text);
        true
    }

    /// The column of the source that the parser calls `column`, both from 0, in the line that begins
    /// at the character `line`.
    pub(super) fn column(&self, line: usize, column: usize) -> usize {
        let next = self.brackets.partition_point(|&bracket| bracket < line);
        // The spaces put before the first such bracket of a line move the others far enough too.
        match self.brackets.get(next).map(|bracket| bracket - line) {
            Some(bracket) if bracket < column => column.saturating_sub(self.pad).max(bracket),
            _ => column,
        }
    }
}
