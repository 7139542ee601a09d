//! The parts of a message.
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One part of a message. It is stored when it ends, a tool call at each change of its status.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Its id, `prt_…`.
    pub id: String,
    /// The message it belongs to.
    pub message: String,
    /// What it is: `type` names it.
    #[serde(flatten)]
    pub body: PartBody,
}

/// What a part is.
#[expect(
    clippy::large_enum_variant,
    reason = "most parts are calls, the large ones: a box would cost an allocation for each"
)]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PartBody {
    /// Text for people.
    Text(TextPart),
    /// What the model thought.
    Reasoning(Reasoning),
    /// A call of a tool.
    Tool(ToolCall),
    /// A file that came with a prompt.
    File(Attachment),
    /// The messages before this one are represented to the model by a summary.
    Compaction(Compaction),
}

/// Text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextPart {
    /// The text.
    pub text: String,
}

/// What the model thought. The text is not sent back to it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reasoning {
    /// The text, where the provider shows it.
    pub text: String,
    /// What the provider wants back with the message, as the text of a JSON array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The call's id between harness and model.
    pub call: String,
    /// The tool's name as the model wrote it.
    pub tool: String,
    /// The arguments as the model wrote them: the text of a JSON object, unless the model erred. Numbers
    /// keep every digit.
    pub arguments: String,
    /// Where it stands.
    pub status: ToolStatus,
    /// One line for people on what the call did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The output as the model reads it (an empty one is told to it as `(no output)`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Why it failed or did not run, as the model reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What the provider wants back with the call, as JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<String>,
    /// More about the call, for views; the keys are the tool's. `session` is the child session of `task`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// Files that came out of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// When.
    pub time: ToolTime,
}

/// Where a tool call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// Written by the model, not started: its arguments are still arriving, or it waits for a permission.
    Pending,
    /// It runs.
    Running,
    /// It gave an output.
    Completed,
    /// It failed, or was refused.
    Error,
    /// It was stopped, or the process ended while it ran. What it did until then is done; it is not run again.
    Interrupted,
}

/// The times of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolTime {
    /// When the model wrote it.
    pub created: u64,
    /// When it started: permissions were given by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<u64>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<u64>,
}

/// A file beside a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Its media type, such as `image/png`.
    pub mime: String,
    /// Its name, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its bytes as a `data:` URL.
    pub url: String,
}

/// The mark of a compaction: requests no longer hold what stands before `keep_from` but the summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compaction {
    /// What the model reads in place of the older messages.
    pub summary: String,
    /// The first message that requests still hold; none when only the summary is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_from: Option<String>,
    /// What made it: `window` (the conversation came near the model's window), `overflow` (the provider said
    /// that it was too long) or `asked`.
    pub reason: String,
    /// Why the summary is not the model's, when it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
