//! A call that runs: its part in the transcript, told and stored at each change.
use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use beeuni_protocol::session::{
    Attachment, Delta, DeltaField, EventBody, Part, PartBody, ToolCall, ToolStatus, TurnError,
};
use serde_json::{Map, Value};

use crate::clock;
use crate::harness_tools::ToolOutput;
use crate::store::StoreError;
use crate::turn::Turn;

/// What the model reads about a call that a person stopped.
pub const STOPPED: &str = "interrupted: the turn was stopped while this call ran. It may have done all, some or none of \
    its work.";
/// And about one that had not begun.
pub const STOPPED_BEFORE: &str = "interrupted: the turn was stopped before this call began. It was not run.";

/// A call that runs: its part, told and stored at each change.
pub(crate) struct RunningCall<'a> {
    pub(crate) turn: &'a Turn,
    state: Mutex<State>,
}

struct State {
    part: Part,
    /// Why the whole turn has to end.
    block: Option<TurnError>,
    failure: Option<StoreError>,
}

/// What a call gave, whoever ran it.
pub(crate) enum Gave {
    /// An output.
    Output(Box<ToolOutput>),
    /// An error for the model.
    Error(String),
    /// Nothing: it was stopped.
    Stopped,
    /// What it had when it was stopped.
    StoppedWith(Box<ToolOutput>),
}

impl<'a> RunningCall<'a> {
    /// The call in `part`.
    pub(super) fn new(turn: &'a Turn, part: Part) -> Self {
        Self {
            turn,
            state: Mutex::new(State {
                part,
                block: None,
                failure: None,
            }),
        }
    }

    /// The call's id.
    pub(crate) fn call_id(&self) -> String {
        self.with(|call| call.call.clone()).unwrap_or_default()
    }

    /// The tool's name.
    pub(crate) fn tool(&self) -> String {
        self.with(|call| call.tool.clone()).unwrap_or_default()
    }

    /// The message that holds the call.
    pub(crate) fn message(&self) -> String {
        self.lock().part.message.clone()
    }

    /// The call is about to do something: from here on it counts as run. Stored before it does it.
    pub(crate) fn started(&self) -> Result<(), String> {
        self.change(|call| {
            call.status = ToolStatus::Running;
            call.time.started.get_or_insert_with(clock::now);
        })
    }

    /// Changes the call and tells it. An error is a text for the model: the call must not go on.
    pub(crate) fn change(&self, change: impl FnOnce(&mut ToolCall)) -> Result<(), String> {
        let mut state = self.lock();
        if let PartBody::Tool(call) = &mut state.part.body {
            change(call);
        }
        let part = state.part.clone();
        drop(state);
        self.turn.publish(EventBody::PartUpdated { part }).map_err(|error| {
            let text = error.to_string();
            self.lock().failure = Some(error);
            text
        })
    }

    /// The whole turn has to end when its calls have.
    pub(crate) fn block(&self, error: TurnError) {
        self.lock().block.get_or_insert(error);
    }

    pub(super) fn tell_progress(&self, text: &str) {
        let state = self.lock();
        let delta = Delta {
            message: state.part.message.clone(),
            part: state.part.id.clone(),
            field: DeltaField::Output,
            text: text.to_owned(),
        };
        drop(state);
        self.turn
            .engine
            .journal
            .announce(&self.turn.session, EventBody::PartDelta(delta));
    }

    /// Stores the result. Gives the call's part, and why the whole turn has to end.
    pub(super) fn end(self, gave: Gave) -> Result<(Part, Option<TurnError>), StoreError> {
        // The error is kept in the state.
        let _ = self.change(|call| {
            let began = call.status == ToolStatus::Running;
            call.time.ended = Some(clock::now());
            match gave {
                Gave::Output(output) => {
                    call.status = ToolStatus::Completed;
                    put(call, *output);
                }
                Gave::Error(error) => {
                    call.status = ToolStatus::Error;
                    call.error = Some(error);
                }
                Gave::Stopped => {
                    call.status = ToolStatus::Interrupted;
                    call.error = Some(if began { STOPPED } else { STOPPED_BEFORE }.to_owned());
                }
                Gave::StoppedWith(output) => {
                    call.status = ToolStatus::Interrupted;
                    call.error = Some(STOPPED.to_owned());
                    put(call, *output);
                }
            }
            call.time.started.get_or_insert(call.time.created);
        });
        self.turn.engine.journal.sync_soon();
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        match state.failure {
            Some(error) => Err(error),
            None => Ok((state.part, state.block)),
        }
    }

    fn with<T>(&self, read: impl FnOnce(&ToolCall) -> T) -> Option<T> {
        match &self.lock().part.body {
            PartBody::Tool(call) => Some(read(call)),
            _ => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Puts an output into the call.
fn put(call: &mut ToolCall, output: ToolOutput) {
    call.output = Some(output.text);
    call.title = Some(output.title)
        .filter(|title| !title.is_empty())
        .or_else(|| call.title.take());
    if let Value::Object(metadata) = output.metadata {
        call.metadata.extend(metadata);
    }
    call.attachments = output
        .attachments
        .into_iter()
        .map(|file| Attachment {
            mime: file.mime.to_owned(),
            name: Some(file.name),
            url: format!("data:{};base64,{}", file.mime, BASE64.encode(file.data)),
        })
        .collect();
}

/// Metadata of one key.
pub(crate) fn metadata<const N: usize>(entries: [(&str, String); N]) -> Map<String, Value> {
    entries
        .into_iter()
        .map(|(key, value)| (key.to_owned(), Value::String(value)))
        .collect()
}
