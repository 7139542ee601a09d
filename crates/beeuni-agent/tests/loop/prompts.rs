//! A prompt and its request: what the model is sent, and what is kept.
use beeuni_agent::PromptOptions;
use beeuni_gateway::testing::{Answer, RecordedRequest, chunk};
use beeuni_manifest::ToolKind;
use beeuni_protocol::session::{Attachment, Finish, Origin, PartBody, Role, TurnOutcome};
use serde_json::{Value, json};

use super::finish_with;
use crate::support;
use crate::support::{last_text, messages, prompt, prompt_with, rig, say, tool};

#[tokio::test]
async fn a_prompt_is_answered_and_kept() {
    let rig = rig().await;
    rig.server.push(Answer::text("Hello there."));
    let session = rig.open();
    let ended = prompt(&session, "Say hello").await;
    assert_eq!((ended.outcome, ended.steps), (TurnOutcome::Done, 1));
    assert_eq!((ended.usage.input, ended.usage.output), (11, 7));
    let messages = messages(&session);
    assert_eq!(messages.len(), 2);
    assert_eq!(
        (messages[0].role, messages[0].origin),
        (Role::User, Some(Origin::Prompt))
    );
    assert_eq!(
        (messages[1].role, messages[1].finish),
        (Role::Assistant, Some(Finish::Stop))
    );
    assert_eq!(messages[1].model.as_deref(), Some(support::MODEL));
    assert_eq!(last_text(&session), "Hello there.");
    let state = session.state();
    assert_eq!(
        (state.title.as_deref(), state.messages, state.usage),
        (Some("Say hello"), 2, ended.usage)
    );
    let body = &rig.bodies()[0];
    let system = body["messages"][0]["content"].as_str().unwrap();
    assert!(system.starts_with("You are the agent.\n\n<environment>"), "{system}");
    assert!(system.contains(&rig.project().display().to_string()), "{system}");
    assert_eq!(body["messages"][1], json!({ "role": "user", "content": "Say hello" }));
}

