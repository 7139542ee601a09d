//! The text that a summary is made from.
use std::fmt::Write;

use beeuni_protocol::session::{Message, Origin, PartBody, Role};

use crate::conversation::result;

/// How much of one tool output, and of one text, the summary is made from, in bytes.
const MOST_OF_AN_OUTPUT: usize = 2_000;
const MOST_OF_A_TEXT: usize = 16_000;
/// What came before, then these messages, as a text of at most about `most` bytes: what is too much is cut from the
/// oldest end.
#[must_use]
pub fn text(summary: Option<&str>, messages: &[Message], most: usize) -> String {
    let mut text = String::new();
    if let Some(summary) = summary {
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "[Summary of what came before]\n{}\n",
            head_of(summary, MOST_OF_A_TEXT)
        );
    }
    for message in messages {
        describe(message, &mut text);
    }
    if text.len() > most {
        let start = text.ceil_char_boundary(text.len() - most);
        text = format!("[The oldest part is left out]\n{}", &text[start..]);
    }
    text
}

fn describe(message: &Message, text: &mut String) {
    let who = match (message.role, message.origin) {
        (Role::Assistant, _) => "Agent",
        (Role::User, Some(Origin::Harness)) => "Note to the agent",
        (Role::User, _) => "User",
    };
    for part in &message.parts {
        let _ = match &part.body {
            PartBody::Text(part) => writeln!(text, "[{who}]\n{}\n", head_of(&part.text, MOST_OF_A_TEXT)),
            PartBody::Tool(call) => writeln!(
                text,
                "[{who} called {} with {}]\n{}\n",
                call.tool,
                head_of(&call.arguments, MOST_OF_AN_OUTPUT),
                head_of(&result(call), MOST_OF_AN_OUTPUT)
            ),
            PartBody::File(file) => writeln!(text, "[{who} sent {}]\n", file.name.as_deref().unwrap_or(&file.mime)),
            PartBody::Reasoning(_) | PartBody::Compaction(_) => Ok(()),
        };
    }
}

/// The beginning of a text, with a word on how much more there is.
pub(super) fn head_of(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most);
    format!("{}… [{} bytes more]", &text[..end], text.len() - end)
}
