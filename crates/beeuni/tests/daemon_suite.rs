//! The real `beeuni daemon`, seen from outside: one file for each part of what it promises.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

#[path = "daemon/calls.rs"]
mod calls;
#[path = "daemon/concurrency.rs"]
mod concurrency;
#[path = "daemon/limits.rs"]
mod limits;
#[path = "daemon/outputs.rs"]
mod outputs;
#[path = "daemon/routes.rs"]
mod routes;
#[path = "daemon/secrets.rs"]
mod secrets;
#[path = "daemon/signals.rs"]
mod signals;
#[path = "daemon/sockets.rs"]
mod sockets;
#[path = "daemon/start.rs"]
mod start;
#[path = "daemon/stopping.rs"]
mod stopping;
#[path = "support/daemon.rs"]
mod support;
