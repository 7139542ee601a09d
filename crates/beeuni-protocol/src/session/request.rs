//! What clients of a session send and get: the bodies of the daemon's session routes.
use serde::{Deserialize, Serialize};

use super::{Attachment, Message, PermissionRequest, QuestionRequest, SessionState};

/// The body of `POST /beeuni/sessions/<id>/prompt`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptRequest {
    /// What is said.
    pub text: String,
    /// The agent that answers; none means the one of the turn before, else the session's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The model, as `provider/model`; none means the one of the turn before when that was chosen too, else the
    /// agent's, else the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What happens where a person would be asked; none means `wait`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_ask: Option<OnAsk>,
    /// Images that come with the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Attachment>,
}

/// What happens where a turn would ask a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnAsk {
    /// It waits for the person.
    #[default]
    Wait,
    /// The answer is no, and the model goes on.
    Deny,
    /// The answer is yes. Questions stay unanswered, denials stay denials.
    Allow,
    /// The turn ends as blocked.
    Fail,
}

/// The answer to a prompt that was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptAnswer {
    /// The turn that answers it.
    pub turn: String,
    /// The message that it became.
    pub message: String,
    /// Whether that turn ran already: the message is read at its next step.
    pub steering: bool,
}

/// The answer of `POST …/abort`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbortAnswer {
    /// Whether a turn ran.
    pub aborted: bool,
}

/// The answer of `GET …/messages`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageList {
    /// Messages with their parts, oldest first.
    pub messages: Vec<Message>,
    /// Whether there are more behind the last of them.
    pub more: bool,
}

/// The answer of `GET …/children`: the sessions of subagents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionList {
    /// Oldest first.
    pub sessions: Vec<SessionState>,
}

/// The answer of `GET …/permissions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionList {
    /// What waits, oldest first.
    pub permissions: Vec<PermissionRequest>,
}

/// The answer of `GET …/questions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionList {
    /// What waits, oldest first.
    pub questions: Vec<QuestionRequest>,
}
