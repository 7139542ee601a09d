//! The JSON Schema of `beeuni.yaml`, from the same tables that the reader uses.
use serde_json::{Map, Value, json};

use crate::load::{AGENT_KEYS, ENV_KEYS, ROOT_KEYS};
use crate::names::{AGENT, BEEUNI_TOOLS, HARNESS_TOOLS, SECRET, TERMINAL_PREFIX, TOOL};
use crate::repo_path::MODULE_ENDINGS;

/// Keys that are the user's own.
const OWN: &str = "^x-";

/// The JSON Schema of `beeuni.yaml` (draft 2020-12), as `yaml-language-server` takes it.
///
/// It says what an editor can say without looking at other files; `beeuni validate` says the rest.
#[must_use]
pub fn json_schema() -> Value {
    let keys = ROOT_KEYS.iter().map(|key| (key.name, key.doc, (key.schema)()));
    let mut schema = object(keys);
    let mut out = Map::new();
    out.insert(
        "$schema".to_owned(),
        json!("https://json-schema.org/draft/2020-12/schema"),
    );
    out.insert("title".to_owned(), json!("beeuni.yaml"));
    out.insert("description".to_owned(), json!("The manifest of a Beeuni project."));
    out.append(&mut schema);
    out.insert("type".to_owned(), json!("object"));
    out.insert("required".to_owned(), json!(["beeuni_version"]));
    out.insert("$defs".to_owned(), json!({ "module": module(), "name": name() }));
    Value::Object(out)
}

/// A map with these keys, the user's own, and no others; or nothing.
fn object<'k>(keys: impl Iterator<Item = (&'k str, &'k str, Value)>) -> Map<String, Value> {
    let properties: Map<String, Value> = keys
        .map(|(name, doc, schema)| {
            let mut out = Map::new();
            out.insert("description".to_owned(), json!(doc));
            if let Value::Object(mut schema) = schema {
                out.append(&mut schema);
            }
            (name.to_owned(), Value::Object(out))
        })
        .collect();
    let mut out = Map::new();
    out.insert("type".to_owned(), json!(["object", "null"]));
    out.insert("properties".to_owned(), Value::Object(properties));
    out.insert("patternProperties".to_owned(), json!({ OWN: true }));
    out.insert("additionalProperties".to_owned(), json!(false));
    out
}

/// A scalar that is read as the text that is written.
fn name() -> Value {
    json!({ "type": ["string", "number", "boolean", "null"] })
}

fn module() -> Value {
    let endings: Vec<&str> = MODULE_ENDINGS.iter().map(|ending| &ending[1..]).collect();
    json!({
        "description": "A repo-relative path to a module whose default export is the tool.",
        "type": "string",
        "pattern": format!("[^/]\\.({})$", endings.join("|")),
        "not": { "pattern": r"^/|^~/|\\|(^|/)\.\.(/|$)|[?]|^[a-z]+:" },
    })
}

pub(crate) fn tools() -> Value {
    let module = || json!({ "$ref": "#/$defs/module" });
    let beeuni: Map<String, Value> = BEEUNI_TOOLS
        .iter()
        .map(|name| {
            (
                (*name).to_owned(),
                json!({ "anyOf": [{ "const": format!("beeuni:{name}") }, module()] }),
            )
        })
        .collect();
    json!({
        "type": ["object", "null"],
        "properties": beeuni,
        "additionalProperties": module(),
        "propertyNames": {
            "pattern": TOOL.pattern(),
            "not": { "anyOf": [{ "enum": HARNESS_TOOLS }, { "pattern": format!("^{TERMINAL_PREFIX}") }] },
        },
    })
}

pub(crate) fn agents() -> Value {
    let agent = object(AGENT_KEYS.iter().map(|key| (key.name, key.doc, (key.schema)())));
    json!({
        "type": ["object", "null"],
        "propertyNames": { "pattern": AGENT.pattern() },
        "additionalProperties": agent,
    })
}

pub(crate) fn tool_access() -> Value {
    let list = json!({ "type": "array", "items": { "$ref": "#/$defs/name" } });
    json!({
        "default": "all",
        "oneOf": [
            { "description": "Every tool, or none.", "enum": ["all", "none"] },
            { "description": "Only these tools.", "type": "array", "items": { "$ref": "#/$defs/name" } },
            {
                "description": "Every tool but these.",
                "type": "object",
                "properties": { "exclude": list },
                "required": ["exclude"],
                "additionalProperties": false,
            },
            {
                "description": "The older form: `false` removes a tool.",
                "type": "object",
                "minProperties": 1,
                "propertyNames": { "not": { "const": "exclude" } },
                "additionalProperties": { "type": "boolean" },
            },
        ],
    })
}

pub(crate) fn grant() -> Value {
    granted(json!({ "$ref": "#/$defs/name" }))
}

pub(crate) fn secret_grant() -> Value {
    granted(json!({ "type": "string", "pattern": SECRET.pattern() }))
}

fn granted(item: Value) -> Value {
    json!({
        "default": "none",
        "oneOf": [
            { "description": "Every one, or none.", "enum": ["all", "none"] },
            { "description": "These.", "type": "array", "items": item },
        ],
    })
}

pub(crate) fn connectors() -> Value {
    json!({
        "type": ["array", "null"],
        "items": {
            "type": "object",
            "properties": {
                "slug": { "description": "The connector's name in this project.", "type": "string", "pattern": AGENT.pattern() },
                "provider": { "description": "What it connects to.", "type": "string", "minLength": 1 },
            },
            "required": ["slug", "provider"],
        },
    })
}

pub(crate) fn project() -> Value {
    let text = || json!({ "$ref": "#/$defs/name" });
    let keys = [
        ("name", "The project's name.", text()),
        ("description", "What the project is for.", text()),
    ];
    Value::Object(object(keys.into_iter()))
}

pub(crate) fn env() -> Value {
    let list = || json!({ "type": ["array", "null"], "items": { "type": "string", "pattern": SECRET.pattern() } });
    Value::Object(object(ENV_KEYS.iter().map(|(name, doc)| (*name, *doc, list()))))
}

pub(crate) fn harnesses() -> Value {
    let folder = json!({ "type": "string", "minLength": 1, "default": crate::load::CONFIG_DIR });
    let doc = "The folder with OpenCode's own configuration, repo-relative.";
    let opencode = object([("config_dir", doc, folder)].into_iter());
    let keys = [("opencode", "The standard harness.", Value::Object(opencode))];
    Value::Object(object(keys.into_iter()))
}

#[cfg(test)]
mod tests;
