//! Messages.
use serde::{Deserialize, Serialize};

use super::Part;

/// One message: what a person (or the harness for them) said, or one step of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Its id, `msg_…`.
    pub id: String,
    /// The session it belongs to: a subagent's messages are in a session of their own.
    pub session: String,
    /// The turn it belongs to, `turn_…`.
    pub turn: String,
    /// Who speaks.
    pub role: Role,
    /// What made a user message; absent in the model's own messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The agent that answers.
    pub agent: String,
    /// The model that answers, as `provider/model`; absent in user messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// When.
    pub time: MessageTime,
    /// How a message of the model ended; absent while it is being written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<Finish>,
    /// Why it failed, when it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<TurnError>,
    /// What this step used, where the provider says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Its parts in order. Empty in `message.created` and `message.updated`: parts have events of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
}

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A person, or the harness on their behalf.
    User,
    /// The model.
    Assistant,
}

/// What made a user message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A prompt that started a turn.
    Prompt,
    /// A prompt that was sent while a turn ran and is read at its next step.
    Steering,
    /// The harness: a note that the model needs, such as that the step limit is reached.
    Harness,
    /// The harness: the summary that stands for the messages before it.
    Compaction,
}

/// The times of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageTime {
    /// When it began.
    pub created: u64,
    /// When it was complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed: Option<u64>,
}

/// How a message of the model ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// The model was done.
    Stop,
    /// It called tools.
    ToolCalls,
    /// It was cut at the model's output limit. What there is of it is kept; its tool calls did not run.
    Length,
    /// The provider filtered it. What there is of it is kept; its tool calls did not run.
    ContentFilter,
    /// It failed or its stream was cut: see the message's `error`. What there is of it is kept.
    Error,
    /// A person stopped it.
    Aborted,
    /// The process ended while it was being written.
    Interrupted,
    /// The provider gave a reason of its own.
    #[serde(other)]
    Other,
}

/// Why a step or a turn failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnError {
    /// The kind, for programs: `auth`, `rate_limited`, `context_overflow`, `bad_request`, `unavailable`,
    /// `cut_stream`, `protocol`, `no_model`, `no_agent`, `blocked`, `store`, `internal`.
    pub kind: String,
    /// The provider's HTTP status, when there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// What is wrong, for people. It holds no secret.
    pub message: String,
}

/// Tokens that a step, a turn or a session used. Zero where the provider does not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the request, those from the provider's cache included.
    pub input: u64,
    /// Tokens of the answer, reasoning included.
    pub output: u64,
    /// Tokens of the answer that were reasoning.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning: u64,
    /// Tokens of the request that the provider read from its cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached: u64,
    /// Cost in US dollars, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

impl Usage {
    /// Adds what another step used.
    pub fn add(&mut self, other: &Self) {
        self.input += other.input;
        self.output += other.output;
        self.reasoning += other.reasoning;
        self.cached += other.cached;
        if let Some(cost) = other.cost {
            *self.cost.get_or_insert(0.0) += cost;
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
