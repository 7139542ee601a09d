//! `session.json`: all that the plugin knows. Agents, models, tools, the way to the daemon.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use beeuni_agent::kit::Actor;
use beeuni_agent::{AgentDefinition, Setup};
use beeuni_manifest::AgentMode;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::access::{self, NEVER, Permissions, Scene};
use super::layout::Layout;
use super::models::{Models, model_id};
use super::paths::Paths;
use super::project::Project;
use super::{Given, HostedTool, PROVIDER, Place, StartError, environment, files, skills};

/// Where OpenCode cuts an output: a little above what the tool host lets through, so that it never does.
const MOST_LINES: usize = beeuni_tools::MAX_OUTPUT_LINES + 2;
const MOST_BYTES: usize = beeuni_tools::MAX_OUTPUT_BYTES + 800;
/// What an agent without a description is to others.
const UNDESCRIBED: &str = "an agent of this project";
/// The subagents that every project has.
const SUBAGENTS: [&str; 2] = ["general", "explore"];
/// Agents of OpenCode's own that Beeuni does without: its two for people at a terminal, and the one that asks the
/// model for a title.
pub(super) const UNUSED: [&str; 3] = ["build", "plan", "title"];

#[derive(Serialize)]
struct Session<'a> {
    url: &'a str,
    key: &'a str,
    tools: Vec<Tool<'a>>,
    agents: BTreeMap<&'a str, AgentEntry>,
    /// In place of what the project's own configuration says.
    config: Value,
    skills: Vec<PathBuf>,
    /// What commands see.
    env: BTreeMap<String, String>,
    never: &'static [&'static str],
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValue,
}

#[derive(Serialize, Default)]
struct AgentEntry {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    disable: bool,
    /// One of the same name in the project's own folder comes before it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    fallback: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    permission: Option<Permissions>,
}

/// Writes `session.json` and the skills. Whether anything is another than before.
pub(super) fn write(
    place: &Place,
    layout: &Layout,
    given: &Given,
    project: &Project,
    left_to_project: &BTreeSet<String>,
) -> Result<bool, StartError> {
    let (skills, changed) = skills::write(place, layout, &given.setup)?;
    let tools: Vec<&HostedTool> = given
        .tools
        .iter()
        .filter(|tool| !left_to_project.contains(&tool.name))
        .collect();
    let models = Models::of(given);
    let paths = Paths::new(&place.checkout, place.env.get("HOME").map(String::as_str));
    let scene = Scene {
        hosted: &tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
        // A tool of the project's plugin that takes a hosted one's place is one of the project's too.
        own: &project
            .tool_names()
            .chain(left_to_project.iter().map(String::as_str))
            .collect::<Vec<_>>(),
        skills: &given.setup.skills,
        outside: &outside(place, layout),
        paths: &paths,
    };
    let session = Session {
        url: &given.bridge.url,
        key: given.bridge.key.expose(),
        tools: tools
            .iter()
            .map(|tool| Tool {
                name: &tool.name,
                description: &tool.description,
                parameters: &tool.parameters,
            })
            .collect(),
        agents: agents(&given.setup, &scene),
        config: config(given, &models),
        skills: skills.into_iter().chain(project.skills.iter().cloned()).collect(),
        env: environment::of_commands(&place.env),
        never: NEVER,
    };
    let text = serde_json::to_vec(&session).map_err(|error| StartError::Write {
        path: layout.session.clone(),
        source: error.into(),
    })?;
    Ok(files::write(&layout.session, &text)? || changed)
}

/// The agents that OpenCode has to know when it has read this.
pub(super) fn expected(given: &Given) -> impl Iterator<Item = &str> {
    let enabled = given.setup.agents.iter().filter(|agent| agent.enabled);
    enabled.map(|agent| agent.name.as_str())
}

/// Folders outside of the checkout that need no question, as OpenCode's patterns.
fn outside(place: &Place, layout: &Layout) -> Vec<String> {
    let own = [&layout.skills, &layout.data.join("opencode/tool-output")].map(PathBuf::clone);
    let folders = own.into_iter().chain(place.outside.iter().cloned());
    folders.map(|folder| format!("{}/*", folder.display())).collect()
}

fn agents<'a>(setup: &'a Setup, scene: &Scene<'_>) -> BTreeMap<&'a str, AgentEntry> {
    let disabled = || AgentEntry {
        disable: true,
        ..AgentEntry::default()
    };
    let mut agents: BTreeMap<&str, AgentEntry> = UNUSED.iter().map(|name| (*name, disabled())).collect();
    // The subagents that every project has act for the session's agent, which is the default one unless a prompt says
    // otherwise: they have its rules and skills.
    if let Ok(session) = Actor::of_session(setup, None) {
        for name in SUBAGENTS {
            if let Some(actor) = Actor::of_task(setup, &session.agent, name).filter(|actor| actor.built_in) {
                let agent = AgentDefinition {
                    permission: session.agent.permission.clone(),
                    skills: session.agent.skills.clone(),
                    ..actor.agent
                };
                let entry = AgentEntry {
                    fallback: true,
                    ..entry(&agent, scene)
                };
                agents.insert(name, entry);
            }
        }
    }
    for agent in &setup.agents {
        let entry = if agent.enabled { entry(agent, scene) } else { disabled() };
        agents.insert(&agent.name, entry);
    }
    agents
}

fn entry(agent: &AgentDefinition, scene: &Scene<'_>) -> AgentEntry {
    AgentEntry {
        disable: false,
        fallback: false,
        mode: Some(match agent.mode {
            AgentMode::Primary => "primary",
            AgentMode::Subagent => "subagent",
            AgentMode::All => "all",
        }),
        description: Some(agent.description.clone().unwrap_or_else(|| UNDESCRIBED.to_owned())),
        // With none, OpenCode's own for the model holds.
        prompt: Some(agent.prompt.clone()).filter(|prompt| !prompt.trim().is_empty()),
        model: agent.model.as_deref().map(model_id),
        temperature: agent.temperature,
        top_p: agent.top_p,
        // OpenCode counts the step in which the model sums up; a limit of ours is of those with tools.
        steps: agent.steps.map(|steps| steps.saturating_add(1)),
        permission: Some(access::permissions(agent, scene)),
    }
}

/// The configuration that is Beeuni's to say.
fn config(given: &Given, models: &Models<'_>) -> Value {
    let default_agent = Actor::of_session(&given.setup, None).ok().map(|actor| actor.agent.name);
    let model = model_id(&given.default_model);
    json!({
        "model": model,
        "small_model": model,
        "default_agent": default_agent,
        "enabled_providers": [PROVIDER],
        "disabled_providers": [],
        "provider": { PROVIDER: {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Beeuni",
            "options": {
                "baseURL": format!("{}/beeuni/llm/v1", given.bridge.url),
                "apiKey": given.bridge.key.expose(),
            },
            "models": models.entries(),
        } },
        "autoupdate": false,
        "share": "disabled",
        "snapshot": false,
        "lsp": false,
        "tool_output": { "max_lines": MOST_LINES, "max_bytes": MOST_BYTES },
    })
}
