//! Each rule of the table, by the schemas of public bug reports.
use serde_json::json;

use super::Provider::{Anthropic, Gemini, OpenAi};
use super::*;

fn advice(parameters: Value) -> Vec<Advice> {
    of_tool("tool", "A tool.", &parameters, false)
}

/// `path rule` of everything that is said.
fn said(parameters: Value) -> Vec<String> {
    advice(parameters)
        .iter()
        .map(|advice| format!("{} {}", advice.path, advice.rule))
        .collect()
}

/// What is said of one argument's schema.
fn said_of(argument: Value) -> Vec<String> {
    said(json!({ "type": "object", "properties": { "a": argument } }))
        .iter()
        .map(|line| line.replace("parameters.properties.a", "@"))
        .collect()
}

#[test]
fn a_plain_schema_gets_no_advice() {
    let parameters = json!({ "type": "object", "properties": {
        "id": { "type": "string", "description": "The order id", "minLength": 1 },
        "count": { "type": "integer", "minimum": 1, "maximum": 20 },
        "tags": { "type": "array", "items": { "type": "string", "enum": ["a", "b"] } },
        "at": { "type": "string", "format": "date-time" },
        "where": { "type": "object", "properties": { "x": { "type": "number" } }, "required": ["x"] },
    }, "required": ["id"] });
    assert_eq!(said(parameters), [""; 0]);
}

#[test]
fn sch_01_alternatives_at_the_top_level() {
    let parameters = json!({ "type": "object", "properties": { "id": { "type": "string" }, "name": { "type": "string" } },
        "anyOf": [{ "required": ["id"] }, { "required": ["name"] }] });
    let advice = advice(parameters);
    let top = advice.iter().find(|advice| advice.path == "parameters.anyOf");
    assert_eq!(
        top.map(|advice| advice.refused_by.clone()),
        Some(vec![OpenAi, Anthropic, Gemini])
    );
    for keyword in ["oneOf", "allOf", "enum", "not"] {
        let parameters = json!({ "type": "object", "properties": {}, keyword: [] });
        let paths: Vec<String> = said(parameters).iter().map(|line| line.replace(keyword, "@")).collect();
        assert!(
            paths.iter().any(|line| line.starts_with("parameters.@ top-level-")),
            "{keyword}: {paths:?}"
        );
    }
}

#[test]
fn sch_02_minimal_schemas() {
    assert_eq!(said(json!({ "type": "object" })), ["parameters properties-missing"]);
    assert_eq!(
        said(json!({ "type": "object", "properties": null, "required": null })),
        [
            "parameters.properties properties-not-an-object",
            "parameters.required required-not-a-list"
        ],
    );
    let parameters = json!({ "type": "object", "properties": {
        "tags": { "type": "array" },
        "grid": { "type": "array", "items": { "type": "array" } },
    } });
    assert_eq!(
        said(parameters),
        [
            "parameters.properties.tags array-without-items",
            "parameters.properties.grid.items array-without-items",
        ]
    );
    let parameters = json!({ "type": "object", "properties": { "a": { "type": "string", "required": true } }, "required": ["a", "ghost"] });
    assert_eq!(
        said(parameters),
        [
            "parameters.required[1] required-without-property",
            "parameters.properties.a.required required-not-a-list",
        ]
    );
}

#[test]
fn types_that_are_none_or_several_or_missing() {
    assert_eq!(said_of(json!({ "type": "int" })), ["@.type unknown-type"]);
    assert_eq!(said_of(json!({ "type": ["string", "null"] })), ["@.type several-types"]);
    assert_eq!(said_of(json!({ "description": "anything" })), ["@ type-missing"]);
    assert_eq!(said_of(json!(true)), ["@ schema-is-a-boolean"]);
    assert_eq!(said_of(json!({ "type": "object" })), ["@ object-without-properties"]);
}

#[test]
fn enums_that_gemini_refuses() {
    assert_eq!(
        said_of(json!({ "type": "integer", "enum": [60, 1440] })),
        ["@.enum enum-not-strings"]
    );
    assert_eq!(
        said_of(json!({ "enum": ["a"], "type": "number" })),
        ["@.enum enum-not-strings"]
    );
    assert_eq!(
        said_of(json!({ "type": "string", "enum": ["a", ""] })),
        ["@.enum[1] enum-with-empty-string"]
    );
    assert_eq!(said_of(json!({ "type": "string", "enum": [] })), ["@.enum enum-empty"]);
}

