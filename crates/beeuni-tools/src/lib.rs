//! The tool contract and the host that runs tool modules in Bun workers.
//!
//! [`ToolHost`] loads a session's tools and calls them. Each project tool has a worker process of its own,
//! started at its first call and ended when idle; the five Beeuni tools share one. This crate knows no HTTP
//! and no harness.

pub mod command_guard;
mod ending;
mod env;
mod env_of_agent;
mod frames;
mod guard;
mod host;
mod loading;
mod log_reader;
pub mod output;
mod runtime_files;
mod secret;
mod slot;
mod worker;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use beeuni_manifest::{SelectedTool, ToolKind, ToolSource};

pub use env::{BunMissing, exempt_this_machine, find_bun, sandbox_env};
pub use guard::guard_main;
pub use host::ToolHost;
pub use output::{MAX_OUTPUT_BYTES, MAX_OUTPUT_LINES};
pub use runtime_files::{beeuni_tool_source, type_declarations};
pub use secret::{AgentSecrets, MIN_REDACTED_BYTES, SecretValue};

/// Time and size limits of a host.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Longest load of one module. Default 10 s.
    pub load: Duration,
    /// Longest call, counted from its start. Default 10 min.
    pub call: Duration,
    /// How long a stopped call may take to end. Default 5 s.
    pub stop_grace: Duration,
    /// How long an unused worker lives. Default 60 s.
    pub idle: Duration,
    /// Memory that one process of a worker may write to, in MiB. Default 1024.
    pub memory_mib: u64,
    /// Calls of one tool that run at once; more wait, and their deadline with them. Default 64.
    pub concurrent_calls: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            load: Duration::from_secs(10),
            call: Duration::from_secs(600),
            stop_grace: Duration::from_secs(5),
            idle: Duration::from_secs(60),
            memory_mib: 1024,
            concurrent_calls: 64,
        }
    }
}

/// One line that a tool printed, or a note of the host about it.
#[derive(Debug, Clone)]
pub struct LogLine {
    /// The tool's name.
    pub tool: String,
    /// Where the line came from.
    pub stream: LogStream,
    /// The text without line end, escape codes and secrets, at most 8 KiB.
    pub text: String,
}

/// Where a log line came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogStream {
    /// The tool's standard output.
    Stdout,
    /// The tool's standard error.
    Stderr,
    /// The host: stack traces, errors that no call waits for.
    Host,
}

/// What a host needs to know.
#[derive(Clone)]
pub struct HostConfig {
    /// The Bun executable: see [`find_bun`].
    pub bun: PathBuf,
    /// Folder for the worker's code and the five Beeuni tools; made and filled on first use (0700).
    pub runtime_dir: PathBuf,
    /// The checkout: `context.directory` and the workers' working folder. Absolute.
    pub project: PathBuf,
    /// Folder for outputs over the bound (0700, files 0600); files older than a week are removed at start.
    pub output_dir: PathBuf,
    /// `context.sessionId`.
    pub session: String,
    /// The sandbox's environment without secrets: see [`sandbox_env`]. Also the workers' own environment.
    pub env: BTreeMap<String, String>,
    /// In `context.env` of every agent but never in a worker's own environment (`BEEUNI_TOKEN`).
    pub session_secrets: BTreeMap<String, SecretValue>,
    /// Limits.
    pub limits: Limits,
    /// The program that starts a worker: this binary (`beeuni`), called as `<guard> tool-guard …`.
    pub guard: PathBuf,
    /// Receives what tools print.
    pub log: Arc<dyn Fn(&LogLine) + Send + Sync>,
}

/// One loaded tool.
#[derive(Debug, Clone)]
pub struct LoadedTool {
    /// What was selected.
    pub tool: SelectedTool,
    /// The module's description.
    pub description: String,
    /// Its JSON Schema, keys in the author's order.
    pub parameters: Box<serde_json::value::RawValue>,
}

/// One tool that did not load.
#[derive(Debug, Clone)]
pub struct FailedTool {
    /// What was selected.
    pub tool: SelectedTool,
    /// Why it did not load.
    pub error: String,
}

/// The outcome of a load, in the selection's order.
#[derive(Debug, Clone, Default)]
pub struct LoadReport {
    /// The tools that loaded.
    pub tools: Vec<LoadedTool>,
    /// The tools that were left out.
    pub failed: Vec<FailedTool>,
}

/// The host itself cannot work.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// A folder or file of the host could not be made.
    #[error("cannot prepare {}", path.display())]
    Prepare {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// One call.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// The arguments: the text of a JSON object, passed on as it is.
    pub args: &'a str,
    /// The calling agent: decides which secrets are in `context.env`.
    pub agent: &'a str,
    /// `context.directory` when it is not the project.
    pub directory: Option<&'a str>,
}

/// Why a call gave no output. `Display` is the text for the caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// No tool of that name is loaded.
    #[error("no tool named {0} is loaded")]
    NotLoaded(String),
    /// The tool threw or its worker ended: the text says which.
    #[error("{0}")]
    Failed(String),
    /// The call ran longer than [`Limits::call`].
    #[error("timed out after {} s", worker::seconds(*.0))]
    TimedOut(Duration),
    /// The host is shutting down.
    #[error("the tool host is shutting down")]
    ShuttingDown,
}
