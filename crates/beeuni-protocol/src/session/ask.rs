//! Permission requests and questions: what a turn waits for a person to answer.
use serde::{Deserialize, Serialize};

/// A tool call that needs a person's permission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionRequest {
    /// Its id, `per_…`.
    pub id: String,
    /// The session whose turn waits: a subagent's requests carry the child session's id.
    pub session: String,
    /// The agent that called.
    pub agent: String,
    /// The message that holds the call.
    pub message: String,
    /// The call's id.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// What is asked for: `bash`, `edit`, `external_directory`, a tool's name, … with what it is about: a
    /// command, a path, an address. One reply is for all of them.
    pub accesses: Vec<RequestedAccess>,
    /// What the reply `always` allows for the rest of the session.
    pub always: Vec<AllowedPattern>,
    /// When it was asked.
    pub created: u64,
}

/// One thing that a call is going to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedAccess {
    /// The capability.
    pub capability: String,
    /// What it is about.
    pub subject: String,
    /// Which rule asks, in words.
    pub rule: String,
}

/// A pattern that a person has allowed for the rest of the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllowedPattern {
    /// The capability it is for.
    pub capability: String,
    /// What it allows: a glob pattern, or one text when `exact`.
    pub pattern: String,
    /// Whether `pattern` is a text that has to be the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
    /// How strong the rule was that asked, for the harness that asked: stronger ones still ask.
    #[serde(default)]
    pub level: u8,
    /// The same, within one level.
    #[serde(default)]
    pub weight: usize,
}

/// A person's answer to a permission request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionReply {
    /// This call may run.
    Once,
    /// This call may run, and so may what matches the request's patterns until the session ends.
    Always,
    /// It may not. With a message the model reads it and goes on; without one the turn stops.
    Reject,
}

/// The body of a reply to a permission request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionAnswer {
    /// The answer.
    pub reply: PermissionReply,
    /// With `reject`: what the model should do instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Questions of the model to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionRequest {
    /// Its id, `que_…`.
    pub id: String,
    /// The session whose turn waits.
    pub session: String,
    /// The message that holds the call.
    pub message: String,
    /// The call's id.
    pub call: String,
    /// The questions.
    pub questions: Vec<Question>,
    /// When they were asked.
    pub created: u64,
}

/// One question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The question.
    pub question: String,
    /// A word or two as its heading.
    #[serde(default)]
    pub header: String,
    /// What can be chosen; an own text is always possible.
    #[serde(default)]
    pub options: Vec<QuestionOption>,
    /// Whether several can be chosen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub multiple: bool,
}

/// One choice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionOption {
    /// What is chosen, and the text of the answer.
    pub label: String,
    /// What it means.
    #[serde(default)]
    pub description: String,
}

/// The body of an answer to questions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionAnswer {
    /// For each question the chosen labels or own texts.
    pub answers: Vec<Vec<String>>,
}
