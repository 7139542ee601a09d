//! From bytes to text: size, encoding, byte order mark, and characters that YAML does not allow.
use super::node::{Mark, Problem};
use super::span::mark_at;

/// The largest file that is read as YAML, in bytes.
pub(crate) const LARGEST: usize = 1024 * 1024;

/// What to say about a larger one.
pub(crate) const TOO_LARGE: &str =
    "the file is larger than 1 MiB: split it, or move what is no configuration elsewhere";

/// A text and whether a byte order mark stood before it.
#[derive(Debug)]
pub(crate) struct Text {
    /// The text without its byte order mark.
    pub(crate) body: String,
    /// It had one.
    pub(crate) bom: bool,
}

/// Reads `bytes` as UTF-8 text.
pub(crate) fn decode(bytes: Vec<u8>) -> Result<Text, Problem> {
    let start = Mark { line: 1, column: 1 };
    if bytes.len() > LARGEST {
        return Err(Problem {
            message: TOO_LARGE.to_owned(),
            mark: start,
        });
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        let message = "the file is UTF-16: save it as UTF-8";
        return Err(Problem {
            message: message.to_owned(),
            mark: start,
        });
    }
    let mut body = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let (before, rest) = error.as_bytes().split_at(valid);
        let mark = mark_at(&String::from_utf8_lossy(before), valid);
        let byte = rest.first().copied().unwrap_or_default();
        Problem {
            message: format!("byte 0x{byte:02x} is not valid UTF-8: save the file as UTF-8"),
            mark,
        }
    })?;
    let bom = body.starts_with('\u{feff}');
    if bom {
        body.drain(..'\u{feff}'.len_utf8());
    }
    Ok(Text { body, bom })
}

/// The first character of `text` that YAML does not allow.
pub(crate) fn unprintable(text: &str) -> Option<Problem> {
    let (at, c) = text.char_indices().find(|&(_, c)| !is_printable(c))?;
    let code = u32::from(c);
    let message = format!("the character U+{code:04X} cannot be seen and YAML does not allow it: remove it");
    Some(Problem {
        message,
        mark: mark_at(text, at),
    })
}

/// What YAML 1.2 calls printable, and the byte order mark, which the parser judges by its place.
fn is_printable(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' | '\u{85}' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        _ => !c.is_control(),
    }
}
