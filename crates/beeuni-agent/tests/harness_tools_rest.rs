//! The other harness tools, and what holds for all of them.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    dead_code,
    unreachable_pub,
    reason = "a test stops at the first surprise; each file of tests uses its part of the desk"
)]

mod desk;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use beeuni_agent::harness_tools::{
    Asker, BoxFuture, FailureKind, HARNESS_TOOL_NAMES, Page, PageFormat, Question, Reader, SkillText, Skills,
    TodoStatus, Unanswered,
};
use beeuni_agent::permission::Action;
use desk::{Desk, SECRET, desk, desk_with, is_refused};
use serde_json::{Value, json};

/// Answers from memory, and remembers what it was asked.
#[derive(Default)]
struct Library {
    asked: Mutex<Vec<(String, PageFormat)>>,
}

impl Reader for Library {
    fn read<'a>(&'a self, url: &'a str, format: PageFormat) -> BoxFuture<'a, Result<Page, String>> {
        self.asked.lock().unwrap().push((url.to_owned(), format));
        Box::pin(async move {
            match url {
                "https://example.com/slow" => std::future::pending().await,
                "https://example.com/gone" => Err("https://example.com/gone answered 404".to_owned()),
                "https://example.com/long" => Ok(page("x\n".repeat(30_000))),
                "https://example.com/blank" => Ok(page(" ".to_owned())),
                _ => Ok(page(format!("Text with {SECRET}"))),
            }
        })
    }
}

fn page(content: String) -> Page {
    Page {
        url: "https://example.com/final".to_owned(),
        title: Some("A page".to_owned()),
        content,
    }
}

struct Shelf;

impl Skills for Shelf {
    fn names(&self, _: &str) -> Vec<String> {
        vec!["deploy".to_owned()]
    }

    fn load(&self, agent: &str, name: &str) -> Result<SkillText, String> {
        if (agent, name) != ("beeuni", "deploy") {
            return Err(format!("There is no skill {name}. The skills are: deploy"));
        }
        Ok(SkillText {
            text: "Do it\ncarefully.\n".to_owned(),
            folder: PathBuf::from("skills/deploy"),
            files: vec!["check.sh".to_owned(), "notes.md".to_owned()],
        })
    }
}

struct Person(Result<Vec<Vec<String>>, Unanswered>);

impl Asker for Person {
    fn ask<'a>(&'a self, _: &'a [Question]) -> BoxFuture<'a, Result<Vec<Vec<String>>, Unanswered>> {
        Box::pin(async move { self.0.clone() })
    }
}

fn full() -> (Desk, Arc<Library>) {
    let library = Arc::new(Library::default());
    let reader = Arc::clone(&library);
    let desk = desk_with(|config| {
        config.reader = Some(reader);
        config.skills = Some(Arc::new(Shelf));
        config.limits.search = Duration::from_millis(500);
    });
    (desk, library)
}

#[tokio::test]
async fn webfetch_reads_a_page_through_the_reader() {
    let (desk, library) = full();
    let output = desk.call("webfetch", json!({"url": "example.com/a"})).await.unwrap();
    assert_eq!(
        output.text,
        "Title: A page\nAddress: https://example.com/final\n\nText with [secret KEY]"
    );
    assert_eq!(
        output.metadata,
        json!({"url": "https://example.com/final", "title": "A page"})
    );
    let html = desk
        .text(
            "webfetch",
            json!({"url": "https://example.com/final", "format": "HTML"}),
        )
        .await;
    assert_eq!(html, "Text with [secret KEY]");
    assert_eq!(
        *library.asked.lock().unwrap(),
        [
            ("https://example.com/a".to_owned(), PageFormat::Markdown),
            ("https://example.com/final".to_owned(), PageFormat::Html)
        ]
    );
}

#[tokio::test]
async fn webfetch_fails_clearly_ends_in_time_and_keeps_the_bound() {
    let (desk, library) = full();
    let failure = desk
        .failure("webfetch", json!({"url": "https://example.com/gone"}))
        .await;
    assert_eq!(failure, "https://example.com/gone answered 404");
    let failure = desk
        .failure("webfetch", json!({"url": "https://example.com/slow"}))
        .await;
    assert!(failure.contains("timed out"), "{failure}");
    assert!(
        desk.text("webfetch", json!({"url": "https://example.com/blank"}))
            .await
            .contains("no text")
    );
    let text = desk.text("webfetch", json!({"url": "https://example.com/long"})).await;
    assert!(text.contains("[Output cut") && desk.outputs().len() == 1);
    let before = library.asked.lock().unwrap().len();
    assert!(
        desk.failure("webfetch", json!({"url": "file:///etc/passwd"}))
            .await
            .contains("no web address")
    );
    assert_eq!(library.asked.lock().unwrap().len(), before);
}

