//! Who acts in a conversation: an agent of the project or one of the two that every project has, alone or for another.
use beeuni_manifest::{AgentMode, Grant, ToolAccess};

use crate::offer;
use crate::setup::{AgentDefinition, Setup};
use crate::store::Journal;
use crate::subagent;

/// An agent in a conversation.
#[derive(Debug, Clone)]
pub struct Actor {
    /// The agent.
    pub agent: AgentDefinition,
    /// The session's agent, when this one is its subagent.
    pub parent: Option<Box<AgentDefinition>>,
    /// Whether the agent is not the project's: it then has its parent's rules, secrets and skills.
    pub built_in: bool,
}

/// Why an agent cannot take a prompt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoAgent {
    /// The project declares no such agent.
    #[error("there is no agent `{name}`: the agents are {}", known.join(", "))]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// It is switched off.
    #[error("the agent `{0}` is disabled: set `agents.{0}.enabled: true` in beeuni.yaml")]
    Disabled(String),
    /// Only other agents can use it.
    #[error("the agent `{name}` is a subagent, started by others with `task`: set `mode: all` in {file} to prompt it")]
    Subagent {
        /// Its name.
        name: String,
        /// Its file.
        file: String,
    },
    /// There is none at all.
    #[error("the project has no agent: declare one under `agents` in beeuni.yaml")]
    None,
}

impl Actor {
    /// The agent of a session's own turn: the one that is named, else the project's default.
    ///
    /// # Errors
    /// It is not there, or cannot be prompted.
    pub fn of_session(setup: &Setup, name: Option<&str>) -> Result<Self, NoAgent> {
        let usable = |agent: &&AgentDefinition| agent.enabled && agent.mode != AgentMode::Subagent;
        let agent = match name.or(setup.default_agent.as_deref()) {
            Some(name) => setup.agent(name).ok_or_else(|| NoAgent::Unknown {
                name: name.to_owned(),
                known: setup
                    .agents
                    .iter()
                    .filter(usable)
                    .map(|agent| agent.name.clone())
                    .collect(),
            })?,
            None => setup.agents.iter().find(usable).ok_or(NoAgent::None)?,
        };
        if !agent.enabled {
            return Err(NoAgent::Disabled(agent.name.clone()));
        }
        if agent.mode == AgentMode::Subagent {
            return Err(NoAgent::Subagent {
                name: agent.name.clone(),
                file: agent.file.clone(),
            });
        }
        Ok(Self {
            agent: agent.clone(),
            parent: None,
            built_in: false,
        })
    }

    /// The agent of a session's next turn: the one that is named, else that of the turn before as long as it can take
    /// it, else the project's default.
    ///
    /// # Errors
    /// It is not there, or cannot be prompted.
    pub fn of_prompt(setup: &Setup, journal: &Journal, name: Option<&str>) -> Result<Self, NoAgent> {
        if name.is_none() {
            let last = journal.with(journal.root(), |all| all.turn.as_ref().map(|turn| turn.agent.clone()));
            // It may be gone since: then the default takes over.
            if let Some(actor) = last
                .flatten()
                .and_then(|name| Self::of_session(setup, Some(&name)).ok())
            {
                return Ok(actor);
            }
        }
        Self::of_session(setup, name)
    }

    /// The model of a session's next turn as `provider/model`, and whether a prompt named it: the one that is named,
    /// else that of the turn before when that was named too, else the agent's, else the project's. `None`: the
    /// gateway's default.
    #[must_use]
    pub fn model(&self, setup: &Setup, journal: &Journal, named: Option<&str>) -> (Option<String>, bool) {
        let last = journal
            .with(journal.root(), |transcript| transcript.turn.clone())
            .flatten();
        let again = last
            .filter(|turn| turn.chosen && turn.agent == self.agent.name)
            .map(|turn| turn.model);
        let chosen = named.map(str::to_owned).or(again);
        let is_chosen = chosen.is_some();
        let model = chosen
            .or_else(|| self.agent.model.clone())
            .or_else(|| setup.model.clone());
        (model, is_chosen)
    }

    /// The agent `name` as the subagent of `parent`; `None` when `parent` cannot start it.
    #[must_use]
    pub fn of_task(setup: &Setup, parent: &AgentDefinition, name: &str) -> Option<Self> {
        let declared = setup.agent(name);
        let (agent, built_in) = match declared {
            Some(agent) if agent.enabled && agent.mode != AgentMode::Primary => (agent.clone(), false),
            Some(_) => return None,
            None => (subagent::built_in(name)?, true),
        };
        Some(Self {
            agent,
            parent: Some(Box::new(parent.clone())),
            built_in,
        })
    }

    /// Whether another agent started it.
    #[must_use]
    pub fn is_subagent(&self) -> bool {
        self.parent.is_some()
    }

    /// Whether its model sees a tool that is there.
    #[must_use]
    pub fn sees(&self, tool: &str) -> bool {
        offer::both(
            &self.agent.tools,
            self.parent.as_ref().map(|parent| &parent.tools),
            tool,
        )
    }

    /// The agent of the project whose secrets, skills and rules it has.
    #[must_use]
    pub fn on_behalf_of(&self) -> &AgentDefinition {
        match &self.parent {
            Some(parent) if self.built_in => parent,
            _ => &self.agent,
        }
    }
}

/// An agent that no file declares.
pub(crate) fn undeclared(name: &str, description: &str, prompt: &str, tools: ToolAccess) -> AgentDefinition {
    AgentDefinition {
        description: Some(description.to_owned()),
        mode: AgentMode::Subagent,
        tools,
        skills: Grant::None,
        ..AgentDefinition::new(name, prompt)
    }
}
