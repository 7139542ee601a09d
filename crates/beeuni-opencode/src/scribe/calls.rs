//! Calls of tools: from the model's word to the result.
use beeuni_agent::StoreError;
use beeuni_agent::kit::now;
use beeuni_protocol::session::{Delta, DeltaField, EventBody, Part, PartBody, ToolCall, ToolStatus, ToolTime};
use serde_json::Map;

use super::{Noted, PartState, Scribe};
use crate::client::{CallState as State, PartInfo, millis};

/// How much of what a running call printed is told at a time, in bytes.
const PROGRESS: usize = 2_000;

/// A call.
pub(super) struct CallState {
    /// OpenCode's session.
    pub(super) session: String,
    message: String,
    /// As it was told last.
    call: ToolCall,
    /// Whether the transcript has it: until then it is only told.
    stored: bool,
    /// Whether it waits for a permission.
    waits: bool,
    /// Whether it may run.
    permitted: bool,
    /// What it printed last.
    progress: String,
}

impl CallState {
    /// Whether it has come to its end.
    pub(super) fn is_final(&self) -> bool {
        !matches!(self.call.status, ToolStatus::Pending | ToolStatus::Running)
    }
}

/// Where a call is, and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallPlace {
    /// The message that holds it.
    pub(crate) message: String,
    /// Its id.
    pub(crate) call: String,
    /// The tool.
    pub(crate) tool: String,
}

impl Scribe {
    pub(super) fn call(&mut self, part: &PartInfo) -> Result<(), StoreError> {
        let Some(state) = &part.state else { return Ok(()) };
        if !self.parts.contains_key(&part.id) {
            self.begin_call(part, state);
        }
        let started = self.permitted.remove(&(part.session.clone(), part.call.clone()));
        let hosted = self.hosted.contains(&part.tool);
        let Some(PartState::Call(known)) = self.parts.get_mut(&part.id) else {
            return Ok(());
        };
        known.permitted |= started || !hosted;
        if known.is_final() {
            return Ok(());
        }
        let holds = known.waits || !known.permitted;
        let before = known.call.clone();
        let printed = printed(state).filter(|printed| *printed != known.progress);
        let mut call = before.clone();
        self.compose(&mut call, part, state, holds);
        if call != before {
            return self.change_call(&part.id, |old| *old = call);
        }
        if let Some(printed) = printed
            && let Some(PartState::Call(known)) = self.parts.get_mut(&part.id)
        {
            known.progress.clone_from(&printed);
            self.tell_progress(part, &printed);
        }
        Ok(())
    }

    /// The model has written a tool's name; its arguments come as a whole.
    fn begin_call(&mut self, part: &PartInfo, state: &State) {
        let created = state.time.and_then(|time| time.start).map_or_else(now, millis);
        let call = ToolCall {
            call: part.call.clone(),
            tool: part.tool.clone(),
            arguments: String::new(),
            status: ToolStatus::Pending,
            title: None,
            output: None,
            error: None,
            extra: None,
            metadata: Map::new(),
            attachments: Vec::new(),
            time: ToolTime {
                created,
                started: None,
                ended: None,
            },
        };
        let session = self.id_of(&part.session);
        self.journal.begin(
            &session,
            Part {
                id: part.id.clone(),
                message: part.message.clone(),
                body: PartBody::Tool(call.clone()),
            },
        );
        let known = CallState {
            session: part.session.clone(),
            message: part.message.clone(),
            call,
            stored: false,
            waits: false,
            permitted: false,
            progress: String::new(),
        };
        self.parts.insert(part.id.clone(), PartState::Call(Box::new(known)));
    }

