//! Compaction: older messages give way to a summary when the conversation comes near the model's window.
use std::fmt::Write;

use beeuni_gateway::{ChatEvent, ChatRequest};
use beeuni_protocol::session::{Compaction, EventBody, Message, Origin, Part, PartBody, Role, TurnError};

use super::{Turn, said, summary_source};
use crate::conversation::{Conversation, Head, History};
use crate::store::StoreError;
use crate::{engine, ids, turn_error};

/// What the model is asked to do.
const INSTRUCTION: &str = "You sum up a conversation between a user and an agent that works in a project, so that the \
    agent can go on with your summary in place of the conversation. Keep what it needs: what the user wants, in their \
    words where wording matters; decisions and their reasons; what was done and changed, with exact paths, names, ids, \
    numbers and commands; what was found out; what failed and why; what is still to do and what was just being done. \
    Leave out greetings and what no longer matters. Write in the language of the conversation, as notes under short \
    headings. Answer with the summary alone.";

/// How much of the last prompt stands in the summary word for word.
const MOST_OF_A_PROMPT: usize = 8_000;

/// Why a conversation is made shorter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// It comes near the window.
    Window,
    /// The provider said that it is too long.
    Overflow,
    /// A person asked for it.
    Asked,
}

impl Reason {
    fn word(self) -> &'static str {
        match self {
            Self::Window => "window",
            Self::Overflow => "overflow",
            Self::Asked => "asked",
        }
    }

    /// The part of the window that newer messages may keep.
    fn kept(self) -> f64 {
        match self {
            // The count was wrong: leave more room.
            Self::Overflow => 0.1,
            Self::Window | Self::Asked => 0.2,
        }
    }
}

/// Whether the next request would come too near the window.
pub(crate) fn is_due(turn: &Turn, conversation: &mut Conversation) -> Result<bool, StoreError> {
    let journal = &turn.engine.journal;
    let count = journal
        .with(&turn.session, |transcript| transcript.messages.len())
        .unwrap_or(0);
    conversation.read(journal, &turn.model, count)?;
    let limit = window(turn) * turn.engine.settings.compact_at;
    let tokens = conversation.tokens(&turn.head);
    // What is left after a compaction may be large by itself; another one right away would gain nothing.
    Ok(tokens > limit && tokens > conversation.least * 1.25)
}

#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
fn window(turn: &Turn) -> f64 {
    turn.engine
        .models
        .window(&turn.model)
        .unwrap_or(turn.engine.settings.window) as f64
}

/// Puts a summary in place of older messages; says whether the conversation is shorter now. `open` is a message that
/// waits for its answer.
pub(crate) async fn run(
    turn: &Turn,
    conversation: &mut Conversation,
    reason: Reason,
    open: Option<&str>,
) -> Result<bool, StoreError> {
    let journal = &turn.engine.journal;
    let messages = journal.messages(&turn.session, conversation.first()..usize::MAX)?;
    let messages: Vec<Message> = messages
        .into_iter()
        .filter(|message| message.origin != Some(Origin::Compaction) && Some(message.id.as_str()) != open)
        .collect();
    let keep = first_kept(turn, conversation, &messages, reason);
    let (older, newer) = messages.split_at(keep);
    if older.is_empty() && (newer.is_empty() || reason == Reason::Window) {
        return Ok(false);
    }
    let (id, mut events) = said(
        &turn.session,
        &turn.id,
        &turn.actor.agent.name,
        Origin::Compaction,
        "",
        vec![],
    );
    // Its text is the mark itself.
    events.truncate(1);
    journal.publish_all(&turn.session, events)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a size in bytes, above zero"
    )]
    let most = (window(turn) * 0.5 * conversation.bytes_per_token()).max(4_000.0) as usize;
    let source = summary_source::text(conversation.summary(), older, most);
    let (said, error) = match ask(turn, &source).await {
        Ok(Some(said)) => (said, None),
        Ok(None) => return Ok(false),
        Err(error) => (dropped(older.len()), Some(error.message)),
    };
    let part = Part {
        id: ids::new(ids::Kind::Part),
        message: id,
        body: PartBody::Compaction(Compaction {
            summary: summary(&said, older, newer),
            keep_from: newer
                .first()
                .map(|message| message.id.clone())
                .or_else(|| open.map(str::to_owned)),
            reason: reason.word().to_owned(),
            error,
        }),
    };
    turn.publish(EventBody::PartUpdated { part })?;
    let end = open.and_then(|open| journal.with(&turn.session, |all| all.position(open)).flatten());
    let count = journal
        .with(&turn.session, |transcript| transcript.messages.len())
        .unwrap_or(0);
    conversation.read(journal, &turn.model, end.unwrap_or(count))?;
    conversation.least = conversation.tokens(&turn.head);
    Ok(true)
}

