//! One model call: the request as the caller builds it, and the typed stream that answers it.

mod answer;
mod calls;
mod chunk;
mod event;
mod sse;
mod stream;
mod written;

pub use event::{ChatEvent, FinishReason, Usage};
pub use stream::ChatStream;
pub use written::WrittenCall;
pub(crate) use written::noting;

use bytes::Bytes;

/// A chat completion to ask for.
#[derive(Debug, Clone)]
pub struct ChatRequest {
    /// `provider/model`, such as `openai/gpt-5` or `beeuni/rehearsal`.
    pub model: String,
    /// An OpenAI-compatible chat-completions body: a JSON object, usually without `model`,
    /// `stream` and `stream_options`. The gateway puts those three in (and takes out what is there
    /// under those names); every other member keeps its place and its bytes, so that the provider's
    /// prompt cache recognises the prefix.
    pub body: Bytes,
}

impl ChatRequest {
    /// A request to `model` with a body that is already JSON text.
    pub fn new(model: impl Into<String>, body: impl Into<Bytes>) -> Self {
        Self {
            model: model.into(),
            body: body.into(),
        }
    }

    /// A request to `model` with a JSON value as its body; members keep the value's order.
    pub fn from_value(model: impl Into<String>, body: &serde_json::Value) -> Self {
        Self::new(model, body.to_string())
    }
}
