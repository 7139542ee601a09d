//! Older messages give way to a summary, the transcript keeps everything.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod support;

use beeuni_agent::PromptOptions;
use beeuni_gateway::testing::{Answer, Gate, RecordedRequest};
use beeuni_protocol::session::{Compaction, Message, Origin, PartBody, TurnOutcome};
use serde_json::{Value, json};
use support::{Rig, last_text, messages, prompt, rig, roles, say};

fn is_summing_up(body: &Value) -> bool {
    body["messages"][0]["content"]
        .as_str()
        .unwrap()
        .starts_with("You sum up a conversation")
}

/// Every answer is long; a request for a summary is answered with one.
fn talkative(rig: &Rig, words: usize) {
    rig.server.respond_with(move |request: &RecordedRequest| {
        if request.path() != "/v1/chat/completions" {
            return None;
        }
        let body = request.json();
        Some(if is_summing_up(&body) {
            Answer::text("SUMMARY: they spoke of bees.")
        } else {
            Answer::text(&"bee ".repeat(words))
        })
    });
}

fn marks(messages: &[Message]) -> Vec<Compaction> {
    messages
        .iter()
        .flat_map(|message| &message.parts)
        .filter_map(|part| match &part.body {
            PartBody::Compaction(mark) => Some(mark.clone()),
            _ => None,
        })
        .collect()
}

