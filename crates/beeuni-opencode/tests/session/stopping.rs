//! Stopping a turn: within a second everything is final.
use std::time::{Duration, Instant};

use beeuni_gateway::testing::Answer;
use beeuni_protocol::session::{EventBody, Finish, OnAsk, ToolStatus, TurnOutcome};

use crate::desk::*;

#[tokio::test]
async fn a_stop_ends_the_answer_at_once_and_the_next_prompt_works() {
    let desk = desk().await;
    let open = desk.open().await;
    let answer = Answer::text("It begins and is never heard to its end.");
    let middle = answer.body().len() / 2;
    desk.server
        .push(answer.hold_at(middle, &beeuni_gateway::testing::Gate::closed()));
    let turn = open.prompt(said("Go")).await.turn;
    open.event("text", |event| {
        matches!(event.body, EventBody::PartDelta(_)).then_some(())
    })
    .await;
    let stopped = Instant::now();
    assert!(open.opencode.abort(ID).await.unwrap());
    let ended = open.ended(&turn).await;
    assert!(stopped.elapsed() < Duration::from_secs(1), "{:?}", stopped.elapsed());
    assert_eq!((ended.outcome, ended.error), (TurnOutcome::Aborted, None));
    let last = open.messages().pop().unwrap();
    assert_eq!(last.finish, Some(Finish::Aborted));
    assert!(text_of(&last).starts_with("It begins"), "{last:?}");
    assert!(!open.opencode.abort(ID).await.unwrap());
    desk.server.push(Answer::text("Here again."));
    assert_eq!(open.say("And now?").await.outcome, TurnOutcome::Done);
    assert_eq!(open.last_text(), "Here again.");
    open.close().await;
}

#[tokio::test]
async fn a_stop_ends_running_calls_of_both_kinds_within_a_second() {
    let desk = desk().await;
    let (dropped, mut is_dropped) = tokio::sync::watch::channel(false);
    struct Tell(tokio::sync::watch::Sender<bool>);
    impl Drop for Tell {
        fn drop(&mut self) {
            self.0.send_replace(true);
        }
    }
    desk.tools.add("forever", move |_| {
        let tell = Tell(dropped.clone());
        async move {
            let _tell = tell;
            std::future::pending::<()>().await;
            Ok(String::new())
        }
    });
    let open = desk.open().await;
    desk.server.push(Answer::tool_calls(&[
        ("call_1", "forever", "{}"),
        (
            "call_2",
            "bash",
            r#"{"command":"echo begun; sleep 60","description":"waits"}"#,
        ),
    ]));
    let turn = open.prompt(said("Go")).await.turn;
    until("both run", || {
        let running = open
            .calls()
            .into_iter()
            .filter(|call| call.status == ToolStatus::Running);
        running.count() == 2 && !desk.tools.names_called().is_empty()
    })
    .await;
    let stopped = Instant::now();
    open.opencode.abort(ID).await.unwrap();
    let ended = open.ended(&turn).await;
    assert!(stopped.elapsed() < Duration::from_secs(1), "{:?}", stopped.elapsed());
    assert_eq!(ended.outcome, TurnOutcome::Aborted);
    tokio::time::timeout(PATIENCE, is_dropped.wait_for(|it| *it))
        .await
        .unwrap()
        .unwrap();
    assert!(stopped.elapsed() < Duration::from_secs(1), "{:?}", stopped.elapsed());
    for call in open.calls() {
        assert_eq!(call.status, ToolStatus::Interrupted, "{call:?}");
        assert!(call.error.unwrap().contains("the turn was stopped while this call ran"));
    }
    open.close().await;
}

