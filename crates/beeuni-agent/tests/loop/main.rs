//! The loop, request by request, on a scripted model server.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod calls;
mod endings;
mod prompts;
mod steering;
#[path = "../support/mod.rs"]
mod support;

use beeuni_gateway::testing::{Answer, chunk};
use serde_json::{Value, json};

fn finish_with(events: &[Value], reason: &str) -> Answer {
    let mut events = events.to_vec();
    events.push(chunk(&json!({}), Some(reason)));
    Answer::events(&events)
}
