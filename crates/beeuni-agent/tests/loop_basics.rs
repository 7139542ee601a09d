//! The loop, request by request, on a scripted model server.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod support;

use beeuni_agent::PromptOptions;
use beeuni_gateway::testing::{Answer, Gate, RecordedRequest, chunk};
use beeuni_manifest::ToolKind;
use beeuni_protocol::session::{Attachment, EventBody, Finish, Origin, PartBody, Retry, Role, ToolStatus, TurnOutcome};
use serde_json::{Value, json};
use support::{
    calls, ended, history, last_text, messages, offered, prompt, prompt_with, results, rig, roles, say, text_of, tool,
};

fn finish_with(events: &[Value], reason: &str) -> Answer {
    let mut events = events.to_vec();
    events.push(chunk(&json!({}), Some(reason)));
    Answer::events(&events)
}

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
async fn parallel_calls_run_at_once_and_keep_their_ids_and_order() {
    let rig = rig().await;
    let meet = std::sync::Arc::new(tokio::sync::Barrier::new(3));
    let barrier = meet.clone();
    rig.tools.add("meet", move |args| {
        let barrier = barrier.clone();
        async move {
            // Only calls that run side by side get past this.
            barrier.wait().await;
            Ok(args)
        }
    });
    rig.server.push(Answer::tool_calls(&[
        ("c1", "meet", r#"{"n":1}"#),
        ("c2", "meet", r#"{"n":2}"#),
        ("c3", "meet", r#"{"n":3}"#),
    ]));
    rig.server.push(Answer::text("done"));
    let session = rig.open();
    say(&session, "go").await;
    let own = |id: &str, n: i32| (id.to_owned(), format!("{{\"n\":{n}}}"));
    assert_eq!(results(&rig.bodies()[1]), [own("c1", 1), own("c2", 2), own("c3", 3)]);
    assert!(calls(&session).iter().all(|call| call.status == ToolStatus::Completed));
}

#[tokio::test]
async fn conc_01_an_id_that_comes_again_in_a_later_answer_keeps_its_own_result() {
    let rig = rig().await;
    rig.tools.echo("t");
    rig.server.push(Answer::tool_calls(&[("same", "t", r#"{"n":1}"#)]));
    rig.server.push(Answer::tool_calls(&[("same", "t", r#"{"n":2}"#)]));
    rig.server.push(Answer::text("done"));
    let session = rig.open();
    say(&session, "go").await;
    let own = |n: i32| ("same".to_owned(), format!("{{\"n\":{n}}}"));
    assert_eq!(results(&rig.bodies()[2]), [own(1), own(2)]);
}

#[tokio::test]
async fn a_tool_error_reaches_the_model_word_for_word() {
    let rig = rig().await;
    rig.tools
        .add("fails", |_| async { Err("there is no order A-1".to_owned()) });
    rig.server.push(Answer::tool_calls(&[("c1", "fails", "{}")]));
    rig.server.push(Answer::text("sorry"));
    let session = rig.open();
    say(&session, "go").await;
    assert_eq!(
        results(&rig.bodies()[1]),
        [("c1".to_owned(), "there is no order A-1".to_owned())]
    );
    let call = &calls(&session)[0];
    assert_eq!(
        (call.status, call.error.as_deref()),
        (ToolStatus::Error, Some("there is no order A-1"))
    );
}

#[tokio::test]
async fn a_malformed_arguments_string_does_not_poison_the_session() {
    let rig = rig().await;
    rig.tools.echo("t");
    rig.server
        .push(Answer::tool_calls(&[("c1", "t", r#"{"n": 1"#), ("c2", "t", "[1]")]));
    rig.server.push(Answer::text("again"));
    rig.server.push(Answer::text("fine"));
    let session = rig.open();
    say(&session, "go").await;
    assert!(rig.tools.args("t").is_empty(), "nothing ran");
    let results = results(&rig.bodies()[1]);
    assert!(
        results[0].1.contains("not valid JSON") && results[1].1.contains("not an array"),
        "{results:?}"
    );
    assert_eq!(
        calls(&session)[0].arguments,
        r#"{"n": 1"#,
        "the transcript has what the model wrote"
    );
    session.close().await;
    drop(session);
    let session = rig.open();
    say(&session, "more").await;
    for body in &rig.bodies()[1..] {
        for call in body["messages"][2]["tool_calls"].as_array().unwrap() {
            assert_eq!(call["function"]["arguments"], "{}");
        }
    }
}

#[tokio::test]
async fn args_05_integers_above_2_53_keep_every_digit_everywhere() {
    let rig = rig().await;
    rig.tools.echo("t");
    let args = r#"{"id": 7301444403212345679}"#;
    rig.server.push(Answer::tool_calls(&[("c1", "t", args)]));
    rig.server.push(Answer::text("done"));
    rig.server.push(Answer::text("done"));
    let session = rig.open();
    say(&session, "go").await;
    assert_eq!(rig.tools.args("t"), [args]);
    session.close().await;
    drop(session);
    let session = rig.open();
    let call = &calls(&session)[0];
    assert_eq!((call.arguments.as_str(), call.output.as_deref()), (args, Some(args)));
    say(&session, "again").await;
    let body = &rig.bodies()[2];
    assert_eq!(body["messages"][2]["tool_calls"][0]["function"]["arguments"], args);
    assert_eq!(results(body)[0].1, args);
}

#[tokio::test]
async fn args_03_a_tool_without_arguments_runs_whatever_stands_for_none() {
    let rig = rig().await;
    rig.tools.echo("t");
    rig.server.push(Answer::tool_calls(&[
        ("c1", "t", ""),
        ("c2", "t", "null"),
        ("c3", "t", "{}"),
    ]));
    rig.server.push(Answer::text("done"));
    let session = rig.open();
    say(&session, "go").await;
    assert_eq!(rig.tools.args("t"), ["{}", "{}", "{}"]);
}

#[tokio::test]
async fn out_01_an_empty_output_is_marked_for_the_model_only() {
    let rig = rig().await;
    rig.tools.add("t", |_| async { Ok(String::new()) });
    rig.server.push(Answer::tool_calls(&[("c1", "t", "{}")]));
    rig.server.push(Answer::text("done"));
    let session = rig.open();
    say(&session, "go").await;
    assert_eq!(results(&rig.bodies()[1])[0].1, "(no output)");
    assert_eq!(calls(&session)[0].output.as_deref(), Some(""));
}

#[tokio::test]
async fn a_cut_a_filtered_and_a_failed_answer_each_end_clearly_and_the_next_prompt_works() {
    let half = |reason: &str| finish_with(&[chunk(&json!({ "content": "Half an" }), None)], reason);
    let cut = Answer::text("Half an answer that is cut");
    let at = cut.body().len() / 2;
    for (answer, outcome, finish, error) in [
        (half("length"), TurnOutcome::Length, Finish::Length, None),
        (
            half("content_filter"),
            TurnOutcome::ContentFilter,
            Finish::ContentFilter,
            None,
        ),
        (cut.cut_at(at), TurnOutcome::Failed, Finish::Error, Some("cut_stream")),
        (
            Answer::json(400, &json!({ "error": { "message": "tools[0] is wrong" } })),
            TurnOutcome::Failed,
            Finish::Error,
            Some("bad_request"),
        ),
        (
            Answer::json(401, &json!({ "error": { "message": "bad key" } })),
            TurnOutcome::Failed,
            Finish::Error,
            Some("auth"),
        ),
    ] {
        let rig = rig().await;
        rig.server.push(answer);
        rig.server.push(Answer::text("Fine now."));
        let session = rig.open();
        let ended = prompt(&session, "go").await;
        assert_eq!(ended.outcome, outcome, "{ended:?}");
        assert_eq!(
            ended.error.as_ref().map(|error| error.kind.as_str()),
            error,
            "{ended:?}"
        );
        let message = messages(&session).pop().unwrap();
        assert_eq!(message.finish, Some(finish));
        if error.is_none() || error == Some("cut_stream") {
            assert!(text_of(&message).starts_with("Half an"), "what there is is kept");
        } else {
            let told = ended.error.unwrap().message;
            assert!(told.contains("tools[0] is wrong") || told.contains("bad key"), "{told}");
        }
        assert_eq!(say(&session, "again").await, "Fine now.");
    }
}

#[tokio::test]
async fn calls_of_an_answer_that_was_cut_at_its_length_do_not_run() {
    let rig = rig().await;
    rig.tools.echo("t");
    let call = json!({ "tool_calls": [{ "index": 0, "id": "c1", "type": "function",
        "function": { "name": "t", "arguments": "{\"n\":1}" } }] });
    rig.server.push(finish_with(&[chunk(&call, None)], "length"));
    rig.server.push(Answer::text("ok"));
    let session = rig.open();
    assert_eq!(prompt(&session, "go").await.outcome, TurnOutcome::Length);
    assert!(rig.tools.args("t").is_empty());
    assert_eq!(calls(&session)[0].status, ToolStatus::Error);
    say(&session, "go on").await;
    assert_eq!(roles(&rig.bodies()[1]), ["system", "user", "assistant", "tool", "user"]);
}

#[tokio::test]
async fn a_model_that_is_busy_is_asked_again_before_anything_is_lost() {
    let rig = rig().await;
    rig.server
        .push(Answer::json(503, &json!({ "error": { "message": "overloaded" } })));
    rig.server.push(Answer::text("Here."));
    let session = rig.open();
    assert_eq!(say(&session, "go").await, "Here.");
    assert_eq!(rig.chats().len(), 2);
    let retries: Vec<Retry> = history(&session)
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::ModelRetry(retry) => Some(retry.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(
        (retries.len(), retries[0].attempt, retries[0].error.status),
        (1, 1, Some(503))
    );
    assert!(retries[0].error.message.contains("overloaded"), "{retries:?}");
    assert_eq!(retries[0].message, messages(&session)[1].id);
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
async fn the_step_limit_ends_with_a_summary_that_has_no_tools() {
    let mut rig = rig().await;
    rig.tools.echo("t");
    rig.agent("beeuni").steps = Some(2);
    for _ in 0..2 {
        rig.server.push(Answer::tool_calls(&[("c", "t", "{}")]));
    }
    rig.server.push(Answer::text("This far."));
    rig.server.push(Answer::tool_calls(&[("c", "t", "{}")]));
    rig.server.push(Answer::text("Done now."));
    let session = rig.open();
    let ended = prompt(&session, "go").await;
    assert_eq!((ended.outcome, ended.steps), (TurnOutcome::Steps, 3));
    assert_eq!(last_text(&session), "This far.");
    let bodies = rig.bodies();
    assert!(!offered(&bodies[1]).is_empty() && bodies[2].get("tools").is_none());
    let last = bodies[2]["messages"].as_array().unwrap().last().unwrap().clone();
    assert!(last["content"].as_str().unwrap().contains("step limit"), "{last}");
    // The next prompt has all its steps again.
    assert_eq!(say(&session, "go on").await, "Done now.");
}

#[tokio::test]
async fn a_call_after_the_last_step_is_refused_and_the_turn_ends() {
    let mut rig = rig().await;
    rig.tools.echo("t");
    rig.agent("beeuni").steps = Some(1);
    for _ in 0..2 {
        rig.server.push(Answer::tool_calls(&[("c", "t", "{}")]));
    }
    let session = rig.open();
    assert_eq!(prompt(&session, "go").await.outcome, TurnOutcome::Steps);
    assert_eq!(rig.tools.args("t").len(), 1);
    assert_eq!(calls(&session)[1].status, ToolStatus::Error);
}

#[tokio::test]
async fn a_message_to_a_running_turn_is_read_at_its_next_step() {
    let rig = rig().await;
    let gate = Gate::closed();
    rig.tools.echo("t");
    rig.server.push(Answer::tool_calls(&[("c1", "t", "{}")]).hold(&gate));
    rig.server.push(Answer::text("As you say."));
    let session = rig.open();
    let mut turn = session.prompt("go", PromptOptions::default()).unwrap();
    rig.wait_for_chats(1).await;
    let steering = session.prompt("But in French", PromptOptions::default()).unwrap();
    assert!(steering.is_steering() && steering.turn() == turn.turn());
    gate.open();
    assert_eq!(ended(&mut turn).await.outcome, TurnOutcome::Done);
    let bodies = rig.bodies();
    assert_eq!(bodies.len(), 2);
    assert_eq!(roles(&bodies[1]), ["system", "user", "assistant", "tool", "user"]);
    assert_eq!(bodies[1]["messages"][4]["content"], "But in French");
    assert_eq!(messages(&session)[2].origin, Some(Origin::Steering));
}

#[tokio::test]
async fn a_message_that_comes_with_the_last_answer_is_still_read_in_that_turn() {
    let rig = rig().await;
    let gate = Gate::closed();
    rig.server.push(Answer::text("Done.").hold(&gate));
    rig.server.push(Answer::text("That too."));
    let session = rig.open();
    let mut turn = session.prompt("go", PromptOptions::default()).unwrap();
    rig.wait_for_chats(1).await;
    session.prompt("and this", PromptOptions::default()).unwrap();
    gate.open();
    assert_eq!(ended(&mut turn).await.steps, 2);
    assert_eq!(last_text(&session), "That too.");
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
async fn a_message_to_a_running_turn_may_name_what_runs_and_nothing_else() {
    let rig = rig().await;
    let gate = Gate::closed();
    rig.server.push(Answer::text("one").hold(&gate));
    rig.server.push(Answer::text("two"));
    let session = rig.open();
    let mut turn = session.prompt("go", PromptOptions::default()).unwrap();
    rig.wait_for_chats(1).await;
    let with = |agent: &str, model: &str| PromptOptions {
        agent: Some(agent.to_owned()),
        model: Some(model.to_owned()),
        ..PromptOptions::default()
    };
    for options in [with("other", support::MODEL), with("beeuni", "scripted/m2")] {
        let error = session.prompt("and", options).unwrap_err().to_string();
        assert!(error.contains("a turn runs with beeuni"), "{error}");
    }
    assert!(
        session
            .prompt("and", with("beeuni", support::MODEL))
            .unwrap()
            .is_steering()
    );
    gate.open();
    assert_eq!(ended(&mut turn).await.steps, 2);
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
