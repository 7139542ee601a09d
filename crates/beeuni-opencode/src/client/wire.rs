//! What OpenCode's server sends, as far as it is used here. Fields that are not named are passed over.
use serde::Deserialize;
use serde_json::{Map, Value};

/// What a session is doing.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum Status {
    /// Nothing.
    Idle,
    /// It works.
    Busy,
    /// A model could not be reached, or refused, and is asked again.
    Retry {
        /// What went wrong.
        #[serde(default)]
        message: String,
    },
    /// Something that this version does not know.
    #[serde(other)]
    Other,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct SessionInfo {
    pub(crate) id: String,
    #[serde(default, rename = "parentID")]
    pub(crate) parent: Option<String>,
    #[serde(default)]
    pub(crate) title: String,
    #[serde(default)]
    pub(crate) agent: Option<String>,
}

/// A message without its parts.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct MessageInfo {
    pub(crate) id: String,
    #[serde(rename = "sessionID")]
    pub(crate) session: String,
    pub(crate) role: String,
    /// In an answer: the message that it answers.
    #[serde(default, rename = "parentID")]
    pub(crate) parent: Option<String>,
    #[serde(default, rename = "modelID")]
    pub(crate) model: String,
    pub(crate) time: Time,
    #[serde(default)]
    pub(crate) finish: Option<String>,
    #[serde(default)]
    pub(crate) error: Option<ErrorInfo>,
    #[serde(default)]
    pub(crate) tokens: Tokens,
    /// `true` in the message that is a summary; an object in a user's message.
    #[serde(default)]
    pub(crate) summary: Value,
}

impl MessageInfo {
    /// Whether the model says it.
    pub(crate) fn is_answer(&self) -> bool {
        self.role == "assistant"
    }

    /// Whether it is the summary that stands for older messages.
    pub(crate) fn is_summary(&self) -> bool {
        self.summary == Value::Bool(true)
    }
}

/// Times in milliseconds since 1970.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
pub(crate) struct Time {
    #[serde(default)]
    pub(crate) created: Option<f64>,
    #[serde(default)]
    pub(crate) completed: Option<f64>,
    #[serde(default)]
    pub(crate) start: Option<f64>,
    #[serde(default)]
    pub(crate) end: Option<f64>,
}

/// A time as the transcript keeps it.
pub(crate) fn millis(time: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "milliseconds since 1970, made sure not to be negative"
    )]
    let whole = time.max(0.0) as u64;
    whole
}

/// Tokens of one step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
pub(crate) struct Tokens {
    #[serde(default)]
    pub(crate) total: Option<f64>,
    /// Those of the request that did not come from the provider's cache.
    #[serde(default)]
    pub(crate) input: f64,
    #[serde(default)]
    pub(crate) output: f64,
    #[serde(default)]
    pub(crate) reasoning: f64,
    #[serde(default)]
    pub(crate) cache: Cache,
}

/// Tokens of the provider's cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
pub(crate) struct Cache {
    #[serde(default)]
    pub(crate) read: f64,
    #[serde(default)]
    pub(crate) write: f64,
}

/// What went wrong in a message or session.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(crate) struct ErrorInfo {
    #[serde(default)]
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) data: ErrorData,
}

/// More about it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ErrorData {
    pub(crate) message: String,
    pub(crate) status_code: Option<u16>,
    pub(crate) response_headers: Map<String, Value>,
    pub(crate) response_body: Option<String>,
}

/// A part of a message, of any type.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct PartInfo {
    pub(crate) id: String,
    #[serde(rename = "messageID")]
    pub(crate) message: String,
    #[serde(rename = "sessionID")]
    pub(crate) session: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) text: String,
    #[serde(default)]
    pub(crate) time: Option<Time>,
    #[serde(default)]
    pub(crate) tool: String,
    #[serde(default, rename = "callID")]
    pub(crate) call: String,
    #[serde(default)]
    pub(crate) state: Option<CallState>,
    #[serde(default)]
    pub(crate) mime: String,
    #[serde(default)]
    pub(crate) filename: Option<String>,
    #[serde(default)]
    pub(crate) url: String,
    /// In the mark of a compaction: whether OpenCode made it by itself.
    #[serde(default)]
    pub(crate) auto: bool,
    /// The same: whether the provider had said that the conversation is too long.
    #[serde(default)]
    pub(crate) overflow: bool,
    /// The same: the first message that requests still hold.
    #[serde(default)]
    pub(crate) tail_start_id: Option<String>,
}

/// How a call stands.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(crate) struct CallState {
    pub(crate) status: String,
    #[serde(default)]
    pub(crate) input: Value,
    #[serde(default)]
    pub(crate) output: Option<String>,
    #[serde(default)]
    pub(crate) error: Option<String>,
    #[serde(default)]
    pub(crate) title: Option<String>,
    #[serde(default)]
    pub(crate) metadata: Option<Map<String, Value>>,
    #[serde(default)]
    pub(crate) time: Option<Time>,
    #[serde(default)]
    pub(crate) attachments: Vec<FileInfo>,
}

/// A file that came out of a call.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct FileInfo {
    pub(crate) mime: String,
    pub(crate) url: String,
    #[serde(default)]
    pub(crate) filename: Option<String>,
}

/// A message with its parts.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct WholeMessage {
    pub(crate) info: MessageInfo,
    #[serde(default)]
    pub(crate) parts: Vec<PartInfo>,
}

/// A permission request.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Permission {
    pub(crate) id: String,
    #[serde(rename = "sessionID")]
    pub(crate) session: String,
    pub(crate) permission: String,
    #[serde(default)]
    pub(crate) patterns: Vec<String>,
    #[serde(default)]
    pub(crate) metadata: Map<String, Value>,
    #[serde(default)]
    pub(crate) always: Vec<String>,
    #[serde(default)]
    pub(crate) tool: Option<CallPlace>,
}

/// Which call something belongs to.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct CallPlace {
    #[serde(rename = "messageID")]
    pub(crate) message: String,
    #[serde(rename = "callID")]
    pub(crate) call: String,
}

/// Questions.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Questions {
    pub(crate) id: String,
    #[serde(rename = "sessionID")]
    pub(crate) session: String,
    pub(crate) questions: Vec<beeuni_protocol::session::Question>,
    #[serde(default)]
    pub(crate) tool: Option<CallPlace>,
}
