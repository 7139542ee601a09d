//! `webfetch`, `todowrite`, `question` and `skill`.

use super::people::{Person, full};
use crate::desk::is_refused;
use beeuni_agent::harness_tools::{FailureKind, PageFormat, TodoStatus, Unanswered};
use beeuni_agent::permission::Action;
use serde_json::json;

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
        crate::desk::until("the reader", || !library.asked.lock().unwrap().is_empty()).await;
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