#[tokio::test]
async fn sch_06_every_request_begins_with_the_bytes_of_the_one_before_across_a_restart_too() {
    let rig = rig().await;
    let schema = r#"{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"},"m":{}}}"#;
    rig.tools.add_with(
        tool("lookup", ToolKind::Project),
        schema,
        |args| async move { Ok(args) },
    );
    for round in 0..3 {
        rig.server.push(Answer::tool_calls(&[("c1", "lookup", r#"{"z":"1"}"#)]));
        rig.server.push(Answer::text(&format!("Round {round}")));
    }
    let session = rig.open();
    say(&session, "one").await;
    say(&session, "two").await;
    session.close().await;
    drop(session);
    let session = rig.open();
    say(&session, "three").await;
    let texts: Vec<String> = rig.chats().iter().map(RecordedRequest::text).collect();
    assert_eq!(texts.len(), 6);
    for pair in texts.windows(2) {
        let start = pair[0].strip_suffix("]}").unwrap();
        assert!(pair[1].starts_with(start), "{}\n---\n{}", pair[0], pair[1]);
    }
    assert!(
        texts[0].contains(&format!("\"parameters\":{schema}")),
        "the schema is the author's own bytes"
    );
}

#[tokio::test]
async fn reasoning_is_kept_in_its_place_and_not_sent_back() {
    let rig = rig().await;
    rig.server.push(finish_with(
        &[
            chunk(&json!({ "reasoning_content": "Let me " }), None),
            chunk(&json!({ "reasoning_content": "think." }), None),
            chunk(&json!({ "content": "Done." }), None),
        ],
        "stop",
    ));
    rig.server.push(Answer::text("ok"));
    let session = rig.open();
    say(&session, "go").await;
    let parts = messages(&session)[1].parts.clone();
    assert!(
        matches!(&parts[0].body, PartBody::Reasoning(part) if part.text == "Let me think."),
        "{parts:?}"
    );
    assert!(
        matches!(&parts[1].body, PartBody::Text(part) if part.text == "Done."),
        "{parts:?}"
    );
    say(&session, "more").await;
    assert!(!rig.chats()[1].text().contains("Let me think"));
}

#[tokio::test]
async fn an_unknown_agent_or_model_and_an_empty_prompt_are_said_to_be_so() {
    let mut rig = rig().await;
    rig.agent("helper").mode = beeuni_manifest::AgentMode::Subagent;
    rig.agent("off").enabled = false;
    let session = rig.open();
    let with = |agent: Option<&str>| PromptOptions {
        agent: agent.map(str::to_owned),
        ..PromptOptions::default()
    };
    for (text, agent, part) in [
        ("", None, "the prompt is empty"),
        (
            "hi",
            Some("nobody"),
            "there is no agent `nobody`: the agents are beeuni",
        ),
        ("hi", Some("helper"), "set `mode: all` in agents/helper.md"),
        ("hi", Some("off"), "agents.off.enabled"),
    ] {
        let error = session.prompt(text, with(agent)).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    let options = PromptOptions {
        model: Some("nowhere/m".to_owned()),
        ..PromptOptions::default()
    };
    let ended = prompt_with(&session, "hi", options).await;
    assert_eq!(ended.outcome, TurnOutcome::Failed);
    assert_eq!(ended.error.unwrap().kind, "unknown_model");
}

#[tokio::test]
async fn the_model_that_a_prompt_named_is_used_until_another_is() {
    let rig = rig().await;
    for _ in 0..2 {
        rig.server.push(Answer::text("ok"));
    }
    let session = rig.open();
    let options = PromptOptions {
        model: Some("scripted/m2".to_owned()),
        ..PromptOptions::default()
    };
    prompt_with(&session, "one", options).await;
    session.close().await;
    drop(session);
    let session = rig.open();
    say(&session, "two").await;
    let models: Vec<Value> = rig.bodies().iter().map(|body| body["model"].clone()).collect();
    assert_eq!(models, ["m2", "m2"]);
}

#[tokio::test]
async fn an_image_that_the_model_refuses_does_not_poison_the_session() {
    let rig = rig().await;
    let refusal = json!({ "error": { "message": "image_url is only supported by certain models" } });
    rig.server.push(Answer::json(400, &refusal));
    rig.server.push(Answer::text("I cannot see it."));
    rig.server.push(Answer::text("Fine."));
    let session = rig.open();
    let options = PromptOptions {
        files: vec![Attachment {
            mime: "image/png".to_owned(),
            name: Some("bee.png".to_owned()),
            url: "data:image/png;base64,AA==".to_owned(),
        }],
        ..PromptOptions::default()
    };
    assert_eq!(prompt_with(&session, "look", options).await.outcome, TurnOutcome::Done);
    say(&session, "more").await;
    let bodies = rig.bodies();
    assert!(bodies[0].to_string().contains("image_url"));
    for body in &bodies[1..] {
        let text = body["messages"][1]["content"].as_str().unwrap();
        assert_eq!(
            text,
            "look\n[bee.png (image/png) came with this message and cannot be shown]"
        );
    }
    assert_eq!(messages(&session).len(), 4, "one message for the answer");
}

#[tokio::test]
async fn a_session_whose_checkout_has_moved_speaks_of_the_new_place() {
    let rig = rig().await;
    rig.server.push(Answer::text("ok"));
    let session = rig.open();
    session.close().await;
    drop(session);
    let moved = rig.folder.path().join("moved");
    std::fs::rename(rig.project(), &moved).unwrap();
    let config = beeuni_agent::SessionConfig {
        checkout: moved.clone(),
        ..rig.config()
    };
    let session = beeuni_agent::Session::open(config, rig.setup.clone()).unwrap();
    say(&session, "go").await;
    let system = rig.bodies()[0]["messages"][0]["content"].as_str().unwrap().to_owned();
    assert!(system.contains(&moved.display().to_string()), "{system}");
    assert!(!system.contains(&rig.project().display().to_string()), "{system}");
}

#[tokio::test]
async fn usage_and_cost_are_added_up_over_steps_and_kept_over_a_restart() {
    let rig = rig().await;
    rig.tools.echo("t");
    let counted = |delta: Value, reason: &str, cost: f64| {
        let usage = json!({ "id": "u", "object": "chat.completion.chunk", "created": 1, "model": "m1", "choices": [],
            "usage": { "prompt_tokens": 100, "completion_tokens": 20, "cost": cost,
                "prompt_tokens_details": { "cached_tokens": 64 } } });
        Answer::events(&[chunk(&delta, Some(reason)), usage])
    };
    let call = json!({ "tool_calls": [{ "index": 0, "id": "c1", "type": "function",
        "function": { "name": "t", "arguments": "{}" } }] });
    rig.server.push(counted(call, "tool_calls", 0.25));
    rig.server.push(counted(json!({ "content": "Done." }), "stop", 0.5));
    let session = rig.open();
    let usage = prompt(&session, "go").await.usage;
    let found = (usage.input, usage.output, usage.cached, usage.cost);
    assert_eq!(found, (200, 40, 128, Some(0.75)));
    let steps: Vec<_> = messages(&session)
        .iter()
        .filter_map(|message| message.usage.and_then(|usage| usage.cost))
        .collect();
    assert_eq!(steps, [0.25, 0.5]);
    session.close().await;
    drop(session);
    assert_eq!(rig.open().state().usage, usage);
}