/// The first message that stays as it is: as many of the newest as fit, from a prompt on if there is one among them.
fn first_kept(turn: &Turn, conversation: &Conversation, messages: &[Message], reason: Reason) -> usize {
    let mut left = window(turn) * reason.kept();
    let mut first = messages.len();
    for (at, message) in messages.iter().enumerate().rev() {
        let mut alone = History::default();
        alone.add(message, &turn.model);
        left -= conversation.tokens_of_history(&alone);
        if left < 0.0 {
            break;
        }
        first = at;
    }
    if first == 0 && reason != Reason::Window {
        // All of it fits and it must become shorter nevertheless.
        return messages.len();
    }
    let prompt = messages[first..].iter().position(|message| message.role == Role::User);
    prompt.map_or(first, |later| first + later)
}

/// Asks the model for a summary; `None` when the turn was stopped.
async fn ask(turn: &Turn, source: &str) -> Result<Option<String>, TurnError> {
    let head = Head {
        system: INSTRUCTION.to_owned(),
        ..Head::default()
    };
    let mut history = History::default();
    history.add_summary(source);
    let request = ChatRequest::new(turn.model.clone(), head.body(&history, false));
    turn.asked();
    let asking = async {
        let of_model = |error| turn_error::of_model(&error);
        let mut stream = turn.engine.gateway.chat(request).await.map_err(of_model)?;
        let mut said = String::new();
        while let Some(event) = stream.next().await {
            match event.map_err(of_model)? {
                ChatEvent::Text(text) => said.push_str(&text),
                ChatEvent::Usage(counted) => turn.used(&turn.engine.models.usage(&turn.model, &counted)),
                _ => {}
            }
        }
        if said.trim().is_empty() {
            return Err(turn_error::of_kind("protocol", "the model gave no summary"));
        }
        Ok(said)
    };
    tokio::select! {
        biased;
        () = turn.stop.cancelled() => Ok(None),
        said = asking => said.map(Some),
    }
}

/// What stands in for a summary that could not be had.
fn dropped(count: usize) -> String {
    format!(
        "({count} older messages were left out to make room, and no summary of them could be made. Look again at \
         files and results that you need.)"
    )
}

/// What the model reads in place of the older messages.
fn summary(said: &str, older: &[Message], newer: &[Message]) -> String {
    let mut text = format!(
        "[The conversation so far was summed up to make room. What follows is the summary.]\n\n{}",
        said.trim()
    );
    // What is being worked on must not get lost in a summary.
    let asked = |message: &&Message| matches!(message.origin, Some(Origin::Prompt | Origin::Steering));
    if !newer.iter().any(|message| asked(&message))
        && let Some(prompt) = older.iter().rev().find(asked)
    {
        let prompt = engine::text_of(prompt);
        let _ = write!(
            text,
            "\n\n[The user's last message, word for word]\n{}",
            summary_source::head_of(&prompt, MOST_OF_A_PROMPT)
        );
    }
    text
}
