//! What a scripted server answers, and how it misbehaves while it does.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::watch;

/// Holds an answer back until a test opens it. Clones are the same gate.
#[derive(Clone)]
pub struct Gate(Arc<watch::Sender<bool>>);

impl Default for Gate {
    fn default() -> Self {
        Self::closed()
    }
}

impl Gate {
    /// A gate that is closed.
    pub fn closed() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// Lets everything that waits here go on.
    pub fn open(&self) {
        self.0.send_replace(true);
    }

    pub(super) async fn passed(&self) {
        let mut receiver = self.0.subscribe();
        receiver
            .wait_for(|open| *open)
            .await
            .expect("the gate itself lives as long as this call");
    }
}

/// One answer of a [`ScriptedServer`](super::ScriptedServer).
#[derive(Clone)]
pub struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Bytes,
    pub(super) piece: usize,
    pub(super) cut_at: Option<usize>,
    pub(super) hang_up: bool,
    pub(super) hold_head: Option<Gate>,
    pub(super) holds: Vec<(usize, Gate)>,
    pub(super) keep_open: bool,
}

impl Answer {
    /// A status, a content type (empty: none is sent) and a body of any bytes.
    pub fn new(status: u16, content_type: &str, body: impl Into<Bytes>) -> Self {
        let headers = match content_type {
            "" => Vec::new(),
            content_type => vec![("content-type".to_owned(), content_type.to_owned())],
        };
        Self {
            status,
            headers,
            body: body.into(),
            piece: usize::MAX,
            cut_at: None,
            hang_up: false,
            hold_head: None,
            holds: Vec::new(),
            keep_open: false,
        }
    }

    /// A JSON answer.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::new(status, "application/json", body.to_string())
    }

    /// An event stream: each value becomes a `data:` line of its own, `[DONE]` follows.
    pub fn events<'a>(events: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut body = String::new();
        for event in events {
            body.push_str(&format!("data: {event}\n\n"));
        }
        Self::stream(body + "data: [DONE]\n\n")
    }

    /// An event stream of exactly these bytes.
    pub fn stream(body: impl Into<Bytes>) -> Self {
        Self::new(200, "text/event-stream", body)
    }

    /// A model's streamed answer in plain text, word by word, with usage, finished by `stop`.
    pub fn text(text: &str) -> Self {
        let mut events: Vec<Value> = text
            .split_inclusive(' ')
            .map(|word| chunk(&json!({ "content": word }), None))
            .collect();
        events.push(chunk(&json!({}), Some("stop")));
        events.push(usage());
        Self::events(&events)
    }

    /// A model's streamed tool calls, each `(id, name, arguments text)`, the arguments in two
    /// deltas, with usage, finished by `tool_calls`.
    pub fn tool_calls(calls: &[(&str, &str, &str)]) -> Self {
        let mut events = Vec::new();
        for (index, (id, name, arguments)) in calls.iter().enumerate() {
            let middle = arguments.floor_char_boundary(arguments.len() / 2);
            let (first, rest) = arguments.split_at(middle);
            let begin = json!({ "index": index, "id": id, "type": "function",
                "function": { "name": name, "arguments": first } });
            let more = json!({ "index": index, "function": { "arguments": rest } });
            events.push(chunk(&json!({ "tool_calls": [begin] }), None));
            events.push(chunk(&json!({ "tool_calls": [more] }), None));
        }
        events.push(chunk(&json!({}), Some("tool_calls")));
        events.push(usage());
        Self::events(&events)
    }

    /// Closes the connection without a word.
    pub fn hang_up() -> Self {
        let mut answer = Self::new(200, "", "");
        answer.hang_up = true;
        answer
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends the body in pieces of at most `bytes` bytes, each written and flushed by itself.
    #[must_use]
    pub fn pieces(mut self, bytes: usize) -> Self {
        self.piece = bytes.max(1);
        self
    }

    /// Closes the connection after this many bytes of the body, in the middle of the answer.
    #[must_use]
    pub fn cut_at(mut self, byte: usize) -> Self {
        self.cut_at = Some(byte);
        self
    }

    /// Holds the whole answer, status line included, until the gate opens.
    #[must_use]
    pub fn hold(mut self, gate: &Gate) -> Self {
        self.hold_head = Some(gate.clone());
        self
    }

    /// Sends the body up to this byte, then waits for the gate.
    #[must_use]
    pub fn hold_at(mut self, byte: usize, gate: &Gate) -> Self {
        self.holds.push((byte, gate.clone()));
        self.holds.sort_by_key(|(at, _)| *at);
        self
    }

    /// Sends the whole body and then neither ends it nor closes the connection.
    #[must_use]
    pub fn never_ends(mut self) -> Self {
        self.keep_open = true;
        self
    }

    /// The body, for finding the byte to cut or hold at.
    pub fn body(&self) -> &Bytes {
        &self.body
    }
}

/// One chunk of a streamed chat completion: `delta` and, at the end, the finish reason.
pub fn chunk(delta: &Value, finish_reason: Option<&str>) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": finish_reason }],
    })
}

fn usage() -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted",
        "choices": [],
        "usage": { "prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18 },
    })
}
