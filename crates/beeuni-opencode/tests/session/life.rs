//! The life of OpenCode's process under a session: resuming, dying, reloading.
use std::time::Duration;

use beeuni_gateway::testing::{Answer, Gate};
use beeuni_protocol::session::{EventBody, Finish, ToolStatus, TurnOutcome};

use crate::desk::*;

/// OpenCode's processes for this desk.
fn processes(desk: &Desk) -> Vec<rustix::process::Pid> {
    let folder = desk.root().join("opencode");
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        let is_serve = command.split(|byte| *byte == 0).any(|word| word == b"serve");
        let is_guard = command.split(|byte| *byte == 0).any(|word| word == b"tool-guard");
        let is_ours = String::from_utf8_lossy(&environment).contains(&folder.display().to_string());
        if is_serve && is_ours && !is_guard {
            found.push(rustix::process::Pid::from_raw(pid).unwrap());
        }
    }
    found
}

/// Kills OpenCode's process, as the kernel might.
fn kill(desk: &Desk) {
    let [pid] = processes(desk)[..] else {
        panic!("OpenCode's process was not found");
    };
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn a_session_is_resumed_with_all_that_was_said() {
    let desk = desk().await;
    desk.tools.echo("lookup");
    let open = desk.open().await;
    desk.server
        .push(Answer::tool_calls(&[("call_1", "lookup", r#"{"id":1}"#)]))
        .push(Answer::text("First answer."));
    open.say("First").await;
    let before = open.messages();
    open.close().await;
    let open = desk.open().await;
    assert_eq!(open.messages(), before);
    desk.server.push(Answer::text("Second answer."));
    open.say("Second").await;
    let body = desk.bodies().pop().unwrap();
    assert_eq!(user_texts(&body), ["First", "Second"]);
    assert_eq!(results(&body)[0].1, r#"{"id":1}"#);
    open.close().await;
}

#[tokio::test]
async fn an_opencode_without_its_store_is_told_what_was_said_and_only_once() {
    let desk = desk().await;
    desk.tools.echo("lookup");
    let open = desk.open().await;
    desk.server
        .push(Answer::tool_calls(&[("call_1", "lookup", r#"{"id":"A-1042"}"#)]))
        .push(Answer::text("The order has shipped."));
    open.say("Where is my order?").await;
    open.close().await;
    std::fs::remove_dir_all(desk.root().join("opencode")).unwrap();

    let open = desk.open().await;
    desk.server.push(Answer::text("Yes.")).push(Answer::text("Still yes."));
    open.say("Are you sure?").await;
    let texts = user_texts(&desk.bodies().pop().unwrap());
    assert_eq!(texts.len(), 2, "{texts:?}");
    for part in [
        "What was said in this session before",
        "Where is my order?",
        "A-1042",
        "The order has shipped.",
    ] {
        assert!(texts[0].contains(part), "{part}: {texts:?}");
    }
    assert!(!texts[0].contains("Are you sure?") && texts[1] == "Are you sure?");
    open.say("Really?").await;
    let texts = user_texts(&desk.bodies().pop().unwrap());
    assert_eq!(&texts[1..], ["Are you sure?", "Really?"]);
    // It is no message of the conversation.
    assert_eq!(
        open.messages()
            .iter()
            .filter(|message| message.origin.is_some())
            .count(),
        3
    );
    open.close().await;
    let open = desk.open().await;
    desk.server.push(Answer::text("Yes!"));
    open.say("Now?").await;
    assert_eq!(user_texts(&desk.bodies().pop().unwrap()).len(), 4);
    open.close().await;
}

#[tokio::test]
async fn a_turn_in_which_opencode_dies_fails_clearly_and_the_next_prompt_works() {
    let desk = desk().await;
    // What it printed last is told, without secrets.
    desk.write(
        "harnesses/opencode/plugins/loud.ts",
        "export const Loud = async () => { console.error('loud: s3cr3t-value'); return {} }\n",
    );
    desk.tools.add("wait", |_| async {
        tokio::time::sleep(Duration::from_secs(600)).await;
        Ok(String::new())
    });
    let open = desk.open().await;
    desk.server.push(Answer::tool_calls(&[("call_1", "wait", "{}")]));
    let turn = open.prompt(said("Go")).await.turn;
    until("the call runs", || {
        open.calls().iter().any(|call| call.status == ToolStatus::Running) && !desk.tools.names_called().is_empty()
    })
    .await;
    kill(&desk);
    let ended = open.ended(&turn).await;
    assert_eq!(ended.outcome, TurnOutcome::Failed);
    let error = ended.error.unwrap();
    assert_eq!(error.kind, "harness");
    assert!(
        error
            .message
            .starts_with("OpenCode ended in the middle of the turn: it was ended by signal 9"),
        "{error:?}"
    );
    assert!(error.message.contains("loud: [redacted]"), "{error:?}");
    let call = open.calls().pop().unwrap();
    assert_eq!(call.status, ToolStatus::Interrupted);
    assert!(
        call.error
            .unwrap()
            .starts_with("interrupted: OpenCode ended while this call ran.")
    );
    assert_eq!(open.messages().pop().unwrap().finish, Some(Finish::Error));

    desk.server.push(Answer::text("Back again."));
    let ended = open.say("Are you there?").await;
    assert_eq!(ended.outcome, TurnOutcome::Done, "{ended:?}");
    assert_eq!(open.last_text(), "Back again.");
    let texts = user_texts(&desk.bodies().pop().unwrap());
    assert_eq!(texts, ["Go", "Are you there?"], "its store persists");
    open.close().await;
}

#[tokio::test]
async fn opencode_is_started_again_when_it_dies_between_turns() {
    let desk = desk().await;
    let open = desk.open().await;
    desk.server.push(Answer::text("One.")).push(Answer::text("Two."));
    open.say("First").await;
    kill(&desk);
    until("it is noticed", || open.opencode.status().state == "starting").await;
    until("it runs again", || open.opencode.status().state == "idle").await;
    assert_eq!(open.say("Second").await.outcome, TurnOutcome::Done);
    open.close().await;
}

#[tokio::test]
async fn an_opencode_that_does_not_start_any_more_is_told_and_tried_again() {
    let desk = desk().await;
    let program = desk.root().join("opencode-here");
    let bridge = crate::bridge::Bridge::start(desk.gateway(), desk.tools.clone()).await;
    let mut config = desk.config(&bridge.url);
    std::os::unix::fs::symlink(&config.program, &program).unwrap();
    let real = std::mem::replace(&mut config.program, program.clone());
    let opencode = beeuni_opencode::OpenCode::start(config, desk.setup.clone())
        .await
        .unwrap();
    bridge.serve(&opencode);
    std::fs::remove_file(&program).unwrap();
    kill(&desk);
    let mut state = String::new();
    until("it is given up", || {
        state = format!("{:?}", opencode.status());
        opencode.status().state == "failed"
    })
    .await;
    assert!(
        !opencode.status().ready && opencode.status().notices[0].contains("OpenCode"),
        "{state}"
    );
    until("prompts say why", || {
        let prompt = futures_util::FutureExt::now_or_never(opencode.prompt(ID, said("Hello?")));
        matches!(prompt, Some(Err(beeuni_opencode::OpenCodeError::Unavailable(_))))
    })
    .await;
    std::os::unix::fs::symlink(&real, &program).unwrap();
    desk.server.on("/v1/chat/completions", Answer::text("There."));
    // A later prompt tries again.
    let mut events = opencode.events(None);
    let turn = loop {
        match opencode.prompt(ID, said("Hello again?")).await {
            Ok(answer) => break answer.turn,
            Err(_) => tokio::time::sleep(Duration::from_millis(200)).await,
        }
    };
    let ended = loop {
        let event = tokio::time::timeout(PATIENCE, events.next())
            .await
            .unwrap()
            .unwrap()
            .unwrap();
        if let EventBody::TurnEnded(ended) = &event.body
            && ended.turn == turn
        {
            break ended.clone();
        }
    };
    assert_eq!(ended.outcome, TurnOutcome::Done, "{ended:?}");
    assert_eq!(opencode.status().state, "idle");
    opencode.close(Duration::ZERO).await;
}

#[tokio::test]
async fn a_reload_changes_tools_and_agents_from_the_next_turn_on() {
    let mut desk = desk().await;
    desk.tools.echo("old_tool");
    desk.setup.tools = vec![selected("old_tool")];
    let open = desk.open().await;
    let gate = Gate::closed();
    let answer = Answer::text("One.");
    let middle = answer.body().len() / 2;
    desk.server
        .push(answer.hold_at(middle, &gate))
        .push(Answer::tool_calls(&[("call_1", "new_tool", r#"{"a":1}"#)]))
        .push(Answer::text("Two."));
    let turn = open.prompt(said("First")).await.turn;
    desk.wait_for_chats(1).await;
    desk.tools.echo("new_tool");
    let mut setup = desk.setup.clone();
    setup.tools = vec![selected("new_tool")];
    setup.agents[0].prompt = "You are another.".to_owned();
    let reloading = tokio::spawn({
        let opencode = open.opencode.clone();
        async move { opencode.reload(setup).await }
    });
    gate.open();
    assert_eq!(open.ended(&turn).await.outcome, TurnOutcome::Done);
    let report = reloading.await.unwrap().unwrap();
    assert_eq!(report.tools.len(), 1);
    assert_eq!(open.say("Second").await.outcome, TurnOutcome::Done);
    let bodies = desk.bodies();
    let has = |body: &serde_json::Value, tool: &str| body["tools"].to_string().contains(&format!("\"{tool}\""));
    assert!(has(&bodies[0], "old_tool") && !has(&bodies[0], "new_tool"));
    assert!(has(&bodies[1], "new_tool") && !has(&bodies[1], "old_tool"));
    assert!(bodies[1]["messages"][0].to_string().contains("You are another."));
    assert_eq!(user_texts(&bodies[1]), ["First", "Second"]);
    assert_eq!(open.calls()[0].output.as_deref(), Some(r#"{"a":1}"#));
    let told = |event: &beeuni_protocol::session::Event| match &event.body {
        EventBody::SessionReloaded { tools, .. } => Some(tools.clone()),
        _ => None,
    };
    assert_eq!(open.event("the reload", told).await, ["new_tool"]);
    open.close().await;
}

#[tokio::test]
async fn a_reload_that_fails_counts_from_the_next_prompt_on() {
    let mut desk = desk().await;
    desk.tools.echo("old_tool");
    desk.setup.tools = vec![selected("old_tool")];
    let open = desk.open().await;
    // Nothing can be written there.
    let written = desk.root().join("opencode/plugin/session.json");
    std::fs::remove_file(&written).unwrap();
    std::fs::create_dir(&written).unwrap();
    desk.tools.echo("new_tool");
    let mut setup = desk.setup.clone();
    setup.tools = vec![selected("new_tool")];
    let error = open.opencode.reload(setup).await.unwrap_err().to_string();
    assert!(error.contains("session.json"), "{error}");
    std::fs::remove_dir(&written).unwrap();
    desk.server
        .push(Answer::tool_calls(&[("call_1", "new_tool", r#"{"a":1}"#)]))
        .push(Answer::text("Done."));
    let ended = open.say("Go").await;
    assert_eq!(ended.outcome, TurnOutcome::Done, "{ended:?}");
    assert_eq!(open.calls()[0].output.as_deref(), Some(r#"{"a":1}"#));
    let body = desk.bodies()[0]["tools"].to_string();
    assert!(
        body.contains("\"new_tool\"") && !body.contains("\"old_tool\""),
        "{body}"
    );
    open.close().await;
}

#[tokio::test]
async fn a_session_that_is_dropped_leaves_no_process() {
    let desk = desk().await;
    let open = desk.open().await;
    assert_eq!(processes(&desk).len(), 1);
    drop(open);
    until("OpenCode is gone", || processes(&desk).is_empty()).await;
}

#[tokio::test]
async fn a_transcript_in_use_is_refused_and_a_bad_id_too() {
    let desk = desk().await;
    let open = desk.open().await;
    let mut config = desk.config("http://127.0.0.1:9");
    let error = beeuni_opencode::OpenCode::start(config.clone(), desk.setup.clone()).await;
    let error = error.err().unwrap().to_string();
    assert!(error.contains("in use by another process"), "{error}");
    config.id = "../x".to_owned();
    let error = beeuni_opencode::OpenCode::start(config, desk.setup.clone()).await;
    assert!(error.err().unwrap().to_string().contains("cannot be a session's id"));
    open.close().await;
}
