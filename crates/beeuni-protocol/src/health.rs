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
    /// The model that answers the next prompt; `null` without a harness, and until it is known.
    pub model: Option<ModelHealth>,
    /// The tool runtime.
    pub runtime: RuntimeHealth,
    /// The project's files.
    pub project: ProjectHealth,
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
    /// `off` when there is none; else `starting`, `idle`, `running`, `reloading`, `stopping` or `failed`.
    pub state: String,
    /// Whether it takes prompts.
    pub ready: bool,
}

/// The model of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelHealth {
    /// `provider/model`.
    pub id: String,
    /// Whether it is the built-in stand-in `beeuni/rehearsal`, which is no language model.
    pub rehearsal: bool,
}

/// The project's files of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectHealth {
    /// Whether the session works with the files as they are now. `false`: they cannot be used, `problem` says why,
    /// and what they said before is in force.
    pub current: bool,
    /// How many errors `beeuni validate` finds in them.
    pub errors: usize,
    /// How many warnings.
    pub warnings: usize,
    /// The first error, as `file:line:column: message`.
    pub problem: Option<String>,
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
    /// The hosted tools in whose place the standard harness has one of the project's own; absent when there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<String>,
}

/// Which secrets a session has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvHealth {
    /// The revision of the last push; `null` before the first.
    pub revision: Option<String>,
}
