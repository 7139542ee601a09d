//! The entries under `agents`: one table of their keys, and where other keys belong instead.
use serde_json::{Value, json};

use crate::agent_file::FILE_KEYS;
use crate::model::{Agent, Grant, ToolAccess};
use crate::names::{AGENT, quote};
use crate::repo_path::{PathKind, clean};
use crate::report::{At, Field, Findings, Spot};
use crate::yaml::Kind;

use super::root::unknown_key;
use super::values::{bad_name, boolean, text};
use super::{AgentDraft, FileLine, ROOT_KEYS, Reader, access, declare};

/// The agent of a project that declares none.
pub(super) const IMPLIED: &str = "beeuni";

/// A key of an agent.
pub(crate) struct AgentKey {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it says, for people.
    pub(crate) doc: &'static str,
    /// Its JSON Schema.
    pub(crate) schema: fn() -> Value,
    read: fn(&mut AgentDraft, &At<'_>, &mut Findings),
}

/// Every key, in the order in which an agent usually has them.
pub(crate) const AGENT_KEYS: &[AgentKey] = &[
    AgentKey {
        name: "file",
        doc: "The agent's `.md`, repo-relative: settings in its frontmatter, the system prompt below. \
              `agents/<name>.md` unless given.",
        schema: || json!({ "type": "string", "pattern": "\\.md$" }),
        read: |draft, at, findings| {
            let path = text(at, "a repo-relative path to a .md file", findings);
            draft.file = match path.map(|path| clean(path, PathKind::Agent)) {
                Some(Ok(path)) => {
                    draft.agent.file = path;
                    FileLine::Given(at.spot.clone())
                }
                Some(Err(message)) => {
                    findings.error(&at.spot, message);
                    FileLine::Broken
                }
                None => FileLine::Broken,
            };
        },
    },
    AgentKey {
        name: "enabled",
        doc: "Whether sessions may use the agent.",
        schema: || json!({ "type": "boolean", "default": true }),
        read: |draft, at, findings| {
            draft.enabled = at.spot.clone();
            if let Some(enabled) = boolean(at, findings) {
                draft.agent.enabled = enabled;
            }
        },
    },
    AgentKey {
        name: "tools",
        doc: "The tools that the agent's model sees: `all` (the default), `none`, a list, or `{ exclude: […] }`.",
        schema: crate::schema::tool_access,
        read: |draft, at, findings| {
            let access::Access {
                tools,
                mentions,
                excludes,
            } = access::tools(at, findings);
            draft.agent.tools = tools;
            draft.tools = mentions;
            draft.excludes = excludes;
        },
    },
    AgentKey {
        name: "secrets",
        doc: "The secrets that the agent's tools receive: `all`, `none` (the default) or a list.",
        schema: crate::schema::secret_grant,
        read: |draft, at, findings| draft.agent.secrets = access::grant(at, "secrets", findings).0,
    },
    AgentKey {
        name: "skills",
        doc: "The skills that the agent may load: `all`, `none` (the default) or a list.",
        schema: crate::schema::grant,
        read: |draft, at, findings| draft.agent.skills = access::grant(at, "skills", findings).0,
    },
    AgentKey {
        name: "connectors",
        doc: "The connectors that the agent may use: `all`, `none` (the default) or a list of slugs.",
        schema: crate::schema::grant,
        read: |draft, at, findings| {
            (draft.agent.connectors, draft.connectors) = access::grant(at, "connectors", findings)
        },
    },
];

/// Whether `key` is one of an agent in the manifest, and so of no use in the agent's `.md`.
pub(crate) fn belongs_in_manifest(key: &str) -> bool {
    AGENT_KEYS.iter().any(|known| known.name == key)
}

/// An agent with every default.
pub(super) fn draft(name: &str, spot: &Spot) -> AgentDraft {
    let agent = Agent {
        name: name.to_owned(),
        file: format!("agents/{name}.md"),
        enabled: true,
        tools: ToolAccess::All,
        secrets: Grant::None,
        skills: Grant::None,
        connectors: Grant::None,
        place: spot.place(),
    };
    AgentDraft {
        agent,
        file: FileLine::Default(spot.clone()),
        enabled: spot.clone(),
        tools: Vec::new(),
        excludes: false,
        connectors: Vec::new(),
    }
}

/// Reads the value of an `agents` key.
pub(super) fn read(reader: &mut Reader<'_>, Field { key, value: at, .. }: &Field<'_>) {
    if key.file == reader.root {
        reader.draft.agents_key = Some(key.clone());
    }
    let Some(fields) = super::map(at, "a map of agent names to blocks", &mut reader.findings) else {
        return;
    };
    for field in &fields {
        agent(reader, field);
    }
}

fn agent(reader: &mut Reader<'_>, field: &Field<'_>) {
    let name = field.name;
    let new = declare(&mut reader.draft.agent_names, name, &field.key, &mut reader.findings);
    let legal = AGENT.allows(name);
    if !legal {
        reader
            .findings
            .error(&field.key, bad_name(&AGENT, "an agent", name, "my-agent"));
    }
    let mut draft = draft(name, &field.key);
    match (field.value.fields(), field.value.node.kind()) {
        (Some(keys), _) => {
            let file = keys.iter().find(|key| key.name == "file");
            let file = file
                .and_then(|key| key.value.node.text())
                .unwrap_or(&draft.agent.file)
                .to_owned();
            for key in &keys {
                match AGENT_KEYS.iter().find(|known| known.name == key.name) {
                    Some(known) => (known.read)(&mut draft, &key.value, &mut reader.findings),
                    None => unknown(key, &file, &mut reader.findings),
                }
            }
        }
        // `researcher:` alone is an agent with every default.
        (None, Kind::Null) => {}
        (None, Kind::Text(path)) if path.ends_with(".md") => {
            let message = format!("must be a block: write {}", quote(&format!("{{ file: {path} }}")));
            reader.findings.error(&field.value.spot, message);
            return;
        }
        (None, other) => {
            let message = format!(
                "must be a block with keys such as `file` and `tools`, not {}",
                other.describe()
            );
            reader.findings.error(&field.value.spot, message);
            return;
        }
    }
    if !(new && legal) {
        return;
    }
    file_exists(reader, &draft);
    reader.draft.agents.push(draft);
}

/// Checks that the agent's `.md` is there.
fn file_exists(reader: &mut Reader<'_>, draft: &AgentDraft) {
    let (spot, more) = match &draft.file {
        FileLine::Given(spot) => (spot, ""),
        FileLine::Default(spot) => (spot, ". Its text is the agent's system prompt; `file:` names another"),
        FileLine::Broken => return,
    };
    if let Err(message) = reader.lookup.file(&draft.agent.file, &mut reader.findings.hints) {
        reader.findings.error(spot, format!("{message}{more}"));
    }
}

/// A key that no agent has: a mistake about the place is an error, a typo a warning.
fn unknown(key: &Field<'_>, file: &str, findings: &mut Findings) {
    let name = key.name;
    if name.starts_with("x-") {
        return;
    }
    if matches!(name, "prompt" | "system" | "instructions") {
        let message = format!(
            "belongs in the agent's {}, as the text below the frontmatter",
            quote(file)
        );
        findings.error(&key.key, message);
    } else if FILE_KEYS.iter().any(|known| known.name == name) {
        let message = format!("belongs in the frontmatter of the agent's {}", quote(file));
        findings.error(&key.key, message);
    } else if ROOT_KEYS.iter().any(|known| known.name == name) {
        findings.error(
            &key.key,
            format!("belongs at the top level of the manifest, as `{name}:`, not in an agent"),
        );
    } else if matches!(name, "disable" | "disabled") {
        findings.warn(&key.key, "is no key that Beeuni knows: write `enabled: false`");
    } else {
        let message = unknown_key(name, AGENT_KEYS.iter().map(|known| known.name), findings);
        findings.warn(&key.key, message);
    }
}
