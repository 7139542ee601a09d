//! What the parser's syntax errors mean for the person who wrote the file, and the place to look at.
use saphyr_parser::ScanError;

use super::node::{Mark, Problem};
use super::span::mark_at;

/// A list or map in brackets that is still open when the error comes up.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenBracket {
    /// `[` or `{`.
    pub(super) bracket: u8,
    /// Where it opens.
    pub(super) mark: Mark,
}

/// Puts `error`, which the parser saw at byte `at`, into words.
pub(super) fn explain(text: &str, error: &ScanError, at: usize, open: Option<OpenBracket>) -> Problem {
    let info = error.info();
    if let Some(tab) = tab_near(text, at, info.contains("tab")) {
        return tab_problem(text, tab);
    }
    let ended = text[at..].trim().is_empty();
    if ended && let Some(OpenBracket { bracket, mark }) = open {
        let (open, close) = if bracket == b'[' { ('[', ']') } else { ('{', '}') };
        return Problem::new(format!("the `{open}` opened here is never closed: add `{close}`"), mark);
    }
    if info == "illegal placement of ':' indicator"
        && let Some(OpenBracket { bracket, mark }) = open
    {
        let (open, close) = if bracket == b'[' { ('[', ']') } else { ('{', '}') };
        let message = format!(
            "a new key while the `{open}` of line {} is still open: close it with `{close}`",
            mark.line
        );
        return Problem::new(message, mark_at(text, at));
    }
    let at = if ended { text.trim_end().len().min(at) } else { at };
    let (message, at) = if info == "simple key expect ':'" || info == "simple key expected" {
        (words(info, text, at), line_before(text, at))
    } else {
        (words(info, text, at), at)
    };
    Problem {
        message,
        mark: mark_at(text, at),
    }
}

/// The error for a tab at byte `at`.
pub(super) fn tab_problem(text: &str, at: usize) -> Problem {
    let message = "a tab: YAML indents and separates with spaces, so put spaces in its place";
    Problem {
        message: message.to_owned(),
        mark: mark_at(text, at),
    }
}

/// The tab to blame for an error at `at`: one before it among the blanks of its line, or, when the
/// parser itself speaks of a tab, one in the indentation of a line below.
fn tab_near(text: &str, at: usize, certain: bool) -> Option<usize> {
    let bytes = text.as_bytes();
    let before = bytes[..at]
        .iter()
        .rposition(|b| !matches!(b, b' ' | b'\t'))
        .map_or(0, |i| i + 1);
    if let Some(tab) = bytes[before..at].iter().position(|&b| b == b'\t') {
        return Some(before + tab);
    }
    if !certain {
        return None;
    }
    if bytes.get(at) == Some(&b'\t') {
        return Some(at);
    }
    let mut begin = at;
    for line in text[at..].split_inclusive(['\n', '\r']) {
        let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
        if begin > at
            && let Some(tab) = line[..blank].find('\t')
        {
            return Some(begin + tab);
        }
        begin += line.len();
    }
    // Between indicators, as in `-\t- a`.
    bytes[..at].iter().rposition(|&b| b == b'\t')
}

/// The first visible byte of the last line before `at` that is neither blank nor a comment.
fn line_before(text: &str, at: usize) -> usize {
    let mut end = at;
    while end > 0 {
        let begin = text[..end].rfind(['\n', '\r']).map_or(0, |i| i + 1);
        let line = text[begin..end].trim_start();
        if !line.is_empty() && !line.starts_with('#') {
            return end - line.len();
        }
        end = begin.saturating_sub(1);
    }
    at
}

/// What to do about the parser's `info` at byte `at`.
fn words(info: &str, text: &str, at: usize) -> String {
    let next = text[at..].chars().next();
    let line = &text[text[..at].rfind(['\n', '\r']).map_or(0, |i| i + 1)..at];
    let known = match info {
        "mapping values are not allowed in this context" if line.contains(": ") => {
            "a second `: ` in one line: put the value in quotes when the `:` belongs to it, or begin a \
             new line for the new key"
        }
        "mapping values are not allowed in this context" => {
            "a `:` is not expected here: the line above lacks its own `:`, or this line is indented \
             deeper than its siblings"
        }
        "simple key expect ':'" | "simple key expected" => {
            "this line has no `:`: write `key: value`, or indent it to the text that it continues"
        }
        "while parsing node, found unknown anchor" => {
            "no `&` anchor of this name stands above; a text that begins with `*` goes in quotes"
        }
        "while scanning an anchor or alias, did not find expected alphabetic or numeric character" => {
            "a text that begins with `*` or `&` goes in quotes: write `\"*\"`"
        }
        "while parsing a flow mapping, did not find expected ',' or '}'" => {
            "a `,` or the closing `}` is missing before this"
        }
        "while parsing a flow sequence, expected ',' or ']'" => "a `,` or the closing `]` is missing before this",
        "while scanning a quoted scalar, found unexpected end of stream"
        | "while scanning a quoted scalar, found unexpected document indicator"
        | "invalid indentation in quoted scalar" => {
            "the quote that opens here is never closed, or the text in it goes on with too little indentation"
        }
        "invalid trailing content after double-quoted scalar" => {
            "text after a closing quote: put all of the value inside the quotes, and a space before `#`"
        }
        "while parsing a quoted scalar, found unknown escape character" => {
            "an unknown escape: in double quotes write `\\\\` for a backslash, or use single quotes"
        }
        "misplaced bracket" => "a closing bracket with no opening one: remove it",
        "invalid indentation"
        | "invalid indentation in flow construct"
        | "while parsing a block mapping, did not find expected key"
        | "while parsing a block collection, did not find expected '-' indicator" => {
            "the indentation fits no line above: give this line as many spaces as its siblings have"
        }
        "block sequence entries are not allowed in this context" => {
            "a list item cannot begin here: put each `- item` on a line of its own"
        }
        "comment intercepting the multiline text" => {
            "a comment inside a text of several lines: move the comment, or put the text in quotes"
        }
        "recursion limit exceeded" => "nested more than 64 levels deep: flatten it",
        "the handle wasn't declared" => "an unknown YAML tag: remove the `!…`",
        "did not find expected <document start>" if text.starts_with('%') => {
            "after a `%` directive the document begins with a line `---`"
        }
        "did not find expected <document start>" => {
            "this stands outside the document: indent it like the lines that it belongs to"
        }
        "while parsing a node, did not find expected node content" => {
            "a value is missing before this: remove the extra `,`, or write the value"
        }
        _ if matches!(next, Some('@' | '`' | '%')) && info.starts_with("unexpected character") => {
            "a text that begins with `@`, `` ` `` or `%` goes in quotes"
        }
        _ => return format!("not valid YAML: {info}"),
    };
    known.to_owned()
}