#[tokio::test]
async fn a_stop_takes_waiting_requests_back() {
    let mut desk = desk().await;
    desk.rule("beeuni", "lookup", "*", beeuni_manifest::PermissionAction::Ask);
    desk.rule("beeuni", "bash", "*", beeuni_manifest::PermissionAction::Ask);
    desk.tools.echo("lookup");
    let open = desk.open().await;
    desk.server.push(Answer::tool_calls(&[
        ("call_1", "lookup", "{}"),
        ("call_2", "bash", r#"{"command":"echo no","description":"x"}"#),
    ]));
    let turn = open.prompt(asked("Go", OnAsk::Wait)).await.turn;
    until("both wait", || open.opencode.permissions(ID).unwrap().len() == 2).await;
    assert_eq!(open.opencode.state(ID).unwrap().waiting, 2);
    open.opencode.abort(ID).await.unwrap();
    let ended = open.ended(&turn).await;
    assert_eq!(ended.outcome, TurnOutcome::Aborted, "{:?}", ended.error);
    until("none waits", || open.opencode.permissions(ID).unwrap().is_empty()).await;
    assert!(desk.tools.names_called().is_empty());
    for call in open.calls() {
        assert_eq!(call.status, ToolStatus::Interrupted, "{call:?}");
        assert!(call.error.unwrap().contains("It was not run"));
    }
    open.close().await;
}

#[tokio::test]
async fn a_stop_before_the_first_answer_ends_the_turn_too() {
    let desk = desk().await;
    let open = desk.open().await;
    desk.server
        .push(Answer::text("Too late").hold(&beeuni_gateway::testing::Gate::closed()));
    let turn = open.prompt(said("Go")).await.turn;
    open.opencode.abort(ID).await.unwrap();
    let ended = open.ended(&turn).await;
    assert_eq!(ended.outcome, TurnOutcome::Aborted, "{:?}", ended.error);
    desk.server.on("/v1/chat/completions", Answer::text("In time."));
    assert_eq!(open.say("Again").await.outcome, TurnOutcome::Done);
    assert_eq!(open.last_text(), "In time.");
    open.close().await;
}

#[tokio::test]
async fn closing_stops_the_turn_and_ends_the_streams() {
    let desk = desk().await;
    let open = desk.open().await;
    desk.server
        .push(Answer::text("Never").hold(&beeuni_gateway::testing::Gate::closed()));
    let turn = open.prompt(said("Go")).await.turn;
    desk.wait_for_chats(1).await;
    let mut events = open.opencode.events(None);
    open.opencode.close(Duration::ZERO).await;
    let mut outcome = None;
    while let Some(event) = events.next().await.unwrap() {
        if let EventBody::TurnEnded(ended) = &event.body
            && ended.turn == turn
        {
            outcome = Some(ended.outcome);
        }
    }
    assert_eq!(outcome, Some(TurnOutcome::Aborted));
    assert_eq!(open.opencode.status().state, "stopping");
    let refused = open.opencode.prompt(ID, said("x")).await.unwrap_err().to_string();
    assert!(refused.contains("closed"), "{refused}");
}

#[tokio::test]
async fn a_stop_while_opencode_is_being_told_leaves_nothing_at_work() {
    let desk = desk().await;
    let open = desk.open().await;
    // The first word is on its way to OpenCode for some milliseconds, somewhere in here.
    for delay in [16, 22, 28] {
        let gate = beeuni_gateway::testing::Gate::closed();
        let command = format!(r#"{{"command":"touch after-{delay}","description":"x"}}"#);
        let answer = Answer::tool_calls(&[("call_1", "bash", &command)]).hold(&gate);
        desk.server.on("/v1/chat/completions", answer);
        let turn = open.prompt(said("Go")).await.turn;
        tokio::time::sleep(Duration::from_millis(delay)).await;
        open.opencode.abort(ID).await.unwrap();
        let ended = open.ended(&turn).await;
        assert_eq!(ended.outcome, TurnOutcome::Aborted, "{:?}", ended.error);
        gate.open();
        // What must not happen can only be waited for: a command would have run long before.
        tokio::time::sleep(Duration::from_millis(600)).await;
        let file = desk.project().join(format!("after-{delay}"));
        assert!(
            !file.exists(),
            "a command ran after the stop, {delay} ms after the prompt"
        );
    }
    open.close().await;
}
