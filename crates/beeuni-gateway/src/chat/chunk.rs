//! The JSON of a streamed answer, read leniently: what providers agree on, and where they differ.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::Usage;

/// One chunk of a stream, or a whole answer of a server that does not stream.
#[derive(Debug, Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    pub(super) choices: Option<Vec<Choice<'a>>>,
    usage: Option<RawUsage>,
    error: Option<Value>,
    object: Option<Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Choice<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    #[serde(borrow)]
    message: Option<Delta<'a>>,
    pub(super) finish_reason: Option<String>,
    error: Option<Value>,
    /// Some servers put it here.
    usage: Option<RawUsage>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    refusal: Option<String>,
    #[serde(borrow)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) reasoning_details: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<ToolCallDelta<'a>>>,
}

/// A piece of a tool call, as the provider sent it.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ToolCallDelta<'a> {
    pub(super) index: Option<i64>,
    pub(super) id: Option<String>,
    #[serde(borrow)]
    function: Option<FunctionDelta<'a>>,
    #[serde(borrow)]
    pub(super) extra_content: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
struct FunctionDelta<'a> {
    name: Option<String>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    /// DeepSeek.
    prompt_cache_hit_tokens: Option<u64>,
    /// Anthropic.
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    /// OpenRouter.
    cost: Option<f64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CompletionDetails {
    reasoning_tokens: Option<u64>,
}

impl<'a> Chunk<'a> {
    /// The error that this chunk reports, if it reports one.
    pub(super) fn error(&self, text: &str) -> Option<Value> {
        let inside = |choice: &Choice<'_>| {
            let failed = choice.finish_reason.as_deref() == Some("error");
            let unnamed =
                || failed.then(|| Value::String("the answer ended with the finish reason `error`".to_owned()));
            choice.error.clone().filter(|it| !it.is_null()).or_else(unnamed)
        };
        let named = self.error.clone().filter(|it| !it.is_null());
        named
            .or_else(|| self.choices.as_deref().unwrap_or_default().iter().find_map(inside))
            // vLLM: the error is the object itself.
            .or_else(|| {
                let is_error = self.object.as_ref().is_some_and(|it| it == "error");
                is_error.then(|| serde_json::from_str(text).unwrap_or_default())
            })
    }

    /// The first choice: a request for one answer has no other.
    pub(super) fn choice(&self) -> Option<&Choice<'a>> {
        let choices = self.choices.as_deref().unwrap_or_default();
        choices.iter().find(|choice| choice.index.unwrap_or(0) == 0)
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        let inside = || self.choices.iter().flatten().find_map(|choice| choice.usage.as_ref());
        let raw = self.usage.as_ref().or_else(inside)?;
        let prompt = raw.prompt_tokens_details.as_ref();
        let cached = prompt.and_then(|it| it.cached_tokens);
        let written = prompt.and_then(|it| it.cache_write_tokens);
        let usage = Usage {
            input_tokens: raw.prompt_tokens.unwrap_or(0),
            output_tokens: raw.completion_tokens.unwrap_or(0),
            cached_input_tokens: cached
                .or(raw.prompt_cache_hit_tokens)
                .or(raw.cache_read_input_tokens)
                .unwrap_or(0),
            cache_write_tokens: written.or(raw.cache_creation_input_tokens).unwrap_or(0),
            reasoning_tokens: raw
                .completion_tokens_details
                .as_ref()
                .and_then(|it| it.reasoning_tokens)
                .unwrap_or(0),
            cost: raw.cost,
        };
        // Some servers send an empty usage with every chunk.
        (usage != Usage::default()).then_some(usage)
    }
}

impl<'a> Choice<'a> {
    /// What this chunk adds. A server that does not stream sends a whole `message` instead.
    pub(super) fn delta(&self) -> Option<&Delta<'a>> {
        self.delta.as_ref().or(self.message.as_ref())
    }
}

impl Delta<'_> {
    /// Text, and the refusal that some models give in its place.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        if let Some(content) = self.content {
            text_of(content, "text", &mut text);
        }
        text.push_str(self.refusal.as_deref().unwrap_or_default());
        text
    }

    /// Reasoning, under whichever name: a server that sends it under two sends it twice.
    pub(super) fn reasoning(&self) -> String {
        let mut text = String::new();
        for part in [self.reasoning_content, self.reasoning].into_iter().flatten() {
            text_of(part, "text", &mut text);
            if !text.is_empty() {
                return text;
            }
        }
        // Mistral: among the parts of the content.
        if let Some(content) = self.content {
            text_of(content, "thinking", &mut text);
        }
        text
    }
}

impl ToolCallDelta<'_> {
    /// The tool's name; nothing when it is missing or empty.
    pub(super) fn name(&self) -> Option<&str> {
        let name = self.function.as_ref().and_then(|it| it.name.as_deref());
        name.filter(|name| !name.is_empty())
    }

    /// The arguments' text. A server that sends an object instead of a string: its text, unchanged.
    pub(super) fn arguments(&self) -> String {
        let Some(raw) = self.function.as_ref().and_then(|it| it.arguments) else {
            return String::new();
        };
        match raw.get() {
            "null" => String::new(),
            text if text.starts_with('"') => serde_json::from_str(text).unwrap_or_default(),
            text => text.to_owned(),
        }
    }
}

/// The text of a string, or of the parts of a list that are of this type.
fn text_of(raw: &RawValue, part_type: &str, text: &mut String) {
    if raw.get().starts_with('"') {
        if part_type == "text" {
            text.push_str(&serde_json::from_str::<String>(raw.get()).unwrap_or_default());
        }
        return;
    }
    let Ok(Value::Array(parts)) = serde_json::from_str(raw.get()) else {
        return;
    };
    for part in &parts {
        if part.get("type").and_then(Value::as_str) != Some(part_type) {
            continue;
        }
        match part.get(part_type) {
            Some(Value::String(piece)) => text.push_str(piece),
            // Mistral: {"type":"thinking","thinking":[{"type":"text","text":"…"}]}.
            Some(Value::Array(pieces)) => {
                for piece in pieces {
                    text.push_str(piece.get("text").and_then(Value::as_str).unwrap_or_default());
                }
            }
            _ => {}
        }
    }
}