#[test]
fn references_and_definitions() {
    let parameters = json!({ "type": "object",
        "properties": {
            "a": { "$ref": "#/$defs/town" },
            "b": { "$ref": "#/$defs/gone" },
            "c": { "$ref": "https://example.com/town.json" },
        },
        "$defs": { "town": { "type": "string" } } });
    let said: Vec<(String, &str, usize)> = advice(parameters)
        .into_iter()
        .map(|advice| (advice.path, advice.rule, advice.refused_by.len()))
        .collect();
    assert_eq!(
        said,
        [
            ("parameters.$defs".to_owned(), "definitions", 1),
            ("parameters.properties.a.$ref".to_owned(), "reference", 1),
            ("parameters.properties.b.$ref".to_owned(), "reference-to-nothing", 3),
            ("parameters.properties.c.$ref".to_owned(), "reference-elsewhere", 3),
        ]
    );
}

#[test]
fn keywords_that_are_refused_or_ignored() {
    assert_eq!(
        said_of(json!({ "type": "string", "format": "uri" })),
        ["@.format format"]
    );
    assert_eq!(said_of(json!({ "type": "integer", "format": "int32" })), [""; 0]);
    assert_eq!(
        said_of(json!({ "type": "string", "pattern": "^a" })),
        ["@.pattern pattern"]
    );
    assert_eq!(
        said_of(json!({ "type": "string", "default": "a" })),
        ["@.default default"]
    );
    assert_eq!(
        said_of(json!({ "type": "string", "nullable": true })),
        ["@.nullable nullable"]
    );
    assert_eq!(
        said_of(json!({ "type": "array", "items": [{ "type": "string" }] })),
        ["@.items items-is-a-list"]
    );
    assert_eq!(
        said_of(json!({ "type": "number", "exclusiveMinimum": true })),
        ["@ unknown-to-gemini", "@.exclusiveMinimum boolean-exclusive-bound"],
    );
    assert_eq!(
        said_of(json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }], "title": "A" })),
        ["@.anyOf any-of-with-siblings"],
    );
    assert_eq!(said_of(json!({ "const": "a" })), ["@ unknown-to-gemini"]);
}

#[test]
fn what_zod_writes_is_told_once_with_both_keywords() {
    let parameters = json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
        "properties": { "id": { "type": "string" } }, "required": ["id"], "additionalProperties": false });
    let advice = advice(parameters);
    assert_eq!(advice.len(), 1);
    assert_eq!(advice[0].message, "`$schema`, `additionalProperties`");
    assert_eq!(advice[0].refused_by, [Gemini]);
}

#[test]
fn names_of_arguments_and_their_paths() {
    let parameters = json!({ "type": "object", "properties": { "a b": { "type": "string", "default": 1 } } });
    assert_eq!(
        said(parameters),
        [
            "parameters.properties[\"a b\"] property-name",
            "parameters.properties[\"a b\"].default default",
        ]
    );
}

#[test]
fn deep_nesting_is_told_once_and_never_overflows() {
    let nest = |levels: usize| {
        (0..levels).fold(
            json!({ "type": "string" }),
            |inner, _| json!({ "type": "object", "properties": { "a": inner } }),
        )
    };
    assert_eq!(said(nest(10)), [""; 0]);
    let rules: Vec<&str> = advice(nest(40)).iter().map(|advice| advice.rule).collect();
    assert_eq!(rules, ["too-deep"]);
    let _ = said(nest(400));
}

#[test]
fn descriptions_names_and_counts_have_limits() {
    let object = json!({ "type": "object", "properties": {} });
    let of = |name: &str, description: &str| of_tool(name, description, &object, false);
    assert!(of(&"a".repeat(64), &"é".repeat(1024)).is_empty());
    assert_eq!(of("tool", &"a".repeat(1025))[0].rule, "description-too-long");
    assert_eq!(of("find orders", "x")[0].refused_by, [OpenAi, Anthropic, Gemini]);
    assert_eq!(of("2nd", "x")[0].refused_by, [Gemini]);
    assert!(of_count(128).is_none());
    assert_eq!(of_count(129).map(|advice| advice.refused_by), Some(vec![OpenAi]));
}

#[test]
fn strict_mode_is_told_only_when_asked_for() {
    let parameters = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    assert!(of_tool("tool", "x", &parameters, false).is_empty());
    let rules: Vec<&str> = of_tool("tool", "x", &parameters, true)
        .iter()
        .map(|advice| advice.rule)
        .collect();
    assert_eq!(rules, ["strict-additional-properties", "strict-optional"]);
}
