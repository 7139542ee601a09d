//! The harness tools on a real checkout, commands below a real guard.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    unreachable_pub,
    reason = "a test stops at the first surprise; the desk offers more than each file needs"
)]

mod all;
mod bash_commands;
mod bash_jobs;
mod bash_output;
mod changing;
#[path = "../desk/mod.rs"]
mod desk;
mod others;
mod paths;
mod people;
mod read;
mod search;
