//! How a turn ends: cut, filtered, refused, out of steps, in a circle.
use beeuni_gateway::testing::{Answer, chunk};
use beeuni_protocol::session::{EventBody, Finish, Retry, ToolStatus, TurnOutcome};
use serde_json::{Value, json};

use super::finish_with;
use crate::support::{calls, history, last_text, messages, offered, prompt, rig, roles, say, text_of};

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
async fn a_model_that_goes_in_a_circle_is_told_and_then_ended() {
    let rig = rig().await;
    rig.tools.echo("t");
    for _ in 0..20 {
        rig.server.push(Answer::tool_calls(&[("c", "t", r#"{"n":1}"#)]));
    }
    let session = rig.open();
    let ended = prompt(&session, "go").await;
    let error = ended.error.clone().unwrap();
    assert_eq!(
        (ended.outcome, ended.steps, error.kind.as_str()),
        (TurnOutcome::Failed, 10, "repeated_call")
    );
    assert!(
        error
            .message
            .contains(r#"same call 10 times in a row and got the same result each time: t {"n":1}"#),
        "{error:?}"
    );
    assert_eq!(rig.tools.args("t").len(), 10);
    let reminded = |body: &Value| {
        let last = body["messages"].as_array().unwrap().last().unwrap().clone();
        last["content"].as_str().unwrap().contains("made the same tool calls")
    };
    let bodies = rig.bodies();
    assert!(bodies[..5].iter().all(|body| !reminded(body)) && reminded(&bodies[5]) && !reminded(&bodies[6]));
    assert!(
        calls(&session).iter().all(|call| call.status == ToolStatus::Completed),
        "every call has its result"
    );
    // What a person says begins anew.
    let ended = prompt(&session, "try again").await;
    assert_eq!((ended.outcome, ended.steps), (TurnOutcome::Failed, 10));
}

#[tokio::test]
async fn a_job_that_is_looked_at_until_it_is_done_is_no_circle() {
    let rig = rig().await;
    let looked = std::sync::atomic::AtomicU32::new(0);
    rig.tools.add("look", move |_| {
        let number = looked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        async move { Ok(format!("{number} % done")) }
    });
    for _ in 0..30 {
        rig.server.push(Answer::tool_calls(&[("c", "look", "{}")]));
    }
    rig.server.push(Answer::text("Done."));
    let session = rig.open();
    assert_eq!(say(&session, "go").await, "Done.");
    assert!(rig.chats().iter().all(|chat| !chat.text().contains("system-reminder")));
}
