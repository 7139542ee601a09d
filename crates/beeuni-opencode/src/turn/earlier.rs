//! What was said before, for an OpenCode that has not heard it: by another harness, or because its store is gone.
use beeuni_agent::StoreError;
use beeuni_agent::kit::{Kind, conversation_text, new_id};
use beeuni_protocol::session::{Message, Origin, PartBody};

use super::Wanted;
use crate::client::{ClientError, Said};
use crate::inner::Inner;
use crate::link::Up;

/// What the model reads before an earlier conversation.
const HEAD: &str = "[What was said in this session before, as far as you have not heard it. It is for your information: \
    do not answer it.]";
/// How many bytes of a window's tokens may be taken up by it: about half of the window.
const BYTES_PER_TOKEN: u64 = 2;

/// The conversation could not be told.
pub(super) enum Untold {
    Client(ClientError),
    Store(StoreError),
}

/// Tells OpenCode's session the messages that it lacks.
pub(super) async fn tell(inner: &Inner, up: &mut Up, wanted: &Wanted, model: &str) -> Result<(), Untold> {
    let missing = missing(inner, up, &wanted.prompt.message).map_err(Untold::Store)?;
    let Some(last) = missing.last().map(|message| message.id.clone()) else {
        return Ok(());
    };
    let window = inner.models.window(model).unwrap_or(inner.config.settings.window);
    let most = usize::try_from(window.saturating_mul(BYTES_PER_TOKEN)).unwrap_or(usize::MAX);
    let summary = summary(&missing);
    let text = conversation_text(summary.as_deref(), &missing, most);
    if !text.trim().is_empty() {
        let id = new_id(Kind::Message);
        inner.scribe().pass_over(&id);
        let said = Said {
            message: &id,
            agent: &wanted.agent,
            model,
            text: &format!("{HEAD}\n\n{}", text.trim_end()),
            files: &[],
        };
        up.client
            .tell(&up.carrier.session, &said)
            .await
            .map_err(Untold::Client)?;
    }
    up.carrier.told = Some(last);
    if let Err(error) = up.carrier.write(&inner.folder()) {
        // It is told twice at worst.
        tracing::warn!(%error, "how much of the conversation OpenCode knows could not be written down");
    }
    Ok(())
}

/// The messages before the prompt that OpenCode's session lacks.
fn missing(inner: &Inner, up: &Up, prompt: &str) -> Result<Vec<Message>, StoreError> {
    let root = inner.journal.root();
    let told = up.carrier.told.as_ref();
    let start = told
        .and_then(|told| inner.journal.position_of(root, told))
        .map_or(0, |place| place + 1);
    let lacks = inner.journal.with(root, |transcript| {
        let entries = transcript.messages.iter().enumerate().skip(start);
        let mut entries = entries.filter(|(_, entry)| entry.message.id != prompt);
        entries.any(|(_, entry)| !up.known.contains(&entry.message.id))
    });
    if lacks != Some(true) {
        return Ok(Vec::new());
    }
    let mut messages = inner.journal.messages(root, start..usize::MAX)?;
    messages.retain(|message| message.id != prompt && !up.known.contains(&message.id));
    Ok(messages)
}

/// The last summary among them: what it stands for is longer.
fn summary(messages: &[Message]) -> Option<String> {
    let marks = messages
        .iter()
        .filter(|message| message.origin == Some(Origin::Compaction));
    marks
        .rev()
        .flat_map(|message| &message.parts)
        .find_map(|part| match &part.body {
            PartBody::Compaction(mark) => Some(mark.summary.clone()),
            _ => None,
        })
}
