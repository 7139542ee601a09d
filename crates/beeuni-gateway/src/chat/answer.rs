//! One model's answer, put together from its chunks, and how it ended.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::de::IgnoredAny;

use super::calls::Calls;
use super::chunk::{Chunk, Delta};
use super::sse::SseEvent;
use super::{ChatEvent, FinishReason, Usage};
use crate::classify::{self, Words};
use crate::error::{ChatError, ChatErrorKind};
use crate::net::BodyError;
use crate::provider::Provider;

type Queue = VecDeque<Result<ChatEvent, ChatError>>;

/// What an answer consists of so far.
pub(super) struct Answer {
    provider: Arc<Provider>,
    calls: Calls,
    finish: Option<FinishReason>,
    usage: Option<Usage>,
    /// `[DONE]` came.
    done: bool,
    /// An error or the end was put out: nothing may follow.
    closed: bool,
    /// Any chunk came at all.
    begun: bool,
}

impl Answer {
    pub(super) fn new(provider: Arc<Provider>) -> Self {
        Self {
            provider,
            calls: Calls::default(),
            finish: None,
            usage: None,
            done: false,
            closed: false,
            begun: false,
        }
    }

    /// Whether the finish reason came, so that only usage and `[DONE]` are missing.
    pub(super) fn finished(&self) -> bool {
        self.finish.is_some()
    }

    /// Takes an event of the stream in.
    pub(super) fn event(&mut self, event: SseEvent, queue: &mut Queue) {
        if self.closed || event.data.trim().is_empty() {
            return;
        }
        if event.data.trim() == "[DONE]" {
            self.done = true;
            self.end(Ok(()), queue);
            return;
        }
        self.chunk(&event.data, event.name == "error", queue);
    }

    /// Takes in what was left when the body ended: an event without its empty line, or half of one.
    pub(super) fn leftover(&mut self, event: SseEvent, queue: &mut Queue) {
        let data = event.data.trim();
        if data == "[DONE]" || serde_json::from_str::<IgnoredAny>(data).is_ok() {
            self.event(event, queue);
        } else {
            // The beginning of an event: the answer was cut, it is not malformed.
            self.begun = true;
        }
    }

    /// The whole answer of a server that does not stream, or a page that is no answer at all.
    pub(super) fn whole(&mut self, body: &[u8], queue: &mut Queue) {
        let text = String::from_utf8_lossy(body);
        if text.trim_start().starts_with('{') {
            self.chunk(&text, false, queue);
            self.end(Ok(()), queue);
        } else {
            let what = self.provider.clean(&classify::describe(body));
            self.fail(
                ChatErrorKind::Protocol,
                format!("answered with {what} instead of an event stream. Check its base URL"),
                queue,
            );
        }
    }

