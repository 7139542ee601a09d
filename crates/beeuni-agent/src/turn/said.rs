//! Messages on the user's side: a person's, and the harness's own notes.
use beeuni_protocol::session::{Attachment, EventBody, Message, MessageTime, Origin, Part, PartBody, Role, TextPart};

use crate::store::Transcript;
use crate::{clock, ids};

/// Whether a person said something after the model's last message.
#[must_use]
pub fn is_unread(transcript: &Transcript) -> bool {
    let messages = transcript.messages.iter().rev().map(|entry| &entry.message);
    let mut after = messages.take_while(|message| message.role == Role::User);
    after.any(|message| matches!(message.origin, Some(Origin::Prompt | Origin::Steering)))
}

/// A user message and the events that make it; gives its id.
#[must_use]
pub fn said(
    session: &str,
    turn: &str,
    agent: &str,
    origin: Origin,
    text: &str,
    files: Vec<Attachment>,
) -> (String, Vec<EventBody>) {
    let now = clock::now();
    let message = Message {
        id: ids::new(ids::Kind::Message),
        session: session.to_owned(),
        turn: turn.to_owned(),
        role: Role::User,
        origin: Some(origin),
        agent: agent.to_owned(),
        model: None,
        time: MessageTime {
            created: now,
            completed: Some(now),
        },
        finish: None,
        error: None,
        usage: None,
        parts: Vec::new(),
    };
    let id = message.id.clone();
    let mut events = vec![EventBody::MessageCreated { message }];
    let text = PartBody::Text(TextPart { text: text.to_owned() });
    for body in std::iter::once(text).chain(files.into_iter().map(PartBody::File)) {
        let part = Part {
            id: ids::new(ids::Kind::Part),
            message: id.clone(),
            body,
        };
        events.push(EventBody::PartUpdated { part });
    }
    (id, events)
}
