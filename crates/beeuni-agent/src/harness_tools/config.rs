//! What the harness tools need to know, and their limits.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::context::{Reader, Skills};

/// What the harness tools need to know.
#[derive(Clone)]
pub struct HarnessToolsConfig {
    /// The checkout: relative paths start here, and what is outside of it is asked about. Absolute.
    pub checkout: PathBuf,
    /// Folder for outputs over the bound: the one of [`HostConfig`](beeuni_tools::HostConfig). Made if missing.
    pub output_dir: PathBuf,
    /// Folders outside of the checkout that count as inside (the session's temp folder, skills): absolute.
    /// `output_dir` does for reading without being named.
    pub free_folders: Vec<PathBuf>,
    /// The environment of commands, without secrets: see [`sandbox_env`](beeuni_tools::sandbox_env). `HOME` in it
    /// is what `~` stands for.
    pub env: BTreeMap<String, String>,
    /// The program that starts commands: this binary (`beeuni`), called as `<guard> tool-guard …`.
    pub guard: PathBuf,
    /// Takes secrets out of a text before anybody sees or stores it: see `ToolHost::redact`.
    pub redact: Arc<dyn Fn(String) -> String + Send + Sync>,
    /// Reads pages for `webfetch`; `None`: the tool is not offered.
    pub reader: Option<Arc<dyn Reader>>,
    /// Skills for `skill`; `None`: the tool is not offered.
    pub skills: Option<Arc<dyn Skills>>,
    /// Limits.
    pub limits: HarnessLimits,
}

/// Time and size limits.
#[derive(Debug, Clone)]
pub struct HarnessLimits {
    /// Time of a command that names none. Default 2 min.
    pub command: Duration,
    /// The longest time that a command may ask for. Default 10 min.
    pub longest_command: Duration,
    /// How long a command may take to end after SIGTERM before it gets SIGKILL. Default 2 s; 500 ms when stopped.
    pub end_grace: Duration,
    /// How much of one command's output is kept in a file. Default 64 MiB.
    pub saved_output: u64,
    /// Background jobs of one session that run at once. Default 16.
    pub jobs: usize,
    /// Time of one search or page. Default 60 s.
    pub search: Duration,
}

impl Default for HarnessLimits {
    fn default() -> Self {
        Self {
            command: Duration::from_secs(120),
            longest_command: Duration::from_secs(600),
            end_grace: Duration::from_secs(2),
            saved_output: 64 * 1024 * 1024,
            jobs: 16,
            search: Duration::from_secs(60),
        }
    }
}

/// The folders of the tools could not be prepared.
#[derive(Debug, thiserror::Error)]
#[error("cannot prepare {}", path.display())]
pub struct PrepareError {
    /// The folder.
    pub path: PathBuf,
    /// Why.
    pub source: std::io::Error,
}
