//! Rules about single keywords.
use serde_json::Value;

use super::rules::Found;
use super::shape::one;
use super::walk::Node;

/// JSON Schema that Gemini's subset of OpenAPI does not have.
const UNKNOWN_TO_GEMINI: &[&str] = &[
    "$schema",
    "$id",
    "$anchor",
    "$comment",
    "$dynamicRef",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
    "additionalItems",
    "const",
    "oneOf",
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "uniqueItems",
    "prefixItems",
    "contains",
    "minContains",
    "maxContains",
    "examples",
    "readOnly",
    "writeOnly",
    "deprecated",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
];

/// What the rules of the top level say of these already.
const ROOT_ONLY: &[&str] = &["oneOf", "allOf", "not"];

fn quoted(keywords: &[&str]) -> String {
    keywords
        .iter()
        .map(|keyword| format!("`{keyword}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

pub(super) fn alternatives(node: &Node<'_>) -> Vec<Found> {
    at_top(node, &["anyOf", "oneOf", "allOf"])
}

pub(super) fn enum_or_not(node: &Node<'_>) -> Vec<Found> {
    at_top(node, &["enum", "not"])
}

fn at_top(node: &Node<'_>, keywords: &[&str]) -> Vec<Found> {
    let present = keywords.iter().filter(|keyword| node.has(keyword));
    present
        .map(|keyword| Found {
            below: format!(".{keyword}"),
            what: format!("`{keyword}` at the top level"),
        })
        .collect()
}

pub(super) fn enum_not_strings(node: &Node<'_>) -> Vec<Found> {
    let Some(Value::Array(values)) = node.get("enum") else {
        return Vec::new();
    };
    let strings = values.iter().all(Value::is_string);
    let what = if strings {
        "an enum without `type: 'string'`"
    } else {
        "an enum with values that are no strings"
    };
    one(!strings || !node.is("string"), ".enum", what)
}

pub(super) fn enum_with_empty_string(node: &Node<'_>) -> Vec<Found> {
    let values = node.get("enum").and_then(Value::as_array);
    let index = values.and_then(|values| values.iter().position(|value| value == ""));
    one(
        index.is_some(),
        &format!(".enum[{}]", index.unwrap_or_default()),
        "an empty string",
    )
}

pub(super) fn enum_empty(node: &Node<'_>) -> Vec<Found> {
    let empty = node.get("enum").and_then(Value::as_array).is_some_and(Vec::is_empty);
    one(empty, ".enum", "an enum without values")
}

pub(super) fn any_of_with_siblings(node: &Node<'_>) -> Vec<Found> {
    if !node.has("anyOf") {
        return Vec::new();
    }
    // A description beside it is taken.
    let siblings: Vec<&str> = node
        .schema
        .keys()
        .map(String::as_str)
        .filter(|key| !["anyOf", "description"].contains(key) && !UNKNOWN_TO_GEMINI.contains(key))
        .collect();
    one(
        !siblings.is_empty(),
        ".anyOf",
        format!("`anyOf` beside {}", quoted(&siblings)),
    )
}

pub(super) fn unknown_to_gemini(node: &Node<'_>) -> Vec<Found> {
    let unknown: Vec<&str> = node
        .schema
        .keys()
        .map(String::as_str)
        .filter(|key| UNKNOWN_TO_GEMINI.contains(key) && !(node.root && ROOT_ONLY.contains(key)))
        .collect();
    one(!unknown.is_empty(), "", quoted(&unknown))
}

pub(super) fn boolean_exclusive_bound(node: &Node<'_>) -> Vec<Found> {
    ["exclusiveMinimum", "exclusiveMaximum"]
        .iter()
        .filter(|keyword| node.get(keyword).is_some_and(Value::is_boolean))
        .map(|keyword| Found {
            below: format!(".{keyword}"),
            what: "a boolean, as in draft 4".to_owned(),
        })
        .collect()
}

pub(super) fn format(node: &Node<'_>) -> Vec<Found> {
    let format = node.get("format").and_then(Value::as_str).unwrap_or_default();
    // Numbers have formats of their own (int32, double), which Gemini takes.
    let taken = matches!(format, "" | "enum" | "date-time") || node.is("integer") || node.is("number");
    one(!taken, ".format", format!("the format {format:?}"))
}

pub(super) fn pattern(node: &Node<'_>) -> Vec<Found> {
    one(
        node.get("pattern").is_some_and(Value::is_string),
        ".pattern",
        "a pattern",
    )
}

pub(super) fn default(node: &Node<'_>) -> Vec<Found> {
    one(node.has("default"), ".default", "a default")
}

pub(super) fn nullable(node: &Node<'_>) -> Vec<Found> {
    one(
        node.has("nullable"),
        ".nullable",
        "`nullable`, which JSON Schema does not have",
    )
}
