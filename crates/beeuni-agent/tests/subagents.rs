//! `task`: subagents in sessions of their own.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use beeuni_agent::{OnAsk, PromptOptions};
use beeuni_gateway::testing::{Answer, Gate, RecordedRequest};
use beeuni_manifest::{AgentMode, PermissionAction, PermissionRule, Place, ToolAccess, ToolKind};
use beeuni_protocol::session::{Activity, EventBody, ToolStatus, TurnOutcome};
use serde_json::{Value, json};
use support::{
    Rig, calls, calls_of, ended, history, last_text, offered, prompt, prompt_with, results, rig, say, text_of, tool,
    wait_until,
};

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn task(agent: &str, prompt: &str) -> String {
    json!({ "description": "A piece of work", "prompt": prompt, "subagent_type": agent }).to_string()
}

/// Answers by the last message: a subagent's prompts begin with `child:`, what follows is said back; a `tool:`
/// behind it calls that tool first.
fn children(rig: &Rig) {
    rig.server.respond_with(|request: &RecordedRequest| {
        if request.path() != "/v1/chat/completions" {
            return None;
        }
        let body = request.json();
        let messages = body["messages"].as_array().unwrap();
        let prompt = messages
            .iter()
            .rev()
            .find_map(|message| message["content"].as_str().filter(|_| message["role"] == "user"));
        let work = prompt?.strip_prefix("child:")?.to_owned();
        let last = messages.last().unwrap();
        if let (Some(tool), "user") = (work.strip_prefix("tool:"), last["role"].as_str().unwrap()) {
            return Some(Answer::tool_calls(&[("k1", tool, "{}")]));
        }
        let said = if last["role"] == "tool" {
            last["content"].as_str().unwrap().to_owned()
        } else {
            work
        };
        Some(Answer::text(&format!("I did: {said}")))
    });
}

fn child_requests(rig: &Rig) -> Vec<Value> {
    let is_child = |body: &Value| {
        body["messages"][1]["content"]
            .as_str()
            .is_some_and(|said| said.starts_with("child:"))
    };
    rig.bodies().into_iter().filter(is_child).collect()
}

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
async fn a4_a_subagent_gets_what_both_lists_allow_and_can_neither_ask_nor_delegate() {
    let mut rig = rig().await;
    children(&rig);
    let schema = r#"{"type":"object"}"#;
    for (name, kind) in [
        ("web_search", ToolKind::Beeuni),
        ("deploy", ToolKind::Project),
        ("lookup", ToolKind::Project),
    ] {
        rig.tools
            .add_with(tool(name, kind), schema, |args| async move { Ok(args) });
    }
    rig.agent("beeuni").tools = ToolAccess::Except(names(&["deploy", "bash"]));
    rig.agent("narrow").tools = ToolAccess::Only(names(&["read", "web_search", "deploy", "task", "question"]));
    rig.agent("none").tools = ToolAccess::None;
    let types = ["narrow", "none", "explore", "general"];
    for name in types {
        rig.server
            .push(Answer::tool_calls(&[("c1", "task", &task(name, "child:look"))]));
        rig.server.push(Answer::text("ok"));
    }
    let session = rig.open();
    for _ in types {
        say(&session, "go").await;
    }
    let children = child_requests(&rig);
    let lists: Vec<Vec<String>> = children.iter().map(offered).collect();
    assert_eq!(lists[0], ["read", "web_search"]);
    assert_eq!(lists[1], [""; 0]);
    assert_eq!(lists[2], ["read", "glob", "grep", "web_search"]);
    assert_eq!(
        lists[3],
        [
            "read",
            "write",
            "edit",
            "glob",
            "grep",
            "todowrite",
            "skill",
            "web_search",
            "lookup"
        ]
    );
    assert!(offered(&rig.bodies()[0]).contains(&"task".to_owned()));
}

