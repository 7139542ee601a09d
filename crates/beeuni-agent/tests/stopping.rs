//! Stopping a turn at any time, and going on afterwards.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use beeuni_agent::{OnAsk, PromptOptions};
use beeuni_gateway::testing::{Answer, Gate};
use beeuni_manifest::{PermissionAction, PermissionRule, Place};
use beeuni_protocol::session::{Finish, ToolStatus, TurnOutcome};
use support::{calls, ended, messages, results, rig, roles, say, text_of, wait_until};

/// Says when it is dropped.
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn a_stop_ends_the_models_stream_at_once_and_keeps_what_came() {
    let rig = rig().await;
    let answer = Answer::text("Half of this answer comes");
    let (gate, at) = (Gate::closed(), answer.body().len() / 2);
    rig.server.push(answer.hold_at(at, &gate));
    rig.server.push(Answer::text("Fresh."));
    let session = rig.open();
    let mut turn = session.prompt("go", PromptOptions::default()).unwrap();
    wait_until("some text", || {
        messages(&session)
            .get(1)
            .is_some_and(|message| !text_of(message).is_empty())
    })
    .await;
    assert!(session.abort());
    assert_eq!(ended(&mut turn).await.outcome, TurnOutcome::Aborted);
    rig.chats()[0].hung_up().await;
    let message = &messages(&session)[1];
    assert_eq!(message.finish, Some(Finish::Aborted));
    assert!(text_of(message).starts_with("Half"));
    assert!(!session.abort(), "nothing runs");
    assert_eq!(say(&session, "again").await, "Fresh.");
    assert_eq!(roles(&rig.bodies()[1]), ["system", "user", "assistant", "user"]);
}

#[tokio::test]
async fn a_stop_before_the_model_answers_ends_the_request() {
    let rig = rig().await;
    let gate = Gate::closed();
    rig.server.push(Answer::text("never").hold(&gate));
    rig.server.push(Answer::text("Fresh."));
    let session = rig.open();
    let mut turn = session.prompt("go", PromptOptions::default()).unwrap();
    rig.wait_for_chats(1).await;
    session.abort();
    assert_eq!(ended(&mut turn).await.outcome, TurnOutcome::Aborted);
    rig.chats()[0].hung_up().await;
    assert_eq!(say(&session, "again").await, "Fresh.");
    // The answer that never came is not there for the model.
    assert_eq!(roles(&rig.bodies()[1]), ["system", "user", "user"]);
}

#[tokio::test]
async fn run_02_a_stop_ends_a_running_tool_within_a_second_and_marks_it() {
    let rig = rig().await;
    let (running, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let (seen, flag) = (running.clone(), dropped.clone());
    rig.tools.add("hangs", move |_| {
        seen.fetch_add(1, Ordering::SeqCst);
        let flag = Dropped(flag.clone());
        async move {
            let _flag = flag;
            std::future::pending().await
        }
    });
    rig.tools.echo("quick");
    rig.server
        .push(Answer::tool_calls(&[("c1", "hangs", "{}"), ("c2", "quick", "{}")]));
    rig.server.push(Answer::text("Fresh."));
    let session = rig.open();
    let mut turn = session.prompt("go", PromptOptions::default()).unwrap();
    wait_until("both calls", || {
        running.load(Ordering::SeqCst) == 1 && calls(&session).get(1).is_some_and(|call| call.output.is_some())
    })
    .await;
    let stopped = Instant::now();
    session.abort();
    assert_eq!(ended(&mut turn).await.outcome, TurnOutcome::Aborted);
    assert!(stopped.elapsed() < Duration::from_secs(1), "{:?}", stopped.elapsed());
    assert!(
        dropped.load(Ordering::SeqCst),
        "the call was dropped, which fires its signal"
    );
    let calls = calls(&session);
    assert_eq!(calls[0].status, ToolStatus::Interrupted);
    assert!(calls[0].error.as_ref().unwrap().contains("stopped while this call ran"));
    assert_eq!(calls[1].status, ToolStatus::Completed, "what had finished stays");
    say(&session, "again").await;
    let results = results(&rig.bodies()[1]);
    assert!(
        results[0].1.contains("interrupted") && results[1].1 == "{}",
        "{results:?}"
    );
}

#[tokio::test]
async fn a_stop_while_a_person_is_asked_takes_the_request_back() {
    let mut rig = rig().await;
    rig.tools.echo("t");
    rig.agent("beeuni").permission = vec![PermissionRule {
        capability: "t".to_owned(),
        pattern: "*".to_owned(),
        action: PermissionAction::Ask,
        place: Place {
            file: "agents/beeuni.md".to_owned(),
            line: 1,
            column: 1,
        },
    }];
    rig.server.push(Answer::tool_calls(&[("c1", "t", "{}")]));
    let session = rig.open();
    let mut turn = session.prompt("go", PromptOptions::default()).unwrap();
    wait_until("the request", || session.permissions().len() == 1).await;
    assert_eq!(session.state().waiting, 1);
    session.abort();
    assert_eq!(ended(&mut turn).await.outcome, TurnOutcome::Aborted);
    assert!(session.permissions().is_empty());
    assert!(rig.tools.args("t").is_empty(), "it never ran");
    let call = &calls(&session)[0];
    assert_eq!(call.status, ToolStatus::Interrupted);
    assert!(call.error.as_ref().unwrap().contains("It was not run"), "{call:?}");
}

#[tokio::test]
async fn a_turn_that_waits_for_a_reload_can_be_stopped_too() {
    let rig = rig().await;
    let gate = Gate::closed();
    rig.server.push(Answer::text("first").hold(&gate));
    let session = rig.open();
    let mut first = session.prompt("go", PromptOptions::default()).unwrap();
    rig.wait_for_chats(1).await;
    let reloading = tokio::spawn({
        let (session, setup) = (session.clone(), rig.setup.clone());
        async move { session.reload(setup).await }
    });
    gate.open();
    ended(&mut first).await;
    let mut second = session
        .prompt(
            "and",
            PromptOptions {
                on_ask: OnAsk::Deny,
                ..PromptOptions::default()
            },
        )
        .unwrap();
    session.abort();
    assert_eq!(ended(&mut second).await.outcome, TurnOutcome::Aborted);
    reloading.await.unwrap().unwrap();
    session.idle().await;
}

#[tokio::test]
async fn a_closed_session_takes_no_prompt_and_is_complete_on_disk() {
    let rig = rig().await;
    let gate = Gate::closed();
    rig.server.push(Answer::text("never").hold(&gate));
    let session = rig.open();
    let mut turn = session.prompt("go", PromptOptions::default()).unwrap();
    rig.wait_for_chats(1).await;
    session.close().await;
    assert_eq!(ended(&mut turn).await.outcome, TurnOutcome::Aborted);
    let error = session
        .prompt("more", PromptOptions::default())
        .unwrap_err()
        .to_string();
    assert_eq!(error, "the session is closed");
    drop(session);
    assert_eq!(messages(&rig.open()).len(), 2);
}
