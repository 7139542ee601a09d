//! The keys of an agent's frontmatter: one table of what they are and how they are read.
use crate::load::{belongs_in_manifest, one_of, prose, text, unknown_key};
use crate::names::quote;
use crate::report::{At, Findings};
use crate::yaml::Kind;

use super::{AgentMode, Read, permission};

/// A key of the frontmatter.
pub(crate) struct FileKey {
    /// Its name.
    pub(crate) name: &'static str,
    read: fn(&At<'_>, &mut Read, &mut Findings),
}

/// The modes by the names that the frontmatter gives them.
const MODES: [(&str, AgentMode); 3] = [
    ("primary", AgentMode::Primary),
    ("subagent", AgentMode::Subagent),
    ("all", AgentMode::All),
];

/// Every key, in the order in which a file usually has them.
pub(crate) const FILE_KEYS: &[FileKey] = &[
    FileKey {
        name: "description",
        read: |at, read, findings| read.file.description = prose(at, findings),
    },
    FileKey {
        name: "model",
        read: model,
    },
    FileKey {
        name: "mode",
        read: |at, read, findings| {
            read.file.mode = one_of(at, &MODES.map(|(name, _)| name), findings).map(|index| MODES[index].1);
        },
    },
    FileKey {
        name: "temperature",
        read: |at, read, findings| read.file.temperature = number(at, 2.0, findings),
    },
    FileKey {
        name: "top_p",
        read: |at, read, findings| read.file.top_p = number(at, 1.0, findings),
    },
    FileKey {
        name: "steps",
        read: steps,
    },
    FileKey {
        name: "permission",
        read: permission::read,
    },
];

/// Reads the frontmatter.
pub(super) fn read(at: &At<'_>, read: &mut Read, findings: &mut Findings) {
    crate::load::foreign_tags(at, findings);
    for field in at.fields().unwrap_or_default() {
        let name = field.name;
        if let Some(key) = FILE_KEYS.iter().find(|key| key.name == name) {
            (key.read)(&field.value, read, findings);
        } else if belongs_in_manifest(name) {
            // Without an effect here, it could leave a tool or a secret open that someone meant to close.
            let message = format!("has no effect here: it belongs in the manifest, as `agents.<name>.{name}`");
            findings.error(&field.key, message);
        } else if matches!(name, "prompt" | "system" | "instructions") {
            findings.error(
                &field.key,
                "belongs below the frontmatter: the text after the second `---` is the prompt",
            );
        } else if matches!(name, "disable" | "disabled") {
            findings.error(
                &field.key,
                "has no effect here: write `enabled: false` at the agent in the manifest",
            );
        } else if name == "name" {
            findings.warn(&field.key, "has no effect: an agent's name is its key in the manifest");
        } else if !name.starts_with("x-") {
            let message = unknown_key(name, FILE_KEYS.iter().map(|key| key.name), findings);
            findings.warn(&field.key, message);
        }
    }
}

fn model(at: &At<'_>, read: &mut Read, findings: &mut Findings) {
    let expected = "a model as `provider/model`";
    let Some(model) = text(at, expected, findings) else {
        return;
    };
    let legal = |part: &str| !part.is_empty() && !part.contains(char::is_whitespace);
    match model.split_once('/') {
        Some((provider, name)) if legal(provider) && legal(name) => read.file.model = Some(model.to_owned()),
        _ => findings.error(&at.spot, format!("must be {expected}, not {}", quote(model))),
    }
}

/// A number from 0 to `most`.
fn number(at: &At<'_>, most: f64, findings: &mut Findings) -> Option<f64> {
    let found = match at.node.kind() {
        #[expect(
            clippy::cast_precision_loss,
            reason = "only numbers from 0 to 2 pass, and those are exact"
        )]
        Kind::Integer(Some(number)) => number as f64,
        Kind::Float(number) => number,
        Kind::Text(text) if text.parse::<f64>().is_ok() => {
            findings.error(&at.spot, format!("must be a number from 0 to {most}: drop the quotes"));
            return None;
        }
        Kind::Integer(None) => f64::INFINITY,
        other => {
            findings.error(
                &at.spot,
                format!("must be a number from 0 to {most}, not {}", other.describe()),
            );
            return None;
        }
    };
    if (0.0..=most).contains(&found) {
        return Some(found);
    }
    findings.error(&at.spot, format!("must be a number from 0 to {most}"));
    None
}

fn steps(at: &At<'_>, read: &mut Read, findings: &mut Findings) {
    let steps = match at.node.kind() {
        Kind::Integer(Some(number)) => u32::try_from(number).ok().filter(|&steps| steps > 0),
        _ => None,
    };
    if steps.is_none() {
        findings.error(&at.spot, "must be a whole number, at least 1");
    }
    read.file.steps = steps;
}
