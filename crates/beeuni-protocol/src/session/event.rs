//! What happens in a session, as it happens.
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{AllowedPattern, Message, Part, PermissionReply, PermissionRequest, QuestionRequest, TurnError, Usage};

/// One event: what is stored in the session's log, and what `GET /beeuni/events` sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Its number in the stream, growing, not without gaps. Who has seen it asks for what came later.
    pub id: u64,
    /// The session in which it happened: the stream of a session carries those of its subagents too.
    pub session: String,
    /// When.
    pub time: u64,
    /// What: `type` names it, `data` tells it.
    #[serde(flatten)]
    pub body: EventBody,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
pub enum EventBody {
    /// The session began.
    #[serde(rename = "session.created")]
    SessionCreated(SessionCreated),
    /// The session has a title.
    #[serde(rename = "session.titled")]
    SessionTitled {
        /// The title.
        title: String,
    },
    /// Tools, agents and prompts were exchanged; the conversation goes on.
    #[serde(rename = "session.reloaded")]
    SessionReloaded {
        /// Names of the tools that are there now.
        tools: Vec<String>,
        /// Tools that did not load, with the reason.
        failed: Vec<String>,
    },
    /// A turn began.
    #[serde(rename = "turn.started")]
    TurnStarted(TurnStarted),
    /// A turn ended.
    #[serde(rename = "turn.ended")]
    TurnEnded(TurnEnded),
    /// A message began; its parts follow.
    #[serde(rename = "message.created")]
    MessageCreated {
        /// The message, without parts.
        message: Message,
    },
    /// A message changed: it ended, or more is known about it.
    #[serde(rename = "message.updated")]
    MessageUpdated {
        /// The message, without parts.
        message: Message,
    },
    /// A part began, changed or ended: the whole part as it is now.
    #[serde(rename = "part.updated")]
    PartUpdated {
        /// The part.
        part: Part,
    },
    /// Text was added to a part, or a running tool printed something. Not stored: the part's end brings the whole.
    #[serde(rename = "part.delta")]
    PartDelta(Delta),
    /// The model could not be reached and is asked again. Not stored.
    #[serde(rename = "model.retry")]
    ModelRetry(Retry),
    /// A tool call waits for permission.
    #[serde(rename = "permission.asked")]
    PermissionAsked {
        /// The request.
        request: PermissionRequest,
    },
    /// A permission request was answered.
    #[serde(rename = "permission.replied")]
    PermissionReplied {
        /// The request's id.
        request: String,
        /// The answer.
        reply: PermissionReply,
        /// The patterns that are allowed from now on, with `always`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        always: Vec<AllowedPattern>,
    },
    /// The model asks a person.
    #[serde(rename = "question.asked")]
    QuestionAsked {
        /// The questions.
        request: QuestionRequest,
    },
    /// Questions were answered.
    #[serde(rename = "question.answered")]
    QuestionAnswered {
        /// The request's id.
        request: String,
        /// For each question the answers; absent when they were rejected.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answers: Option<Vec<Vec<String>>>,
    },
    /// The reader was too slow or away too long: deltas are missing. Stored events that it has not seen and
    /// the present state of unfinished parts follow. Not stored.
    #[serde(rename = "resync")]
    Resync {},
    /// A kind of event that this version does not know: its `type` and `data` as they are.
    #[serde(untagged)]
    Unknown(Value),
}

/// How a session began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionCreated {
    /// The form of the log: 1.
    pub format: u32,
    /// The session whose `task` call made this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The agent of its first turn.
    pub agent: String,
    /// What the system prompt says about the surroundings, the same in every request of the session.
    pub environment: String,
}

/// How a turn began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnStarted {
    /// The turn's id, `turn_…`.
    pub turn: String,
    /// The agent.
    pub agent: String,
    /// The model, as `provider/model`.
    pub model: String,
    /// Whether the prompt named the model: the next prompt that names none then uses it again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub chosen: bool,
    /// The message that started it; none when it only makes the conversation shorter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnEnded {
    /// The turn's id.
    pub turn: String,
    /// How.
    pub outcome: TurnOutcome,
    /// How many times the model was asked.
    pub steps: u32,
    /// What it used, subagents included.
    pub usage: Usage,
    /// Why it failed or is blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<TurnError>,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnOutcome {
    /// The model was done.
    Done,
    /// The agent's step limit was reached; the model was asked for a summary.
    Steps,
    /// The answer was cut at the model's output limit.
    Length,
    /// The provider filtered the answer.
    ContentFilter,
    /// A person stopped it.
    Aborted,
    /// It needed a person and there was none, or a person refused without a word.
    Blocked,
    /// It failed: see the error.
    Failed,
    /// The process ended while it ran.
    Interrupted,
}

/// Text that was added to a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delta {
    /// The message.
    pub message: String,
    /// The part.
    pub part: String,
    /// What it was added to.
    pub field: DeltaField,
    /// The text.
    pub text: String,
}

/// What a delta is added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeltaField {
    /// The text of a text or reasoning part.
    Text,
    /// The arguments of a tool call.
    Arguments,
    /// What a running tool printed last: some lines that take the place of those before. The call's output, when it
    /// ends, need not contain them.
    Output,
}

/// A repeated request to a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// The message that waits for the model.
    pub message: String,
    /// Which attempt failed, from 1.
    pub attempt: u32,
    /// When the next one starts, in milliseconds from now.
    pub wait_ms: u64,
    /// What went wrong.
    pub error: TurnError,
}
