//! What a file is, told from its first bytes.

/// How much of a file's start is looked at.
pub(super) const LOOKED_AT: usize = 8 * 1024;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text in UTF-8, or in some encoding that resembles it; this many bytes at its start are a mark.
    Text { mark: usize },
    /// UTF-16 with a mark at its start.
    Utf16 { big_endian: bool },
    /// An image that a model can look at: its MIME type.
    Image(&'static str),
    /// Something else: what, as far as it can be told.
    Binary(&'static str),
}

/// Starts of files, and what they say.
const SIGNATURES: &[(&[u8], Kind)] = &[
    (b"\x89PNG\r\n\x1a\n", Kind::Image("image/png")),
    (b"\xff\xd8\xff", Kind::Image("image/jpeg")),
    (b"GIF87a", Kind::Image("image/gif")),
    (b"GIF89a", Kind::Image("image/gif")),
    (b"%PDF-", Kind::Binary("PDF document")),
    (b"PK\x03\x04", Kind::Binary("ZIP archive or Office document")),
    (b"PK\x05\x06", Kind::Binary("ZIP archive")),
    (b"\x1f\x8b", Kind::Binary("gzip archive")),
    (b"BZh", Kind::Binary("bzip2 archive")),
    (b"\xfd7zXZ\x00", Kind::Binary("xz archive")),
    (b"\x28\xb5\x2f\xfd", Kind::Binary("zstd archive")),
    (b"7z\xbc\xaf\x27\x1c", Kind::Binary("7z archive")),
    (b"\x7fELF", Kind::Binary("ELF program or library")),
    (b"MZ", Kind::Binary("Windows program or library")),
    (b"\xcf\xfa\xed\xfe", Kind::Binary("Mach-O program or library")),
    (b"\xca\xfe\xba\xbe", Kind::Binary("Java class or Mach-O program")),
    (b"\x00asm", Kind::Binary("WebAssembly module")),
    (b"SQLite format 3\x00", Kind::Binary("SQLite database")),
    (b"\x00\x00\x01\x00", Kind::Binary("icon")),
    (b"II*\x00", Kind::Binary("TIFF image")),
    (b"MM\x00*", Kind::Binary("TIFF image")),
    (b"BM", Kind::Binary("BMP image")),
    (b"ID3", Kind::Binary("MP3 audio")),
    (b"OggS", Kind::Binary("Ogg media")),
    (b"fLaC", Kind::Binary("FLAC audio")),
    (b"wOFF", Kind::Binary("WOFF font")),
    (b"wOF2", Kind::Binary("WOFF2 font")),
    (b"\xef\xbb\xbf", Kind::Text { mark: 3 }),
    (b"\xff\xfe", Kind::Utf16 { big_endian: false }),
    (b"\xfe\xff", Kind::Utf16 { big_endian: true }),
];

/// Tells what begins with `start`, the first [`LOOKED_AT`] bytes of a file.
pub(super) fn of(start: &[u8]) -> Kind {
    let binary = looks_binary(start);
    if start.len() >= 12 && start.starts_with(b"RIFF") {
        match &start[8..12] {
            b"WEBP" => return Kind::Image("image/webp"),
            b"WAVE" => return Kind::Binary("WAV audio"),
            _ => {}
        }
    }
    if start.len() >= 12 && &start[4..8] == b"ftyp" && binary {
        return Kind::Binary("MP4, HEIC or AVIF media");
    }
    match SIGNATURES.iter().find(|(signature, _)| start.starts_with(signature)) {
        // `BM`, `MZ` and `ID3` may begin a text.
        Some((_, Kind::Binary(_))) | None if !binary => Kind::Text { mark: 0 },
        Some((_, kind)) => *kind,
        None => Kind::Binary("binary file"),
    }
}

/// Whether it holds NUL, or more control characters than any text.
fn looks_binary(start: &[u8]) -> bool {
    let control = |byte: &u8| *byte < 0x20 && !matches!(*byte, b'\t' | b'\n' | b'\r' | 0x08 | 0x0c | 0x1b);
    start.contains(&0) || start.iter().filter(|byte| control(byte)).count() * 10 > start.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_from_the_first_bytes() {
        for (start, expected) in [
            (&b"fn main() {}\n"[..], Kind::Text { mark: 0 }),
            (b"", Kind::Text { mark: 0 }),
            (b"\xef\xbb\xbfabc", Kind::Text { mark: 3 }),
            (b"MZ is a text\n", Kind::Text { mark: 0 }),
            (b"BMW, ID3\n", Kind::Text { mark: 0 }),
            (b"caf\xe9\n", Kind::Text { mark: 0 }),
            (b"\x1b[31mred\x1b[0m\n", Kind::Text { mark: 0 }),
            (b"\xff\xfea\0b\0", Kind::Utf16 { big_endian: false }),
            (b"\x89PNG\r\n\x1a\n\0\0", Kind::Image("image/png")),
            (b"RIFF\x10\0\0\0WEBPVP8 ", Kind::Image("image/webp")),
            (b"\xff\xd8\xff\xe0\0", Kind::Image("image/jpeg")),
            (b"%PDF-1.7\n\0\x01", Kind::Binary("PDF document")),
            (b"MZ\x90\0\x03", Kind::Binary("Windows program or library")),
            (b"a\0b", Kind::Binary("binary file")),
            (b"\x01\x02\x03\x04abc", Kind::Binary("binary file")),
        ] {
            assert_eq!(of(start), expected, "{start:?}");
        }
    }
}
