//! A model that answers at once: what it takes is known, and what is left is the harness's.

use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::Outcome;
use crate::http::content_length;

/// What a prompt holds whose answer is to begin with a call of `t0`.
pub(crate) const CALL: &str = "Look up order A-1042.";

/// The server. It ends with this value.
pub(crate) struct Model {
    /// `127.0.0.1:PORT`.
    pub(crate) address: String,
    asked: Arc<Mutex<Vec<Vec<u8>>>>,
    accepting: JoinHandle<()>,
}

/// As much of a request as decides the answer.
#[derive(Deserialize)]
struct Asked<'a> {
    #[serde(borrow)]
    messages: Vec<Message<'a>>,
    #[serde(default)]
    tools: Vec<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Message<'a> {
    role: &'a str,
    #[serde(default, borrow)]
    content: Option<&'a serde_json::value::RawValue>,
}

impl Model {
    pub(crate) async fn start() -> Outcome<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let asked: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
        let record = Arc::clone(&asked);
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A client that breaks off ends its own connection only.
                tokio::spawn(serve(stream, Arc::clone(&record)));
            }
        });
        Ok(Self {
            address,
            asked,
            accepting,
        })
    }

    /// The completions that were asked for since the last time, as they came.
    pub(crate) fn take_asked(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve(mut stream: TcpStream, asked: Arc<Mutex<Vec<Vec<u8>>>>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::with_capacity(64 * 1024);
    loop {
        let Some(head) = memchr::memmem::find(&buffer, b"\r\n\r\n") else {
            if stream.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
            continue;
        };
        let end = head + 4 + content_length(&buffer[..head]).unwrap_or(0);
        while buffer.len() < end {
            if stream.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        }
        let request: Vec<u8> = buffer.drain(..end).collect();
        let (kind, answer) = if request.starts_with(b"GET ") {
            let models =
                json!({ "object": "list", "data": [{ "id": "m1", "object": "model", "context_length": 4_000_000 }] });
            ("application/json", models.to_string())
        } else {
            let answer = completion(&request[head + 4..]);
            asked.lock().unwrap_or_else(PoisonError::into_inner).push(request);
            ("text/event-stream", answer)
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
            answer.len()
        );
        stream.write_all(&[head.as_bytes(), answer.as_bytes()].concat()).await?;
    }
}

/// A call of `t0` where the last prompt asks for one, and a text for its output and everything else.
fn completion(body: &[u8]) -> String {
    let asked = serde_json::from_slice::<Asked<'_>>(body);
    let wants_call = asked.is_ok_and(|asked| {
        let last = asked.messages.last();
        !asked.tools.is_empty()
            && last.is_some_and(|last| {
                last.role == "user" && last.content.is_some_and(|content| content.get().contains(CALL))
            })
    });
    let mut events = if wants_call {
        let call = |value: Value| json!({ "tool_calls": [value] });
        vec![
            call(json!({ "index": 0, "id": "call_1", "type": "function",
                "function": { "name": "t0", "arguments": "" } })),
            call(json!({ "index": 0, "function": { "arguments": "{\"id\":\"A-1042\"}" } })),
        ]
    } else {
        let words = "Order A-1042 was shipped with DHL. ".repeat(4);
        let pieces = words.split_inclusive(' ');
        pieces.map(|word| json!({ "content": word })).collect()
    };
    events.push(json!({}));
    let last = events.len() - 1;
    let mut stream = String::new();
    for (at, delta) in events.into_iter().enumerate() {
        let reason = (at == last).then_some(if wants_call { "tool_calls" } else { "stop" });
        let chunk = json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m1",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }],
        });
        stream.push_str(&format!("data: {chunk}\n\n"));
    }
    stream + "data: [DONE]\n\n"
}
