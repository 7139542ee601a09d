//! Subagents: sessions of their own, with what they may see and do.
use beeuni_gateway::testing::{Answer, RecordedRequest};
use beeuni_manifest::PermissionAction::Ask;
use beeuni_manifest::{AgentMode, ToolAccess};
use beeuni_protocol::session::{
    Activity, OnAsk, Origin, PermissionAnswer, PermissionReply, Role, ToolStatus, TurnOutcome,
};

use crate::desk::*;

const TASK: &str = r#"{"description":"count the bees","prompt":"Count them.","subagent_type":"helper"}"#;

/// The parent gives a task, then says what came of it; the child calls `lookup`, then answers.
fn play(desk: &Desk, task: &'static str, child: impl Fn(usize) -> Answer + Send + Sync + 'static) {
    desk.server.respond_with(move |request: &RecordedRequest| {
        if request.path() != "/v1/chat/completions" {
            return None;
        }
        let body = request.json();
        let messages = body["messages"].as_array().unwrap();
        let done = messages.iter().filter(|message| message["role"] == "tool").count();
        let is_child = messages
            .iter()
            .any(|message| message["role"] == "user" && message["content"] == "Count them.");
        Some(match (is_child, done) {
            (true, done) => child(done),
            (false, 0) => Answer::tool_calls(&[("call_task", "task", task)]),
            (false, _) => Answer::text("There are seven."),
        })
    });
}

