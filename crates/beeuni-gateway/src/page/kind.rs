//! What a body is: by its first bytes where they are clear, else by its declared type.

/// What kind of thing a page is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Empty,
    Html,
    Pdf,
    /// Text, to be shown as a code block of this language, or as it is.
    Text(Option<&'static str>),
    /// Something else, in words: "A PNG image (image/png)".
    Binary(String),
}

/// First bytes that leave no doubt.
const MAGIC: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n", "A PNG image"),
    (b"\xFF\xD8\xFF", "A JPEG image"),
    (b"GIF8", "A GIF image"),
    (b"BM", "A bitmap image"),
    (b"II*\0", "A TIFF image"),
    (b"MM\0*", "A TIFF image"),
    (b"\0\0\x01\0", "An icon"),
    (b"PK\x03\x04", "A ZIP archive or an office document"),
    (b"\x1F\x8B", "A gzip archive"),
    (b"\x28\xB5\x2F\xFD", "A Zstandard archive"),
    (b"7z\xBC\xAF\x27\x1C", "A 7-Zip archive"),
    (b"Rar!", "A RAR archive"),
    (b"BZh", "A bzip2 archive"),
    (b"\xFD7zXZ", "An xz archive"),
    (b"\x7FELF", "A Linux program"),
    (b"MZ", "A Windows program"),
    (b"\0asm", "A WebAssembly module"),
    (b"OggS", "An Ogg recording"),
    (b"ID3", "An MP3 recording"),
    (b"fLaC", "A FLAC recording"),
    (b"wOFF", "A font"),
    (b"wOF2", "A font"),
    (b"SQLite format 3\0", "An SQLite database"),
    (b"\xD0\xCF\x11\xE0", "An old office document"),
];

/// Decides what a body is.
pub(super) fn of(content_type: Option<&str>, body: &[u8]) -> Kind {
    let declared = content_type.unwrap_or_default();
    let declared = declared
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    if body.is_empty() {
        return Kind::Empty;
    }
    let head = body.get(..1024).unwrap_or(body);
    // Some servers put line breaks, or a whole mail header, in front.
    if memchr::memmem::find(head, b"%PDF-").is_some() && (declared.contains("pdf") || looks_binary(body)) {
        return Kind::Pdf;
    }
    if body.starts_with(b"%PDF-") {
        return Kind::Pdf;
    }
    let utf16 = body.starts_with(b"\xFF\xFE") || body.starts_with(b"\xFE\xFF");
    let wide = utf16 || content_type.is_some_and(|it| it.to_ascii_lowercase().contains("utf-16"));
    if !wide && looks_binary(body) {
        return Kind::Binary(describe(&declared, body));
    }
    let begins = String::from_utf8_lossy(head).to_ascii_lowercase();
    let begins = begins.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    let html_words = [
        "<!doctype html",
        "<html",
        "<head",
        "<body",
        "<!--",
        "<script",
        "<title",
        "<meta",
    ];
    let looks_html = html_words.iter().any(|word| begins.starts_with(word));
    match declared.as_str() {
        "text/html" | "application/xhtml+xml" => Kind::Html,
        "" | "application/octet-stream" | "text/plain" | "application/xml" | "text/xml" if looks_html => Kind::Html,
        "application/json" | "text/json" => Kind::Text(Some("json")),
        "text/css" => Kind::Text(Some("css")),
        "text/javascript" | "application/javascript" | "application/x-javascript" => Kind::Text(Some("javascript")),
        "image/svg+xml" | "application/xml" | "text/xml" => Kind::Text(Some("xml")),
        "text/csv" => Kind::Text(Some("csv")),
        "application/yaml" | "text/yaml" | "application/x-yaml" => Kind::Text(Some("yaml")),
        "application/toml" => Kind::Text(Some("toml")),
        other if other.ends_with("+json") => Kind::Text(Some("json")),
        other if other.ends_with("+xml") => Kind::Text(Some("xml")),
        other
            if ["image/", "audio/", "video/", "font/"]
                .iter()
                .any(|it| other.starts_with(it)) =>
        {
            Kind::Binary(describe(other, body))
        }
        "" if begins.starts_with("<?xml") => Kind::Text(Some("xml")),
        // Whatever it is called: it has no byte that text would not have.
        _ => Kind::Text(None),
    }
}

/// Whether the beginning has bytes that no text in any encoding but UTF-16 has.
fn looks_binary(body: &[u8]) -> bool {
    let head = body.get(..4096).unwrap_or(body);
    let known = MAGIC
        .iter()
        .any(|(magic, _)| magic.len() > 2 && body.starts_with(magic));
    let controls = head
        .iter()
        .filter(|byte| matches!(byte, 0 | 1..=8 | 14..=26 | 28..=31))
        .count();
    known || head.contains(&0) || controls * 50 > head.len()
}

fn describe(declared: &str, body: &[u8]) -> String {
    let found = MAGIC
        .iter()
        .find(|(magic, _)| body.starts_with(magic))
        .map(|(_, name)| *name);
    let riff = || match (body.get(..4), body.get(8..12)) {
        (Some(b"RIFF"), Some(b"WEBP")) => Some("A WebP image"),
        (Some(b"RIFF"), Some(b"WAVE")) => Some("A WAV recording"),
        (_, Some(b"avif")) => Some("An AVIF image"),
        _ if body.get(4..8) == Some(b"ftyp") => Some("An MP4 or similar recording"),
        _ => None,
    };
    let name = found.or_else(riff).unwrap_or(match declared.split('/').next() {
        Some("image") => "An image",
        Some("audio") => "A sound recording",
        Some("video") => "A video",
        Some("font") => "A font",
        _ => "A binary file",
    });
    match declared {
        "" => name.to_owned(),
        declared => format!("{name} ({declared})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_count_more_than_the_declared_type() {
        let binary = |text: &str| Kind::Binary(text.to_owned());
        for (declared, body, expected) in [
            (Some("text/html"), &b"%PDF-1.7\n%\xE2\xE3"[..], Kind::Pdf),
            (Some("application/pdf"), b"\r\n\r\n%PDF-1.4", Kind::Pdf),
            (Some("text/html"), b"<p>How PDF works: %PDF-1.4 is</p>", Kind::Html),
            (
                Some("text/html; charset=x"),
                b"\x89PNG\r\n\x1a\n\0\0",
                binary("A PNG image (text/html)"),
            ),
            (
                Some("application/octet-stream"),
                b"a\0\x01",
                binary("A binary file (application/octet-stream)"),
            ),
            (Some("application/octet-stream"), b"plain words", Kind::Text(None)),
            (Some("image/png"), b"oops, text", binary("An image (image/png)")),
            (None, b"\n <!DOCTYPE html><p>", Kind::Html),
            (None, b"RIFF\0\0\0\0WEBPVP8 ", binary("A WebP image")),
            (Some("text/plain"), b"\xFF\xFEa\0b\0", Kind::Text(None)),
            (Some("text/plain"), b"#include <stdio.h>", Kind::Text(None)),
            (Some("text/plain"), b"BM is a prefix", Kind::Text(None)),
            (Some("application/ld+json"), b"{}", Kind::Text(Some("json"))),
            (
                Some("application/rss+xml"),
                b"<?xml version='1.0'?><rss/>",
                Kind::Text(Some("xml")),
            ),
            (Some("text/html"), b"", Kind::Empty),
        ] {
            assert_eq!(of(declared, body), expected, "{declared:?} {body:?}");
        }
    }
}
