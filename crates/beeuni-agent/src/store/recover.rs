//! What a process left unfinished when it ended: marked as such, so that nothing runs twice silently.
use beeuni_protocol::session::{EventBody, Finish, PartBody, PermissionReply, ToolStatus};

use super::StoreError;
use super::journal::Journal;
use super::state::Unfinished;
use crate::clock;

/// What the model reads about a call that had begun.
const HAD_BEGUN: &str = "interrupted: the process ended while this call ran. It may have done all, some or none \
    of its work, and was not run again. Check before you repeat it.";

/// What the model reads about a call that had not.
const HAD_NOT_BEGUN: &str = "interrupted: the process ended before this call began. It was not run.";

/// Marks every unfinished call, message and turn as interrupted, and every open request as not answered.
pub(super) fn mark_interrupted(journal: &Journal) -> Result<(), StoreError> {
    let unfinished = journal.lock().unfinished();
    for session in unfinished {
        let events = events(journal, &session)?;
        if !events.is_empty() {
            tracing::info!(
                session = session.session,
                "a turn was interrupted by the end of its process"
            );
            journal.publish_all(&session.session, events)?;
        }
    }
    Ok(())
}

fn events(journal: &Journal, session: &Unfinished) -> Result<Vec<EventBody>, StoreError> {
    let now = clock::now();
    let mut events = Vec::new();
    for place in &session.calls {
        let mut part = journal.part(*place)?;
        if let PartBody::Tool(call) = &mut part.body {
            let begun = call.status == ToolStatus::Running;
            call.status = ToolStatus::Interrupted;
            call.error = Some(if begun { HAD_BEGUN } else { HAD_NOT_BEGUN }.to_owned());
            call.time.ended = Some(now);
        }
        events.push(EventBody::PartUpdated { part });
    }
    for request in &session.permissions {
        events.push(EventBody::PermissionReplied {
            request: request.clone(),
            reply: PermissionReply::Reject,
            always: Vec::new(),
        });
    }
    for request in &session.questions {
        events.push(EventBody::QuestionAnswered {
            request: request.clone(),
            answers: None,
        });
    }
    for message in &session.messages {
        let mut message = message.clone();
        message.finish = Some(Finish::Interrupted);
        message.time.completed = Some(now);
        events.push(EventBody::MessageUpdated { message });
    }
    if let Some(ended) = &session.turn {
        events.push(EventBody::TurnEnded(ended.clone()));
    }
    Ok(events)
}
