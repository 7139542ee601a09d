//! What a model is sent: a transcript as an OpenAI-compatible chat, the same bytes for the same transcript.
//!
//! A request is `{"tools":…,"messages":[system, …history]}`. The history is only ever added to, so each request of a
//! conversation begins with the bytes of the one before, and the provider's prompt cache hits. After a restart the
//! stored transcript gives the same bytes again.
use std::borrow::Cow;
use std::fmt::Write;

use beeuni_protocol::session::{Attachment, Finish, Message, PartBody, Role, ToolCall, ToolStatus};

use crate::json_text;

/// What the model reads where a call gave nothing: providers refuse an empty text.
const NO_OUTPUT: &str = "(no output)";
/// What the model reads where its own message was empty.
const NO_CONTENT: &str = "(no content)";
/// The longest name of a tool that providers take.
const LONGEST_NAME: usize = 64;

/// The constant start of every request of a conversation.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Head {
    /// The system prompt.
    pub(crate) system: String,
    /// The tools as a JSON array; none when the model gets no tools.
    pub(crate) tools: Option<String>,
    /// Sampling temperature.
    pub(crate) temperature: Option<f64>,
    /// Nucleus sampling.
    pub(crate) top_p: Option<f64>,
}

impl Head {
    /// The body of a request with this history.
    pub(crate) fn body(&self, history: &History, with_tools: bool) -> String {
        let tools = self.tools.as_deref().filter(|_| with_tools);
        let room = self.system.len() + tools.map_or(0, str::len) + history.json.len() + 1024;
        let mut body = String::with_capacity(room);
        body.push('{');
        // Writing to a String cannot fail.
        if let Some(tools) = tools {
            let _ = write!(body, "\"tools\":{tools},");
        }
        if let Some(temperature) = self.temperature {
            let _ = write!(body, "\"temperature\":{temperature},");
        }
        if let Some(top_p) = self.top_p {
            let _ = write!(body, "\"top_p\":{top_p},");
        }
        let _ = write!(
            body,
            "\"messages\":[{{\"role\":\"system\",\"content\":{}}}",
            text(&self.system)
        );
        body.push_str(&history.json);
        body.push_str("]}");
        body
    }
}

/// The messages of a conversation as a model is sent them.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// Chat messages, each with a comma before it.
    json: String,
    /// Bytes of it that are images: they cost tokens by size in pixels, not by length.
    image_bytes: usize,
    images: usize,
    /// Whether images give way to a note.
    without_images: bool,
}

impl History {
    /// An empty one for a model that takes no images.
    pub(crate) fn without_images() -> Self {
        Self {
            without_images: true,
            ..Self::default()
        }
    }

    /// Whether there is an image in it.
    pub(crate) fn has_images(&self) -> bool {
        self.images > 0
    }

    /// Adds what stands for older messages.
    pub(crate) fn add_summary(&mut self, summary: &str) {
        self.user(&text(summary));
    }

    /// Adds a message for `model`. What another model's provider wants back is left out: its own would refuse it.
    pub(crate) fn add(&mut self, message: &Message, model: &str) {
        match message.role {
            Role::User => self.add_user(message),
            Role::Assistant => self.add_assistant(message, message.model.as_deref() == Some(model)),
        }
    }

