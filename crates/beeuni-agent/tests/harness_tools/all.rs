//! What holds for every harness tool.

use super::people::full;
use crate::desk::{Desk, desk, is_refused};
use beeuni_agent::harness_tools::{FailureKind, HARNESS_TOOL_NAMES};
use beeuni_agent::permission::Action;
use serde_json::{Value, json};

#[tokio::test]
async fn s7_a_tool_that_is_not_there_is_not_found() {
    let desk = desk();
    for name in ["show", "webfetch", "skill", "task", ""] {
        let failure = desk.call(name, json!({})).await.unwrap_err();
        assert_eq!(
            (failure.kind, failure.message),
            (FailureKind::NotFound, format!("Tool {name} not found"))
        );
    }
    let names: Vec<&str> = desk.tools.specs().iter().map(|spec| spec.name).collect();
    assert_eq!(
        names,
        ["bash", "read", "write", "edit", "glob", "grep", "todowrite", "question"]
    );
    assert!(desk.tools.has("bash") && !desk.tools.has("webfetch"));
}

/// What OpenAI, Anthropic and Gemini all take of JSON Schema.
fn check_schema(schema: &Value, at: &str) {
    const KEYS: [&str; 6] = ["type", "description", "properties", "required", "items", "enum"];
    let object = schema.as_object().unwrap_or_else(|| panic!("{at} is no object"));
    assert!(
        object.keys().all(|key| KEYS.contains(&key.as_str())),
        "{at}: {:?}",
        object.keys()
    );
    match object["type"].as_str() {
        Some("object") => {
            let properties = object["properties"].as_object().unwrap();
            for name in object.get("required").and_then(Value::as_array).into_iter().flatten() {
                assert!(properties.contains_key(name.as_str().unwrap()), "{at} requires {name}");
            }
            properties
                .iter()
                .for_each(|(name, schema)| check_schema(schema, &format!("{at}.{name}")));
        }
        Some("array") => check_schema(&object["items"], &format!("{at}[]")),
        Some("string" | "integer" | "boolean") => {}
        other => panic!("{at} has the type {other:?}"),
    }
    assert!(!object.contains_key("enum") || object["type"] == "string", "{at}");
}

#[test]
fn sch_06_specs_are_the_same_bytes_every_time_and_schemas_that_every_provider_takes() {
    let specs = |desk: &Desk| -> Vec<String> {
        let specs = desk.tools.specs().iter();
        specs
            .map(|spec| format!("{} {} {}", spec.name, spec.description, spec.parameters))
            .collect()
    };
    let ((one, _), (two, _)) = (full(), full());
    assert_eq!(specs(&one), specs(&two));
    let names: Vec<&str> = one.tools.specs().iter().map(|spec| spec.name).collect();
    assert_eq!(names, HARNESS_TOOL_NAMES);
    for spec in one.tools.specs() {
        let schema: Value = serde_json::from_str(spec.parameters.get()).unwrap();
        check_schema(&schema, spec.name);
        assert_eq!(schema["type"], "object");
        assert_eq!(schema.to_string(), spec.parameters.get(), "{} is compact", spec.name);
        assert!(
            !spec.description.contains("  ") && !spec.description.contains('\n'),
            "{}",
            spec.name
        );
        for (name, property) in schema["properties"].as_object().unwrap() {
            assert!(property["description"].is_string(), "{}.{name} is described", spec.name);
        }
    }
}

#[tokio::test]
async fn whatever_arguments_come_a_call_ends_with_an_answer() {
    let (desk, _) = full();
    // Nothing may be done: only the reading of arguments is tried.
    let desk = desk.ruled(&[("*", "*", Action::Deny)]);
    let values = [
        "null",
        "true",
        "0",
        "-1",
        "1e400",
        "12.5",
        "7301444403212345679",
        "\"\"",
        "\"x\"",
        "\"12\"",
        "[]",
        "{}",
        "[1]",
        "\"\\u0000\"",
        "\"a\\nb\"",
        "[[]]",
        "[{\"content\":1}]",
        "\"[{}]\"",
        "\"~\"",
        "\"/\"",
        "\"..\"",
    ];
    let keys = [
        "command",
        "job",
        "timeout",
        "path",
        "offset",
        "limit",
        "content",
        "old_string",
        "new_string",
        "replace_all",
        "pattern",
        "include",
        "context",
        "url",
        "format",
        "todos",
        "questions",
        "name",
        "workdir",
        "background",
    ];
    let mut calls = 0;
    for tool in HARNESS_TOOL_NAMES {
        for text in [
            "",
            "null",
            "[]",
            "{",
            "{\"path\"",
            "\"{}\"",
            "nonsense",
            "{}{}",
            "\u{0}",
        ] {
            let _ = desk.call_text(tool, text, None).await;
        }
        for key in keys {
            for value in values {
                let args = format!(
                    "{{\"path\":\"a\",\"command\":\"ls\",\"old_string\":\"a\",\"new_string\":\"b\",\"{key}\":{value}}}"
                );
                let failure = desk.call_text(tool, &args, None).await;
                if let Err(failure) = failure {
                    assert!(
                        !failure.message.is_empty() && failure.kind != FailureKind::NotFound,
                        "{tool} {args}"
                    );
                }
                calls += 1;
            }
        }
    }
    assert_eq!(calls, 10 * 20 * 21);
    assert_eq!(std::fs::read_dir(&desk.checkout).unwrap().count(), 0);
}

#[tokio::test]
async fn every_call_asks_the_gate_before_it_does_anything() {
    let (desk, _) = full();
    let desk = desk.ruled(&[("*", "*", Action::Deny)]);
    desk.write("a", "x");
    for (tool, args) in [
        ("bash", json!({"command": "touch b"})),
        ("read", json!({"path": "a"})),
        ("write", json!({"path": "b", "content": "x"})),
        ("edit", json!({"path": "a", "old_string": "x", "new_string": "y"})),
        ("glob", json!({"pattern": "*"})),
        ("grep", json!({"pattern": "x"})),
        ("webfetch", json!({"url": "https://example.com"})),
        ("todowrite", json!({"todos": ["x"]})),
        ("question", json!({"questions": ["x?"]})),
        ("skill", json!({"name": "deploy"})),
    ] {
        assert!(is_refused(&desk.call(tool, args).await), "{tool}");
    }
    assert_eq!(
        (
            desk.content("a").as_str(),
            std::fs::read_dir(&desk.checkout).unwrap().count()
        ),
        ("x", 1)
    );
    assert!(desk.tools.todos("session").is_empty());
    let accesses = desk.tools.accesses("bash", "{\"command\":\"git push && ls\"}").unwrap();
    let subjects: Vec<&str> = accesses.iter().map(|access| access.subject.as_str()).collect();
    assert_eq!(
        subjects,
        ["git push", "ls", "git push && ls"],
        "a dry run lists what a call would do"
    );
}
