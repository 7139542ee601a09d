//! Places in a text: bytes to lines and columns, characters to bytes, and the ends of what the parser
//! gives only the beginning of.
use saphyr_parser::Marker;

use super::node::Mark;
use super::repair::Repaired;

/// The line and column of the byte `at`, or of the end of `text`.
pub(super) fn mark_at(text: &str, at: usize) -> Mark {
    let before = text.get(..at).unwrap_or(text);
    let bytes = before.as_bytes();
    let mut line = 1;
    let mut begin = 0;
    for (index, byte) in bytes.iter().enumerate() {
        // As the parser counts: `\r\n` is one break, a lone `\r` too.
        let ends = match byte {
            b'\n' => true,
            b'\r' => text.as_bytes().get(index + 1) != Some(&b'\n'),
            _ => false,
        };
        if ends {
            line += 1;
            begin = index + 1;
        }
    }
    Mark {
        line,
        column: before[begin..].chars().count() + 1,
    }
}

impl Mark {
    /// The place after `text` that begins here.
    pub(super) fn after(self, text: &str) -> Mark {
        let end = mark_at(text, text.len());
        let column = if end.line == 1 {
            self.column + end.column - 1
        } else {
            end.column
        };
        Mark {
            line: self.line + end.line - 1,
            column,
        }
    }
}

/// A place in the text as the tree keeps it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) byte: usize,
    pub(super) char: usize,
    pub(super) mark: Mark,
}

/// Turns the parser's lines and columns into bytes.
///
/// Its count of characters is not used: after a directive that is not ASCII it is wrong. Marks come
/// nearly in order, so walking from the last one keeps the whole file linear.
pub(super) struct Offsets<'t> {
    text: &'t str,
    repaired: &'t Repaired<'t>,
    ascii: bool,
    chars: usize,
    bytes: usize,
    /// The character at which each line begins.
    lines: Vec<usize>,
}

impl<'t> Offsets<'t> {
    pub(super) fn new(text: &'t str, repaired: &'t Repaired<'t>) -> Self {
        let mut lines = vec![0];
        let mut chars = text.chars().peekable();
        let mut count = 0;
        while let Some(c) = chars.next() {
            count += 1;
            if c == '\n' || c == '\r' && chars.peek() != Some(&'\n') {
                lines.push(count);
            }
        }
        Self {
            text,
            repaired,
            ascii: text.is_ascii(),
            chars: 0,
            bytes: 0,
            lines,
        }
    }

    /// The place of `marker`, at most the end of the text.
    pub(super) fn place(&mut self, marker: &Marker) -> Place {
        // At the end of a text the parser speaks of a line more than there is.
        let index = match self.lines.get(marker.line().saturating_sub(1)) {
            Some(&begin) => begin + self.repaired.column(begin, marker.col()),
            None => usize::MAX,
        };
        self.walk(index);
        let line = self.lines.partition_point(|&begin| begin <= self.chars);
        let column = self.chars - self.lines[line - 1] + 1;
        Place {
            byte: self.bytes,
            char: self.chars,
            mark: Mark { line, column },
        }
    }

    fn walk(&mut self, index: usize) {
        if self.ascii {
            self.bytes = index.min(self.text.len());
            self.chars = self.bytes;
        } else if index >= self.chars {
            for c in self.text[self.bytes..].chars().take(index - self.chars) {
                self.bytes += c.len_utf8();
                self.chars += 1;
            }
        } else {
            for c in self.text[..self.bytes].chars().rev().take(self.chars - index) {
                self.bytes -= c.len_utf8();
                self.chars -= 1;
            }
        }
    }
}

/// A tab among the blanks between the beginning of the line and byte `at`, where list and key
/// indicators count as blanks.
pub(super) fn leading_tab(text: &str, at: usize) -> Option<usize> {
    let mut tab = None;
    for (index, byte) in text.as_bytes()[..at].iter().enumerate().rev() {
        match byte {
            b'\n' | b'\r' => break,
            b'\t' => tab = Some(index),
            b' ' | b'-' | b'?' => {}
            _ => return None,
        }
    }
    tab
}

/// The byte after the anchor and tag that begin at `from`, and the space, breaks and comments between
/// them and the content.
pub(crate) fn after_properties(text: &str, from: usize) -> usize {
    let mut at = skip_space(text, from);
    while let Some(b'&' | b'!') = text.as_bytes().get(at) {
        let verbatim = text[at..].starts_with("!<");
        let end = |c: char| {
            if verbatim {
                c == '>'
            } else {
                c.is_ascii_whitespace() || matches!(c, ',' | '[' | ']' | '{' | '}')
            }
        };
        at += text[at..].find(end).unwrap_or(text.len() - at) + usize::from(verbatim);
        at = skip_space(text, at.min(text.len()));
    }
    at
}

/// The byte after blanks, breaks and comments.
pub(crate) fn skip_space(text: &str, from: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        match bytes.get(at) {
            Some(b' ' | b'\t' | b'\r' | b'\n') => at += 1,
            // Only after a blank or at the beginning of a line is it a comment.
            Some(b'#') if at > from || at == 0 => {
                at += text[at..].find(['\n', '\r']).unwrap_or(text.len() - at);
            }
            _ => return at,
        }
    }
}

/// The byte after the colon that follows the key that ends at `from`; `None` when there is none.
pub(crate) fn after_colon(text: &str, from: usize) -> Option<usize> {
    let at = skip_space(text, from);
    (text.as_bytes().get(at) == Some(&b':')).then_some(at + 1)
}

/// The byte after the quoted scalar that begins at `from`.
pub(super) fn end_of_quoted(text: &str, from: usize) -> usize {
    let bytes = text.as_bytes();
    let Some(&quote) = bytes.get(from) else {
        return from;
    };
    let mut at = from + 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' if quote == b'"' => at += 2,
            b'\'' if quote == b'\'' && bytes.get(at + 1) == Some(&b'\'') => at += 2,
            _ if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}
