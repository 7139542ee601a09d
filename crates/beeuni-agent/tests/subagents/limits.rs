//! What a subagent may do: its tools, its rules, its secrets.

use super::{child_requests, children, names, task};
use crate::support::{calls, calls_of, ended, history, offered, prompt_with, rig, say, tool, wait_until};
use beeuni_agent::{OnAsk, PromptOptions};
use beeuni_gateway::testing::Answer;
use beeuni_manifest::{AgentMode, PermissionAction, PermissionRule, Place, ToolAccess, ToolKind};
use beeuni_protocol::session::{Activity, ToolStatus, TurnOutcome};
use serde_json::json;

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
    let kinds: Vec<String> = of_child.map(|event| crate::support::kind(&event.body)).collect();
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
