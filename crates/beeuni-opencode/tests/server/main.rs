//! OpenCode's process and configuration, with the real OpenCode, a scripted model and a scripted daemon.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod access;
mod bridge;
mod facts;
mod folder;
mod life;
mod rig;
mod rules;
