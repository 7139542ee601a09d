//! A range of a file's lines, read without holding the whole file.

use std::io::{BufRead, Error, ErrorKind};

use tokio_util::sync::CancellationToken;

/// How much of one line is kept: enough to find secrets in what is shown of it.
const KEPT_OF_LINE: usize = 64 * 1024;
/// How much is kept in all.
const KEPT: usize = 8 * 1024 * 1024;

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Lines {
    /// The lines of the range without their ends; each may be cut.
    pub(super) lines: Vec<Vec<u8>>,
    /// For each line how many bytes of it were left out.
    pub(super) left_out: Vec<usize>,
    /// How many lines the file has.
    pub(super) total: u64,
    /// Lines of the range that ended in CR LF.
    pub(super) carriage_returns: usize,
}

/// Reads `count` lines from line `first` (from 1) on, and counts all.
pub(super) fn read(
    source: &mut impl BufRead,
    first: u64,
    count: usize,
    stop: &CancellationToken,
) -> std::io::Result<Lines> {
    let mut found = Lines::default();
    let (mut kept, mut line, mut left_out) = (0, Vec::new(), 0);
    let mut in_line = false;
    loop {
        if stop.is_cancelled() {
            return Err(Error::new(ErrorKind::Interrupted, "stopped"));
        }
        let buffer = match source.fill_buf() {
            Ok([]) => break,
            Ok(buffer) => buffer,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let length = buffer.len();
        let mut rest = buffer;
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest);
            let part = &rest[..end.unwrap_or(rest.len())];
            let number = found.total + 1;
            let wanted = number >= first && found.lines.len() < count && kept < KEPT;
            if wanted {
                let room = KEPT_OF_LINE.saturating_sub(line.len()).min(part.len());
                line.extend_from_slice(&part[..room]);
                left_out += part.len() - room;
            }
            in_line = end.is_none();
            if end.is_some() {
                found.total += 1;
                if wanted {
                    kept += line.len();
                    found.end_line(&mut line, &mut left_out);
                }
            }
            rest = &rest[end.map_or(rest.len(), |end| end + 1)..];
        }
        source.consume(length);
    }
    if in_line {
        found.total += 1;
        if found.total >= first && found.lines.len() < count && kept < KEPT {
            found.end_line(&mut line, &mut left_out);
        }
    }
    Ok(found)
}

impl Lines {
    fn end_line(&mut self, line: &mut Vec<u8>, left_out: &mut usize) {
        if *left_out == 0 && line.last() == Some(&b'\r') {
            line.pop();
            self.carriage_returns += 1;
        }
        self.lines.push(std::mem::take(line));
        self.left_out.push(std::mem::take(left_out));
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;
    use std::io::{BufReader, Cursor};

    fn lines(text: &str, first: u64, count: usize, chunk: usize) -> Lines {
        let mut source = BufReader::with_capacity(chunk, Cursor::new(text.as_bytes()));
        read(&mut source, first, count, &CancellationToken::new()).unwrap()
    }

    #[test]
    fn a_range_is_the_same_however_the_file_is_cut_into_pieces() {
        for text in ["", "\n", "a", "a\n", "a\r\nb\n\nc", "\n\n\n", "é漢\r\n😀\n", "a\r"] {
            let all: Vec<&str> = text.lines().collect();
            for chunk in 1..8 {
                for first in 1..6_usize {
                    for count in 0..5 {
                        let found = lines(text, first as u64, count, chunk);
                        let expected: Vec<&str> = all.iter().skip(first - 1).take(count).copied().collect();
                        let shown: Vec<String> = found
                            .lines
                            .iter()
                            .map(|line| String::from_utf8(line.clone()).unwrap())
                            .collect();
                        let expected: Vec<&str> = expected.iter().map(|line| line.trim_end_matches('\r')).collect();
                        assert_eq!(shown, expected, "{text:?} {first} {count} {chunk}");
                        assert_eq!(found.total, all.len() as u64, "{text:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn one_endless_line_is_not_held() {
        let text = format!("{}\nlast\n", "x".repeat(5 << 20));
        let found = lines(&text, 1, 10, 64 * 1024);
        assert_eq!(
            (found.lines[0].len(), found.left_out[0]),
            (KEPT_OF_LINE, (5 << 20) - KEPT_OF_LINE)
        );
        assert_eq!((found.lines[1].as_slice(), found.total), (&b"last"[..], 2));
    }

    #[test]
    fn a_stopped_reading_ends() {
        let stop = CancellationToken::new();
        stop.cancel();
        assert!(read(&mut Cursor::new(b"a\n"), 1, 1, &stop).is_err());
    }
}
