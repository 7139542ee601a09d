//! What OpenAI's strict mode asks for beyond the rest: only told when it is asked for.
use serde_json::Value;

use super::Advice;
use super::Provider::OpenAiStrict;
use super::shape::DEEPEST;
use super::walk::{self, Node, member};

/// The most properties of all objects together.
const MOST_PROPERTIES: usize = 5000;

/// Keywords that strict mode does not take.
const REFUSED: &[&str] = &[
    "allOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "patternProperties",
    "propertyNames",
    "unevaluatedProperties",
    "minProperties",
    "maxProperties",
    "uniqueItems",
    "contains",
    "default",
];

fn add(advice: &mut Vec<Advice>, path: String, rule: &'static str, message: String, fix: &str) {
    let refused_by = vec![OpenAiStrict];
    advice.push(Advice {
        path,
        rule,
        message,
        refused_by,
        ignored_by: Vec::new(),
        fix: fix.to_owned(),
    });
}

/// Adds what strict mode refuses in one schema.
pub(super) fn check(node: &Node<'_>, advice: &mut Vec<Advice>) {
    if node.is("object") {
        if node.get("additionalProperties") != Some(&Value::Bool(false)) {
            let message = "an object without `additionalProperties: false`".to_owned();
            add(
                advice,
                node.path.clone(),
                "strict-additional-properties",
                message,
                "add `additionalProperties: false`",
            );
        }
        let required = node.get("required").and_then(Value::as_array);
        let listed = |name: &str| required.is_some_and(|names| names.iter().any(|listed| listed == name));
        let properties = node.get("properties").and_then(Value::as_object);
        for name in properties
            .into_iter()
            .flat_map(|all| all.keys())
            .filter(|name| !listed(name))
        {
            let path = format!("{}.properties{}", node.path, member(name));
            let fix = "list it in `required` and allow null: `type: ['string', 'null']`";
            add(advice, path, "strict-optional", "an optional argument".to_owned(), fix);
        }
    }
    for keyword in REFUSED.iter().filter(|keyword| node.has(keyword)) {
        let path = format!("{}.{keyword}", node.path);
        add(
            advice,
            path,
            "strict-keyword",
            format!("`{keyword}`"),
            "leave it out and check it in execute",
        );
    }
    if node.depth == DEEPEST + 1 {
        let message = format!("more than {DEEPEST} levels deep");
        add(advice, node.path.clone(), "strict-depth", message, "flatten it");
    }
}

/// Adds what strict mode refuses in the whole.
pub(super) fn check_size(parameters: &Value, advice: &mut Vec<Advice>) {
    let mut properties = 0;
    walk::walk(parameters, &mut |node| {
        properties += node
            .get("properties")
            .and_then(Value::as_object)
            .map_or(0, serde_json::Map::len);
    });
    if properties > MOST_PROPERTIES {
        let message = format!("{properties} properties, and at most {MOST_PROPERTIES} are taken");
        add(
            advice,
            "parameters".to_owned(),
            "strict-size",
            message,
            "split the tool",
        );
    }
}
