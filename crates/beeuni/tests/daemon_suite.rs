//! The real `beeuni daemon`, seen from outside: one file for each part of what it promises.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

#[path = "daemon/asks.rs"]
mod asks;
#[path = "daemon/bridge.rs"]
mod bridge;
#[path = "daemon/calls.rs"]
mod calls;
#[path = "daemon/concurrency.rs"]
mod concurrency;
#[path = "daemon/events.rs"]
mod events;
#[path = "daemon/limits.rs"]
mod limits;
#[path = "daemon/llm.rs"]
mod llm;
#[path = "daemon/outputs.rs"]
mod outputs;
#[path = "parity/access.rs"]
mod parity_access;
#[path = "parity/conversation.rs"]
mod parity_conversation;
#[path = "parity/network.rs"]
mod parity_network;
#[path = "daemon/prompts.rs"]
mod prompts;
#[path = "daemon/reloads.rs"]
mod reloads;
#[path = "daemon/resuming.rs"]
mod resuming;
#[path = "daemon/routes.rs"]
mod routes;
#[path = "daemon/secrets.rs"]
mod secrets;
#[path = "daemon/signals.rs"]
mod signals;
#[path = "daemon/sockets.rs"]
mod sockets;
#[path = "daemon/standard.rs"]
mod standard;
#[path = "daemon/standard_faults.rs"]
mod standard_faults;
#[path = "daemon/standard_reloads.rs"]
mod standard_reloads;
#[path = "daemon/start.rs"]
mod start;
#[path = "daemon/stopping.rs"]
mod stopping;
#[path = "support/daemon.rs"]
mod support;
#[path = "daemon/turns.rs"]
mod turns;
#[path = "daemon/web_router.rs"]
mod web_router;