fn contents(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().unwrap();
    messages
        .iter()
        .map(|message| message["content"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[tokio::test]
async fn a_long_conversation_is_summed_up_near_the_window_and_goes_on() {
    let mut rig = rig().await;
    rig.settings.window = 8_000;
    talkative(&rig, 500);
    let session = rig.open();
    for round in 0..14 {
        say(&session, &format!("prompt {round}")).await;
    }
    let all = messages(&session);
    let marks = marks(&all);
    assert!(!marks.is_empty(), "it was summed up");
    assert_eq!(marks[0].reason, "window");
    assert!(marks[0].summary.contains("SUMMARY: they spoke of bees."));
    // The transcript has every prompt and answer.
    let said = all.iter().filter(|message| message.origin == Some(Origin::Prompt));
    assert_eq!(said.count(), 14);
    let bodies = rig.bodies();
    let longest = bodies.iter().map(|body| body.to_string().len()).max().unwrap();
    assert!(longest < 8_000 * 5, "no request came over the window: {longest} bytes");
    let last = bodies.iter().rfind(|body| !is_summing_up(body)).unwrap();
    let contents = contents(last);
    assert!(
        contents[1].contains("SUMMARY") && !contents.iter().any(|text| text == "prompt 0"),
        "{contents:?}"
    );
    assert_eq!(contents.last().unwrap(), "prompt 13");
    let before = last.to_string();
    session.close().await;
    drop(session);
    // After a restart the request is the same, summary included.
    let session = rig.open();
    say(&session, "one more").await;
    let after = rig.bodies().pop().unwrap();
    let shared = before.strip_suffix("]}").unwrap_or(&before);
    let start = shared.find("\"messages\"").unwrap();
    let end = shared.rfind("]").unwrap();
    assert!(after.to_string().contains(&shared[start..end]), "the same messages");
}

#[tokio::test]
async fn what_the_provider_counts_decides() {
    let rig = rig().await;
    let mut counts = vec![90_000, 120_000, 1_000];
    counts.reverse();
    let counts = std::sync::Mutex::new(counts);
    rig.server.respond_with(move |request: &RecordedRequest| {
        if request.path() != "/v1/chat/completions" {
            return None;
        }
        if is_summing_up(&request.json()) {
            return Some(Answer::text("SUMMARY"));
        }
        let usage = json!({ "choices": [], "usage": { "prompt_tokens": counts.lock().unwrap().pop()?,
            "completion_tokens": 1, "total_tokens": 1 } });
        let said = beeuni_gateway::testing::chunk(&json!({ "content": "bee ".repeat(2000) }), Some("stop"));
        Some(Answer::events(&[said, usage]))
    });
    let session = rig.open();
    // Long for its bytes: the provider's tokens are small.
    let long = "b ".repeat(60_000);
    say(&session, &long).await;
    assert!(marks(&messages(&session)).is_empty());
    say(&session, "two").await;
    say(&session, "three").await;
    assert_eq!(marks(&messages(&session)).len(), 1);
}

#[tokio::test]
async fn an_overflow_is_summed_up_once_and_asked_again() {
    let rig = rig().await;
    let overflow = json!({ "error": { "message": "This model's maximum context length is 8192 tokens.",
        "code": "context_length_exceeded" } });
    rig.server.push(Answer::text("one"));
    rig.server.push(Answer::json(400, &overflow));
    rig.server.push(Answer::text("SUMMARY"));
    rig.server.push(Answer::text("two"));
    let session = rig.open();
    say(&session, "first").await;
    assert_eq!(
        say(&session, "second").await,
        "SUMMARY".replace("SUMMARY", ""),
        "the last message is the mark"
    );
    let all = messages(&session);
    let answers: Vec<String> = all.iter().map(support::text_of).collect();
    assert_eq!(answers, ["first", "one", "second", "two", ""]);
    assert_eq!(marks(&all)[0].reason, "overflow");
    let bodies = rig.bodies();
    assert_eq!(bodies.len(), 4);
    assert!(is_summing_up(&bodies[2]));
    assert_eq!(roles(&bodies[3]), ["system", "user"]);
    let told = &contents(&bodies[3])[1];
    assert!(
        told.contains("SUMMARY") && told.contains("word for word]\nsecond"),
        "{told}"
    );
    rig.server.push(Answer::text("three"));
    say(&session, "third").await;
    let bodies = rig.bodies();
    assert_eq!(contents(&bodies[4])[2..], ["two".to_owned(), "third".to_owned()]);
}

#[tokio::test]
async fn a_second_overflow_ends_the_turn_with_the_providers_word() {
    let rig = rig().await;
    let overflow = json!({ "error": { "message": "This model's maximum context length is 8192 tokens.",
        "code": "context_length_exceeded" } });
    rig.server.push(Answer::text("one"));
    rig.server.push(Answer::json(400, &overflow));
    rig.server.push(Answer::text("SUMMARY"));
    rig.server.push(Answer::json(400, &overflow));
    let session = rig.open();
    say(&session, "first").await;
    let ended = prompt(&session, "second").await;
    assert_eq!(ended.outcome, TurnOutcome::Failed);
    let error = ended.error.unwrap();
    assert_eq!(error.kind, "context_overflow");
    assert!(error.message.contains("8192"), "{error:?}");
    rig.server.push(Answer::text("ok"));
    assert_eq!(say(&session, "third").await, "ok");
}

#[tokio::test]
async fn a_summary_that_cannot_be_had_loses_nothing_but_the_old_messages() {
    let rig = rig().await;
    rig.server.push(Answer::text("one"));
    rig.server.push(Answer::json(
        400,
        &json!({ "error": { "message": "context_length_exceeded" } }),
    ));
    rig.server.push(Answer::json(
        400,
        &json!({ "error": { "message": "no summaries here" } }),
    ));
    rig.server.push(Answer::text("two"));
    let session = rig.open();
    say(&session, "first").await;
    prompt(&session, "second").await;
    let mark = marks(&messages(&session)).remove(0);
    assert!(mark.error.unwrap().contains("no summaries here"));
    assert!(
        mark.summary.contains("no summary of them could be made"),
        "{}",
        mark.summary
    );
    assert!(contents(&rig.bodies()[3])[1].contains("second"));
}

#[tokio::test]
async fn a_person_can_ask_for_it() {
    let rig = rig().await;
    for text in ["one", "two", "SUMMARY", "three"] {
        rig.server.push(Answer::text(text));
    }
    let session = rig.open();
    say(&session, "first").await;
    say(&session, "second").await;
    let mut turn = session.compact().unwrap();
    assert_eq!(support::ended(&mut turn).await.outcome, TurnOutcome::Done);
    assert_eq!(marks(&messages(&session))[0].reason, "asked");
    say(&session, "third").await;
    let contents = contents(&rig.bodies()[3]);
    assert!(contents[1].contains("SUMMARY"), "{contents:?}");
    assert_eq!(contents[2..], ["third".to_owned()]);
    assert_eq!(last_text(&session), "three");
}

#[tokio::test]
async fn a_prompt_that_comes_while_it_is_summed_up_is_answered_afterwards() {
    let rig = rig().await;
    let gate = Gate::closed();
    rig.server.push(Answer::text("one"));
    rig.server.push(Answer::text("SUMMARY").hold(&gate));
    rig.server.push(Answer::text("two"));
    let session = rig.open();
    say(&session, "first").await;
    let mut turn = session.compact().unwrap();
    rig.wait_for_chats(2).await;
    session.prompt("second", PromptOptions::default()).unwrap();
    gate.open();
    assert_eq!(support::ended(&mut turn).await.outcome, TurnOutcome::Done);
    assert_eq!(last_text(&session), "two");
    assert_eq!(contents(&rig.bodies()[2]).last().unwrap(), "second");
}