#[tokio::test]
async fn webfetch_is_stopped_and_asks_for_its_address() {
    let (desk, library) = full();
    let stop = desk.stop.clone();
    let fetching = desk.call("webfetch", json!({"url": "https://example.com/slow"}));
    let stopping = async {
        desk::until("the reader", || !library.asked.lock().unwrap().is_empty()).await;
        stop.cancel();
    };
    let (result, ()) = tokio::join!(fetching, stopping);
    assert_eq!(result.unwrap_err().kind, FailureKind::Stopped);

    let (desk, _) = full();
    let desk = desk.ruled(&[
        ("webfetch", "*.internal", Action::Deny),
        ("webfetch", "https://example.com/*", Action::Ask),
    ]);
    assert!(is_refused(
        &desk.call("webfetch", json!({"url": "http://x.internal/a"})).await
    ));
    assert!(is_refused(
        &desk.call("webfetch", json!({"url": "https://EXAMPLE.com/a"})).await
    ));
    assert_eq!(desk.asked(), ["webfetch https://example.com/a"]);
}

#[tokio::test]
async fn todowrite_keeps_the_list_of_each_session() {
    let (desk, _) = full();
    let todos = json!({"todos": [
        {"content": "a", "status": "completed", "priority": "high"},
        {"content": "b", "status": "in_progress", "priority": "medium"},
    ]});
    let output = desk.call("todowrite", todos).await.unwrap();
    assert_eq!(
        (output.text.as_str(), output.title.as_str()),
        ("[x] a (high)\n[>] b", "1 done, 1 open")
    );
    assert_eq!(
        output.metadata["todos"][1],
        json!({"content": "b", "status": "in_progress", "priority": "medium"})
    );
    assert_eq!(desk.tools.todos("session")[1].status, TodoStatus::InProgress);
    assert!(desk.tools.todos("other").is_empty());
    desk.tools.set_todos("resumed", desk.tools.todos("session"));
    assert_eq!(desk.tools.todos("resumed").len(), 2);
    assert!(
        desk.failure("todowrite", json!({"todos": [{"content": ""}]}))
            .await
            .contains("todos[0].content")
    );
    assert_eq!(desk.tools.todos("session").len(), 2, "a wrong list changes nothing");
    assert_eq!(
        desk.text("todowrite", json!({"todos": []})).await,
        "The todo list is empty."
    );
}

#[tokio::test]
async fn question_gives_the_answers_to_the_model() {
    let (desk, _) = full();
    let args = json!({"questions": [
        {"question": "Which database?", "header": "Database", "options": [{"label": "SQLite"}, {"label": "Postgres"}]},
        {"question": "Anything else?"},
    ]})
    .to_string();
    let person = Person(Ok(vec![vec!["SQLite".to_owned(), "both later".to_owned()]]));
    let output = desk.call_text("question", &args, Some(&person)).await.unwrap();
    assert_eq!(
        output.text,
        "Which database?\n→ SQLite, both later\n\nAnything else?\n→ (no answer)"
    );
    assert_eq!(output.metadata, json!({"answers": [["SQLite", "both later"]]}));
    let nobody = desk.call_text("question", &args, None).await.unwrap_err();
    assert!(
        nobody.kind == FailureKind::Refused && nobody.message.contains("Nobody is there"),
        "{nobody}"
    );
    let person = Person(Err(Unanswered("The user dismissed this question.".to_owned())));
    let dismissed = desk.call_text("question", &args, Some(&person)).await.unwrap_err();
    assert_eq!(dismissed.message, "The user dismissed this question.");
}

#[tokio::test]
async fn skill_gives_its_text_and_its_files() {
    let (desk, _) = full();
    assert_eq!(
        desk.text("skill", json!({"name": "deploy"})).await,
        "# Skill deploy\n\nDo it\ncarefully.\n\n[The skill's folder is skills/deploy. Its other files:\ncheck.sh\nnotes.md]"
    );
    assert_eq!(
        desk.failure("skill", json!({"name": "other"})).await,
        "There is no skill other. The skills are: deploy"
    );
    let desk = desk.ruled(&[("skill", "deploy", Action::Deny)]);
    assert!(is_refused(&desk.call("skill", json!({"name": "deploy"})).await));
}

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
