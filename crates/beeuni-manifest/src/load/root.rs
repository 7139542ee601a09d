//! The keys at the top level of a manifest: one table for the reader, the messages and the schema.
use serde_json::{Value, json};

use crate::model::HarnessKind;
use crate::report::{At, Field, Findings};
use crate::yaml::Kind;

use super::values::{did_you_mean, one_of, text};
use super::{AGENT_KEYS, Reader, agents, settings, tools};

/// The version of the manifest that this program reads.
pub(crate) const VERSION: i64 = 2;

/// The harnesses by the names that the manifest gives them.
pub(crate) const HARNESSES: [(&str, HarnessKind); 2] = [
    ("standard", HarnessKind::Standard),
    ("experimental", HarnessKind::Experimental),
];

/// Where the standard harness looks for its own configuration, unless the manifest says otherwise.
pub(crate) const CONFIG_DIR: &str = "harnesses/opencode";

/// A key at the top level.
pub(crate) struct RootKey {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it says, for people.
    pub(crate) doc: &'static str,
    /// Imported files may have it.
    pub(crate) imported: bool,
    /// Its JSON Schema.
    pub(crate) schema: fn() -> Value,
    read: fn(&mut Reader<'_>, &Field<'_>),
}

/// Every key, in the order in which a manifest usually has them.
pub(crate) const ROOT_KEYS: &[RootKey] = &[
    RootKey {
        name: "beeuni_version",
        doc: "The version of this file's format: the number 2.",
        imported: false,
        schema: || json!({ "const": VERSION }),
        read: version,
    },
    RootKey {
        name: "default_agent",
        doc: "The agent of a session that names none. Required when there is more than one agent.",
        imported: false,
        schema: || json!({ "type": ["string", "number", "boolean"] }),
        read: default_agent,
    },
    RootKey {
        name: "harness",
        doc: "The agent runtime: `standard` is OpenCode, `experimental` is the loop inside the daemon.",
        imported: false,
        schema: || json!({ "enum": HARNESSES.map(|(name, _)| name), "default": "standard" }),
        read: harness,
    },
    RootKey {
        name: "harnesses",
        doc: "Settings of each harness.",
        imported: false,
        schema: crate::schema::harnesses,
        read: settings::harnesses,
    },
    RootKey {
        name: "imports",
        doc: "Further files, repo-relative: a YAML file, or a folder for every YAML file below it (names that begin with a dot are left out).",
        imported: true,
        schema: || json!({ "type": ["array", "null"], "items": { "type": "string", "minLength": 1 } }),
        // The files were gathered before any of them was read.
        read: |_, _| {},
    },
    RootKey {
        name: "tools",
        doc: "Tools by name: `beeuni:<name>` for one that Beeuni maintains, or the path of a module. With this key a \
              session gets only the Beeuni tools that it lists.",
        imported: true,
        schema: crate::schema::tools,
        read: tools::read,
    },
    RootKey {
        name: "agents",
        doc: "Agents by name. Without this key there is one, `beeuni`, with every tool and no secret.",
        imported: true,
        schema: crate::schema::agents,
        read: agents::read,
    },
    RootKey {
        name: "connectors",
        doc: "Connections to other services.",
        imported: true,
        schema: crate::schema::connectors,
        read: settings::connectors,
    },
    RootKey {
        name: "project",
        doc: "Name and description of the project, for people.",
        imported: false,
        schema: crate::schema::project,
        read: settings::project,
    },
    RootKey {
        name: "env",
        doc: "Names of the secrets that the project expects. Values are set with `beeuni secrets set NAME=-`.",
        imported: false,
        schema: crate::schema::env,
        read: settings::env,
    },
];

/// The keys of `env`.
pub(crate) const ENV_KEYS: [(&str, &str); 2] = [
    (
        "required",
        "Secrets that the project cannot do without. One that is not set is shown and blocks nothing.",
    ),
    ("optional", "Secrets that the project can use."),
];

impl Reader<'_> {
    /// Reads one file's top level.
    pub(super) fn file(&mut self, at: &At<'_>, is_root: bool) {
        let fields = at.fields().unwrap_or_default();
        if is_root && fields.iter().all(|field| field.name != "beeuni_version") {
            let message = format!("is required: add the line `beeuni_version: {VERSION}`");
            self.findings.error(&at.spot.key("beeuni_version"), message);
        }
        for field in &fields {
            match ROOT_KEYS.iter().find(|key| key.name == field.name) {
                Some(key) if is_root || key.imported => {
                    super::foreign_tags(&field.value, &mut self.findings);
                    (key.read)(self, field);
                }
                Some(_) => {
                    let message = format!(
                        "belongs in the root file {}: an imported file has only {}",
                        self.root,
                        super::list(ROOT_KEYS.iter().filter(|key| key.imported).map(|key| key.name))
                    );
                    self.findings.error(&field.key, message);
                }
                None if field.name.starts_with("x-") => {}
                None => {
                    let message = if AGENT_KEYS.iter().any(|key| key.name == field.name) {
                        format!(
                            "has no effect here: it belongs under an agent, as `agents.<name>.{}`",
                            field.name
                        )
                    } else {
                        let known = ROOT_KEYS.iter().map(|key| key.name);
                        unknown_key(field.name, known, &mut self.findings)
                    };
                    self.findings.warn(&field.key, message);
                }
            }
        }
    }
}

/// The warning on a key that means nothing.
pub(crate) fn unknown_key<'k>(
    name: &str,
    known: impl Iterator<Item = &'k str> + Clone,
    findings: &mut Findings,
) -> String {
    let hint = did_you_mean(name, known.clone(), &mut findings.hints);
    if hint.is_empty() {
        format!(
            "is no key that Beeuni knows here ({}): remove it, or begin it with `x-`",
            super::list(known)
        )
    } else {
        format!("is no key that Beeuni knows{hint}")
    }
}

fn version(reader: &mut Reader<'_>, Field { value: at, .. }: &Field<'_>) {
    let message = match at.node.kind() {
        Kind::Integer(Some(VERSION)) => return,
        Kind::Integer(Some(other)) if other < VERSION => {
            format!("must be the number {VERSION}: this program does not read version {other}")
        }
        Kind::Integer(Some(other)) => format!(
            "is {other}, and this program is too old for it: update beeuni, or write {VERSION} if the file is of that \
             version"
        ),
        Kind::Integer(None) => {
            format!("must be the number {VERSION}: this program is too old for any higher")
        }
        Kind::Text(text) if text == VERSION.to_string() => {
            format!("must be the number {VERSION}, not a text: drop the quotes")
        }
        Kind::Float(_) => format!("must be the number {VERSION}, without a decimal point"),
        Kind::Null => format!("is empty: write the number {VERSION}"),
        other => format!("must be the number {VERSION}, not {}", other.describe()),
    };
    reader.findings.error(&at.spot, message);
}

fn default_agent(reader: &mut Reader<'_>, Field { value: at, .. }: &Field<'_>) {
    if let Some(name) = text(at, "the name of an agent", &mut reader.findings) {
        reader.draft.default_agent = Some((name.to_owned(), at.spot.clone()));
    }
}

fn harness(reader: &mut Reader<'_>, Field { value: at, .. }: &Field<'_>) {
    if at.node.text() == Some("opencode") {
        reader.findings.error(
            &at.spot,
            "must be `standard` or `experimental`: OpenCode is the harness `standard`",
        );
        return;
    }
    let index = one_of(at, &HARNESSES.map(|(name, _)| name), &mut reader.findings);
    reader.draft.harness = index.map(|index| HARNESSES[index].1);
}
