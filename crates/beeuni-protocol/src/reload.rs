//! The form of `POST /beeuni/reload`.
use serde::{Deserialize, Serialize};

use crate::ToolsHealth;

/// The answer to a reload that was done or will be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReloadAnswer {
    /// Whether it waits for the end of the turn that runs; the rest then tells of what is in force until then.
    pub pending: bool,
    /// The tools.
    pub tools: ToolsHealth,
    /// What is wrong in the project's files, in file order.
    pub findings: Vec<Finding>,
}

/// One thing that is wrong in a project's files, as `beeuni validate` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The place inside the file: `tools.show`; empty for the file itself.
    pub path: String,
    /// What is wrong and what to do.
    pub message: String,
    /// `error` or `warning`.
    pub severity: String,
    /// The file, relative to the project.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
}
