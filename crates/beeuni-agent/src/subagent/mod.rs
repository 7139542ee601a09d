//! `task`: a piece of work for another agent, in a session of its own whose result comes back as the call's output.
mod task;

use std::fmt::Write;

use beeuni_manifest::{AgentMode, ToolAccess};

pub(crate) use task::run;

use crate::actor::undeclared;
use crate::setup::{AgentDefinition, Setup};

/// The tool's name.
pub(crate) const TOOL: &str = "task";

/// Its arguments.
pub(crate) const PARAMETERS: &str = r#"{"type":"object","properties":{"description":{"type":"string","description":"What the task is, in three to five words"},"prompt":{"type":"string","description":"All that the subagent needs to know: it sees nothing of this conversation. Say what to find out or do, where, and what to report"},"subagent_type":{"type":"string","description":"Which subagent does it"},"task_id":{"type":"string","description":"Continue an earlier task of this session: the id that its result gave. Leave it out for a new one"}},"required":["description","prompt","subagent_type"]}"#;

/// The subagents that every project has, unless it declares its own of the name.
const GENERAL: &str = "general";
const EXPLORE: &str = "explore";

/// What `explore` may use: nothing that changes anything.
const READING: [&str; 7] = [
    "read",
    "grep",
    "glob",
    "webfetch",
    "web_search",
    "image_search",
    "scrape_webpage",
];

/// The agent that every project has under this name.
pub(crate) fn built_in(name: &str) -> Option<AgentDefinition> {
    match name {
        GENERAL => Some(undeclared(
            GENERAL,
            "Does a piece of work of several steps by itself and reports the result.",
            "You are a subagent: another agent gave you one task and reads nothing but your last message. Do the whole \
             task, check the result, and end with a report that stands by itself: what you found or changed, where \
             (paths and lines), and what is uncertain or left open. You cannot ask questions; choose the sensible \
             reading and say which.",
            ToolAccess::All,
        )),
        EXPLORE => Some(undeclared(
            EXPLORE,
            "Finds things out in the project and on the web. Reads only, changes nothing.",
            "You are a subagent that finds things out: another agent asked you a question and reads nothing but your \
             last message. Search widely, then read what matters. You can change nothing. End with an answer that \
             stands by itself, with paths and line numbers or addresses for what you say, and say what you did not \
             find.",
            ToolAccess::Only(READING.map(str::to_owned).to_vec()),
        )),
        _ => None,
    }
}

/// The tool's description for `agent`, with the subagents that it can start in a fixed order.
pub(crate) fn description(setup: &Setup) -> String {
    let mut text = String::from(
        "Give a piece of work to a subagent. It works in a session of its own, with its own context, and its last \
         message is the result. Use it for searches that need many steps, and for pieces of work that do not depend on \
         each other: several calls in one message run at the same time. A subagent cannot ask questions or start \
         subagents itself.\n\nSubagents:",
    );
    for (name, about) in startable(setup) {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n- {name}: {about}");
    }
    text
}

/// The subagents of a project: those of every project first, then its own as declared.
fn startable(setup: &Setup) -> Vec<(String, String)> {
    let own = |agent: &&AgentDefinition| agent.enabled && agent.mode != AgentMode::Primary;
    let about = |agent: &AgentDefinition| {
        agent
            .description
            .clone()
            .unwrap_or_else(|| "an agent of this project".into())
    };
    let built_in = [GENERAL, EXPLORE]
        .into_iter()
        .filter(|name| setup.agent(name).is_none());
    let built_in = built_in.filter_map(self::built_in);
    let own = setup.agents.iter().filter(own).cloned();
    built_in
        .chain(own)
        .map(|agent| (agent.name.clone(), about(&agent)))
        .collect()
}
