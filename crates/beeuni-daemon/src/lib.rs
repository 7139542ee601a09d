//! One session's daemon: routes, credentials and the harness.
//!
//! [`run`] is the whole life of `beeuni daemon`. The map, in the order in which a request meets it:
//!
//! - `listen` and `connections`: who may connect, how many at once, and how long they may take,
//! - `serve`: one request, from the `Host` header to the answer,
//! - `routes`: the one table of routes; `access`: the two credentials,
//! - `call`, `list`, `health`, `env`: what the routes do,
//! - `session`: what the session is made of; `state`: what it keeps on disk.
//!
//! HTTP is plain hyper without a router or layers on top: the call route is measured, and axum's router
//! cost it about one of ten microseconds for what the table in `routes` does in one comparison a route.
mod access;
mod answer;
mod body;
mod call;
mod config;
mod connections;
mod env;
mod error;
mod health;
mod identifier;
mod list;
mod listen;
mod outputs;
mod routes;
mod run;
mod serve;
mod server;
mod session;
mod signals;
mod start;
mod state;
mod stream;

pub use beeuni_protocol::Ready;
pub use config::{DaemonConfig, HarnessChoice, Listen, ListenError};
pub use error::DaemonError;
pub use routes::{Access, ROUTES, Route};
pub use run::run;
