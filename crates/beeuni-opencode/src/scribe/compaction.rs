//! Compactions: the mark in the conversation, and the summary that OpenCode lets a model write for it.
use beeuni_agent::StoreError;
use beeuni_agent::kit::{Kind, new_id};
use beeuni_protocol::session::{Compaction, EventBody, Part, PartBody, Usage};

use super::{Noted, Scribe};
use crate::client::{MessageInfo, PartInfo};
use crate::failure;

/// A summary of older messages. It stands in its mark, not in a message of its own.
#[derive(Debug, Default)]
pub(super) struct Summary {
    pub(super) session: String,
    pub(super) usage: Usage,
    /// The mark that it belongs to.
    mark: Option<String>,
    text: String,
    error: Option<String>,
    /// Whether the model is done with it.
    complete: bool,
    /// Whether it is in the transcript.
    told: bool,
}

impl Scribe {
    /// What is known about a summary as a whole.
    pub(super) fn summary(&mut self, info: &MessageInfo) -> Result<(), StoreError> {
        let usage = self.usage(&info.tokens, &info.model);
        if !self.messages.contains_key(&info.id) {
            if let Some(turn) = self.talks.get_mut(&info.session).and_then(|talk| talk.turn.as_mut()) {
                turn.steps += 1;
            }
            let summary = Summary {
                session: info.session.clone(),
                mark: info.parent.clone(),
                ..Summary::default()
            };
            self.messages.insert(info.id.clone(), Noted::Summary(Box::new(summary)));
        }
        if let Some(Noted::Summary(summary)) = self.messages.get_mut(&info.id) {
            summary.usage = usage;
            summary.complete |= info.time.completed.is_some();
            let error = info.error.as_ref().and_then(failure::of_error);
            summary.error = error.map(|error| error.message).or(summary.error.take());
        }
        self.tell_summary(&info.id)
    }

    /// Its text.
    pub(super) fn summary_part(&mut self, part: &PartInfo) -> Result<(), StoreError> {
        if let Some(Noted::Summary(summary)) = self.messages.get_mut(&part.message)
            && part.kind == "text"
            && !part.text.is_empty()
        {
            summary.text.clone_from(&part.text);
        }
        self.tell_summary(&part.message)
    }

    /// Puts a summary into its mark once all of it is there, in whichever order that came.
    fn tell_summary(&mut self, id: &str) -> Result<(), StoreError> {
        let Some(Noted::Summary(summary)) = self.messages.get(id) else {
            return Ok(());
        };
        let is_whole = summary.complete && (!summary.text.is_empty() || summary.error.is_some());
        if summary.told || !is_whole {
            return Ok(());
        }
        let Some(mark) = summary.mark.clone() else {
            return Ok(());
        };
        let Some(Noted::Compaction { keep_from, reason }) = self.messages.get(&mark) else {
            return Ok(());
        };
        let part = Part {
            id: new_id(Kind::Part),
            message: mark,
            body: PartBody::Compaction(Compaction {
                summary: self.clean(&summary.text),
                keep_from: keep_from.clone(),
                reason: (*reason).to_owned(),
                error: summary.error.clone(),
            }),
        };
        let session = self.id_of(&summary.session);
        self.journal.publish(&session, EventBody::PartUpdated { part })?;
        if let Some(Noted::Summary(summary)) = self.messages.get_mut(id) {
            summary.told = true;
        }
        Ok(())
    }
}
