//! The smaller keys of the root file: harness settings, connectors, the project, expected secrets.
use std::collections::HashSet;

use crate::model::{Connector, Project};
use crate::names::{AGENT, SECRET, quote};
use crate::repo_path::{PathKind, clean};
use crate::report::{At, Field};
use crate::tree::EntryKind;
use crate::yaml::Kind;

use super::root::{ENV_KEYS, unknown_key};
use super::values::{bad_name, prose, secret_names, text};
use super::{Reader, declare};

pub(super) fn harnesses(reader: &mut Reader<'_>, Field { value: at, .. }: &Field<'_>) {
    let Some(fields) = super::map(at, "a map with the key `opencode`", &mut reader.findings) else {
        return;
    };
    for field in fields {
        match field.name {
            "opencode" => opencode(reader, &field.value),
            name if name.starts_with("x-") => {}
            name => {
                let message = unknown_key(name, ["opencode"].into_iter(), &mut reader.findings);
                reader.findings.warn(&field.key, message);
            }
        }
    }
}

fn opencode(reader: &mut Reader<'_>, at: &At<'_>) {
    let Some(fields) = super::map(at, "a map with the key `config_dir`", &mut reader.findings) else {
        return;
    };
    for field in fields {
        match field.name {
            "config_dir" => {
                let findings = &mut reader.findings;
                let Some(path) = text(&field.value, "a repo-relative folder", findings) else {
                    continue;
                };
                let found = clean(path, PathKind::Folder).and_then(|path| {
                    if path.is_empty() {
                        return Err("names the whole repository: name a folder in it".to_owned());
                    }
                    match reader.lookup.find(&path, &mut findings.hints)? {
                        EntryKind::Folder => Ok(path),
                        EntryKind::File => Err(format!("names the file {}: name a folder", quote(&path))),
                    }
                });
                match found {
                    Ok(path) => reader.draft.config_dir = Some(path),
                    Err(message) => findings.error(&field.value.spot, message),
                }
            }
            name if name.starts_with("x-") => {}
            name => {
                let message = unknown_key(name, ["config_dir"].into_iter(), &mut reader.findings);
                reader.findings.warn(&field.key, message);
            }
        }
    }
}

pub(super) fn connectors(reader: &mut Reader<'_>, Field { value: at, .. }: &Field<'_>) {
    let Some(items) = at.items() else {
        if at.node.kind() != Kind::Null {
            let found = at.node.kind().describe();
            let message = format!("must be a list of `{{ slug: …, provider: … }}`, not {found}");
            reader.findings.error(&at.spot, message);
        }
        return;
    };
    for item in &items {
        connector(reader, item);
    }
}

fn connector(reader: &mut Reader<'_>, at: &At<'_>) {
    let Some(fields) = at.fields() else {
        let found = at.node.kind().describe();
        reader
            .findings
            .error(&at.spot, format!("must be `{{ slug: …, provider: … }}`, not {found}"));
        return;
    };
    let mut read = |name: &str| {
        let Some(field) = fields.iter().find(|field| field.name == name) else {
            reader
                .findings
                .error(&at.spot.key(name), format!("is required: add `{name}: …`"));
            return None;
        };
        text(&field.value, "a text", &mut reader.findings).map(|text| (text, field.value.spot.clone()))
    };
    let slug = read("slug");
    let provider = read("provider").map(|(text, _)| text.to_owned());
    let Some((slug, spot)) = slug else { return };
    let new = declare(&mut reader.draft.slugs, slug, &spot, &mut reader.findings);
    if !AGENT.allows(slug) {
        reader
            .findings
            .error(&spot, bad_name(&AGENT, "a connector", slug, "my-connector"));
    } else if let Some(provider) = provider
        && new
    {
        reader.draft.connectors.push(Connector {
            slug: slug.to_owned(),
            provider,
            place: spot.place(),
        });
    }
}

pub(super) fn project(reader: &mut Reader<'_>, Field { value: at, .. }: &Field<'_>) {
    let Some(fields) = super::map(at, "a map with `name` and `description`", &mut reader.findings) else {
        return;
    };
    let mut project = Project::default();
    for field in fields {
        let place = match field.name {
            "name" => &mut project.name,
            "description" => &mut project.description,
            name if name.starts_with("x-") => continue,
            name => {
                let message = unknown_key(name, ["name", "description"].into_iter(), &mut reader.findings);
                reader.findings.warn(&field.key, message);
                continue;
            }
        };
        *place = prose(&field.value, &mut reader.findings);
    }
    reader.draft.project = project;
}

pub(super) fn env(reader: &mut Reader<'_>, Field { value: at, .. }: &Field<'_>) {
    let expected = "a map with the lists `required` and `optional`";
    let Some(fields) = super::map(at, expected, &mut reader.findings) else {
        return;
    };
    let mut read: [Vec<String>; 2] = Default::default();
    let mut seen = HashSet::new();
    for field in fields {
        match ENV_KEYS.iter().position(|(name, _)| *name == field.name) {
            Some(index) => {
                if let Some(items) = field.value.items() {
                    let names = secret_names(items, &mut reader.findings);
                    for named in names {
                        // Of one list `names` has told already.
                        if !seen.insert(named.name) {
                            let message = "stands in `required` and in `optional`: remove one of the two";
                            reader.findings.warn(&named.at.spot, message);
                        }
                        read[index].push(named.name.to_owned());
                    }
                } else if field.value.node.kind() != Kind::Null {
                    // What stands here may be a secret: it is not repeated.
                    let message = "must be a list of secret names, such as `[SHOP_TOKEN]`";
                    reader.findings.error(&field.value.spot, message);
                }
            }
            None if field.name.starts_with("x-") => {}
            None if SECRET.allows(field.name) => {
                let message = format!(
                    "is not declared this way: list it as `required: [{0}]` and set its value with `beeuni secrets \
                     set {0}=-`, never in this file",
                    field.name
                );
                reader.findings.warn(&field.key, message);
            }
            None => {
                let known = ENV_KEYS.iter().map(|(name, _)| *name);
                let message = unknown_key(field.name, known, &mut reader.findings);
                reader.findings.warn(&field.key, message);
            }
        }
    }
    let [required, optional] = read;
    reader.draft.env_required = required;
    reader.draft.env_optional = optional;
}