    /// Changes a call and tells it.
    pub(super) fn change_call(&mut self, id: &str, change: impl FnOnce(&mut ToolCall)) -> Result<(), StoreError> {
        let Some(PartState::Call(known)) = self.parts.get_mut(id) else {
            return Ok(());
        };
        change(&mut known.call);
        let call = known.call.clone();
        let (session, message, stored) = (known.session.clone(), known.message.clone(), known.stored);
        known.stored = true;
        if stored {
            let part = Part {
                id: id.to_owned(),
                message,
                body: PartBody::Tool(call),
            };
            let session = self.id_of(&session);
            return self.journal.publish(&session, EventBody::PartUpdated { part });
        }
        self.journal.end_part(id, |body| *body = PartBody::Tool(call)).map(drop)
    }

    fn tell_progress(&self, part: &PartInfo, printed: &str) {
        let start = printed.ceil_char_boundary(printed.len().saturating_sub(PROGRESS));
        let delta = Delta {
            message: part.message.clone(),
            part: part.id.clone(),
            field: DeltaField::Output,
            text: self.clean(&printed[start..]),
        };
        self.journal
            .announce(&self.id_of(&part.session), EventBody::PartDelta(delta));
    }

    /// A call waits for a permission, or does not any more.
    pub(crate) fn waits(&mut self, session: &str, call: &str, waits: bool) -> Result<(), StoreError> {
        let Some(id) = self.part_of(session, call) else {
            return Ok(());
        };
        let Some(PartState::Call(known)) = self.parts.get_mut(&id) else {
            return Ok(());
        };
        known.waits = waits;
        let holds = waits || !known.permitted;
        let status = match (known.call.status, holds) {
            (ToolStatus::Running, true) => ToolStatus::Pending,
            // Only what has its arguments can begin.
            (ToolStatus::Pending, false) if known.stored => ToolStatus::Running,
            _ => return Ok(()),
        };
        self.change_call(&id, |call| {
            call.status = status;
            call.time.started = (status == ToolStatus::Running).then(now);
        })
    }

    /// A call of a hosted tool may run: from here on it counts as begun. Stored before it does anything.
    pub(crate) fn permit(&mut self, session: &str, call: &str) -> Result<(), StoreError> {
        let Some(id) = self.part_of(session, call) else {
            self.permitted.insert((session.to_owned(), call.to_owned()));
            return Ok(());
        };
        if let Some(PartState::Call(known)) = self.parts.get_mut(&id) {
            known.permitted = true;
        }
        self.waits(session, call, false)
    }

    fn part_of(&self, session: &str, call: &str) -> Option<String> {
        self.parts.iter().find_map(|(id, part)| match part {
            PartState::Call(known) if known.session == session && known.call.call == call && !known.is_final() => {
                Some(id.clone())
            }
            _ => None,
        })
    }

    /// The call of a session that has this id, or, without one, the last that has not ended; of `tool`, when it is
    /// known.
    pub(crate) fn find_call(&self, session: &str, call: Option<&str>, tool: Option<&str>) -> Option<CallPlace> {
        let mut found: Vec<(&String, &CallState)> = self
            .parts
            .iter()
            .filter_map(|(id, part)| match part {
                PartState::Call(known) if known.session == session && !known.is_final() => Some((id, &**known)),
                _ => None,
            })
            .filter(|(_, known)| call.is_none_or(|call| known.call.call == call))
            .filter(|(_, known)| tool.is_none_or(|tool| known.call.tool == tool))
            .collect();
        found.sort_by_key(|(id, _)| *id);
        found.last().map(|(_, known)| CallPlace {
            message: known.message.clone(),
            call: known.call.call.clone(),
            tool: known.call.tool.clone(),
        })
    }

    /// Whether every call and step that the turn has begun in this session is over, so that it can be stopped with
    /// nothing lost.
    pub(crate) fn is_between_steps(&self, session: &str) -> bool {
        self.messages.values().all(|noted| match noted {
            Noted::Answer(answer) if answer.session == session => {
                answer.stepped || answer.message.time.completed.is_some()
            }
            _ => true,
        })
    }
}

/// What a running call has printed so far.
fn printed(state: &State) -> Option<String> {
    if state.status != "running" {
        return None;
    }
    let output = state.metadata.as_ref()?.get("output")?.as_str()?;
    (!output.is_empty()).then(|| output.to_owned())
}
