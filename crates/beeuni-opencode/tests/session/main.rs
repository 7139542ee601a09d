//! Conversations with the real OpenCode, on a scripted model.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod asking;
mod bridge;
mod children;
mod desk;
mod life;
mod stopping;
mod turns;
