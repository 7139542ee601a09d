//! The manifest as the other crates see it: plain data, with no trace of YAML.
use crate::issue::{Issue, Place, Severity};

/// What [`load`](crate::load) read: a manifest as far as it could be understood, and every finding, in file order.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// `None` when the root file cannot be read or parsed at all.
    pub manifest: Option<Manifest>,
    /// All findings of all files.
    pub issues: Vec<Issue>,
}

impl Loaded {
    /// No finding is an error.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.manifest.is_some() && self.issues.iter().all(|i| i.severity != Severity::Error)
    }
}

/// Which harness a session runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HarnessKind {
    /// OpenCode.
    Standard,
    /// The loop inside the daemon.
    Experimental,
}

/// A project's manifest with its imports merged in.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// The root file, repo-relative.
    pub file: String,
    /// The agent of a session that names none. `None` only when it is missing though required.
    pub default_agent: Option<String>,
    /// The harness.
    pub harness: HarnessKind,
    /// Whether the root file says which: else [`Manifest::harness`] is the default.
    pub harness_key: bool,
    /// The folder in which the standard harness looks for its own configuration, repo-relative.
    pub opencode_config_dir: String,
    /// Whether the root file or an imported one has a `tools` key.
    pub tools_key: bool,
    /// Declared tools, root file first, in declaration order. An entry whose module file is missing
    /// is here; one whose name or value is illegal is left out.
    pub tools: Vec<ToolEntry>,
    /// Declared agents (one implied agent `beeuni` when the key is absent).
    pub agents: Vec<Agent>,
    /// Declared connectors, in declaration order.
    pub connectors: Vec<Connector>,
    /// What the manifest says about the project, for people.
    pub project: Project,
    /// Every file that was read: root, then imports in order.
    pub files: Vec<String>,
    /// Secret names that the project expects.
    pub env_required: Vec<String>,
    /// Secret names that the project can use.
    pub env_optional: Vec<String>,
}

impl Manifest {
    /// The agent `name`.
    #[must_use]
    pub fn agent(&self, name: &str) -> Option<&Agent> {
        self.agents.iter().find(|a| a.name == name)
    }
}

/// A connection to another service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connector {
    /// Its name in the project.
    pub slug: String,
    /// What it connects to.
    pub provider: String,
    /// Where its slug stands.
    pub place: Place,
}

/// What people read about a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Project {
    /// Its name.
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
}

/// One line under `tools:`.
#[derive(Debug, Clone)]
pub struct ToolEntry {
    /// Its name.
    pub name: String,
    /// Where its module comes from.
    pub source: ToolSource,
    /// Where its key stands.
    pub place: Place,
}

/// Where a tool's module comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolSource {
    /// `beeuni:<name>`.
    Beeuni,
    /// A repo-relative module path.
    Module(String),
}

/// A declared agent.
#[derive(Debug, Clone)]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// Its `.md`, repo-relative (the default path when the manifest names none).
    pub file: String,
    /// Whether sessions may use it.
    pub enabled: bool,
    /// Which tools its model sees.
    pub tools: ToolAccess,
    /// Which secrets it receives.
    pub secrets: Grant,
    /// Which skills it receives.
    pub skills: Grant,
    /// Which connectors it receives.
    pub connectors: Grant,
    /// Where it is declared.
    pub place: Place,
}

/// Tool access of an agent (A1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolAccess {
    /// Every tool.
    All,
    /// No tool.
    None,
    /// Only these.
    Only(Vec<String>),
    /// All but these.
    Except(Vec<String>),
}

impl ToolAccess {
    /// Whether the agent's model sees `tool` (a loaded tool: A3 is the selection's business).
    #[must_use]
    pub fn allows(&self, tool: &str) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::Only(names) => names.iter().any(|name| name == tool),
            Self::Except(names) => names.iter().all(|name| name != tool),
        }
    }
}

/// A deny-by-default grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grant {
    /// Every one.
    All,
    /// None.
    None,
    /// These.
    Only(Vec<String>),
}

impl Grant {
    /// Whether `name` is granted.
    #[must_use]
    pub fn allows(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::Only(names) => names.iter().any(|n| n == name),
        }
    }
}
