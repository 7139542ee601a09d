//! `GET /beeuni/events`: live, replayed, for clients that stay behind, and to the end.
use serde_json::{Value, json};

use crate::support::{Events, Talk, request, signed};

/// The numbers of events.
fn ids(events: &[Value]) -> Vec<u64> {
    events.iter().map(|event| event["id"].as_u64().unwrap()).collect()
}

/// Without those that are not stored: deltas, and the beginnings of texts.
fn stored(events: Vec<Value>) -> Vec<Value> {
    let kept = |event: &Value| {
        !matches!(event["type"].as_str().unwrap(), "part.delta" | "model.retry" | "resync")
            && event["data"]["part"]["text"] != ""
    };
    events.into_iter().filter(kept).collect()
}

#[test]
fn what_happens_is_told_as_it_happens() {
    let talk = Talk::new(&[]);
    let events = Events::of(&talk.daemon, None);
    talk.model.calls(&[("c1", "echo", json!({ "n": 1 }))]).says("all done");
    talk.prompt(&json!({ "text": "go" }));
    let ended = events.wait_for("turn.ended");
    assert_eq!(
        (&ended["session"], &ended["data"]["outcome"]),
        (&json!("s-1"), &json!("done"))
    );
    let all = events.all();
    let kinds: Vec<&str> = all.iter().map(|event| event["type"].as_str().unwrap()).collect();
    for kind in [
        "turn.started",
        "message.created",
        "part.updated",
        "part.delta",
        "message.updated",
    ] {
        assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
    }
    let ids = ids(&all);
    assert!(ids.is_sorted() && ids[0] > 0, "{ids:?}");
    let statuses: Vec<&Value> = all
        .iter()
        .map(|event| &event["data"]["part"])
        .filter(|part| part["type"] == "tool")
        .map(|part| &part["status"])
        .collect();
    assert_eq!(statuses.last(), Some(&&json!("completed")));
    assert!(statuses.contains(&&json!("running")), "{statuses:?}");
}

#[test]
fn a_client_that_comes_back_misses_nothing_and_gets_nothing_twice() {
    let talk = Talk::new(&[]);
    let watching = Events::of(&talk.daemon, Some(0));
    talk.model.says("one").says("two");
    talk.say("first");
    watching.wait_for("turn.ended");
    let seen = watching.all();
    talk.say("second");
    let second =
        |event: &Value| event["type"] == "turn.ended" && event["id"].as_u64() > seen.last().unwrap()["id"].as_u64();
    watching.wait("the end of the second turn", second);
    let whole = watching.all();

    let middle = seen[seen.len() / 2]["id"].as_u64().unwrap();
    let back = Events::of(&talk.daemon, Some(middle));
    back.wait("the end of the second turn", second);
    let expected: Vec<Value> = whole
        .iter()
        .filter(|event| event["id"].as_u64().unwrap() > middle)
        .cloned()
        .collect();
    assert_eq!(back.all(), expected);

    // Also from the file, after another start.
    let talk = talk.again();
    let replayed = Events::of(&talk.daemon, Some(middle));
    replayed.wait("the end of the second turn", second);
    assert_eq!(stored(replayed.all()), stored(expected));
}

#[test]
fn a_client_that_does_not_read_slows_nobody_and_is_told_what_it_missed() {
    let talk = Talk::new(&[]);
    let mut lazy = talk.daemon.connect();
    lazy.send(request("GET", "/beeuni/events", &signed(), "").as_bytes());
    assert_eq!(lazy.head().status, 200);
    // Far more than the buffers between us hold.
    let text = "word ".repeat(60_000);
    talk.model.says(&text);
    let messages = talk.say("go");
    assert_eq!(messages[1]["parts"][0]["text"], text.as_str());
    let mut seen = String::new();
    while !seen.contains(r#""type":"turn.ended""#) {
        seen.push_str(&String::from_utf8(lazy.chunk().unwrap()).unwrap());
    }
    assert!(seen.contains(r#""type":"resync""#), "{} bytes", seen.len());
    let whole = format!("\"text\":{}", json!(text));
    assert!(seen.contains(&whole), "the whole text comes once more");
}

#[test]
fn the_stream_ends_with_the_daemon() {
    let mut talk = Talk::new(&[]);
    let events = Events::of(&talk.daemon, None);
    talk.daemon.signal("TERM");
    events.until_ended();
    assert_eq!(talk.daemon.exit_code(), Some(0));
}

#[test]
fn a_place_that_is_no_number_is_refused_and_one_that_never_was_starts_over() {
    let talk = Talk::new(&[]);
    for headers in ["last-event-id: x\r\n", "last-event-id: -1\r\n"] {
        let request = request("GET", "/beeuni/events", &(signed() + headers), "");
        assert_eq!(talk.daemon.connect().ask(&request).status, 400, "{headers}");
    }
    assert_eq!(talk.daemon.ask("GET", "/beeuni/events?after=x", "").status, 400);
    let events = Events::of(&talk.daemon, Some(1_000_000));
    events.wait_for("session.created");
}
