//! What a session of the standard harness is made from.
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use beeuni_agent::HostedTools;
use beeuni_gateway::Gateway;
use beeuni_tools::SecretValue;

/// The arguments of a call as the model wrote them, by the call's id and what OpenCode makes of them. Nothing when that is
/// not known, or OpenCode has others.
pub type Written = Arc<dyn Fn(&str, &str) -> Option<String> + Send + Sync>;

/// What a session of the standard harness is made from.
#[derive(Clone)]
pub struct Config {
    /// The session's id: 1 to 128 of `A-Z a-z 0-9 . _ -`.
    pub id: String,
    /// The state folder: the transcript is in `sessions/<id>/` below it. Absolute.
    pub state: PathBuf,
    /// The folder for everything that OpenCode keeps (0700). One running OpenCode at a time. Absolute.
    pub folder: PathBuf,
    /// Folders outside of the checkout in which tools may read and write unasked: where the tool host saves long
    /// outputs, for one. Absolute.
    pub outside: Vec<PathBuf>,
    /// The checkout. Absolute.
    pub checkout: PathBuf,
    /// The program `opencode`: see `find_opencode`.
    pub program: PathBuf,
    /// The program `rg`, which OpenCode's searches need.
    pub ripgrep: Option<PathBuf>,
    /// The program that starts OpenCode and ends with it all that it started: this binary (`beeuni`).
    pub guard: PathBuf,
    /// The project's `harnesses/opencode`; it may be missing.
    pub config_source: PathBuf,
    /// The environment that OpenCode and its commands see.
    pub env: BTreeMap<String, String>,
    /// Where OpenCode's plugin finds the hosted tools and the models, `http://127.0.0.1:PORT` without a path.
    pub bridge_url: String,
    /// The key that the plugin presents there.
    pub bridge_key: SecretValue,
    /// What is known about models: windows, prices, the default.
    pub gateway: Gateway,
    /// Beeuni and project tools, loaded already.
    pub hosted: Arc<dyn HostedTools>,
    /// Takes secrets out of what goes into the transcript.
    pub redact: Arc<dyn Fn(String) -> String + Send + Sync>,
    /// Knows the arguments of calls as the model wrote them.
    pub written: Written,
    /// What `~` in a permission pattern stands for.
    pub home: Option<String>,
    /// Settings.
    pub settings: Settings,
}

/// Settings of a session of the standard harness.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How many times the model is asked for one prompt where the agent's file sets no `steps`. Default 500.
    pub steps: u32,
    /// The window of a model that nothing is known about, in tokens. Default 128,000.
    pub window: u64,
    /// How many bytes of past events are kept in memory for readers. Default 1 MiB.
    pub ring_bytes: usize,
    /// How long OpenCode may take to start. Default 60 s.
    pub start: Duration,
    /// How long OpenCode may take to answer a request that does not stream. Default 20 s.
    pub answer: Duration,
    /// How long a stopped turn may take to say what its calls have. Default 800 ms.
    pub stop_grace: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            steps: 500,
            window: 128_000,
            ring_bytes: 1024 * 1024,
            start: Duration::from_secs(60),
            answer: Duration::from_secs(20),
            stop_grace: Duration::from_millis(800),
        }
    }
}
