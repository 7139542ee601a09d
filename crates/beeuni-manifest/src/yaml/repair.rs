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

use saphyr_parser::{Marker, Span};

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

    /// The character of the source that the parser calls `index`.
    pub(super) fn original_index(&self, index: usize) -> usize {
        let (mut low, mut high) = (0, self.brackets.len());
        while low < high {
            let middle = low.midpoint(high);
            // Where the spaces before this bracket begin, in the parser's count.
            if self.brackets[middle] + middle * self.pad < index {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        match low.checked_sub(1) {
            None => index,
            Some(last) => index.saturating_sub(low * self.pad).max(self.brackets[last]),
        }
    }

    /// `span` in the source; only the character counts of the result mean anything.
    pub(super) fn original(&self, span: Span) -> Span {
        if self.brackets.is_empty() {
            return span;
        }
        let marker = |m: Marker| Marker::new(self.original_index(m.index()), 0, 0);
        Span::new(marker(span.start), marker(span.end))
    }
}
