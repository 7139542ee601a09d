//! Server-sent events out of bytes that arrive in any pieces.
//!
//! By hand, because the crates for it either keep a parser of 2022's `nom` around or fail on what
//! providers really send: this one is as small as using one, and has a size limit.

use memchr::memchr2;

/// The largest event: a provider may send a whole answer, or an image in base64, in one.
const MAX_EVENT_BYTES: usize = 32 * 1024 * 1024;

/// One event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// The `event` field; empty when it was not sent.
    pub(crate) name: String,
    /// The `data` lines, joined by line breaks; invalid UTF-8 is replaced.
    pub(crate) data: String,
}

/// An event is larger than any that a provider would send.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

/// Collects lines into events.
#[derive(Debug, Default)]
pub(crate) struct SseParser {
    line: Vec<u8>,
    name: String,
    data: Vec<u8>,
    has_data: bool,
    after_return: bool,
    begun: bool,
}

impl SseParser {
    /// Takes the next bytes and hands each complete event to `sink`.
    pub(crate) fn push(&mut self, mut bytes: &[u8], sink: &mut impl FnMut(SseEvent)) -> Result<(), TooLarge> {
        while let Some(first) = bytes.first() {
            // The second half of \r\n, perhaps in another piece than its first.
            if std::mem::take(&mut self.after_return) && *first == b'\n' {
                bytes = bytes.get(1..).unwrap_or_default();
                continue;
            }
            let Some(end) = memchr2(b'\n', b'\r', bytes) else {
                self.line.extend_from_slice(bytes);
                break;
            };
            let (line, rest) = bytes.split_at(end);
            self.line.extend_from_slice(line);
            self.after_return = rest.first() == Some(&b'\r');
            bytes = rest.get(1..).unwrap_or_default();
            self.end_line(sink);
            if self.data.len() > MAX_EVENT_BYTES {
                return Err(TooLarge);
            }
        }
        if self.line.len() > MAX_EVENT_BYTES {
            return Err(TooLarge);
        }
        Ok(())
    }

    /// The body is over: an event without its empty line counts too, some servers forget it.
    pub(crate) fn finish(&mut self, sink: &mut impl FnMut(SseEvent)) {
        if !self.line.is_empty() {
            self.end_line(sink);
        }
        self.dispatch(sink);
    }

    fn end_line(&mut self, sink: &mut impl FnMut(SseEvent)) {
        let mut line = std::mem::take(&mut self.line);
        if !std::mem::replace(&mut self.begun, true) && line.starts_with(b"\xEF\xBB\xBF") {
            line.drain(..3);
        }
        if line.is_empty() {
            self.dispatch(sink);
        } else {
            self.field(&line);
        }
        // Keeps its memory for the next line.
        line.clear();
        self.line = line;
    }

    fn field(&mut self, line: &[u8]) {
        let colon = memchr::memchr(b':', line).unwrap_or(line.len());
        let (field, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            b"event" => self.name = String::from_utf8_lossy(value).into_owned(),
            // A comment (no field name: keep-alive), `id`, `retry`, or something unknown.
            _ => {}
        }
    }

    fn dispatch(&mut self, sink: &mut impl FnMut(SseEvent)) {
        let name = std::mem::take(&mut self.name);
        if std::mem::take(&mut self.has_data) {
            let data = String::from_utf8_lossy(&self.data).into_owned();
            self.data.clear();
            sink(SseEvent { name, data });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(pieces: &[&[u8]]) -> Vec<(String, String)> {
        let mut parser = SseParser::default();
        let mut events = Vec::new();
        let mut sink = |event: SseEvent| events.push((event.name, event.data));
        for piece in pieces {
            assert_eq!(parser.push(piece, &mut sink), Ok(()));
        }
        parser.finish(&mut sink);
        events
    }

    fn data(text: &str) -> (String, String) {
        (String::new(), text.to_owned())
    }

    #[test]
    fn every_cut_of_a_stream_gives_the_same_events() {
        let stream =
            "\u{feff}data: {\"a\":\"é\"}\r\n\r\n: keep-alive\n\nevent: error\ndata: x\ndata:  y\r\rdata\n\nid: 7\n\n";
        let expected = vec![
            data("{\"a\":\"é\"}"),
            ("error".to_owned(), "x\n y".to_owned()),
            data(""),
        ];
        assert_eq!(events(&[stream.as_bytes()]), expected);
        for cut in 0..=stream.len() {
            let (left, right) = stream.as_bytes().split_at(cut);
            assert_eq!(events(&[left, right]), expected, "cut at {cut}");
        }
        let bytes: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
        assert_eq!(events(&bytes), expected);
    }

    #[test]
    fn a_last_event_without_an_empty_line_counts() {
        assert_eq!(events(&[b"data: a\n\ndata: b"]), [data("a"), data("b")]);
        assert_eq!(events(&[b"data: a\n"]), [data("a")]);
    }

    #[test]
    fn comments_and_empty_lines_are_no_events() {
        assert_eq!(events(&[b":\n\n\n: OPENROUTER PROCESSING\n\n\r\n"]), []);
    }

    #[test]
    fn an_endless_line_is_an_error() {
        let mut parser = SseParser::default();
        let piece = vec![b'x'; MAX_EVENT_BYTES / 4];
        let outcome = (0..5).try_for_each(|_| parser.push(&piece, &mut |_| {}));
        assert_eq!(outcome, Err(TooLarge));
    }

    #[test]
    fn endless_data_lines_are_an_error() {
        let mut parser = SseParser::default();
        let mut line = b"data: ".to_vec();
        line.resize(MAX_EVENT_BYTES / 4, b'x');
        line.push(b'\n');
        let outcome = (0..5).try_for_each(|_| parser.push(&line, &mut |_| {}));
        assert_eq!(outcome, Err(TooLarge));
    }
}
