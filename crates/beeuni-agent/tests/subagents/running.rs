//! Tasks that run: their sessions, their results, their ends.
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{child_requests, children, task};
use crate::support::{calls, calls_of, ended, history, last_text, prompt, results, rig, say, text_of, wait_until};
use beeuni_agent::PromptOptions;
use beeuni_gateway::testing::{Answer, Gate};
use beeuni_protocol::session::{Activity, EventBody, ToolStatus, TurnOutcome};
use serde_json::{Value, json};

#[tokio::test]
async fn a_task_runs_in_its_own_session_and_its_last_text_comes_back_with_its_id() {
    let rig = rig().await;
    children(&rig);
    rig.server.push(Answer::tool_calls(&[(
        "c1",
        "task",
        &task("general", "child:count the bees"),
    )]));
    rig.server.push(Answer::text("All done."));
    let session = rig.open();
    let ended = prompt(&session, "go").await;
    assert_eq!(ended.outcome, TurnOutcome::Done);
    let child = session.children().remove(0);
    assert_eq!(child.parent.as_deref(), Some("s1"));
    assert_eq!(
        (child.title.as_deref(), child.agent.as_str()),
        (Some("A piece of work"), "general")
    );
    assert_eq!(child.activity, Activity::Idle);
    let told = results(&rig.bodies()[2]).remove(0).1;
    assert_eq!(told, format!("I did: count the bees\n\n[task_id: {}]", child.id));
    let call = &calls(&session)[0];
    assert_eq!(call.metadata["session"], Value::String(child.id.clone()));
    let own = session.messages_of(&child.id, 0..9).unwrap().unwrap();
    assert_eq!(
        own.iter().map(text_of).collect::<Vec<_>>(),
        ["child:count the bees", "I did: count the bees"]
    );
    assert_eq!(
        session.messages(0..9).unwrap().len(),
        3,
        "the child's messages are its own"
    );
    assert_eq!(ended.usage.input, 33, "what the child used is counted");
    assert_eq!(ended.steps, 2);
    // Its requests know nothing of the parent's conversation.
    assert_eq!(child_requests(&rig)[0]["messages"].as_array().unwrap().len(), 2);
    assert!(session.messages_of("ses_nobody", 0..9).unwrap().is_none());
}

#[tokio::test]
async fn several_tasks_run_at_the_same_time() {
    let rig = rig().await;
    children(&rig);
    let meet = Arc::new(tokio::sync::Barrier::new(3));
    rig.tools.add("meet", move |_| {
        let meet = meet.clone();
        async move {
            meet.wait().await;
            Ok("met".to_owned())
        }
    });
    let work = task("general", "child:tool:meet");
    rig.server.push(Answer::tool_calls(&[
        ("c1", "task", &work),
        ("c2", "task", &work),
        ("c3", "task", &work),
    ]));
    rig.server.push(Answer::text("ok"));
    let session = rig.open();
    say(&session, "go").await;
    let outputs: Vec<String> = calls(&session).into_iter().map(|call| call.output.unwrap()).collect();
    assert!(
        outputs.iter().all(|output| output.starts_with("I did: met")),
        "{outputs:?}"
    );
    assert_eq!(session.children().len(), 3);
}

#[tokio::test]
async fn a_task_is_continued_by_its_id_after_a_restart_too() {
    let rig = rig().await;
    children(&rig);
    rig.server
        .push(Answer::tool_calls(&[("c1", "task", &task("general", "child:first"))]));
    rig.server.push(Answer::text("ok"));
    let session = rig.open();
    say(&session, "go").await;
    let child = session.children().remove(0).id;
    session.close().await;
    drop(session);
    let session = rig.open();
    let go_on = |agent: &str, id: &str| {
        json!({ "description": "More", "prompt": "child:second", "subagent_type": agent, "task_id": id }).to_string()
    };
    rig.server.push(Answer::tool_calls(&[
        ("c1", "task", &go_on("general", &child)),
        ("c2", "task", &go_on("explore", &child)),
        ("c3", "task", &go_on("general", "ses_nobody")),
        ("c4", "task", &go_on("general", "s1")),
    ]));
    rig.server.push(Answer::text("ok"));
    say(&session, "more").await;
    let calls = calls(&session);
    let expected = format!("I did: second\n\n[task_id: {child}]");
    assert_eq!(calls[1].output.as_deref(), Some(expected.as_str()), "{:?}", calls[1]);
    assert!(
        calls[2]
            .error
            .as_ref()
            .unwrap()
            .contains("belongs to the subagent `general`")
    );
    assert!(calls[3].error.as_ref().unwrap().contains("There is no task ses_nobody"));
    assert!(calls[4].error.as_ref().unwrap().contains("There is no task s1"));
    assert_eq!(session.children().len(), 1);
    let request = child_requests(&rig).pop().unwrap();
    let said: Vec<&str> = request["messages"].as_array().unwrap()[1..]
        .iter()
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert_eq!(said, ["child:first", "I did: first", "child:second"]);
}

#[tokio::test]
async fn a_stop_of_the_parent_stops_its_subagents() {
    let rig = rig().await;
    children(&rig);
    let running = Arc::new(AtomicUsize::new(0));
    let seen = running.clone();
    rig.tools.add("hangs", move |_| {
        seen.fetch_add(1, Ordering::SeqCst);
        std::future::pending()
    });
    let work = task("general", "child:tool:hangs");
    rig.server
        .push(Answer::tool_calls(&[("c1", "task", &work), ("c2", "task", &work)]));
    let session = rig.open();
    let mut turn = session.prompt("go", PromptOptions::default()).unwrap();
    wait_until("both children", || running.load(Ordering::SeqCst) == 2).await;
    session.abort();
    assert_eq!(ended(&mut turn).await.outcome, TurnOutcome::Aborted);
    for child in session.children() {
        assert_eq!(child.activity, Activity::Idle);
        let own = session.messages_of(&child.id, 0..9).unwrap().unwrap();
        assert_eq!(calls_of(&own)[0].status, ToolStatus::Interrupted);
    }
    assert!(
        calls(&session)
            .iter()
            .all(|call| call.status == ToolStatus::Interrupted)
    );
    let aborted = history(&session)
        .into_iter()
        .filter(|event| matches!(&event.body, EventBody::TurnEnded(ended) if ended.outcome == TurnOutcome::Aborted));
    assert_eq!(aborted.count(), 3);
}

#[tokio::test]
async fn a_subagent_that_fails_tells_its_parent_why() {
    let rig = rig().await;
    let gate = Gate::closed();
    gate.open();
    rig.server
        .push(Answer::tool_calls(&[("c1", "task", &task("general", "x"))]));
    rig.server
        .push(Answer::json(400, &json!({ "error": { "message": "too many bees" } })));
    rig.server.push(Answer::text("I see."));
    let session = rig.open();
    say(&session, "go").await;
    let told = calls(&session)[0].error.clone().unwrap();
    assert!(
        told.contains("The subagent failed") && told.contains("too many bees") && told.contains("task_id"),
        "{told}"
    );
    assert_eq!(last_text(&session), "I see.");
}
