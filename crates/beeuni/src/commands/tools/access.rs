//! Which agent calls, and whether it may (tools.md A1, A2).
use beeuni_manifest::{Agent, Manifest, ToolAccess};

use super::nearest;
use crate::failure::Failure;

/// The agent `name`, or the project's default agent.
pub(crate) fn agent<'a>(manifest: &'a Manifest, name: Option<&str>) -> Result<&'a Agent, Failure> {
    let Some(name) = name.or(manifest.default_agent.as_deref()) else {
        return Err(Failure::usage("this project names no default agent")
            .hint(format!("choose one with --agent: {}", names(manifest))));
    };
    let Some(agent) = manifest.agent(name) else {
        let failure = Failure::usage(format!("no agent named {name}"));
        let failure = match nearest(name, manifest.agents.iter().map(|agent| agent.name.as_str())) {
            Some(near) => failure.hint(format!("did you mean `{near}`?")),
            None => failure,
        };
        return Err(failure.hint(format!("the agents of this project are {}", names(manifest))));
    };
    if !agent.enabled {
        return Err(Failure::user(format!("the agent {name} is disabled")).hint(format!(
            "set agents.{name}.enabled to true in {}, or choose another agent with --agent",
            agent.place.file
        )));
    }
    Ok(agent)
}

/// Refuses a tool that the agent's list does not allow.
pub(super) fn check(agent: &Agent, tool: &str) -> Result<(), Failure> {
    if agent.tools.allows(tool) {
        return Ok(());
    }
    let list = format!("agents.{}.tools", agent.name);
    Err(Failure::user(format!(
        "the agent {} may not use {tool}: {list} is {}",
        agent.name,
        access(&agent.tools)
    ))
    .hint(format!(
        "change {list} ({}:{}), or choose another agent with --agent",
        agent.place.file, agent.place.line
    )))
}

/// The access as the manifest writes it.
fn access(access: &ToolAccess) -> String {
    match access {
        ToolAccess::All => "all".to_owned(),
        ToolAccess::None => "none".to_owned(),
        ToolAccess::Only(tools) => format!("[{}]", tools.join(", ")),
        ToolAccess::Except(tools) => format!("{{ exclude: [{}] }}", tools.join(", ")),
    }
}

fn names(manifest: &Manifest) -> String {
    let names: Vec<&str> = manifest
        .agents
        .iter()
        .filter(|agent| agent.enabled)
        .map(|agent| agent.name.as_str())
        .collect();
    names.join(", ")
}
