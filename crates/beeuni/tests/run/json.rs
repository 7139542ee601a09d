//! `--json`: each line is an event as the daemon sends it, the last one sums up.
use beeuni_protocol::session::{DeltaField, EventBody, PartBody, ToolStatus};
use serde_json::json;

use crate::model::Run;

#[test]
fn each_line_is_an_event_and_the_last_sums_up() {
    let run = Run::new("console.log('looking'); return 'found'");
    run.calls("probe", &json!({ "id": 1 })).says("It is there.");
    let ran = run.run(&["--json", "Look"]);
    assert_eq!(ran.code, 0, "{ran}");
    let (events, last) = Run::events(&ran);
    assert!(events.windows(2).all(|pair| pair[0].id < pair[1].id), "{ran}");
    assert!(
        events.iter().all(|event| !matches!(event.body, EventBody::Unknown(_))),
        "{ran}"
    );
    let text: String = events
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::PartDelta(delta) if delta.field == DeltaField::Text => Some(delta.text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(text, "It is there.");
    let calls: Vec<ToolStatus> = events
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::PartUpdated { part } => match &part.body {
                PartBody::Tool(call) => Some(call.status),
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert_eq!(calls.last(), Some(&ToolStatus::Completed));
    assert!(calls.contains(&ToolStatus::Running), "{calls:?}");
    assert!(matches!(events.last().unwrap().body, EventBody::TurnEnded(_)));
    assert_eq!(
        json!({ "type": last["type"], "outcome": last["outcome"], "exit_code": last["exit_code"], "agent": last["agent"],
            "model": last["model"], "answer": last["answer"], "steps": last["steps"],
            "usage": { "input": last["usage"]["input"], "output": last["usage"]["output"] } }),
        json!({ "type": "run.ended", "outcome": "done", "exit_code": 0, "agent": "beeuni", "model": "custom/scripted",
            "answer": "It is there.", "steps": 2, "usage": { "input": 22, "output": 14 } })
    );
    assert_eq!(last["session"], events[0].session.as_str());
    assert!(last["duration_ms"].is_u64());
    assert_eq!(ran.stderr, "probe: looking\n");
}

#[test]
fn a_failed_turn_sums_up_with_its_error() {
    let run = Run::new("return 'ok'");
    run.answers(beeuni_gateway::testing::Answer::json(
        401,
        &json!({ "error": { "message": "wrong key" } }),
    ));
    let ran = run.run(&["--json", "Look"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""), "{ran}");
    let (_, last) = Run::events(&ran);
    assert_eq!((&last["outcome"], &last["exit_code"]), (&json!("failed"), &json!(1)));
    assert_eq!(
        (&last["error"]["kind"], &last["error"]["status"]),
        (&json!("auth"), &json!(401))
    );
}

#[test]
fn a_run_that_cannot_begin_prints_no_line() {
    let run = Run::new("return 'ok'");
    let ran = run.run(&["--json", "--agent", "nobody", "Hello"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran}");
}

/// A reader that closes its end has seen enough: the turn does not go on for nobody.
#[test]
fn a_reader_that_goes_away_stops_the_turn() {
    let run = Run::new("await new Promise(() => setTimeout(() => {}, 1e9))");
    run.calls("probe", &json!({}));
    let mut child = run.start(&["--json", "Look"]);
    drop(child.stdout.take());
    let code = crate::model::until("the end of the run", || child.try_wait().unwrap());
    assert_eq!(code.code(), Some(141));
}
