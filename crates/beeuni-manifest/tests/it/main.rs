//! Tests of what other crates see of the manifest.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod access;
mod corpus;
mod edit;
mod edit_forms;
mod find;
mod folder;
mod imports;
mod invariants;
mod issues;
mod select;
mod support;
