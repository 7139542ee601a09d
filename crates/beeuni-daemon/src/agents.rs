//! Which agent may call which tool.
use std::collections::HashMap;

use beeuni_manifest::ToolAccess;

use crate::local::project::Reading;

/// The agents of a session and what each may call.
pub(crate) struct Agents {
    access: HashMap<String, AgentAccess>,
    /// The agent of calls that name none.
    pub(crate) default: String,
}

struct AgentAccess {
    enabled: bool,
    tools: ToolAccess,
}

/// Why an agent may not call a tool; Display is the text for the caller.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Denied {
    #[error("no agent named {0:?} is declared in this project")]
    Unknown(String),
    #[error("the agent {0:?} is disabled")]
    Disabled(String),
    #[error("the agent {agent:?} may not use {tool}: its tools list leaves it out")]
    Tool { agent: String, tool: String },
}

impl Agents {
    /// Those of a project. That its session's agent is there was seen at the start.
    pub(crate) fn of(reading: &Reading) -> Self {
        let access = reading.manifest.agents.iter().map(|agent| {
            let access = AgentAccess {
                enabled: agent.enabled,
                tools: agent.tools.clone(),
            };
            (agent.name.clone(), access)
        });
        Self {
            access: access.collect(),
            default: reading.setup.default_agent.clone().unwrap_or_default(),
        }
    }

    /// Whether `agent` may call the loaded tool `tool` (A2).
    pub(crate) fn check(&self, agent: &str, tool: &str) -> Result<(), Denied> {
        match self.access.get(agent) {
            None => Err(Denied::Unknown(agent.chars().take(80).collect())),
            Some(access) if !access.enabled => Err(Denied::Disabled(agent.to_owned())),
            Some(access) if !access.tools.allows(tool) => Err(Denied::Tool {
                agent: agent.to_owned(),
                tool: tool.to_owned(),
            }),
            Some(_) => Ok(()),
        }
    }
}
