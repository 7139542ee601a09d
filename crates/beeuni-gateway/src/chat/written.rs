//! The tool calls of an answer that passes through to a harness, as the model wrote them.
//!
//! A harness that reads arguments as JavaScript loses what a number there cannot hold. Who runs the tools for it needs
//! the text; the bytes themselves pass unchanged and at once.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::ChatEvent;
use super::calls::Calls;
use super::chunk::Chunk;
use super::sse::SseEvent;
use super::stream::{Form, MAX_WHOLE_ANSWER};
use crate::net::{AnswerBody, BodyError, boxed};

/// The most text of arguments in one answer: no harness passes a longer call on.
const MAX_ARGUMENTS: usize = 10 * 1024 * 1024;

/// A tool call with its whole arguments, as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrittenCall {
    /// The provider's id of the call; 9 random letters and digits where it sent none.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The text of the arguments. Its brackets are closed, which does not mean that it is JSON.
    pub arguments: String,
}

/// Passes `body` on and gives each call to `note`, before the bytes that complete it pass. What cannot be read ends the
/// noting and nothing else.
pub(crate) fn noting(body: AnswerBody, note: impl FnMut(WrittenCall) + Send + Unpin + 'static) -> AnswerBody {
    let reader = Some(Reader::default());
    boxed(Noting { body, reader, note })
}

struct Noting<F> {
    body: AnswerBody,
    /// Nothing once there is no more to note.
    reader: Option<Reader>,
    note: F,
}

impl<F: FnMut(WrittenCall) + Send + Unpin> Body for Noting<F> {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let Self { body, reader, note } = self.get_mut();
        let frame = ready!(Pin::new(&mut *body).poll_frame(cx));
        if let Some(reading) = reader {
            let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref());
            let read = data.map_or(Ok(()), |bytes| reading.take(bytes, note));
            // Nobody asks a body again that says of itself that it is over.
            let is_over = !matches!(frame, Some(Ok(_))) || body.is_end_stream();
            if is_over && read.is_ok() {
                reading.end(note);
            }
            if is_over || read.is_err() {
                *reader = None;
            }
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The answer cannot be read on.
struct Unreadable;

/// What was read of an answer.
#[derive(Default)]
struct Reader {
    form: Form,
    answer: Written,
}

impl Reader {
    fn take(&mut self, bytes: &[u8], note: &mut impl FnMut(WrittenCall)) -> Result<(), Unreadable> {
        let Self { form, answer } = self;
        form.begin(bytes);
        match form {
            Form::Unknown => Ok(()),
            Form::Whole(whole) => {
                whole.extend_from_slice(bytes);
                (whole.len() <= MAX_WHOLE_ANSWER).then_some(()).ok_or(Unreadable)
            }
            Form::Events(parser) => {
                let mut read = Ok(());
                let mut sink = |event: SseEvent| {
                    if read.is_ok() {
                        read = answer.chunk(&event.data, note);
                    }
                };
                let parsed = parser.push(bytes, &mut sink);
                parsed.map_err(|_| Unreadable).and(read)
            }
        }
    }

