//! The standard harness: OpenCode as a child process, with Beeuni's tools, agents, permissions and transcript.
//!
//! [`OpenCode`] is one session: it keeps OpenCode's server running, gives it prompts, and writes what happens into the
//! same transcript as the other harness does. Nothing outside of this crate knows OpenCode's files, routes or events.

/// Starting and configuring OpenCode's process.
pub mod server;

mod client;
mod config;
mod error;
mod failure;
mod given;
mod inner;
mod link;
mod opencode;
mod opening;
mod permit;
mod prompting;
mod resume;
mod revive;
mod scribe;
mod turn;

pub use config::{Config, Settings, Written};
pub use error::{OpenCodeError, StartError};
pub use opencode::{OpenCode, Status};
pub use permit::{BridgedCall, Permitted};

pub use beeuni_agent::harness_tools::Refusal;