fn lookup_then_seven(done: usize) -> Answer {
    match done {
        0 => Answer::tool_calls(&[("call_child", "lookup", r#"{"what":"bees"}"#)]),
        _ => Answer::text("Seven bees."),
    }
}

async fn with_helper() -> Desk {
    let mut desk = desk().await;
    desk.tools.echo("lookup");
    desk.tools.echo("other");
    desk.agent("helper").mode = AgentMode::Subagent;
    desk.agent("helper").description = Some("Helps with counting.".to_owned());
    desk
}

#[tokio::test]
async fn a_task_is_a_session_of_its_own_whose_usage_counts() {
    let mut desk = with_helper().await;
    desk.agent("helper").tools = ToolAccess::Only(vec!["lookup".to_owned()]);
    play(&desk, TASK, lookup_then_seven);
    let open = desk.open().await;
    let ended = open.say("How many?").await;
    assert_eq!((ended.outcome, ended.steps), (TurnOutcome::Done, 2), "{ended:?}");
    assert_eq!(
        (ended.usage.input, ended.usage.output),
        (44, 28),
        "the subagent's is counted"
    );

    let children = open.opencode.children(ID).unwrap();
    assert_eq!(children.len(), 1);
    let child = &children[0];
    assert_eq!(
        (
            child.parent.as_deref(),
            child.agent.as_str(),
            child.title.as_deref(),
            child.activity
        ),
        (Some(ID), "helper", Some("count the bees"), Activity::Idle)
    );
    assert_eq!((child.usage.input, child.usage.output), (22, 14));
    let task = open.calls().remove(0);
    assert_eq!(
        (task.status, task.title.as_deref()),
        (ToolStatus::Completed, Some("count the bees"))
    );
    assert_eq!(task.metadata["session"], child.id.as_str());
    assert_eq!(task.metadata["agent"], "helper");
    assert!(task.output.unwrap().contains("Seven bees."));

    let messages = open.messages_of(&child.id);
    let shape: Vec<_> = messages.iter().map(|it| (it.role, it.origin, text_of(it))).collect();
    assert_eq!(
        shape,
        [
            (Role::User, Some(Origin::Prompt), "Count them.".to_owned()),
            (Role::Assistant, None, String::new()),
            (Role::Assistant, None, "Seven bees.".to_owned())
        ]
    );
    assert_eq!(calls_of(&messages)[0].output.as_deref(), Some(r#"{"what":"bees"}"#));
    // Its own list of tools, whatever its parent sees.
    let of_child = desk
        .bodies()
        .into_iter()
        .find(|body| user_texts(body) == ["Count them."])
        .unwrap();
    let offered: Vec<&str> = of_child["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(offered, ["lookup"]);
    let refused = open
        .opencode
        .prompt(&child.id, said("x"))
        .await
        .unwrap_err()
        .to_string();
    assert!(refused.contains("this is a subagent's session"), "{refused}");
    let id = child.id.clone();
    open.close().await;
    let open = desk.open().await;
    assert_eq!(open.messages_of(&id), messages);
    open.close().await;
}

#[tokio::test]
async fn a_subagents_hosted_call_asks_under_its_own_name_and_its_parents_rules() {
    let mut desk = with_helper().await;
    desk.rule("beeuni", "lookup", "*", Ask);
    play(&desk, TASK, lookup_then_seven);
    let open = desk.open().await;
    let turn = open.prompt(asked("How many?", OnAsk::Wait)).await.turn;
    until("the request", || !open.opencode.permissions(ID).unwrap().is_empty()).await;
    let request = open.opencode.permissions(ID).unwrap().remove(0);
    let child = open.opencode.children(ID).unwrap().remove(0);
    assert_eq!((&request.session, request.agent.as_str()), (&child.id, "helper"));
    assert_eq!((child.waiting, child.activity), (1, Activity::Running));
    assert_eq!(open.opencode.permissions(&child.id).unwrap().len(), 1);
    let once = PermissionAnswer {
        reply: PermissionReply::Once,
        message: None,
    };
    open.opencode.reply(&child.id, &request.id, once).unwrap();
    assert_eq!(open.ended(&turn).await.outcome, TurnOutcome::Done);
    open.close().await;
}

#[tokio::test]
async fn a_blocked_subagent_blocks_the_turn() {
    let mut desk = with_helper().await;
    desk.rule("helper", "lookup", "*", Ask);
    play(&desk, TASK, lookup_then_seven);
    let open = desk.open().await;
    let ended = open
        .say_with("How many?", |prompt| prompt.on_ask = Some(OnAsk::Fail))
        .await;
    assert_eq!(ended.outcome, TurnOutcome::Blocked, "{ended:?}");
    let child = open.opencode.children(ID).unwrap().remove(0);
    assert_eq!(child.activity, Activity::Idle);
    let messages = open.messages_of(&child.id);
    assert!(messages.iter().all(|message| message.time.completed.is_some()));
    assert_eq!(calls_of(&messages)[0].status, ToolStatus::Error);
    assert!(desk.tools.names_called().is_empty());
    open.close().await;
}

#[tokio::test]
async fn a_stop_stops_the_subagent_too() {
    let desk = with_helper().await;
    play(&desk, TASK, |_| {
        Answer::text("Never.").hold(&beeuni_gateway::testing::Gate::closed())
    });
    let open = desk.open().await;
    let turn = open.prompt(said("How many?")).await.turn;
    until("the subagent works", || {
        let children = open.opencode.children(ID).unwrap();
        children
            .first()
            .is_some_and(|child| child.activity == Activity::Running)
            && desk.bodies().len() == 2
    })
    .await;
    let stopped = std::time::Instant::now();
    open.opencode.abort(ID).await.unwrap();
    assert_eq!(open.ended(&turn).await.outcome, TurnOutcome::Aborted);
    assert!(stopped.elapsed() < std::time::Duration::from_secs(1));
    let child = open.opencode.children(ID).unwrap().remove(0);
    assert_eq!(child.activity, Activity::Idle);
    assert_eq!(open.calls()[0].status, ToolStatus::Interrupted);
    open.close().await;
}

#[tokio::test]
async fn a_subagent_of_every_project_works_for_the_agent_that_started_it() {
    let desk = with_helper().await;
    let task = r#"{"description":"count","prompt":"Count them.","subagent_type":"general"}"#;
    play(&desk, task, lookup_then_seven);
    let open = desk.open().await;
    assert_eq!(open.say("How many?").await.outcome, TurnOutcome::Done);
    let called = desk.tools.called.lock().unwrap().clone();
    assert_eq!(
        called,
        [(
            "lookup".to_owned(),
            r#"{"what":"bees"}"#.to_owned(),
            "beeuni".to_owned()
        )]
    );
    open.close().await;
}
