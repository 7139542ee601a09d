//! OpenCode's process: its files, its configuration, its start and its end.

mod access;
mod binaries;
mod configuring;
mod environment;
mod files;
mod layout;
mod listing;
pub(crate) mod loopback;
mod making;
mod models;
mod paths;
mod probe;
mod process;
mod project;
mod reach;
mod rewriting;
mod rules;
mod running;
mod session;
mod skills;
mod trying;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use beeuni_agent::Setup;
use beeuni_tools::SecretValue;
use serde_json::value::RawValue;

pub use binaries::{BinaryMissing, find_opencode, find_ripgrep};
pub(crate) use layout::percent_encoded;
pub use loopback::client as loopback_client;
pub use running::Server;

/// The provider under which OpenCode knows the gateway. A model's id below it is Beeuni's whole id
/// (`openai/gpt-5`).
pub const PROVIDER: &str = "beeuni";

/// Where OpenCode is and where it works. The same for the life of a session.
#[derive(Debug, Clone)]
pub struct Place {
    /// OpenCode's binary: see [`find_opencode`].
    pub program: PathBuf,
    /// ripgrep's binary: see [`find_ripgrep`]. Without it OpenCode's `grep`, `glob` and `skill` fail.
    pub ripgrep: Option<PathBuf>,
    /// The `beeuni` binary: OpenCode runs below `beeuni tool-guard`, which ends all that it started.
    pub guard: PathBuf,
    /// The folder for everything that OpenCode keeps (0700); made when it is not there. Absolute.
    pub folder: PathBuf,
    /// The checkout: the folder in which sessions work. Absolute.
    pub checkout: PathBuf,
    /// The project's own configuration folder (`harnesses/opencode`); read, never written. It may be missing.
    pub config_source: PathBuf,
    /// Folders outside of the checkout in which tools may read and write unasked: where the tool host saves long
    /// outputs, for one. Absolute.
    pub outside: Vec<PathBuf>,
    /// What commands may see of the environment: see [`beeuni_tools::sandbox_env`]. `HOME` in it is what `~` in
    /// permission patterns stands for.
    pub env: BTreeMap<String, String>,
    /// How long OpenCode may take until it listens. 60 s is sensible.
    pub start: Duration,
}

/// What a session works with now: what [`Server::update`] takes a new one of.
#[derive(Debug, Clone)]
pub struct Given {
    /// Agents, permissions, skills.
    pub setup: Arc<Setup>,
    /// The hosted tools that loaded.
    pub tools: Vec<HostedTool>,
    /// The models that the gateway offers. [`Given::default_model`] and those of agents need not be among them.
    pub models: Vec<Model>,
    /// The model of a prompt that names none, as `provider/model`.
    pub default_model: String,
    /// Where the plugin and the model requests go.
    pub bridge: Bridge,
}

/// A hosted tool as the model sees it.
#[derive(Debug, Clone)]
pub struct HostedTool {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its JSON Schema, as its author wrote it.
    pub parameters: Box<RawValue>,
}

/// A model of the gateway.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// `provider/model`.
    pub id: String,
    /// Its window in tokens: OpenCode sums up older messages in time. `None`: unknown.
    pub context: Option<u64>,
    /// The most tokens of one answer. `None`: unknown.
    pub output: Option<u64>,
}

/// The daemon's listener for OpenCode.
#[derive(Debug, Clone)]
pub struct Bridge {
    /// `http://127.0.0.1:PORT`, without a slash at the end.
    pub url: String,
    /// The bearer token.
    pub key: SecretValue,
}

/// What has to happen so that a new [`Given`] counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Nothing: OpenCode already works with the same.
    Nothing,
    /// [`Server::dispose`] while no turn runs.
    Dispose,
    /// A new process: code that OpenCode has imported stays as it is.
    Restart,
}

/// A tool of the project's own folder that takes the place of a hosted one (O1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overridden {
    /// The tool's name.
    pub name: String,
    /// The file in the project's configuration folder.
    pub file: PathBuf,
}

/// A file of the project's own folder that OpenCode could not have worked with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The file in the project's configuration folder.
    pub file: PathBuf,
    /// Why.
    pub reason: String,
}

/// How OpenCode's process ended. `Display` says it in words, with the last lines that it printed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// The last lines that it printed, without keys.
    pub last_lines: Vec<String>,
}

/// OpenCode could not be started, or its configuration not be written.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A folder or file could not be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The process could not be started.
    #[error("OpenCode ({}) does not start", program.display())]
    Spawn {
        /// The program.
        program: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The process ended before it listened.
    #[error("OpenCode ended before it was ready: {0}")]
    Ended(Ended),
    /// It did not listen in time.
    #[error("OpenCode was not ready after {} s{}", after.as_secs(), lines(last_lines))]
    TimedOut {
        /// How long it had.
        after: Duration,
        /// The last lines that it printed, without keys.
        last_lines: Vec<String>,
    },
    /// It listens and does not answer.
    #[error("OpenCode does not answer")]
    Probe(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// It does not work with what it is given, and no file of the project's folder is the reason.
    #[error("OpenCode does not work with its configuration: {0}")]
    Refused(String),
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.code, self.signal) {
            (_, Some(signal)) => write!(f, "it was ended by signal {signal}")?,
            (Some(code), None) => write!(f, "it ended with exit code {code}")?,
            (None, None) => write!(f, "it ended")?,
        }
        f.write_str(&lines(&self.last_lines))
    }
}

fn lines(lines: &[String]) -> String {
    if lines.is_empty() {
        String::new()
    } else {
        format!("; it printed: {}", lines.join(" | "))
    }
}
