//! `skill`: the instructions of a skill.

use serde_json::json;

use crate::permission::Access;

use super::Inner;
use super::arguments::Arguments;
use super::context::{CallContext, ToolFailure, ToolOutput};
use super::spec::Spec;

/// What the model reads about the tool.
pub(super) const SPEC: Spec = Spec {
    name: "skill",
    description: "Load the instructions of a skill by its name. When a task matches a skill that you were told of, load it \
        before you begin.",
    parameters: r#"{"type":"object","properties":{"name":{"type":"string","description":"The skill's name."}},"required":["name"]}"#,
};

/// How many of a skill's files are listed.
const LISTED: usize = 50;

pub(super) fn prepare(arguments: &Arguments) -> Result<(String, Vec<Access>), ToolFailure> {
    let name = arguments
        .text(&["name", "skill"], "the skill's name")?
        .trim()
        .to_owned();
    let access = Access::new("skill", SPEC.name, &name, &name);
    Ok((name, vec![access]))
}

/// Metadata: `{ name, folder }`.
pub(super) fn run(tools: &Inner, name: &str, context: CallContext<'_>) -> Result<ToolOutput, ToolFailure> {
    let Some(skills) = &tools.skills else {
        return Err(ToolFailure::failed("There are no skills here."));
    };
    let skill = skills.load(context.agent, name).map_err(ToolFailure::failed)?;
    let folder = std::fs::canonicalize(&skill.folder).unwrap_or(skill.folder);
    let folder = tools.paths.shown(&folder);
    let mut text = format!("# Skill {name}\n\n{}", skill.text.trim());
    if !skill.files.is_empty() {
        text.push_str(&format!("\n\n[The skill's folder is {folder}. Its other files:\n"));
        let mut files: Vec<&str> = skill.files.iter().take(LISTED).map(String::as_str).collect();
        let more = format!("and {} more", skill.files.len().saturating_sub(LISTED));
        if skill.files.len() > LISTED {
            files.push(&more);
        }
        text.push_str(&files.join("\n"));
        text.push(']');
    }
    Ok(ToolOutput {
        text: tools.outputs.bounded(SPEC.name, text),
        title: name.to_owned(),
        metadata: json!({"name": name, "folder": folder}),
        ..ToolOutput::default()
    })
}
