//! The schema against the samples: it takes every valid one, and refuses what an editor can see.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::json_schema;
use crate::load::{AGENT_KEYS, ROOT_KEYS};
use crate::yaml::{Kind, Node, decode, parse};

fn samples(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("samples").join(kind)
}

/// A sample's root file as an editor's YAML server reads it.
fn json(path: &Path) -> Value {
    let file = if path.is_dir() {
        path.join("beeuni.yaml")
    } else {
        path.to_owned()
    };
    let text = decode(fs::read(file).unwrap()).unwrap().body;
    value(
        &parse(&text)
            .unwrap_or_else(|problem| panic!("{}: {problem:?}", path.display()))
            .root
            .unwrap(),
    )
}

fn value(node: &Node) -> Value {
    match node.kind() {
        Kind::Null => Value::Null,
        Kind::Bool(on) => on.into(),
        Kind::Integer(number) => number.into(),
        Kind::Float(number) => number.into(),
        Kind::Text(text) => text.into(),
        Kind::List => node.items().unwrap().iter().map(|item| value(item)).collect(),
        Kind::Map => {
            let pairs = node.pairs().unwrap().into_iter();
            Value::Object(
                pairs
                    .map(|pair| (pair.name.to_owned(), value(pair.value)))
                    .collect::<Map<_, _>>(),
            )
        }
    }
}

fn validator() -> jsonschema::Validator {
    jsonschema::draft202012::new(&json_schema()).unwrap()
}

#[test]
fn the_schema_is_one_of_draft_2020_12() {
    assert!(jsonschema::draft202012::meta::is_valid(&json_schema()));
}

#[test]
fn every_valid_sample_passes() {
    let validator = validator();
    let mut wrong = Vec::new();
    for entry in fs::read_dir(samples("valid")).unwrap() {
        let path = entry.unwrap().path();
        let errors: Vec<String> = validator
            .iter_errors(&json(&path))
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        if !errors.is_empty() {
            wrong.push(format!("{}: {}", path.display(), errors.join("; ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_an_editor_can_see_is_refused() {
    let validator = validator();
    let passed: Vec<&str> = [
        "version-missing",
        "version-in-quotes",
        "version-higher",
        "harness-unknown",
        "harness-settings-not-a-map",
        "connectors-not-a-list",
        "connector-without-slug",
        "connector-without-provider",
        "connector-slug-illegal",
        "project-not-a-map",
        "env-not-a-list",
        "env-value-for-a-name",
        "imports-scalar",
        "v1-another-beeuni-tool",
        "v1-empty",
        "v1-beeuni-tool-under-another-name",
        "tools-a-list",
        "tool-with-a-map",
        "v4-name-blank",
        "v4-name-capital",
        "v4-name-length",
        "v4-harness-tool-bash",
        "v4-harness-tool-pty_spawn",
        "v5-path-absolute",
        "v5-path-home",
        "v5-path-parent",
        "v5-path-parent-inside",
        "v5-path-backslash",
        "v5-path-url",
        "v5-path-ending",
        "v5-path-query",
        "v5-path-folder",
        "agents-a-list",
        "agent-a-path",
        "agent-name-illegal",
        "agent-file-not-md",
        "agent-enabled-yes",
        "agent-key-model-in-the-manifest",
        "agent-tools-scalar",
        "agent-tools-null",
        "agent-tools-empty-map",
        "agent-tools-exclude-scalar",
        "agent-tools-exclude-with-older-map",
        "agent-tools-older-map-with-text",
        "agent-secrets-value",
        "agent-skills-map",
    ]
    .into_iter()
    .filter(|name| validator.is_valid(&json(&samples("invalid").join(format!("{name}.yaml")))))
    .collect();
    assert!(passed.is_empty(), "{passed:?}");
    assert!(!validator.is_valid(&json(&samples("warned").join("unknown-root-key.yaml"))));
}

#[test]
fn every_key_is_in_the_schema_with_its_words() {
    let schema = json_schema();
    for key in ROOT_KEYS {
        assert_eq!(schema["properties"][key.name]["description"], key.doc, "{}", key.name);
    }
    for key in AGENT_KEYS {
        let agent = &schema["properties"]["agents"]["additionalProperties"];
        assert_eq!(agent["properties"][key.name]["description"], key.doc, "{}", key.name);
    }
}
