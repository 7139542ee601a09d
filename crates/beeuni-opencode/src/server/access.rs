//! What an agent may use, in OpenCode's words: its list of tools and its rules as one set of permissions.
//!
//! OpenCode hides a tool when the last rule that names it is `deny` for every pattern. So what is hidden is written
//! last and plainly; what is denied but offered keeps a last pattern that nothing matches (the plugin adds it).

use std::collections::BTreeSet;

use beeuni_agent::{AgentDefinition, Skill};
use beeuni_manifest::{PermissionAction as Action, ToolAccess};
use serde::Serialize;

use super::making::Making;
use super::paths::{Form, Paths};
use super::rules::Subject;

/// Everything about a session that an agent's permissions depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scene<'a> {
    /// The hosted tools that OpenCode gets.
    pub(super) hosted: &'a [&'a str],
    /// The tools in the project's own folder.
    pub(super) own: &'a [&'a str],
    pub(super) skills: &'a [Skill],
    /// Folders outside of the checkout that need no question.
    pub(super) outside: &'a [String],
    pub(super) paths: &'a Paths,
}

/// An agent's permissions as the plugin reads them.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Permissions {
    /// What holds for a tool that nothing names.
    base: &'static str,
    keys: Vec<Key>,
    /// Neither offered nor callable.
    hidden: BTreeSet<String>,
}

/// The rules of one of OpenCode's keys. What the project's own configuration says comes in between.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Key {
    pub(super) key: String,
    /// How it is written where that is another way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) written: Option<&'static str>,
    pub(super) before: Vec<(String, &'static str)>,
    pub(super) after: Vec<(String, &'static str)>,
    /// Nothing comes in between.
    pub(super) fixed: bool,
}

/// Never offered: another service's search, code servers that would be downloaded, modes that Beeuni has not.
pub(super) const NEVER: &[&str] = &["websearch", "lsp", "plan_enter", "plan_exit", "execute"];
/// OpenCode's own uses of a call, which no model sees as tools.
const INTERNAL: &[&str] = &["invalid", "StructuredOutput"];

/// The permissions of an agent.
pub(super) fn permissions(agent: &AgentDefinition, scene: &Scene<'_>) -> Permissions {
    let mut made = Making {
        agent,
        scene,
        keys: Vec::new(),
        hidden: NEVER.iter().map(|name| (*name).to_owned()).collect(),
    };
    for name in INTERNAL {
        made.fixed(name, vec![("*".to_owned(), "allow")]);
    }
    made.harness_tools();
    made.outside();
    for name in scene.hosted {
        // Whether a call is allowed or asked about is decided where it runs.
        if agent.tools.allows(name) {
            made.fixed(name, vec![("*".to_owned(), "allow")]);
        } else {
            made.hide(name);
        }
    }
    for name in scene.own {
        if agent.tools.allows(name) {
            let subject = Subject {
                capability: capability_of(name),
                tools: &[name],
                form: Form::Text,
            };
            made.ruled(name, &[("*", Action::Allow)], subject);
        } else {
            made.hide(name);
        }
    }
    made.others();
    Permissions {
        base: match agent.tools {
            ToolAccess::All | ToolAccess::Except(_) => "allow",
            ToolAccess::None | ToolAccess::Only(_) => "deny",
        },
        keys: made.keys,
        hidden: made.hidden,
    }
}

/// Under which capability a tool of this name stands.
fn capability_of(tool: &str) -> &str {
    match tool {
        "web_search" | "image_search" => "websearch",
        "scrape_webpage" => "webfetch",
        "memory" => "edit",
        tool => tool,
    }
}
