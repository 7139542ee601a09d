//! The system prompt: the agent's text, the surroundings, the skills. The same bytes for a whole session.
use std::path::Path;

use crate::clock;
use crate::setup::AgentDefinition;
use crate::skills::{self, Skill};

/// The prompt of an agent whose `.md` has none.
const PLAIN: &str = "You are an agent that works in the checkout of a project for the people who own it. Do what is \
    asked with the tools that you have, check your work, and say briefly what you did.";

/// What the prompt says about the surroundings. Made once when a session begins and stored, so that no later day and
/// no restart changes the start of a request.
#[must_use]
pub fn environment(checkout: &Path) -> String {
    let repository = if checkout.join(".git").exists() { "yes" } else { "no" };
    format!(
        "<environment>\nThe project's checkout, where relative paths begin: {}\nGit repository: {repository}\n\
         System: {}\nThe day on which this session began: {}\n</environment>",
        checkout.display(),
        std::env::consts::OS,
        clock::day(clock::now())
    )
}

/// The whole prompt.
pub(crate) fn system<'a>(
    agent: &AgentDefinition,
    environment: &str,
    skills: impl Iterator<Item = &'a Skill>,
) -> String {
    let body = if agent.prompt.trim().is_empty() {
        PLAIN
    } else {
        &agent.prompt
    };
    let mut prompt = format!("{body}\n\n{environment}");
    if let Some(section) = skills::section(skills) {
        prompt.push_str("\n\n");
        prompt.push_str(&section);
    }
    prompt
}
