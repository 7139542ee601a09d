//! The form of a call in the transcript, from what OpenCode says about it.
use beeuni_agent::kit::{STOPPED, STOPPED_BEFORE, not_found, now};
use beeuni_protocol::session::{Attachment, ToolCall, ToolStatus};
use serde_json::{Map, Value};

use super::Scribe;
use crate::client::{CallState as State, PartInfo, millis};

/// The tool that OpenCode puts in place of a call that it cannot make.
const INVALID: &str = "invalid";
/// What OpenCode says of a call that was stopped.
const ABORTED: &str = "Tool execution aborted";
/// Metadata that repeat the output, or say nothing.
const REPEATED: [&str; 7] = [
    "output",
    "preview",
    "display",
    "truncated",
    "loaded",
    "interrupted",
    "empty",
];

impl Scribe {
    pub(super) fn compose(&self, call: &mut ToolCall, part: &PartInfo, state: &State, holds: bool) {
        if part.tool == INVALID {
            self.compose_invalid(call, state);
            return;
        }
        if state.status == "pending" {
            return;
        }
        // OpenCode repairs a name that was written in another case.
        call.tool.clone_from(&part.tool);
        let told = arguments(&state.input);
        call.arguments = self.clean(&(self.written)(&part.call, &told).unwrap_or(told));
        if let Some(title) = state.title.as_ref().filter(|title| !title.is_empty()) {
            call.title = Some(self.clean(title));
        }
        if let Some(metadata) = &state.metadata {
            call.metadata.extend(self.metadata(metadata, &state.input));
        }
        let started = state.time.and_then(|time| time.start).map(millis);
        let was = call.status;
        if holds && state.status == "running" {
            call.status = ToolStatus::Pending;
            return;
        }
        if call.time.started.is_none() {
            call.time.started = if was == ToolStatus::Pending && state.status == "running" {
                Some(now())
            } else {
                started.or_else(|| Some(now()))
            };
        }
        match state.status.as_str() {
            "running" => call.status = ToolStatus::Running,
            "completed" => {
                let is_empty = state
                    .metadata
                    .as_ref()
                    .is_some_and(|all| all.get("empty") == Some(&Value::Bool(true)));
                let output = if is_empty {
                    String::new()
                } else {
                    state.output.clone().unwrap_or_default()
                };
                call.output = Some(self.clean(&output));
                call.attachments = state
                    .attachments
                    .iter()
                    .map(|file| Attachment {
                        mime: file.mime.clone(),
                        name: file.filename.clone(),
                        url: file.url.clone(),
                    })
                    .collect();
                call.status = ToolStatus::Completed;
                if self.stopping {
                    call.status = ToolStatus::Interrupted;
                    call.error = Some(STOPPED.to_owned());
                }
            }
            "error" => {
                let error = state.error.clone().unwrap_or_default();
                if self.stopping || error == ABORTED {
                    call.status = ToolStatus::Interrupted;
                    let begun = was == ToolStatus::Running;
                    call.error = Some(if begun { STOPPED } else { STOPPED_BEFORE }.to_owned());
                } else {
                    call.status = ToolStatus::Error;
                    call.error = Some(self.clean(&error));
                }
            }
            _ => {}
        }
        if matches!(state.status.as_str(), "completed" | "error") {
            let ended = state.time.and_then(|time| time.end).map_or_else(now, millis);
            call.time.ended = Some(ended.max(call.time.started.unwrap_or(0)));
        }
    }

    /// A call that OpenCode could not make: of a tool that is not there, or with arguments that are no JSON.
    fn compose_invalid(&self, call: &mut ToolCall, state: &State) {
        let text = |key: &str| state.input.get(key).and_then(Value::as_str).unwrap_or_default();
        let (tool, error) = (text("tool"), text("error"));
        if !tool.is_empty() {
            tool.clone_into(&mut call.tool);
        }
        if let Some(raw) = raw_arguments(error) {
            call.arguments = self.clean(raw);
        }
        if !matches!(state.status.as_str(), "completed" | "error") {
            return;
        }
        let unknown = error.starts_with("Model tried to call unavailable tool");
        call.error = Some(if unknown {
            not_found(&call.tool)
        } else {
            let told = state.output.as_deref().filter(|output| !output.is_empty());
            self.clean(told.unwrap_or(error))
        });
        call.status = ToolStatus::Error;
        call.time.started.get_or_insert(call.time.created);
        call.time.ended = Some(now());
    }

    /// What is kept of a call's metadata.
    fn metadata(&self, metadata: &Map<String, Value>, input: &Value) -> Map<String, Value> {
        let mut kept = Map::new();
        for (key, value) in metadata {
            match key.as_str() {
                // Our names for what `task` says.
                "sessionId" => {
                    kept.insert("session".to_owned(), value.clone());
                    if let Some(agent) = input.get("subagent_type") {
                        kept.insert("agent".to_owned(), agent.clone());
                    }
                }
                "parentSessionId" | "model" if metadata.contains_key("sessionId") => {}
                key if REPEATED.contains(&key) => {}
                key => {
                    kept.insert(key.to_owned(), self.clean_json(value));
                }
            }
        }
        kept
    }

    fn clean_json(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.clean(text)),
            Value::Array(items) => Value::Array(items.iter().map(|item| self.clean_json(item)).collect()),
            Value::Object(entries) => {
                let clean = |(key, value): (&String, &Value)| (key.clone(), self.clean_json(value));
                Value::Object(entries.iter().map(clean).collect())
            }
            other => other.clone(),
        }
    }
}

/// Arguments as text.
fn arguments(input: &Value) -> String {
    match input {
        Value::Null => "{}".to_owned(),
        input => input.to_string(),
    }
}

/// The arguments as the model wrote them, out of OpenCode's words about them.
fn raw_arguments(error: &str) -> Option<&str> {
    let (_, rest) = error.split_once("JSON parsing failed: Text: ")?;
    let (raw, _) = rest.rsplit_once(".\nError message:")?;
    Some(raw)
}
