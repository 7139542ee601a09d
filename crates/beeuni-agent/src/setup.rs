//! What a session works with: agents, tools and skills, as the project declares them now.
use beeuni_manifest::{
    Agent, AgentMode, Grant, Issue, Manifest, PermissionRule, SelectedTool, ToolAccess, Tree, read_agent_file,
};

use crate::skills::{self, Skill};

/// What a session works with. A new one takes its place between turns: see [`Session::reload`](crate::Session::reload).
#[derive(Debug, Clone, Default)]
pub struct Setup {
    /// The agents, in declaration order.
    pub agents: Vec<AgentDefinition>,
    /// The agent of a prompt that names none.
    pub default_agent: Option<String>,
    /// The model of an agent that names none; `None`: the gateway's default.
    pub model: Option<String>,
    /// The Beeuni and project tools to load.
    pub tools: Vec<SelectedTool>,
    /// The skills of the project and those that come with Beeuni, sorted by name.
    pub skills: Vec<Skill>,
}

/// An agent: its line in the manifest and its `.md`.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentDefinition {
    /// Its name.
    pub name: String,
    /// Its `.md`, for messages.
    pub file: String,
    /// Whether sessions may use it.
    pub enabled: bool,
    /// What it is for: other agents read this.
    pub description: Option<String>,
    /// When it can be used.
    pub mode: AgentMode,
    /// Its model, as `provider/model`.
    pub model: Option<String>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// How many times the model is asked for one prompt, before it has to sum up.
    pub steps: Option<u32>,
    /// Its permission rules.
    pub permission: Vec<PermissionRule>,
    /// Its system prompt.
    pub prompt: String,
    /// Which tools its model sees.
    pub tools: ToolAccess,
    /// Which skills it may load.
    pub skills: Grant,
}

impl AgentDefinition {
    /// An agent that may use everything and has no rules: a start for tests and for callers without a manifest.
    pub fn new(name: impl Into<String>, prompt: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            file: format!("agents/{name}.md"),
            name,
            enabled: true,
            description: None,
            mode: AgentMode::All,
            model: None,
            temperature: None,
            top_p: None,
            steps: None,
            permission: Vec::new(),
            prompt: prompt.into(),
            tools: ToolAccess::All,
            skills: Grant::All,
        }
    }

    fn read(agent: &Agent, tree: &dyn Tree, issues: &mut Vec<Issue>) -> Self {
        let (file, found) = read_agent_file(tree, &agent.file);
        issues.extend(found);
        Self {
            name: agent.name.clone(),
            file: agent.file.clone(),
            enabled: agent.enabled,
            description: file.description,
            mode: file.mode.unwrap_or(AgentMode::All),
            model: file.model,
            temperature: file.temperature,
            top_p: file.top_p,
            steps: file.steps,
            permission: file.permission,
            prompt: file.prompt,
            tools: agent.tools.clone(),
            skills: agent.skills.clone(),
        }
    }
}

impl Setup {
    /// Reads what the manifest declares, with the findings in the files that it names.
    #[must_use]
    pub fn read(manifest: &Manifest, tree: &dyn Tree) -> (Self, Vec<Issue>) {
        let mut issues = Vec::new();
        let agents = manifest
            .agents
            .iter()
            .map(|agent| AgentDefinition::read(agent, tree, &mut issues))
            .collect();
        let setup = Self {
            agents,
            default_agent: manifest.default_agent.clone(),
            model: None,
            tools: manifest.selection().tools,
            skills: skills::find(tree, &mut issues),
        };
        (setup, issues)
    }

    /// The agent `name`.
    #[must_use]
    pub fn agent(&self, name: &str) -> Option<&AgentDefinition> {
        self.agents.iter().find(|agent| agent.name == name)
    }
}
