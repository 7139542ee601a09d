//! The wire types between the command line, the daemon and the harness plugins.
//!
//! JSON forms only, no logic: who may send what, and which values are legal, is the daemon's business.
//! `tests/json_forms.rs` pins every form, so a change of a field is a change of that file.
mod call;
mod env;
mod health;
mod list;
mod reload;
pub mod session;

use serde::{Deserialize, Serialize};

pub use call::{CallAnswer, CallOrigin, CallRequest, Text};
pub use env::{EnvAnswer, EnvPush};
pub use health::{EnvHealth, HarnessHealth, Health, ModelHealth, ProjectHealth, RuntimeHealth, ToolsHealth};
pub use list::{FailedToolEntry, ToolEntry, ToolList};
pub use reload::{Finding, ReloadAnswer};

/// The one line that `beeuni daemon` prints on stdout when it takes calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// Always `true`: the line appears only then.
    pub ready: bool,
    /// Where the daemon listens: `http://127.0.0.1:PORT`, or `unix:/path/to/socket`.
    pub url: String,
    /// The session's id.
    pub session: String,
}

/// The body of every answer that is not a success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorAnswer {
    /// What is wrong, for the caller. It holds no secret.
    pub error: String,
}
