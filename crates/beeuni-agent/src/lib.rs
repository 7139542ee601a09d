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
mod view;

pub use actor::NoAgent;
pub use ask::ReplyError;
pub use engine::{OnAsk, SessionConfig, Settings};
pub use hosted::HostedTools;
pub use session::{OpenError, PromptError, PromptOptions, Session, TurnHandle};
pub use setup::{AgentDefinition, Setup};
pub use skills::{Skill, SkillShelf};
pub use store::{EventStream, StoreError};
pub use stored::{StoredSession, stored_sessions};

/// What every harness writes its conversation with, so that it reads the same whichever harness ran.
pub mod kit {
    pub use crate::actor::Actor;
    pub use crate::ask::{Answered, Asks, NOBODY, REFUSED, Wish, remembered};
    pub use crate::calls::{STOPPED, STOPPED_BEFORE};
    pub use crate::clock::now;
    pub use crate::ids::{Kind, new as new_id};
    pub use crate::models::Models;
    pub use crate::offer::not_found;
    pub use crate::prompt::environment;
    pub use crate::session::is_id;
    pub use crate::store::{Entry, FORMAT, Journal, Transcript};
    pub use crate::title::of as title_of;
    pub use crate::turn::{conversation_text, is_unread, said};
    pub use crate::turn_error::{of_kind as turn_error, of_store as store_error};
    pub use crate::view::View;
}
