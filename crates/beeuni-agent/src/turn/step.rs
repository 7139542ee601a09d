//! One request to the model and its answer, written into the transcript as it arrives.
use beeuni_gateway::{ChatErrorKind, ChatRequest, Retry};
use beeuni_protocol::session::{EventBody, Finish, Message, Part, TurnError, TurnOutcome};

use super::Turn;
use super::writer::Writer;
use crate::conversation::Conversation;
use crate::store::StoreError;
use crate::{clock, turn_error};

/// How an answer ended.
#[derive(Debug)]
pub(super) enum Answer {
    /// The model calls tools: the parts that hold the calls.
    Calls(Vec<Part>),
    /// It is done.
    Said,
    /// It was cut, at its limit or by a filter.
    Cut(TurnOutcome),
    /// It failed.
    Failed(TurnError),
    /// A person stopped it.
    Aborted,
}

/// An answer, or why there is none yet: the message is still open then.
#[derive(Debug)]
pub(super) enum Step {
    /// It ended.
    Ended(Answer),
    /// The conversation is too long.
    Overflow(TurnError),
    /// The request with its images was refused.
    NoImages,
}

/// Asks the model and writes its answer into `message`.
pub(super) async fn run(
    turn: &Turn,
    conversation: &mut Conversation,
    message: Message,
    with_tools: bool,
) -> Result<Step, StoreError> {
    let journal = &turn.engine.journal;
    // Everything before this message is complete; what comes later is for the next request.
    let end = journal
        .with(&turn.session, |transcript| transcript.position(&message.id))
        .flatten();
    conversation.read(journal, &turn.model, end.unwrap_or(0))?;
    let body = turn.head.body(conversation.history(), with_tools);
    turn.asked();
    let request = ChatRequest::new(turn.model.clone(), body);
    let told = |retry: Retry<'_>| tell(turn, &message.id, retry);
    let opened = tokio::select! {
        biased;
        () = turn.stop.cancelled() => {
            end_without_answer(turn, message, Finish::Aborted, None)?;
            return Ok(Step::Ended(Answer::Aborted));
        }
        opened = turn.engine.gateway.chat_watched(request, &told) => opened,
    };
    let mut writer = Writer::new(turn, message);
    match opened {
        Ok(stream) => writer.read(stream, conversation).await.map(Step::Ended),
        Err(error) if error.kind() == ChatErrorKind::ContextOverflow => {
            Ok(Step::Overflow(turn_error::of_model(&error)))
        }
        // Many models take no images, and say so in as many ways. With them every later request would fail too.
        Err(error) if error.kind() == ChatErrorKind::BadRequest && conversation.leave_out_images() => {
            Ok(Step::NoImages)
        }
        Err(error) => writer.failed(&error).map(Step::Ended),
    }
}

/// Tells that the model is asked again.
fn tell(turn: &Turn, message: &str, retry: Retry<'_>) {
    let body = EventBody::ModelRetry(beeuni_protocol::session::Retry {
        message: message.to_owned(),
        attempt: retry.attempt,
        wait_ms: u64::try_from(retry.pause.as_millis()).unwrap_or(u64::MAX),
        error: turn_error::of_model(retry.error),
    });
    turn.engine.journal.announce(&turn.session, body);
}

/// Ends a message that holds nothing.
pub(super) fn end_without_answer(
    turn: &Turn,
    mut message: Message,
    finish: Finish,
    error: Option<TurnError>,
) -> Result<(), StoreError> {
    message.finish = Some(finish);
    message.error = error;
    message.time.completed = Some(clock::now());
    turn.publish(EventBody::MessageUpdated { message })
}
