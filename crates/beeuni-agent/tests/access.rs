//! Which tools an agent sees, and what a call may do.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod support;

use beeuni_agent::{OnAsk, PromptOptions, Session};
use beeuni_gateway::testing::Answer;
use beeuni_manifest::{PermissionAction, PermissionRule, Place, ToolAccess, ToolKind};
use beeuni_protocol::session::{PermissionAnswer, PermissionReply, PermissionRequest, ToolStatus, TurnOutcome};
use support::{Rig, calls, ended, offered, prompt_with, results, rig, say, tool, wait_until};

fn rule(capability: &str, pattern: &str, action: PermissionAction) -> PermissionRule {
    PermissionRule {
        capability: capability.to_owned(),
        pattern: pattern.to_owned(),
        action,
        place: Place {
            file: "agents/beeuni.md".to_owned(),
            line: 1,
            column: 1,
        },
    }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The fixed order of harness tools; `webfetch` is not offered where there is no reader.
const HARNESS: [&str; 10] = [
    "bash",
    "read",
    "write",
    "edit",
    "glob",
    "grep",
    "todowrite",
    "question",
    "skill",
    "task",
];

#[tokio::test]
async fn a1_each_kind_of_list_offers_what_it_says_in_a_fixed_order() {
    let mut rig = rig().await;
    let schema = r#"{"type":"object"}"#;
    // Project tools in declaration order behind Beeuni's, as the selection gives them.
    for (name, kind) in [
        ("web_search", ToolKind::Overridden),
        ("show", ToolKind::Beeuni),
        ("lookup_order", ToolKind::Project),
        ("a_first_by_name", ToolKind::Project),
    ] {
        rig.tools
            .add_with(tool(name, kind), schema, |args| async move { Ok(args) });
    }
    let hosted = ["web_search", "show", "lookup_order", "a_first_by_name"];
    let all: Vec<&str> = HARNESS.iter().chain(&hosted).copied().collect();
    let but = |gone: &[&str]| {
        all.iter()
            .filter(|name| !gone.contains(name))
            .copied()
            .collect::<Vec<_>>()
    };
    let lists = [
        ("everything", ToolAccess::All, all.clone()),
        (
            "researcher",
            ToolAccess::Only(names(&["lookup_order", "grep", "web_search", "read", "image_search"])),
            vec!["read", "grep", "web_search", "lookup_order"],
        ),
        (
            "support",
            ToolAccess::Except(names(&["bash", "write", "edit"])),
            but(&["bash", "write", "edit"]),
        ),
        ("greeter", ToolAccess::None, vec![]),
    ];
    for (name, access, _) in &lists {
        rig.agent(name).tools = access.clone();
        rig.server.push(Answer::text("hi"));
    }
    let session = rig.open();
    for (name, _, expected) in &lists {
        let options = PromptOptions {
            agent: Some((*name).to_owned()),
            ..PromptOptions::default()
        };
        prompt_with(&session, "hello", options).await;
        let body = rig.bodies().pop().unwrap();
        assert_eq!(offered(&body), *expected, "{name}");
        assert_eq!(body.get("tools").is_none(), expected.is_empty(), "{name}");
    }
}

#[tokio::test]
async fn s7_a_tool_that_is_hidden_removed_or_made_up_is_not_found() {
    let mut rig = rig().await;
    rig.tools.echo("hidden");
    rig.agent("beeuni").tools = ToolAccess::Except(names(&["hidden", "bash", "task"]));
    rig.server.push(Answer::tool_calls(&[
        ("c1", "show", r#"{"action":"#),
        ("c2", "hidden", "{}"),
        ("c3", "bash", r#"{"command":"true"}"#),
        ("c4", "task", "{}"),
        ("c5", "functions.show", "{}"),
    ]));
    rig.server.push(Answer::text("ok"));
    let session = rig.open();
    say(&session, "go").await;
    let told: Vec<String> = results(&rig.bodies()[1])
        .into_iter()
        .map(|(_, content)| content)
        .collect();
    assert_eq!(
        told,
        [
            "Tool show not found",
            "Tool hidden not found",
            "Tool bash not found",
            "Tool task not found",
            "Tool functions.show not found"
        ]
    );
    assert!(rig.tools.args("hidden").is_empty());
}

/// A rig whose agent has these rules and calls `t` once for each of `args`.
async fn with_rules(rules: &[(&str, &str, PermissionAction)], args: &[&str]) -> Rig {
    let mut rig = rig().await;
    for name in ["t", "scrape_webpage"] {
        rig.tools.echo(name);
    }
    rig.agent("beeuni").permission = rules
        .iter()
        .map(|(name, pattern, action)| rule(name, pattern, *action))
        .collect();
    for args in args {
        let name = if args.contains("urls") { "scrape_webpage" } else { "t" };
        rig.server.push(Answer::tool_calls(&[("c", name, args)]));
    }
    rig.server.push(Answer::text("ok"));
    rig
}

async fn asked(session: &Session) -> PermissionRequest {
    wait_until("a permission request", || !session.permissions().is_empty()).await;
    session.permissions().remove(0)
}

fn reply(session: &Session, request: &PermissionRequest, reply: PermissionReply, message: Option<&str>) {
    let answer = PermissionAnswer {
        reply,
        message: message.map(str::to_owned),
    };
    session.reply_permission(&request.id, answer).unwrap();
}

#[tokio::test]
async fn a_denied_call_does_not_run_and_the_model_reads_why() {
    let rig = with_rules(&[("t", "*", PermissionAction::Deny)], &["{}"]).await;
    let session = rig.open();
    say(&session, "go").await;
    assert!(rig.tools.args("t").is_empty());
    let told = results(&rig.bodies()[1]).remove(0).1;
    assert!(told.contains("denied") && told.contains("agents/beeuni.md"), "{told}");
}

#[tokio::test]
async fn a_call_that_is_asked_about_runs_once_when_the_reply_is_once() {
    let rig = with_rules(&[("t", "*", PermissionAction::Ask)], &["{}", "{}"]).await;
    let session = rig.open();
    let mut turn = session.prompt("go", PromptOptions::default()).unwrap();
    for count in 0..2 {
        let request = asked(&session).await;
        assert_eq!(
            (request.tool.as_str(), request.call.as_str(), request.agent.as_str()),
            ("t", "c", "beeuni")
        );
        assert_eq!(rig.tools.args("t").len(), count);
        assert_eq!(calls(&session)[count].status, ToolStatus::Pending);
        reply(&session, &request, PermissionReply::Once, None);
        wait_until("the call", || rig.tools.args("t").len() == count + 1).await;
        assert!(
            session
                .reply_permission(
                    &request.id,
                    PermissionAnswer {
                        reply: PermissionReply::Once,
                        message: None
                    }
                )
                .unwrap_err()
                .to_string()
                .contains("answered already")
        );
    }
    assert_eq!(ended(&mut turn).await.outcome, TurnOutcome::Done);
}

#[tokio::test]
async fn always_remembers_the_pattern_and_not_the_tool_and_survives_a_restart() {
    let docs = r#"{"urls":"https://docs.example.com/a"}"#;
    let other = r#"{"urls":"https://other.example.com/"}"#;
    let rig = with_rules(&[("webfetch", "*", PermissionAction::Ask)], &[docs, docs, other]).await;
    let session = rig.open();
    let mut turn = session.prompt("go", PromptOptions::default()).unwrap();
    let first = asked(&session).await;
    assert_eq!(first.accesses[0].capability, "webfetch");
    reply(&session, &first, PermissionReply::Always, None);
    // The second call of the same kind is not asked about; another site is.
    let second = asked(&session).await;
    assert_eq!(rig.tools.args("scrape_webpage"), [docs, docs]);
    assert!(second.accesses[0].subject.contains("other.example.com"), "{second:?}");
    reply(&session, &second, PermissionReply::Once, None);
    assert_eq!(ended(&mut turn).await.outcome, TurnOutcome::Done);
    session.close().await;
    drop(session);
    rig.server.push(Answer::tool_calls(&[("c", "scrape_webpage", docs)]));
    rig.server.push(Answer::text("ok"));
    let session = rig.open();
    say(&session, "again").await;
    assert_eq!(rig.tools.args("scrape_webpage").len(), 4);
}

#[tokio::test]
async fn a_deny_outranks_an_earlier_always() {
    let args = r#"{"urls":"https://docs.example.com/a"}"#;
    let mut rig = with_rules(&[("webfetch", "*", PermissionAction::Ask)], &[args]).await;
    let session = rig.open();
    let mut turn = session.prompt("go", PromptOptions::default()).unwrap();
    reply(&session, &asked(&session).await, PermissionReply::Always, None);
    ended(&mut turn).await;
    rig.agent("beeuni")
        .permission
        .push(rule("webfetch", "https://docs.example.com/*", PermissionAction::Deny));
    session.reload(rig.setup.clone()).await.unwrap();
    rig.server.push(Answer::tool_calls(&[("c", "scrape_webpage", args)]));
    rig.server.push(Answer::text("ok"));
    // The reload took the tools of the setup, which names none.
    rig.tools.echo("scrape_webpage");
    say(&session, "again").await;
    assert_eq!(rig.tools.args("scrape_webpage").len(), 1);
    assert!(calls(&session)[1].error.as_ref().unwrap().contains("denied"));
}

#[tokio::test]
async fn one_always_answers_every_request_that_it_covers() {
    let mut rig = with_rules(&[("t", "*", PermissionAction::Ask)], &[]).await;
    rig.server = beeuni_gateway::testing::ScriptedServer::start().await;
    rig.server.push(Answer::tool_calls(&[
        ("c1", "t", "{}"),
        ("c2", "t", "{}"),
        ("c3", "t", "{}"),
    ]));
    rig.server.push(Answer::text("ok"));
    let session = rig.open();
    let mut turn = session.prompt("go", PromptOptions::default()).unwrap();
    wait_until("three requests", || session.permissions().len() == 3).await;
    let request = session.permissions().remove(1);
    reply(&session, &request, PermissionReply::Always, None);
    assert_eq!(ended(&mut turn).await.outcome, TurnOutcome::Done);
    assert_eq!(rig.tools.args("t").len(), 3);
}

#[tokio::test]
async fn a_refusal_with_a_word_goes_to_the_model_and_without_one_ends_the_turn() {
    let rig = with_rules(&[("t", "*", PermissionAction::Ask)], &["{}"]).await;
    let session = rig.open();
    let mut turn = session.prompt("go", PromptOptions::default()).unwrap();
    reply(
        &session,
        &asked(&session).await,
        PermissionReply::Reject,
        Some("use the other one"),
    );
    assert_eq!(ended(&mut turn).await.outcome, TurnOutcome::Done);
    assert!(results(&rig.bodies()[1])[0].1.contains("use the other one"));
    rig.server.push(Answer::tool_calls(&[("c", "t", "{}")]));
    let mut turn = session.prompt("again", PromptOptions::default()).unwrap();
    reply(&session, &asked(&session).await, PermissionReply::Reject, None);
    let end = ended(&mut turn).await;
    assert_eq!(end.outcome, TurnOutcome::Blocked);
    assert!(end.error.unwrap().message.contains("t was refused permission"));
    assert!(rig.tools.args("t").is_empty());
}

#[tokio::test]
async fn without_a_person_a_call_is_denied_allowed_or_ends_the_turn() {
    for (on_ask, outcome, ran, told) in [
        (OnAsk::Deny, TurnOutcome::Done, 0, "nobody is there"),
        (OnAsk::Allow, TurnOutcome::Done, 1, "{}"),
        (OnAsk::Fail, TurnOutcome::Blocked, 0, "nobody is there"),
    ] {
        let rig = with_rules(&[("t", "*", PermissionAction::Ask)], &["{}"]).await;
        let session = rig.open();
        let options = PromptOptions {
            on_ask,
            ..PromptOptions::default()
        };
        let end = prompt_with(&session, "go", options).await;
        assert_eq!(end.outcome, outcome, "{on_ask:?}");
        assert_eq!(rig.tools.args("t").len(), ran, "{on_ask:?}");
        let call = calls(&session).remove(0);
        let text = call.output.or(call.error).unwrap();
        assert!(text.contains(told), "{on_ask:?}: {text}");
        assert!(session.permissions().is_empty());
    }
}

#[tokio::test]
async fn a_denial_stays_one_when_everything_that_is_asked_is_allowed() {
    let rig = with_rules(&[("t", "*", PermissionAction::Deny)], &["{}"]).await;
    let session = rig.open();
    let options = PromptOptions {
        on_ask: OnAsk::Allow,
        ..PromptOptions::default()
    };
    prompt_with(&session, "go", options).await;
    assert!(rig.tools.args("t").is_empty());
}
