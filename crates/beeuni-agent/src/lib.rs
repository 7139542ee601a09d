//! The experimental harness: an agent loop in this process, its tools, permissions, subagents and transcript.
//!
//! A [`Session`] takes prompts and runs one turn at a time: it asks the model through the gateway, runs the calls,
//! and writes everything into the transcript as it happens. Routes and the command line are thin over it. This crate
//! has no HTTP server and knows no other harness.

pub mod harness_tools;
pub mod permission;

mod actor;
mod ask;
mod calls;
mod clock;
mod conversation;
mod engine;
mod hosted;
mod ids;
mod json_text;
mod models;
mod offer;
mod prompt;
mod session;
mod setup;
mod skills;
mod store;
mod stored;
mod subagent;
mod title;
mod turn;
mod turn_error;

pub use actor::NoAgent;
pub use ask::ReplyError;
pub use engine::{OnAsk, SessionConfig, Settings};
pub use hosted::HostedTools;
pub use session::{OpenError, PromptError, PromptOptions, Session, TurnHandle};
pub use setup::{AgentDefinition, Setup};
pub use skills::{Skill, SkillShelf};
pub use store::{EventStream, StoreError};
pub use stored::{StoredSession, stored_sessions};