    fn end(&mut self, note: &mut impl FnMut(WrittenCall)) {
        let Self { form, answer } = self;
        match form {
            Form::Unknown => {}
            // The last event may be a half one.
            Form::Events(parser) => parser.finish(&mut |event| drop(answer.chunk(&event.data, note))),
            Form::Whole(whole) => drop(answer.chunk(&String::from_utf8_lossy(whole), note)),
        }
    }
}

/// The calls of an answer so far.
#[derive(Default)]
struct Written {
    calls: Calls,
    /// By the calls' own count.
    texts: Vec<Text>,
    /// How much text there is.
    bytes: usize,
}

impl Written {
    fn chunk(&mut self, text: &str, note: &mut impl FnMut(WrittenCall)) -> Result<(), Unreadable> {
        // Most chunks are about something else.
        if memchr::memmem::find(text.as_bytes(), b"tool_calls").is_none() {
            return Ok(());
        }
        let chunk: Chunk<'_> = serde_json::from_str(text).map_err(|_| Unreadable)?;
        let deltas = chunk.choice().and_then(|choice| choice.delta());
        for delta in deltas.iter().flat_map(|delta| &delta.tool_calls).flatten() {
            let Self { calls, texts, bytes } = self;
            calls.add(delta, &mut |event| {
                if let ChatEvent::ToolCall {
                    index,
                    id,
                    name,
                    arguments_delta,
                } = event
                {
                    *bytes += arguments_delta.len();
                    if texts.len() <= index {
                        texts.resize_with(index + 1, Text::default);
                    }
                    let text = texts.get_mut(index).and_then(|text| text.push(&arguments_delta));
                    if let Some(arguments) = text {
                        note(WrittenCall { id, name, arguments });
                    }
                }
            });
            if self.bytes > MAX_ARGUMENTS {
                return Err(Unreadable);
            }
        }
        Ok(())
    }
}

/// The text of a call's arguments, and where in it we are: to parse it again with every piece would take long.
#[derive(Default)]
struct Text {
    text: String,
    depth: usize,
    in_string: bool,
    escaped: bool,
    is_whole: bool,
}

impl Text {
    /// The whole text, once, when this piece completes it.
    fn push(&mut self, piece: &str) -> Option<String> {
        if self.is_whole {
            return None;
        }
        self.text.push_str(piece);
        for byte in piece.bytes() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.is_whole |= self.depth == 0;
                }
                _ => {}
            }
        }
        self.is_whole.then(|| std::mem::take(&mut self.text))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use std::sync::{Arc, Mutex};

    use http_body_util::BodyExt as _;
    use serde_json::json;

    use super::*;
    use crate::testing::{Answer, chunk};

    /// A body in pieces.
    struct Pieces(std::vec::IntoIter<Bytes>);

    impl Body for Pieces {
        type Data = Bytes;
        type Error = BodyError;

        fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
            Poll::Ready(self.0.next().map(|piece| Ok(Frame::data(piece))))
        }

        fn is_end_stream(&self) -> bool {
            self.0.len() == 0
        }
    }

    /// What is noted of an answer that comes in these pieces, with the number of pieces that had passed before. Each
    /// piece passes unchanged.
    async fn timed(pieces: &[&[u8]]) -> Vec<(usize, WrittenCall)> {
        let calls = Arc::new(Mutex::new(Vec::new()));
        let list: Vec<Bytes> = pieces.iter().map(|piece| Bytes::copy_from_slice(piece)).collect();
        let mut body = noting(boxed(Pieces(list.into_iter())), {
            let calls = Arc::clone(&calls);
            move |call| calls.lock().unwrap().push(call)
        });
        let mut noted = Vec::new();
        for (passed, piece) in pieces.iter().enumerate() {
            let frame = body.frame().await.unwrap().unwrap();
            assert_eq!(frame.into_data().unwrap(), piece);
            noted.extend(calls.lock().unwrap().drain(..).map(|call| (passed, call)));
        }
        assert!(body.is_end_stream());
        noted
    }

    async fn noted(pieces: &[&[u8]]) -> Vec<WrittenCall> {
        timed(pieces).await.into_iter().map(|(_, call)| call).collect()
    }

    fn call(id: &str, name: &str, arguments: &str) -> WrittenCall {
        WrittenCall {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        }
    }

    const NUMBERS: &str = r#"{"big":9007199254740993, "float" : 1.0,"text":"é \"}]{ \\","list":[{"exp":1e3}]}"#;

    #[tokio::test]
    async fn every_cut_of_a_stream_gives_the_same_calls() {
        let stream = Answer::tool_calls(&[("c1", "count", NUMBERS), ("c2", "none", "{}"), ("c3", "empty", "")]);
        let stream = stream.body();
        let expected = [call("c1", "count", NUMBERS), call("c2", "none", "{}")];
        for cut in 0..=stream.len() {
            let (left, right) = stream.split_at(cut);
            assert_eq!(noted(&[left, right]).await, expected, "cut at {cut}");
        }
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(noted(&bytes).await, expected);
    }

    #[tokio::test]
    async fn a_call_is_noted_before_the_bytes_that_complete_it_pass() {
        let event = |delta| format!("data: {}\n\n", chunk(&json!({ "tool_calls": [delta] }), None));
        let events = [
            event(json!({ "index": 0, "id": "c1", "function": { "name": "count", "arguments": "{\"n\":" } })),
            event(json!({ "index": 0, "function": { "arguments": "1.0}" } })),
            event(json!({ "index": 0, "function": { "arguments": "  " } })),
            "data: [DONE]\n\n".to_owned(),
        ];
        let events: Vec<&[u8]> = events.iter().map(|event| event.as_bytes()).collect();
        assert_eq!(timed(&events).await, [(1, call("c1", "count", "{\"n\":1.0}"))]);
    }

    #[tokio::test]
    async fn a_whole_answer_is_read_at_its_last_byte() {
        let calls = json!([{ "id": "c1", "function": { "name": "count", "arguments": NUMBERS } }]);
        let answer = json!({ "choices": [{ "message": { "tool_calls": calls }, "finish_reason": "tool_calls" }] });
        let answer = format!("\n {answer}");
        let expected = [call("c1", "count", NUMBERS)];
        for cut in 0..answer.len() {
            let (left, right) = answer.as_bytes().split_at(cut);
            assert_eq!(noted(&[left, right]).await, expected, "cut at {cut}");
        }
    }

    #[tokio::test]
    async fn what_cannot_be_read_passes_and_ends_the_noting() {
        let whole = Answer::tool_calls(&[("c1", "count", NUMBERS)]);
        let whole = whole.body();
        for bad in [
            &b"data: {\"tool_calls\": thing\n\n"[..],
            b"data: {\"choices\": [{\"delta\": {\"tool_calls\": 7}}]}\n\n",
        ] {
            assert_eq!(noted(&[bad, whole]).await, []);
        }
        assert_eq!(noted(&[b"<html>", whole]).await, []);
        assert_eq!(noted(&[b"data: {\"any\": thing\x00}\n\n", whole]).await.len(), 1);
        let half = whole.len() / 2;
        assert_eq!(noted(&[&whole[..half]]).await, []);
    }

    #[tokio::test]
    async fn more_text_than_a_harness_passes_on_ends_the_noting() {
        let text = |length: usize| format!("{{\"t\":\"{}\"}}", "x".repeat(length));
        let calls = [("c1", "keep", text(9 << 20)), ("c2", "keep", text(2 << 20))];
        let calls = calls.each_ref().map(|(id, name, text)| (*id, *name, text.as_str()));
        let found = noted(&[Answer::tool_calls(&calls).body()]).await;
        assert_eq!(found.iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["c1"]);
    }
}
