//! One session's daemon: routes, credentials and the harness.
//!
//! [`run()`] is the whole life of `beeuni daemon`; [`local`] is a session without one. The map, in the order in which a
//! request meets it:
//!
//! - `listen` and `connections`: who may connect, how many at once, and how long they may take,
//! - `serve`: one request, from the `Host` header to the answer,
//! - `routes`: the one table of routes; `access`: the credentials; `agents`: who may call what,
//! - `call`, `list`, `health`, `env`, `conversation`, `asks`, `events`, `llm`, `web`: what the routes do,
//! - `harness`: what runs the turns, behind one trait; `bridge`: where one that is a process of its own finds tools and
//!   models, and `bridge_arguments` what the model wrote to it,
//! - `reload` and `watch`: the project as it changes,
//! - `local::core` and `session`: what the session is made of; `state`: what it keeps on disk.
//!
//! HTTP is plain hyper without a router or layers on top: the call route is measured, and axum's router
//! cost it about one of ten microseconds for what the table in `routes` does in one comparison a route.
mod access;
mod agents;
mod answer;
mod answer_body;
mod asks;
mod body;
mod bridge;
mod bridge_arguments;
mod call;
mod checkout;
mod config;
mod connections;
mod conversation;
mod env;
mod error;
mod events;
mod harness;
mod health;
mod identifier;
mod list;
mod listen;
mod llm;
pub mod local;
mod outputs;
mod query;
mod reload;
mod routes;
mod run;
mod serve;
mod server;
mod session;
mod signals;
mod start;
mod state;
mod stream;
mod watch;
mod web;

pub use beeuni_protocol::Ready;
pub use config::{DaemonConfig, HarnessChoice, Listen, ListenError};
pub use error::DaemonError;
pub use routes::{Access, ROUTES, Route};
pub use run::run;
