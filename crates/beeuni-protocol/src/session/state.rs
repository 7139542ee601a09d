//! How a session's conversation stands.
use serde::{Deserialize, Serialize};

use super::Usage;

/// A session's conversation at a glance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionState {
    /// Its id.
    pub id: String,
    /// The session whose `task` call made this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// A short title, made from the first prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The agent of the last turn, or of the next when there was none.
    pub agent: String,
    /// The model of the last turn, or of the next when there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it is doing.
    pub activity: Activity,
    /// The turn that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// How many permission requests and questions wait for an answer.
    pub waiting: usize,
    /// How many messages there are.
    pub messages: usize,
    /// What all turns used together, subagents included.
    pub usage: Usage,
    /// When it was made.
    pub created: u64,
    /// When something last happened.
    pub updated: u64,
    /// The id of the last event.
    pub last_event: u64,
}

/// What a session is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// Nothing.
    Idle,
    /// A turn runs.
    Running,
    /// Tools, agents and prompts are being exchanged; a prompt waits for that.
    Reloading,
    /// It takes no prompts any more.
    Closed,
}
