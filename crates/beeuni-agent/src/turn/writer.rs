//! Writes a model's answer into the transcript as it arrives.
use beeuni_gateway::{ChatError, ChatEvent, ChatStream, FinishReason};
use beeuni_protocol::session::{
    DeltaField, EventBody, Finish, Message, Part, PartBody, Reasoning, TextPart, ToolCall, ToolStatus, ToolTime,
    TurnError, TurnOutcome,
};

use super::Turn;
use super::step::Answer;
use crate::conversation::Conversation;
use crate::store::StoreError;
use crate::{clock, turn_error};

/// Writes an answer.
pub(super) struct Writer<'a> {
    turn: &'a Turn,
    message: Message,
    /// The part that text or reasoning goes to.
    prose: Option<(String, Prose)>,
    calls: Vec<Call>,
    /// JSON arrays that go back to the provider.
    details: Vec<String>,
    finish: Option<FinishReason>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Prose {
    Text,
    Reasoning,
}

/// A call as it arrives.
struct Call {
    index: usize,
    part: String,
    extra: Option<String>,
}

/// What becomes of calls whose message did not end well.
struct Unrun {
    status: ToolStatus,
    reason: &'static str,
}

impl<'a> Writer<'a> {
    pub(super) fn new(turn: &'a Turn, message: Message) -> Self {
        Self {
            turn,
            message,
            prose: None,
            calls: Vec::new(),
            details: Vec::new(),
            finish: None,
        }
    }

    pub(super) async fn read(
        &mut self,
        mut stream: ChatStream,
        conversation: &mut Conversation,
    ) -> Result<Answer, StoreError> {
        loop {
            let event = tokio::select! {
                biased;
                () = self.turn.stop.cancelled() => {
                    // Before anything is written: the provider should not go on for nobody.
                    drop(stream);
                    let unrun = Unrun {
                        status: ToolStatus::Interrupted,
                        reason: "interrupted: the turn was stopped before this call began. It was not run.",
                    };
                    self.end(Finish::Aborted, None, Some(&unrun))?;
                    return Ok(Answer::Aborted);
                }
                event = stream.next() => event,
            };
            match event {
                Some(Ok(event)) => self.take(event, conversation)?,
                Some(Err(error)) => return self.failed(&error),
                None => return self.complete(),
            }
        }
    }

    fn take(&mut self, event: ChatEvent, conversation: &mut Conversation) -> Result<(), StoreError> {
        match event {
            ChatEvent::Text(text) => self.prose(Prose::Text, &text)?,
            ChatEvent::Reasoning(text) => self.prose(Prose::Reasoning, &text)?,
            ChatEvent::ToolCall {
                index,
                id,
                name,
                arguments_delta,
            } => self.call(index, id, name, &arguments_delta)?,
            ChatEvent::ToolCallExtra { index, json } => {
                if let Some(call) = self.calls.iter_mut().find(|call| call.index == index) {
                    call.extra = Some(json);
                }
            }
            ChatEvent::ReasoningDetails(json) => self.details.push(json),
            ChatEvent::Usage(counted) => {
                let usage = self.turn.engine.models.usage(&self.turn.model, &counted);
                conversation.counted(&self.turn.head, counted.input_tokens);
                self.turn.used(&usage);
                self.message.usage = Some(usage);
            }
            ChatEvent::Finish(reason) => self.finish = Some(reason),
            // Kinds that a later gateway sends.
            _ => {}
        }
        Ok(())
    }

    fn prose(&mut self, kind: Prose, text: &str) -> Result<(), StoreError> {
        let journal = &self.turn.engine.journal;
        if self.prose.as_ref().is_none_or(|(_, open)| *open != kind) {
            self.end_prose()?;
            let body = match kind {
                Prose::Text => PartBody::Text(TextPart::default()),
                Prose::Reasoning => PartBody::Reasoning(Reasoning::default()),
            };
            self.prose = Some((journal.begin_part(&self.turn.session, &self.message.id, body), kind));
        }
        if let Some((part, _)) = &self.prose {
            journal.add(part, DeltaField::Text, text);
        }
        Ok(())
    }

    fn end_prose(&mut self) -> Result<(), StoreError> {
        if let Some((part, _)) = self.prose.take() {
            self.turn.engine.journal.end_part(&part, |_| {})?;
        }
        Ok(())
    }

