//! The form of `GET /beeuni/tools`.
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The tools of a session, in the order in which every list shows them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ToolList {
    /// What loaded.
    pub tools: Vec<ToolEntry>,
    /// What was left out.
    pub failed: Vec<FailedToolEntry>,
}

/// One loaded tool.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ToolEntry {
    /// Its name.
    pub name: String,
    /// `beeuni`, `beeuni (overridden)` or `project`.
    pub kind: String,
    /// `beeuni:<name>` or the module's path in the project.
    pub source: String,
    /// What the model reads about it.
    pub description: String,
    /// JSON Schema with the author's keys in the author's order: a list that never changes its bytes
    /// keeps a provider's prompt cache warm.
    pub parameters: Box<RawValue>,
}

/// One tool that did not load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedToolEntry {
    /// Its name.
    pub name: String,
    /// `beeuni:<name>` or the module's path in the project.
    pub source: String,
    /// Why, with what to do.
    pub error: String,
}