#[tokio::test]
async fn a_subagent_that_calls_task_or_a_tool_of_its_parent_alone_is_told_that_there_is_none() {
    let mut rig = rig().await;
    children(&rig);
    rig.tools.echo("lookup");
    rig.agent("narrow").tools = ToolAccess::Only(names(&["read", "task"]));
    for tool in ["task", "lookup"] {
        rig.server.push(Answer::tool_calls(&[(
            "c1",
            "task",
            &task("narrow", &format!("child:tool:{tool}")),
        )]));
        rig.server.push(Answer::text("ok"));
    }
    let session = rig.open();
    for tool in ["task", "lookup"] {
        say(&session, "go").await;
        let told = calls(&session).pop().unwrap().output.unwrap();
        assert!(told.starts_with(&format!("I did: Tool {tool} not found")), "{told}");
    }
    assert!(rig.tools.args("lookup").is_empty());
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
async fn an_agent_can_be_started_only_when_its_mode_allows_it() {
    let mut rig = rig().await;
    children(&rig);
    for (name, mode) in [
        ("sub", AgentMode::Subagent),
        ("both", AgentMode::All),
        ("main", AgentMode::Primary),
    ] {
        rig.agent(name).mode = mode;
        rig.agent(name).description = Some(format!("It is {name}."));
    }
    rig.agent("off").enabled = false;
    rig.agent("beeuni").mode = AgentMode::Primary;
    let types = ["sub", "both", "main", "off", "nobody"];
    let works: Vec<String> = types.iter().map(|name| task(name, "child:x")).collect();
    let ids: Vec<String> = (0..types.len()).map(|at| format!("c{at}")).collect();
    let all: Vec<(&str, &str, &str)> = ids
        .iter()
        .zip(&works)
        .map(|(id, work)| (id.as_str(), "task", work.as_str()))
        .collect();
    rig.server.push(Answer::tool_calls(&all));
    rig.server.push(Answer::text("ok"));
    let session = rig.open();
    say(&session, "go").await;
    let calls = calls(&session);
    assert!(calls[..2].iter().all(|call| call.status == ToolStatus::Completed));
    for call in &calls[2..] {
        let told = call.error.as_ref().unwrap();
        assert!(
            told.contains("The subagents are: general, explore, sub, both"),
            "{told}"
        );
    }
    let tools = rig.bodies()[0]["tools"].clone();
    let description = tools
        .as_array()
        .unwrap()
        .iter()
        .find(|tool| tool["function"]["name"] == "task")
        .unwrap()["function"]["description"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        description.contains("- sub: It is sub.") && !description.contains("It is main."),
        "{description}"
    );
}

fn rule(capability: &str, action: PermissionAction) -> PermissionRule {
    PermissionRule {
        capability: capability.to_owned(),
        pattern: "*".to_owned(),
        action,
        place: Place {
            file: "agents/x.md".to_owned(),
            line: 1,
            column: 1,
        },
    }
}

#[tokio::test]
async fn perm_01_what_the_parent_is_denied_stays_denied_and_what_it_must_ask_is_asked() {
    use PermissionAction::{Allow, Ask, Deny};
    for (parent, child, agent, denied, asked) in [
        (Some(Deny), Some(Allow), "sub", true, false),
        (None, Some(Deny), "sub", true, false),
        (Some(Ask), None, "general", false, true),
        (Some(Allow), None, "general", false, false),
    ] {
        let mut rig = rig().await;
        children(&rig);
        rig.tools.echo("deploy");
        rig.agent("beeuni").permission = parent.map(|action| rule("deploy", action)).into_iter().collect();
        rig.agent("sub").permission = child.map(|action| rule("deploy", action)).into_iter().collect();
        rig.server
            .push(Answer::tool_calls(&[("c1", "task", &task(agent, "child:tool:deploy"))]));
        rig.server.push(Answer::text("ok"));
        let session = rig.open();
        let options = PromptOptions {
            on_ask: OnAsk::Deny,
            ..PromptOptions::default()
        };
        prompt_with(&session, "go", options).await;
        let child = session.children().remove(0).id;
        let own = calls_of(&session.messages_of(&child, 0..9).unwrap().unwrap()).remove(0);
        let ran = !rig.tools.args("deploy").is_empty();
        assert_eq!(ran, !denied && !asked, "{parent:?} {child:?}: {own:?}");
        if let Some(error) = own.error {
            assert_eq!(error.contains("denied"), denied, "{error}");
            assert_eq!(error.contains("nobody is there"), asked, "{error}");
        }
    }
}

#[tokio::test]
async fn a_request_of_a_subagent_is_asked_in_the_parents_stream_and_names_the_child() {
    let mut rig = rig().await;
    children(&rig);
    rig.tools.echo("deploy");
    rig.agent("beeuni").permission = vec![rule("deploy", PermissionAction::Ask)];
    rig.server.push(Answer::tool_calls(&[(
        "c1",
        "task",
        &task("general", "child:tool:deploy"),
    )]));
    rig.server.push(Answer::text("ok"));
    let session = rig.open();
    let mut turn = session.prompt("go", PromptOptions::default()).unwrap();
    wait_until("the request", || !session.permissions().is_empty()).await;
    let request = session.permissions().remove(0);
    let child = session.children().remove(0);
    assert_eq!((request.session.as_str(), child.waiting), (child.id.as_str(), 1));
    assert_eq!(child.activity, Activity::Running);
    let answer = serde_json::from_value(json!({ "reply": "once" })).unwrap();
    session.reply_permission(&request.id, answer).unwrap();
    assert_eq!(ended(&mut turn).await.outcome, TurnOutcome::Done);
    let of_child = history(&session).into_iter().filter(|event| event.session == child.id);
    let kinds: Vec<String> = of_child.map(|event| support::kind(&event.body)).collect();
    for kind in [
        "session.created",
        "turn.started",
        "permission.asked",
        "permission.replied",
        "turn.ended",
    ] {
        assert!(kinds.iter().any(|other| other == kind), "{kind} in {kinds:?}");
    }
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

#[tokio::test]
async fn a_built_in_subagent_acts_with_its_parents_secrets_and_a_declared_one_with_its_own() {
    let mut rig = rig().await;
    children(&rig);
    rig.tools.echo("who");
    rig.agent("own");
    for agent in ["general", "own"] {
        rig.server
            .push(Answer::tool_calls(&[("c1", "task", &task(agent, "child:tool:who"))]));
        rig.server.push(Answer::text("ok"));
    }
    let session = rig.open();
    say(&session, "go").await;
    say(&session, "go").await;
    let called = rig.tools.called.lock().unwrap().clone();
    let agents: Vec<String> = called.into_iter().map(|(_, _, agent)| agent).collect();
    assert_eq!(agents, ["beeuni", "own"]);
}
