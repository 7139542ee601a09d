//! Rules about the shape of a schema: properties, items, required, type.
use serde_json::Value;

use super::rules::Found;
use super::walk::{Node, member};

/// The nesting that strict mode allows, and up to which no provider is known to complain.
pub(super) const DEEPEST: usize = 10;

const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];

/// One finding, or none.
pub(super) fn one(found: bool, below: &str, what: impl Into<String>) -> Vec<Found> {
    if found {
        vec![Found {
            below: below.to_owned(),
            what: what.into(),
        }]
    } else {
        Vec::new()
    }
}

pub(super) fn properties_missing(node: &Node<'_>) -> Vec<Found> {
    one(!node.has("properties"), "", "an object without `properties`")
}

pub(super) fn properties_not_an_object(node: &Node<'_>) -> Vec<Found> {
    let wrong = node.get("properties").filter(|value| !value.is_object());
    one(wrong.is_some(), ".properties", wrong.map(kind).unwrap_or_default())
}

pub(super) fn object_without_properties(node: &Node<'_>) -> Vec<Found> {
    let empty = match node.get("properties") {
        None => true,
        Some(Value::Object(properties)) => properties.is_empty(),
        Some(_) => false,
    };
    one(node.is("object") && empty, "", "an object without any property")
}

pub(super) fn array_without_items(node: &Node<'_>) -> Vec<Found> {
    one(node.is("array") && !node.has("items"), "", "an array without `items`")
}

pub(super) fn items_is_a_list(node: &Node<'_>) -> Vec<Found> {
    one(
        node.get("items").is_some_and(Value::is_array),
        ".items",
        "a list of schemas, one for each position",
    )
}

pub(super) fn required_without_property(node: &Node<'_>) -> Vec<Found> {
    let properties = node.get("properties").and_then(Value::as_object);
    let Some(Value::Array(required)) = node.get("required") else {
        return Vec::new();
    };
    let missing = |name: &str| !properties.is_some_and(|properties| properties.contains_key(name));
    required
        .iter()
        .enumerate()
        .filter_map(|(index, name)| Some((index, name.as_str()?)))
        .filter(|(_, name)| missing(name))
        .map(|(index, name)| Found {
            below: format!(".required[{index}]"),
            what: format!("{name:?} is not among the properties"),
        })
        .collect()
}

pub(super) fn required_not_a_list(node: &Node<'_>) -> Vec<Found> {
    let wrong = node
        .get("required")
        .filter(|value| !value.as_array().is_some_and(|names| names.iter().all(Value::is_string)));
    one(
        wrong.is_some(),
        ".required",
        wrong
            .map(|value| format!("{}, not a list of names", kind(value)))
            .unwrap_or_default(),
    )
}

pub(super) fn unknown_type(node: &Node<'_>) -> Vec<Found> {
    let known = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    let right = match node.get("type") {
        None => true,
        Some(Value::Array(all)) => !all.is_empty() && all.iter().all(known),
        Some(value) => known(value),
    };
    one(
        !right,
        ".type",
        node.get("type").map(ToString::to_string).unwrap_or_default(),
    )
}

pub(super) fn several_types(node: &Node<'_>) -> Vec<Found> {
    let several = node.get("type").filter(|value| value.is_array());
    one(
        several.is_some(),
        ".type",
        several.map(ToString::to_string).unwrap_or_default(),
    )
}

pub(super) fn type_missing(node: &Node<'_>) -> Vec<Found> {
    const INSTEAD: &[&str] = &["type", "$ref", "anyOf", "oneOf", "allOf", "const", "not", "if"];
    // A branch of `anyOf: [{ required: […] }]` adds to the schema around it.
    let partial = node.path.ends_with(']') && node.schema.keys().all(|key| key == "required" || key == "properties");
    one(
        !partial && !INSTEAD.iter().any(|keyword| node.has(keyword)),
        "",
        "no `type`",
    )
}

pub(super) fn boolean_schemas(node: &Node<'_>) -> Vec<Found> {
    let mut found = one(
        node.get("items").is_some_and(Value::is_boolean),
        ".items",
        "a boolean instead of a schema",
    );
    let properties = node.get("properties").and_then(Value::as_object);
    found.extend(
        properties
            .into_iter()
            .flatten()
            .filter(|(_, value)| value.is_boolean())
            .map(|(name, _)| Found {
                below: format!(".properties{}", member(name)),
                what: "a boolean instead of a schema".to_owned(),
            }),
    );
    found
}

pub(super) fn property_names(node: &Node<'_>) -> Vec<Found> {
    let legal = |name: &str| {
        !name.is_empty() && name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c))
    };
    let properties = node.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flat_map(|properties| properties.keys())
        .filter(|name| !legal(name))
        .map(|name| Found {
            below: format!(".properties{}", member(name)),
            what: format!("the name {name:?}"),
        })
        .collect()
}

pub(super) fn too_deep(node: &Node<'_>) -> Vec<Found> {
    // Said once, where the limit is crossed.
    let crossing = node.depth == DEEPEST + 1 && (node.is("object") || node.is("array"));
    one(
        crossing,
        "",
        format!("objects and arrays more than {DEEPEST} levels deep"),
    )
}

/// What a JSON value is, in words.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
