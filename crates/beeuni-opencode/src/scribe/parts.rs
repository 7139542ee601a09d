//! The parts of messages: text and reasoning as they are written, files, the ends of steps.
use beeuni_agent::StoreError;
use beeuni_protocol::session::{DeltaField, EventBody, Part, PartBody, Reasoning, TextPart};

use super::{Noted, PartState, Scribe};
use crate::client::PartInfo;

impl Scribe {
    pub(super) fn part(&mut self, part: &PartInfo) -> Result<(), StoreError> {
        match self.messages.get_mut(&part.message) {
            Some(Noted::Unsaid { session, created }) => {
                let (session, created) = (session.clone(), *created);
                self.say(&session, created, part)
            }
            Some(Noted::Answer(answer)) => match part.kind.as_str() {
                "text" | "reasoning" => self.prose(part),
                "tool" => self.call(part),
                "step-finish" => {
                    answer.stepped = true;
                    Ok(())
                }
                "file" => self.file(part),
                _ => Ok(()),
            },
            Some(Noted::Summary(_)) => self.summary_part(part),
            _ => Ok(()),
        }
    }

    fn prose(&mut self, part: &PartInfo) -> Result<(), StoreError> {
        let reasoning = part.kind == "reasoning";
        let ended = part.time.is_some_and(|time| time.end.is_some());
        let text = self.clean(&part.text);
        match self.parts.get(&part.id) {
            Some(PartState::Ended | PartState::Call(_)) => Ok(()),
            Some(PartState::Open { .. }) => {
                if ended {
                    self.journal.end_part(&part.id, |body| put(body, text))?;
                    self.parts.insert(part.id.clone(), PartState::Ended);
                }
                Ok(())
            }
            None | Some(PartState::Empty { .. }) if text.is_empty() => {
                // A part with nothing in it is no part.
                let state = PartState::Empty {
                    message: part.message.clone(),
                    reasoning,
                };
                self.parts.insert(part.id.clone(), state);
                Ok(())
            }
            None | Some(PartState::Empty { .. }) => {
                self.open(&part.id, &part.message, reasoning);
                self.journal.add(&part.id, DeltaField::Text, &text);
                if ended {
                    self.journal.end_part(&part.id, |body| put(body, text))?;
                    self.parts.insert(part.id.clone(), PartState::Ended);
                }
                Ok(())
            }
        }
    }

    /// Begins a part that has something in it.
    fn open(&mut self, id: &str, message: &str, reasoning: bool) {
        let body = if reasoning {
            PartBody::Reasoning(Reasoning::default())
        } else {
            PartBody::Text(TextPart::default())
        };
        let session = match self.messages.get(message) {
            Some(Noted::Answer(answer)) => self.id_of(&answer.session),
            _ => return,
        };
        let part = Part {
            id: id.to_owned(),
            message: message.to_owned(),
            body,
        };
        self.journal.begin(&session, part);
        let message = message.to_owned();
        self.parts.insert(id.to_owned(), PartState::Open { message });
    }

    pub(super) fn delta(&mut self, id: &str, text: &str) -> Result<(), StoreError> {
        if let Some(PartState::Empty { message, reasoning }) = self.parts.get(id) {
            let (message, reasoning) = (message.clone(), *reasoning);
            self.open(id, &message, reasoning);
        }
        if let Some(PartState::Open { .. }) = self.parts.get(id) {
            let text = self.clean(text);
            self.journal.add(id, DeltaField::Text, &text);
        }
        Ok(())
    }

    fn file(&mut self, part: &PartInfo) -> Result<(), StoreError> {
        if self.parts.contains_key(&part.id) {
            return Ok(());
        }
        self.parts.insert(part.id.clone(), PartState::Ended);
        let id = self.id_of(&part.session);
        let part = Part {
            id: part.id.clone(),
            message: part.message.clone(),
            body: self.user_part(part),
        };
        self.journal.publish(&id, EventBody::PartUpdated { part })
    }
}

/// Puts the whole text in place of what came in pieces.
fn put(body: &mut PartBody, text: String) {
    match body {
        PartBody::Text(part) => part.text = text,
        PartBody::Reasoning(part) => part.text = text,
        _ => {}
    }
}
