//! What model providers refuse or ignore in a tool: advice, as pure functions over its schema.
//!
//! Beeuni sends a schema as it is, so a keyword that a provider refuses loses the whole request, with
//! every other tool in it. The rules are a table in [`rules`]; [`walk`] finds the places they look at.
mod keywords;
mod references;
mod rules;
mod shape;
mod strict;
mod walk;

use serde::{Serialize, Serializer};
use serde_json::Value;

use self::rules::{RULES, Rule};
use self::walk::Node;

/// Who reads the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Provider {
    /// OpenAI, function calling as Beeuni asks for it (not strict).
    OpenAi,
    /// Anthropic.
    Anthropic,
    /// Gemini.
    Gemini,
    /// OpenAI's strict mode, which Beeuni does not ask for.
    OpenAiStrict,
}

impl Provider {
    /// Its name as people write it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "OpenAI",
            Self::Anthropic => "Anthropic",
            Self::Gemini => "Gemini",
            Self::OpenAiStrict => "OpenAI (strict mode)",
        }
    }
}

impl Serialize for Provider {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// One piece of advice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Advice {
    /// Where: `name`, `description`, or a path such as `parameters.properties.tags.items`.
    pub(crate) path: String,
    /// The rule's id.
    pub(crate) rule: &'static str,
    /// What is there.
    pub(crate) message: String,
    /// Who refuses the request because of it.
    pub(crate) refused_by: Vec<Provider>,
    /// Who takes it and does not follow it.
    pub(crate) ignored_by: Vec<Provider>,
    /// What to do.
    pub(crate) fix: String,
}

/// The longest description that OpenAI takes, in characters.
const DESCRIPTION_LIMIT: usize = 1024;
/// The longest name that every provider takes.
const NAME_LIMIT: usize = 64;
/// The most tools that OpenAI takes in one request.
const TOOLS_LIMIT: usize = 128;

/// Advice about one tool, in the order of its schema.
pub(crate) fn of_tool(name: &str, description: &str, parameters: &Value, strict: bool) -> Vec<Advice> {
    let mut advice: Vec<Advice> = of_name(name).into_iter().chain(of_description(description)).collect();
    walk::walk(parameters, &mut |node| {
        for rule in RULES {
            apply(rule, node, &mut advice);
        }
        if strict {
            strict::check(node, &mut advice);
        }
    });
    references::check(parameters, &mut advice);
    if strict {
        strict::check_size(parameters, &mut advice);
    }
    advice
}

/// Advice about the number of tools that an agent with all of them would get.
pub(crate) fn of_count(tools: usize) -> Option<Advice> {
    (tools > TOOLS_LIMIT).then(|| Advice {
        path: "tools".to_owned(),
        rule: "too-many-tools",
        message: format!("{tools} tools"),
        refused_by: vec![Provider::OpenAi],
        ignored_by: Vec::new(),
        fix: format!(
            "OpenAI takes at most {TOOLS_LIMIT} tools in a request, the harness's own included: give each agent only those it needs (agents.<name>.tools)"
        ),
    })
}

fn apply(rule: &Rule, node: &Node<'_>, advice: &mut Vec<Advice>) {
    if !rule.scope.covers(node) {
        return;
    }
    for found in (rule.find)(node) {
        advice.push(Advice {
            path: format!("{}{}", node.path, found.below),
            rule: rule.id,
            message: found.what,
            refused_by: rule.refused_by.to_vec(),
            ignored_by: rule.ignored_by.to_vec(),
            fix: rule.fix.to_owned(),
        });
    }
}

fn of_name(name: &str) -> Option<Advice> {
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let refused_by = match (name.chars().all(legal) && name.len() <= NAME_LIMIT, starts) {
        (true, true) => return None,
        (true, false) => vec![Provider::Gemini],
        (false, _) => vec![Provider::OpenAi, Provider::Anthropic, Provider::Gemini],
    };
    Some(Advice {
        path: "name".to_owned(),
        rule: "name",
        message: format!("{name:?} is no name that every provider takes"),
        refused_by,
        ignored_by: Vec::new(),
        fix: format!("use letters, digits and _, begin with a letter, at most {NAME_LIMIT} characters"),
    })
}

fn of_description(description: &str) -> Option<Advice> {
    let length = description.chars().count();
    (length > DESCRIPTION_LIMIT).then(|| Advice {
        path: "description".to_owned(),
        rule: "description-too-long",
        message: format!("{length} characters"),
        refused_by: vec![Provider::OpenAi],
        ignored_by: Vec::new(),
        fix: format!(
            "keep it under {DESCRIPTION_LIMIT} characters: move what concerns one argument to that argument's description"
        ),
    })
}

#[cfg(test)]
mod tests;
