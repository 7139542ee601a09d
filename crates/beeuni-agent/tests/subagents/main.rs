//! `task`: subagents in sessions of their own.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod limits;
mod running;
#[path = "../support/mod.rs"]
mod support;

use beeuni_gateway::testing::{Answer, RecordedRequest};
use serde_json::{Value, json};
use support::Rig;

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn task(agent: &str, prompt: &str) -> String {
    json!({ "description": "A piece of work", "prompt": prompt, "subagent_type": agent }).to_string()
}

/// Answers by the last message: a subagent's prompts begin with `child:`, what follows is said back; a `tool:`
/// behind it calls that tool first.
fn children(rig: &Rig) {
    rig.server.respond_with(|request: &RecordedRequest| {
        if request.path() != "/v1/chat/completions" {
            return None;
        }
        let body = request.json();
        let messages = body["messages"].as_array().unwrap();
        let prompt = messages
            .iter()
            .rev()
            .find_map(|message| message["content"].as_str().filter(|_| message["role"] == "user"));
        let work = prompt?.strip_prefix("child:")?.to_owned();
        let last = messages.last().unwrap();
        if let (Some(tool), "user") = (work.strip_prefix("tool:"), last["role"].as_str().unwrap()) {
            return Some(Answer::tool_calls(&[("k1", tool, "{}")]));
        }
        let said = if last["role"] == "tool" {
            last["content"].as_str().unwrap().to_owned()
        } else {
            work
        };
        Some(Answer::text(&format!("I did: {said}")))
    });
}

fn child_requests(rig: &Rig) -> Vec<Value> {
    let is_child = |body: &Value| {
        body["messages"][1]["content"]
            .as_str()
            .is_some_and(|said| said.starts_with("child:"))
    };
    rig.bodies().into_iter().filter(is_child).collect()
}
