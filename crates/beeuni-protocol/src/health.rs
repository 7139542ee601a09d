//! The form of `GET /beeuni/health`.
use serde::{Deserialize, Serialize};

/// How a daemon is doing. Open to everybody who reaches it, so it holds no secret and no path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// The version of `beeuni`.
    pub version: String,
    /// The session's id.
    pub session: String,
    /// The harness.
    pub harness: HarnessHealth,
    /// The tool runtime.
    pub runtime: RuntimeHealth,
    /// The config release in force; `null` when the checkout itself is.
    pub release: Option<String>,
    /// The tools.
    pub tools: ToolsHealth,
    /// The secrets.
    pub env: EnvHealth,
    /// What this daemon can do, by the names of its route groups.
    pub capabilities: Vec<String>,
}

/// The harness of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HarnessHealth {
    /// `none`, `standard` or `experimental`.
    pub id: String,
    /// `off` when there is none.
    pub state: String,
    /// Whether it takes prompts.
    pub ready: bool,
}

/// The tool runtime of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuntimeHealth {
    /// Whether calls are taken: not while the tools load, nor while the daemon stops.
    pub ready: bool,
}

/// Which tools a session has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolsHealth {
    /// How many loaded.
    pub loaded: usize,
    /// How many did not.
    pub failed: usize,
    /// Their names, in the order of the selection.
    pub failed_names: Vec<String>,
}

/// Which secrets a session has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvHealth {
    /// The revision of the last push; `null` before the first.
    pub revision: Option<String>,
}