    fn chunk(&mut self, text: &str, named_error: bool, queue: &mut Queue) {
        let chunk: Chunk<'_> = match serde_json::from_str(text) {
            Ok(chunk) => chunk,
            Err(_) if named_error => {
                let words = Words {
                    message: Some(text.to_owned()),
                    ..Words::default()
                };
                return self.report(words, queue);
            }
            Err(error) => {
                let excerpt: String = text.chars().take(200).collect();
                let excerpt = self.provider.clean(&excerpt);
                let problem = format!("sent a chunk that cannot be read ({error}): {excerpt}");
                return self.fail(ChatErrorKind::Protocol, problem, queue);
            }
        };
        self.begun = true;
        self.usage = chunk.usage().or(self.usage);
        if let Some(error) = chunk.error(text) {
            return self.report(classify::words_of(&error), queue);
        }
        if named_error {
            let value = serde_json::from_str(text).unwrap_or_default();
            return self.report(classify::words_of(&value), queue);
        }
        let Some(choice) = chunk.choice() else { return };
        if let Some(delta) = choice.delta() {
            self.delta(delta, queue);
        }
        if let Some(reason) = choice.finish_reason.as_deref().filter(|it| !it.is_empty()) {
            self.finish = Some(finish_reason(reason));
        }
    }

    fn delta(&mut self, delta: &Delta<'_>, queue: &mut Queue) {
        let reasoning = delta.reasoning();
        if !reasoning.is_empty() {
            queue.push_back(Ok(ChatEvent::Reasoning(reasoning)));
        }
        if let Some(details) = delta.reasoning_details.filter(|it| !matches!(it.get(), "null" | "[]")) {
            queue.push_back(Ok(ChatEvent::ReasoningDetails(details.get().to_owned())));
        }
        let text = delta.text();
        if !text.is_empty() {
            queue.push_back(Ok(ChatEvent::Text(text)));
        }
        for call in delta.tool_calls.iter().flatten() {
            self.calls.add(call, &mut |event| queue.push_back(Ok(event)));
        }
    }

    /// The stream is over: complete, or not.
    pub(super) fn end(&mut self, ending: Result<(), BodyError>, queue: &mut Queue) {
        if self.closed {
            return;
        }
        self.put_usage(queue);
        let finish = match (self.finish.take(), ending) {
            // What is missing after the finish reason is nothing that anybody needs.
            (Some(finish), _) => finish,
            // Some servers forget the finish reason, but not to say that they are done.
            (None, Ok(())) if self.done && self.begun => FinishReason::Stop,
            (None, Err(BodyError::Idle(idle))) => {
                let problem = format!(
                    "sent nothing more for {} s in the middle of its answer",
                    idle.as_secs_f64()
                );
                return self.fail(ChatErrorKind::TimedOut, problem, queue);
            }
            (None, Ok(())) if !self.begun => {
                return self.fail(ChatErrorKind::Protocol, "answered with an empty body".to_owned(), queue);
            }
            (None, _) => {
                let problem = "stopped in the middle of its answer: the connection ended".to_owned();
                return self.fail(ChatErrorKind::CutStream, problem, queue);
            }
        };
        if self.calls.any_nameless() {
            let problem = "sent a tool call without a name".to_owned();
            return self.fail(ChatErrorKind::Protocol, problem, queue);
        }
        self.closed = true;
        let finish = match finish {
            FinishReason::Stop if self.calls.any() => FinishReason::ToolCalls,
            finish => finish,
        };
        queue.push_back(Ok(ChatEvent::Finish(finish)));
    }

    pub(super) fn too_large(&mut self) -> ChatError {
        self.closed = true;
        self.error(ChatErrorKind::Protocol, "sent an event of more than 32 MiB")
    }

    fn report(&mut self, words: Words, queue: &mut Queue) {
        self.put_usage(queue);
        self.closed = true;
        queue.push_back(Err(classify::in_stream(&self.provider, words)));
    }

    fn fail(&mut self, kind: ChatErrorKind, problem: String, queue: &mut Queue) {
        self.put_usage(queue);
        self.closed = true;
        queue.push_back(Err(self.error(kind, &problem)));
    }

    fn put_usage(&mut self, queue: &mut Queue) {
        if let Some(usage) = self.usage.take() {
            queue.push_back(Ok(ChatEvent::Usage(usage)));
        }
    }

    fn error(&self, kind: ChatErrorKind, problem: &str) -> ChatError {
        let message = format!("{} {}.", self.provider.name, problem.trim_end_matches('.'));
        ChatError::new(kind, message).of_provider(&self.provider.name)
    }
}

/// Providers' words for why an answer ended. Gemini writes them large, Anthropic has its own.
fn finish_reason(word: &str) -> FinishReason {
    match word.to_ascii_lowercase().as_str() {
        "stop" | "end_turn" | "eos" | "stop_sequence" => FinishReason::Stop,
        "tool_calls" | "tool_use" => FinishReason::ToolCalls,
        "length" | "max_tokens" | "model_length" => FinishReason::Length,
        "content_filter" | "safety" | "recitation" | "prohibited_content" | "refusal" => FinishReason::ContentFilter,
        _ => FinishReason::Other(word.to_owned()),
    }
}