    /// How many tokens it may have, at so many bytes for one.
    pub(crate) fn tokens(&self, bytes_per_token: f64) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let (text, images) = ((self.json.len() - self.image_bytes) as f64, self.images as f64);
        text / bytes_per_token + images * TOKENS_OF_AN_IMAGE
    }

    fn user(&mut self, content: &str) {
        let _ = write!(self.json, ",{{\"role\":\"user\",\"content\":{content}}}");
    }

    fn add_user(&mut self, message: &Message) {
        let mut texts = Vec::new();
        let mut files = Vec::new();
        for part in &message.parts {
            match &part.body {
                PartBody::Text(part) => texts.push(part.text.as_str()),
                PartBody::File(file) => files.push(file),
                _ => {}
            }
        }
        // A compaction is no part of what is said: `add_summary` puts its text where it belongs.
        if !texts.is_empty() || !files.is_empty() {
            let content = self.content(&texts.join("\n\n"), &files);
            self.user(&content);
        }
    }

    /// A content with its images, or with a note for a file that is none.
    fn content(&mut self, said: &str, files: &[&Attachment]) -> String {
        let mut said = Cow::Borrowed(said);
        let mut images = String::new();
        for file in files {
            if file.mime.starts_with("image/") && !self.without_images {
                let _ = write!(
                    images,
                    ",{{\"type\":\"image_url\",\"image_url\":{{\"url\":{}}}}}",
                    text(&file.url)
                );
                self.images += 1;
                self.image_bytes += file.url.len();
            } else {
                let name = file.name.as_deref().unwrap_or("a file");
                let _ = write!(
                    said.to_mut(),
                    "\n[{name} ({}) came with this message and cannot be shown]",
                    file.mime
                );
            }
        }
        let said = if said.is_empty() { NO_CONTENT } else { &said };
        if images.is_empty() {
            text(said)
        } else {
            format!("[{{\"type\":\"text\",\"text\":{}}}{images}]", text(said))
        }
    }

    fn add_assistant(&mut self, message: &Message, own: bool) {
        let mut said = String::new();
        let mut details = Vec::new();
        let mut calls = Vec::new();
        for part in &message.parts {
            match &part.body {
                PartBody::Text(part) => said.push_str(&part.text),
                PartBody::Reasoning(part) => details.extend(part.details.as_deref().filter(|_| own)),
                PartBody::Tool(call) => calls.push(call),
                PartBody::File(_) | PartBody::Compaction(_) => {}
            }
        }
        if said.is_empty() && calls.is_empty() {
            if !matches!(message.finish, Some(Finish::Stop | Finish::ToolCalls | Finish::Other)) {
                // It failed before it said anything: for the model it never was.
                return;
            }
            said.push_str(NO_CONTENT);
        }
        // The key must be there for some servers; `null` is the form for a message that only calls.
        let content = if said.is_empty() {
            "null".to_owned()
        } else {
            text(&said)
        };
        let _ = write!(self.json, ",{{\"role\":\"assistant\",\"content\":{content}");
        if let Some(details) = joined(&details) {
            let _ = write!(self.json, ",\"reasoning_details\":{details}");
        }
        if !calls.is_empty() {
            self.json.push_str(",\"tool_calls\":[");
            for (at, call) in calls.iter().enumerate() {
                self.json.push_str(if at == 0 { "" } else { "," });
                self.call(call, own);
            }
            self.json.push(']');
        }
        self.json.push('}');
        self.results(&calls);
    }

    fn call(&mut self, call: &ToolCall, own: bool) {
        // Text that is no JSON object would make every later request fail.
        let arguments = json_text::arguments(&call.arguments).unwrap_or(Cow::Borrowed("{}"));
        let _ = write!(
            self.json,
            "{{\"id\":{},\"type\":\"function\",\"function\":{{\"name\":{},\"arguments\":{}}}",
            text(&call.call),
            text(&sendable_name(&call.tool)),
            text(&arguments)
        );
        if let Some(extra) = call.extra.as_deref().filter(|_| own) {
            let _ = write!(self.json, ",\"extra_content\":{extra}");
        }
        self.json.push('}');
    }

    /// The results of calls in their order, then the images among them: a result itself holds only text.
    fn results(&mut self, calls: &[&ToolCall]) {
        for call in calls {
            let _ = write!(
                self.json,
                ",{{\"role\":\"tool\",\"tool_call_id\":{},\"content\":{}}}",
                text(&call.call),
                text(&result(call))
            );
        }
        for call in calls.iter().filter(|call| !call.attachments.is_empty()) {
            let files: Vec<&Attachment> = call.attachments.iter().collect();
            let names: Vec<&str> = files.iter().filter_map(|file| file.name.as_deref()).collect();
            let said = format!("[From the call {} of {}: {}]", call.call, call.tool, names.join(", "));
            let content = self.content(&said, &files);
            self.user(&content);
        }
    }
}

/// What an image costs: providers count between some hundred and some thousand for a usual one.
const TOKENS_OF_AN_IMAGE: f64 = 1_500.0;

/// What the model reads of a call.
pub(crate) fn result(call: &ToolCall) -> Cow<'_, str> {
    let output = call.output.as_deref().filter(|output| !output.trim().is_empty());
    let error = call.error.as_deref().filter(|error| !error.trim().is_empty());
    match call.status {
        ToolStatus::Completed => Cow::Borrowed(output.unwrap_or(NO_OUTPUT)),
        ToolStatus::Error => Cow::Borrowed(error.unwrap_or("the tool failed without a message")),
        ToolStatus::Interrupted | ToolStatus::Pending | ToolStatus::Running => {
            let error = error.unwrap_or("interrupted: this call did not end");
            match output {
                Some(output) => Cow::Owned(format!("{error}\nUntil then it gave:\n{output}")),
                None => Cow::Borrowed(error),
            }
        }
    }
}

/// A tool's name as providers take it: a model can call anything, and a name that is refused in the history would
/// make every later request fail.
fn sendable_name(name: &str) -> Cow<'_, str> {
    let good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(good) {
        return Cow::Borrowed(name);
    }
    let name: String = name
        .chars()
        .take(LONGEST_NAME)
        .map(|c| if good(c) { c } else { '_' })
        .collect();
    Cow::Owned(if name.is_empty() { "unnamed".to_owned() } else { name })
}

/// Several JSON arrays as one.
pub(crate) fn joined<S: AsRef<str>>(arrays: &[S]) -> Option<String> {
    let inner = |array: &S| {
        Some(
            array
                .as_ref()
                .trim()
                .strip_prefix('[')?
                .strip_suffix(']')?
                .trim()
                .to_owned(),
        )
    };
    let items: Vec<String> = arrays
        .iter()
        .filter_map(inner)
        .filter(|items| !items.is_empty())
        .collect();
    (!items.is_empty()).then(|| format!("[{}]", items.join(",")))
}

/// A JSON string.
fn text(text: &str) -> String {
    // A Rust string is always a JSON string.
    serde_json::to_string(text).unwrap_or_default()
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