    fn call(&mut self, index: usize, id: String, name: String, arguments: &str) -> Result<(), StoreError> {
        let journal = &self.turn.engine.journal;
        if !self.calls.iter().any(|call| call.index == index) {
            self.end_prose()?;
            let body = PartBody::Tool(ToolCall {
                call: id,
                tool: name,
                arguments: String::new(),
                status: ToolStatus::Pending,
                title: None,
                output: None,
                error: None,
                extra: None,
                metadata: serde_json::Map::new(),
                attachments: Vec::new(),
                time: ToolTime {
                    created: clock::now(),
                    started: None,
                    ended: None,
                },
            });
            self.calls.push(Call {
                index,
                part: journal.begin_part(&self.turn.session, &self.message.id, body),
                extra: None,
            });
        }
        let call = self.calls.iter().find(|call| call.index == index);
        if let Some(call) = call.filter(|_| !arguments.is_empty()) {
            journal.add(&call.part, DeltaField::Arguments, arguments);
        }
        Ok(())
    }

    /// The stream ended by itself.
    fn complete(&mut self) -> Result<Answer, StoreError> {
        let (finish, cut) = match self.finish.take() {
            Some(FinishReason::Length) => (Finish::Length, Some(TurnOutcome::Length)),
            Some(FinishReason::ContentFilter) => (Finish::ContentFilter, Some(TurnOutcome::ContentFilter)),
            // Calls count, whatever word the provider ends with.
            Some(_) if !self.calls.is_empty() => (Finish::ToolCalls, None),
            Some(FinishReason::Stop | FinishReason::ToolCalls) => (Finish::Stop, None),
            Some(_) => (Finish::Other, None),
            None => {
                let error = turn_error::of_kind("cut_stream", "the answer ended without a reason: it is not complete");
                return self.fail(error);
            }
        };
        let unrun = cut.map(|_| Unrun {
            status: ToolStatus::Error,
            reason: "not run: the answer was cut before this call was complete",
        });
        let parts = self.end(finish, None, unrun.as_ref())?;
        Ok(match cut {
            Some(outcome) => Answer::Cut(outcome),
            None if parts.is_empty() => Answer::Said,
            None => Answer::Calls(parts),
        })
    }

    pub(super) fn failed(&mut self, error: &ChatError) -> Result<Answer, StoreError> {
        self.fail(turn_error::of_model(error))
    }

    fn fail(&mut self, error: TurnError) -> Result<Answer, StoreError> {
        let unrun = Unrun {
            status: ToolStatus::Error,
            reason: "not run: the model's answer broke off before it was complete",
        };
        self.end(Finish::Error, Some(error.clone()), Some(&unrun))?;
        Ok(Answer::Failed(error))
    }

    /// Stores what there is and gives back the calls. With `unrun` they end here.
    fn end(
        &mut self,
        finish: Finish,
        error: Option<TurnError>,
        unrun: Option<&Unrun>,
    ) -> Result<Vec<Part>, StoreError> {
        let journal = &self.turn.engine.journal;
        if !self.details.is_empty() {
            // They belong to no text in particular; the provider wants them in order.
            self.end_prose()?;
            let details = std::mem::take(&mut self.details);
            let body = PartBody::Reasoning(Reasoning {
                text: String::new(),
                details: crate::conversation::joined(&details),
            });
            let part = journal.begin_part(&self.turn.session, &self.message.id, body);
            journal.end_part(&part, |_| {})?;
        }
        self.end_prose()?;
        let now = clock::now();
        let mut parts = Vec::new();
        let mut seen: Vec<String> = Vec::new();
        for call in self.calls.drain(..) {
            let ended = journal.end_part(&call.part, |body| {
                let PartBody::Tool(tool) = body else { return };
                tool.extra = call.extra;
                tool.call = distinct(&tool.call, &seen);
                seen.push(tool.call.clone());
                if let Some(unrun) = unrun {
                    tool.status = unrun.status;
                    tool.error = Some(unrun.reason.to_owned());
                    tool.time.ended = Some(now);
                }
            })?;
            parts.extend(ended);
        }
        self.message.finish = Some(finish);
        self.message.error = error;
        self.message.time.completed = Some(now);
        self.turn.publish(EventBody::MessageUpdated {
            message: self.message.clone(),
        })?;
        Ok(parts)
    }
}

/// An id that no other call of the message has: some models repeat one, and providers then refuse the results.
fn distinct(id: &str, seen: &[String]) -> String {
    let mut candidate = id.to_owned();
    let mut number = 2;
    while candidate.is_empty() || seen.contains(&candidate) {
        candidate = format!("{id}{}{number}", if id.is_empty() { "call_" } else { "_" });
        number += 1;
    }
    candidate
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        // Nothing is open after an end; this is for a transcript that could not be written.
        self.turn.engine.journal.drop_parts(&self.message.id);
    }
}

#[cfg(test)]
mod tests {
    use super::distinct;

    #[test]
    fn conc_01_two_calls_of_one_answer_never_share_an_id() {
        let seen = ["a".to_owned(), "a_2".to_owned()];
        assert_eq!(distinct("b", &seen), "b");
        assert_eq!(distinct("a", &seen), "a_3");
        assert_eq!(distinct("", &seen), "call_2");
    }
}
