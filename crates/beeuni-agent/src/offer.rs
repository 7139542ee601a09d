//! Which tools an agent's model is offered, in an order that never changes.
use std::fmt::Write;

use beeuni_manifest::ToolAccess;
use beeuni_tools::LoadReport;

use crate::actor::Actor;
use crate::harness_tools::HarnessTools;
use crate::subagent;

/// The tool that puts questions to a person: a subagent has nobody to ask.
const QUESTION: &str = "question";

/// The tools of one agent in one conversation.
#[derive(Debug, Default)]
pub(crate) struct Offer {
    tools: Vec<(String, Source)>,
    /// As a JSON array for requests; `None` when there are none.
    pub(crate) json: Option<String>,
}

/// Who runs a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The harness.
    Harness,
    /// The loop itself: `task`.
    Task,
    /// The tool host.
    Hosted,
}

impl Offer {
    /// Harness tools in their fixed order, `task`, then what is loaded: Beeuni tools, then project tools as declared.
    /// `task` is the description of that tool; `None` leaves it out.
    pub(crate) fn new(actor: &Actor, harness: &HarnessTools, task: Option<&str>, loaded: &LoadReport) -> Self {
        let mut offer = Self::default();
        let mut json = String::from("[");
        let mut add = |name: &str, description: &str, parameters: &str, source| {
            if !actor.sees(name) {
                return;
            }
            if !offer.tools.is_empty() {
                json.push(',');
            }
            // The schema goes out as its author wrote it (M2). Writing to a String cannot fail.
            let _ = write!(
                json,
                "{{\"type\":\"function\",\"function\":{{\"name\":{},\"description\":{},\"parameters\":{parameters}}}}}",
                quoted(name),
                quoted(description),
            );
            offer.tools.push((name.to_owned(), source));
        };
        for spec in harness.specs() {
            if !(actor.is_subagent() && spec.name == QUESTION) {
                add(spec.name, spec.description, spec.parameters.get(), Source::Harness);
            }
        }
        if let Some(description) = task {
            add(subagent::TOOL, description, subagent::PARAMETERS, Source::Task);
        }
        for tool in &loaded.tools {
            add(
                &tool.tool.name,
                &tool.description,
                tool.parameters.get(),
                Source::Hosted,
            );
        }
        json.push(']');
        offer.json = (!offer.tools.is_empty()).then_some(json);
        offer
    }

    /// Who runs `name`; `None` when it is not offered: to this model it does not exist (S7).
    pub(crate) fn source(&self, name: &str) -> Option<Source> {
        self.tools
            .iter()
            .find(|(offered, _)| offered == name)
            .map(|(_, source)| *source)
    }
}

/// What a call of a tool that is not offered fails with.
#[must_use]
pub fn not_found(name: &str) -> String {
    format!("Tool {name} not found")
}

fn quoted(text: &str) -> String {
    // A Rust string is always a JSON string.
    serde_json::to_string(text).unwrap_or_default()
}

/// Whether both lists show a tool (A4).
pub(crate) fn both(own: &ToolAccess, parent: Option<&ToolAccess>, tool: &str) -> bool {
    own.allows(tool) && parent.is_none_or(|parent| parent.allows(tool))
}
