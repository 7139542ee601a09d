//! What readers see while it happens, and the exchange of tools between turns.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod support;

use std::sync::Arc;

use beeuni_agent::PromptOptions;
use beeuni_gateway::testing::{Answer, Gate};
use beeuni_manifest::ToolKind;
use beeuni_protocol::session::{Activity, DeltaField, EventBody, PartBody, ToolStatus};
use support::{ended, history, kind, messages, offered, results, rig, say, tool, wait_until};

#[tokio::test]
async fn a_turn_is_told_from_its_start_to_its_end() {
    let rig = rig().await;
    rig.tools.echo("t");
    rig.server.push(Answer::tool_calls(&[("c1", "t", r#"{"n":1}"#)]));
    rig.server.push(Answer::text("All done."));
    let session = rig.open();
    let mut live = session.events(None);
    say(&session, "go").await;
    let mut events = Vec::new();
    while let Some(event) = live.try_next().unwrap() {
        events.push(event);
    }
    let kinds: Vec<String> = events
        .iter()
        .map(|event| match &event.body {
            EventBody::PartUpdated { part } => match &part.body {
                PartBody::Tool(call) => format!("tool {:?}", call.status).to_lowercase(),
                PartBody::Text(text) if text.text.is_empty() => "text begins".to_owned(),
                PartBody::Text(_) => "text".to_owned(),
                other => format!("{other:?}"),
            },
            EventBody::PartDelta(delta) => format!("+{:?}", delta.field).to_lowercase(),
            body => kind(body),
        })
        .collect();
    assert_eq!(
        kinds,
        [
            "message.created",
            "text",
            "session.titled",
            "turn.started",
            "message.created",
            "tool pending",
            "+arguments",
            "+arguments",
            "tool pending",
            "message.updated",
            "tool running",
            "tool completed",
            "message.created",
            "text begins",
            "+text",
            "+text",
            "text",
            "message.updated",
            "turn.ended",
        ]
    );
    assert!(events.is_sorted_by(|a, b| a.id < b.id));
    assert!(events.iter().all(|event| event.session == "s1"));
}

#[tokio::test]
async fn the_arguments_of_a_call_arrive_as_they_are_written() {
    let rig = rig().await;
    rig.tools.echo("t");
    rig.server
        .push(Answer::tool_calls(&[("c1", "t", r#"{"text":"a long one"}"#)]));
    rig.server.push(Answer::text("ok"));
    let session = rig.open();
    say(&session, "go").await;
    let deltas: String = history(&session)
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::PartDelta(delta) if delta.field == DeltaField::Arguments => Some(delta.text.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(deltas, r#"{"text":"a long one"}"#);
}

#[tokio::test]
async fn a_reader_that_comes_back_after_a_restart_misses_nothing_stored() {
    let rig = rig().await;
    for text in ["one", "two"] {
        rig.server.push(Answer::text(text));
    }
    let session = rig.open();
    say(&session, "first").await;
    let seen = session.state().last_event;
    session.close().await;
    drop(session);
    let session = rig.open();
    say(&session, "second").await;
    let mut stream = session.events(Some(seen));
    let mut kinds = Vec::new();
    while let Some(event) = stream.try_next().unwrap() {
        assert!(event.id >= seen);
        kinds.push(kind(&event.body));
    }
    assert_eq!(kinds[0], "resync");
    assert!(
        kinds.contains(&"turn.started".to_owned()) && kinds.contains(&"turn.ended".to_owned()),
        "{kinds:?}"
    );
}

#[tokio::test]
async fn a_reader_that_never_reads_does_not_hold_the_turn_up() {
    let mut rig = rig().await;
    rig.settings.ring_bytes = 4096;
    rig.server.push(Answer::text(&"word ".repeat(3000)));
    let session = rig.open();
    let mut idle = session.events(None);
    say(&session, "go").await;
    let first = idle.next().await.unwrap().unwrap();
    assert!(matches!(first.body, EventBody::Resync {}), "{first:?}");
    let mut last = first;
    while let Some(event) = idle.try_next().unwrap() {
        last = event;
    }
    assert!(matches!(last.body, EventBody::TurnEnded(_)), "{last:?}");
}

#[tokio::test]
async fn c2_tools_are_exchanged_between_turns_and_the_conversation_goes_on() {
    let mut rig = rig().await;
    for name in ["old_name", "new_name"] {
        rig.tools.echo(name);
    }
    rig.setup.tools = vec![tool("old_name", ToolKind::Project)];
    let session = rig.open();
    session.reload(rig.setup.clone()).await.unwrap();
    let gate = Gate::closed();
    rig.server
        .push(Answer::tool_calls(&[("c1", "old_name", "{}")]).hold(&gate));
    rig.server.push(Answer::text("one"));
    rig.server.push(Answer::tool_calls(&[
        ("c2", "old_name", "{}"),
        ("c3", "new_name", "{}"),
    ]));
    rig.server.push(Answer::text("two"));
    let mut first = session.prompt("first", PromptOptions::default()).unwrap();
    rig.wait_for_chats(1).await;
    rig.setup.tools = vec![tool("new_name", ToolKind::Project)];
    rig.agent("beeuni").prompt = "You are new.".to_owned();
    let reloading = tokio::spawn({
        let (session, setup) = (session.clone(), rig.setup.clone());
        async move { session.reload(setup).await.unwrap() }
    });
    wait_until("the reload to wait", || session.state().activity == Activity::Running).await;
    gate.open();
    ended(&mut first).await;
    // The turn that ran kept its tools to its end.
    assert!(offered(&rig.bodies()[1]).contains(&"old_name".to_owned()));
    assert_eq!(results(&rig.bodies()[1])[0].1, "{}");
    say(&session, "second").await;
    assert_eq!(reloading.await.unwrap().tools.len(), 1);
    let body = &rig.bodies()[2];
    assert!(offered(body).contains(&"new_name".to_owned()) && !offered(body).contains(&"old_name".to_owned()));
    assert!(
        body["messages"][0]["content"]
            .as_str()
            .unwrap()
            .starts_with("You are new.")
    );
    assert_eq!(body["messages"][1]["content"], "first");
    let told = results(&rig.bodies()[3]);
    assert_eq!(told[1].1, "Tool old_name not found");
    assert_eq!(told[2].1, "{}");
    let reloaded = history(&session)
        .into_iter()
        .filter(|event| matches!(event.body, EventBody::SessionReloaded { .. }));
    assert_eq!(reloaded.count(), 2);
}

#[tokio::test]
async fn a_message_is_complete_for_who_reads_it_in_the_middle_of_a_turn() {
    let rig = rig().await;
    let release = Arc::new(tokio::sync::Notify::new());
    let waits = release.clone();
    rig.tools.add("waits", move |_| {
        let waits = waits.clone();
        async move {
            waits.notified().await;
            Ok("done".to_owned())
        }
    });
    rig.server.push(Answer::tool_calls(&[("c1", "waits", "{}")]));
    rig.server.push(Answer::text("ok"));
    let session = rig.open();
    let mut turn = session.prompt("go", PromptOptions::default()).unwrap();
    wait_until("the running call", || {
        support::calls(&session)
            .first()
            .is_some_and(|call| call.status == ToolStatus::Running)
    })
    .await;
    assert!(support::calls(&session)[0].time.started.is_some());
    assert_eq!(messages(&session).len(), 2);
    release.notify_one();
    ended(&mut turn).await;
}
