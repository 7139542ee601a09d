//! Which characters the bytes of a page are: byte order mark, header, `<meta>`, else what fits.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// How far a declaration inside the page is looked for; browsers look at 1,024 bytes, sites put more.
const LOOK: usize = 8192;

/// Decodes a page, and notes where that took a guess.
pub(super) fn decode(content_type: Option<&str>, body: &[u8], notes: &mut Vec<String>) -> String {
    // A mark decides, whatever the rest says.
    if let Some((encoding, length)) = Encoding::for_bom(body) {
        return decoded(encoding, body.get(length..).unwrap_or_default()).0;
    }
    let in_header = content_type.and_then(charset_in);
    let in_page = declared_in_page(body);
    let mut known = Vec::new();
    for label in [in_header, in_page].into_iter().flatten() {
        match Encoding::for_label(label.as_bytes()) {
            Some(encoding) => known.push(encoding),
            None => {
                // MySQL's name for it gets around.
                let label: String = label.chars().take(40).collect();
                notes.push(format!("The page declares an unknown character set, \"{label}\"."));
            }
        }
    }
    for encoding in &known {
        let (text, broken) = decoded(encoding, body);
        if !broken {
            return text;
        }
    }
    if let Ok(text) = std::str::from_utf8(body) {
        return text.to_owned();
    }
    match known.first() {
        // Declared, but not without faults: the first declaration is as good as any.
        Some(encoding) => {
            let name = encoding.name();
            notes.push(format!(
                "Some bytes of the page are not valid {name} and were replaced."
            ));
            decoded(encoding, body).0
        }
        None if mostly_utf8(body) => {
            notes.push("Some bytes of the page are not valid UTF-8 and were replaced.".to_owned());
            decoded(UTF_8, body).0
        }
        None => {
            notes.push("The page does not say its character set: it was read as windows-1252.".to_owned());
            decoded(WINDOWS_1252, body).0
        }
    }
}

/// The text, and whether bytes had to be replaced.
fn decoded(encoding: &'static Encoding, body: &[u8]) -> (String, bool) {
    let (text, broken) = encoding.decode_without_bom_handling(body);
    (text.into_owned(), broken)
}

/// A page that was cut, or has one bad byte, is still UTF-8: one that is not has them everywhere.
fn mostly_utf8(body: &[u8]) -> bool {
    let valid: usize = body
        .utf8_chunks()
        .map(|chunk| chunk.valid().bytes().filter(|it| !it.is_ascii()).count())
        .sum();
    let invalid: usize = body.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    valid > invalid * 10
}

/// The value of `charset=` in a content type: quoted, in any case, with anything behind it.
fn charset_in(text: &str) -> Option<String> {
    let at = text.to_ascii_lowercase().find("charset")?;
    let value = text
        .get(at + "charset".len()..)?
        .trim_start()
        .strip_prefix('=')?
        .trim_start();
    let value = value.trim_start_matches(['"', '\'']);
    let end = value.find(|it: char| matches!(it, '"' | '\'' | ';' | ',' | '>' | '/') || it.is_whitespace());
    let value = value.get(..end.unwrap_or(value.len()))?;
    (!value.is_empty()).then(|| value.to_owned())
}

/// `<meta charset>`, `<meta http-equiv content>`, or `<?xml encoding?>`.
fn declared_in_page(body: &[u8]) -> Option<String> {
    let head = body.get(..LOOK).unwrap_or(body);
    // Every encoding that can be declared this way has ASCII where ASCII has it.
    let head: String = head
        .iter()
        .map(|byte| if byte.is_ascii() { *byte as char } else { '?' })
        .collect();
    let lower = head.to_ascii_lowercase();
    if lower.trim_start().starts_with("<?xml") {
        let declaration = lower.split("?>").next().unwrap_or_default();
        if let Some((_, value)) = declaration.split_once("encoding") {
            let value = value.trim_start_matches([' ', '=', '"', '\'']);
            let end = value.find(['"', '\'', ' ']).unwrap_or(value.len());
            return value.get(..end).map(str::to_owned).filter(|it| !it.is_empty());
        }
    }
    let metas = lower.match_indices("<meta").filter_map(|(at, _)| {
        let tag = lower.get(at..)?;
        tag.get(..tag.find('>')?)
    });
    let found = metas.filter_map(charset_in).next()?;
    // UTF-16 would not have been readable so far: whoever writes that means UTF-8.
    match Encoding::for_label(found.as_bytes()) {
        Some(it) if it == UTF_16LE || it == UTF_16BE => Some("utf-8".to_owned()),
        _ => Some(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content_type: &str, body: &[u8]) -> (String, Vec<String>) {
        let mut notes = Vec::new();
        let text = decode(Some(content_type), body, &mut notes);
        (text, notes)
    }

    #[test]
    fn web_01_declared_character_sets_are_read() {
        let (gbk, ..) = encoding_rs::GBK.encode("<meta charset=gbk>中文网页");
        let (sjis, ..) = encoding_rs::SHIFT_JIS.encode("日本語のページ");
        let (cyrillic, ..) = encoding_rs::WINDOWS_1251
            .encode("<meta http-equiv=\"Content-Type\" content=\"text/html; charset=windows-1251\">Привет");
        let wide: Vec<u8> = "wide ñ".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for (content_type, body, expected) in [
            ("text/html; charset=Shift_JIS", &sjis[..], "日本語のページ"),
            ("text/html", &gbk[..], "中文网页"),
            ("text/html", &cyrillic[..], "Привет"),
            ("text/html; charset=iso-8859-1", "\u{feff}Grüße".as_bytes(), "Grüße"),
            ("text/html", "Grüße 中文".as_bytes(), "Grüße 中文"),
            ("text/html; charset=\"utf-8\"", "Grüße".as_bytes(), "Grüße"),
            ("text/plain; charset=utf-16le", &wide[..], "wide ñ"),
            ("text/plain", "\u{feff}x".as_bytes(), "x"),
            (
                "application/xml",
                b"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a>\xE9</a>",
                "é",
            ),
            // The header is wrong, the page knows better.
            ("text/html; charset=utf-8", &gbk[..], "中文网页"),
        ] {
            let (text, notes) = read(content_type, body);
            assert!(
                text.contains(expected) && !text.contains('\u{fffd}'),
                "{content_type}: {text}"
            );
            assert_eq!(notes, Vec::<String>::new(), "{content_type}");
        }
    }

    #[test]
    fn web_01_guesses_are_noted() {
        let (text, notes) = read("text/html; charset=utf8mb4", "Grüße".as_bytes());
        assert_eq!(text, "Grüße");
        assert_eq!(notes, ["The page declares an unknown character set, \"utf8mb4\"."]);
        let (text, notes) = read("text/html", b"caf\xE9 au lait");
        assert_eq!(text, "café au lait");
        assert_eq!(notes.len(), 1);
        let (text, notes) = read(
            "text/html",
            "ünïcödé ünïcödé \u{e9}"
                .as_bytes()
                .split_last()
                .map_or(&[][..], |it| it.1),
        );
        assert!(text.starts_with("ünïcödé ünïcödé"), "{text}");
        assert_eq!(notes, ["Some bytes of the page are not valid UTF-8 and were replaced."]);
    }
}
