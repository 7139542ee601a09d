//! `beeuni run` as a user and a program see it: one file for each part of what it promises.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

#[path = "run/answers.rs"]
mod answers;
#[path = "run/json.rs"]
mod json;
#[path = "support/run_model.rs"]
mod model;
#[path = "run/models.rs"]
mod models;
#[path = "run/permissions.rs"]
mod permissions;
#[path = "run/sessions.rs"]
mod sessions;
#[path = "run/standard.rs"]
mod standard;
#[path = "run/stopping.rs"]
mod stopping;
mod support;
#[path = "support/run_terminal.rs"]
mod terminal;
#[path = "run/terminals.rs"]
mod terminals;
#[path = "run/tools.rs"]
mod tools;
