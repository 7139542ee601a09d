//! What the stand-in needs to know of a request: the instruction, the tools, and what came back.

use serde::Deserialize;
use serde_json::Value;

/// A chat-completions request. Whatever else is in it makes no difference to the stand-in.
#[derive(Debug, Deserialize)]
pub(super) struct Request {
    #[serde(default)]
    pub(super) messages: Vec<Message>,
    #[serde(default)]
    pub(super) tools: Option<Vec<Tool>>,
    #[serde(default)]
    pub(super) stream: bool,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
}

#[derive(Debug, Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct Message {
    pub(super) role: String,
    #[serde(default)]
    content: Value,
    #[serde(default)]
    pub(super) tool_calls: Option<Vec<ToolCall>>,
    #[serde(default)]
    pub(super) tool_call_id: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ToolCall {
    #[serde(default)]
    pub(super) id: String,
    pub(super) function: Function,
}

#[derive(Debug, Deserialize)]
pub(super) struct Function {
    pub(super) name: String,
    #[serde(default)]
    pub(super) arguments: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Tool {
    pub(super) function: ToolFunction,
}

#[derive(Debug, Deserialize)]
pub(super) struct ToolFunction {
    pub(super) name: String,
    #[serde(default)]
    pub(super) parameters: Value,
}

impl Request {
    /// Where the last instruction is, and its text.
    pub(super) fn instruction(&self) -> (usize, String) {
        let users = self
            .messages
            .iter()
            .enumerate()
            .rev()
            .filter(|(_, message)| message.role == "user");
        // A harness may add messages of its own that hold nothing but a reminder.
        let mut instructions = users.map(|(at, message)| (at, without_reminders(&message.text())));
        instructions
            .find(|(_, text)| !text.trim().is_empty())
            .unwrap_or_default()
    }

    /// The tools that are offered.
    pub(super) fn offered(&self) -> impl Iterator<Item = &ToolFunction> {
        self.tools.iter().flatten().map(|tool| &tool.function)
    }

    /// An offered tool.
    pub(super) fn tool(&self, name: &str) -> Option<&ToolFunction> {
        self.offered().find(|tool| tool.name == name)
    }

    /// Whether a stream ends with a chunk that counts tokens.
    pub(super) fn wants_usage(&self) -> bool {
        self.stream_options.as_ref().is_some_and(|it| it.include_usage)
    }

    /// A number for the conversation so far, the same in every run: ids come from it.
    pub(super) fn fingerprint(&self) -> u64 {
        // FNV-1a: the standard library's hashes may differ from release to release.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut add = |text: &str| {
            for byte in text.bytes().chain([0]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        };
        for message in &self.messages {
            add(&message.role);
            add(&message.text());
            for call in message.calls() {
                add(&call.id);
                add(&call.function.name);
                add(&call.function.arguments);
            }
        }
        hash
    }
}

impl Message {
    /// Its text: the string, or the text parts of a list.
    pub(super) fn text(&self) -> String {
        match &self.content {
            Value::String(text) => text.clone(),
            Value::Array(parts) => {
                let texts = parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str));
                texts.collect::<Vec<_>>().join("\n")
            }
            _ => String::new(),
        }
    }

    /// The tool calls that it made.
    pub(super) fn calls(&self) -> &[ToolCall] {
        self.tool_calls.as_deref().unwrap_or_default()
    }
}

/// A user's words without the blocks that a harness puts among them.
fn without_reminders(text: &str) -> String {
    const OPEN: &str = "<system-reminder>";
    const CLOSE: &str = "</system-reminder>";
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPEN) {
        kept.push_str(before);
        rest = after.split_once(CLOSE).map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    kept
}
