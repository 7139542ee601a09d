//! Tests of the journal: numbers, replay, recovery.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]
use std::path::Path;
use std::sync::Arc;

use beeuni_protocol::session::{
    DeltaField, Event, EventBody, Finish, Message, MessageTime, PartBody, PermissionReply, Role, SessionCreated,
    TextPart, ToolCall, ToolStatus, ToolTime, TurnOutcome, TurnStarted,
};

use super::*;

fn open_with(folder: &Path, ring: usize) -> Arc<Journal> {
    let created = || SessionCreated {
        format: FORMAT,
        parent: None,
        agent: "a".to_owned(),
        environment: "e".to_owned(),
    };
    Arc::new(Journal::open(folder, "s", ring, created).unwrap())
}

fn open(folder: &Path) -> Arc<Journal> {
    open_with(folder, 1 << 20)
}

fn message(id: &str) -> Message {
    Message {
        id: id.to_owned(),
        session: "s".to_owned(),
        turn: "t".to_owned(),
        role: Role::Assistant,
        origin: None,
        agent: "a".to_owned(),
        model: None,
        time: MessageTime {
            created: 1,
            completed: None,
        },
        finish: None,
        error: None,
        usage: None,
        parts: Vec::new(),
    }
}

fn begin(journal: &Journal, id: &str) {
    journal
        .publish("s", EventBody::MessageCreated { message: message(id) })
        .unwrap();
}

fn text() -> PartBody {
    PartBody::Text(TextPart::default())
}

fn tool(status: ToolStatus) -> PartBody {
    PartBody::Tool(ToolCall {
        call: "c".to_owned(),
        tool: "bash".to_owned(),
        arguments: "{}".to_owned(),
        status,
        title: None,
        output: None,
        error: None,
        extra: None,
        metadata: serde_json::Map::new(),
        attachments: Vec::new(),
        time: ToolTime {
            created: 1,
            started: None,
            ended: None,
        },
    })
}

/// What a reader of events knows: the text of every part.
fn texts(events: &[Arc<Event>]) -> Vec<(String, String)> {
    let mut texts: Vec<(String, String)> = Vec::new();
    for event in events {
        match &event.body {
            EventBody::PartUpdated { part } => {
                let PartBody::Text(body) = &part.body else { continue };
                texts.retain(|(id, _)| *id != part.id);
                texts.push((part.id.clone(), body.text.clone()));
            }
            EventBody::PartDelta(delta) => {
                let known = texts.iter_mut().find(|(id, _)| *id == delta.part);
                known
                    .unwrap_or_else(|| panic!("a delta of {} before its part", delta.part))
                    .1
                    .push_str(&delta.text);
            }
            _ => {}
        }
    }
    texts
}

fn drain(stream: &mut EventStream) -> Vec<Arc<Event>> {
    std::iter::from_fn(|| stream.try_next().unwrap()).collect()
}

#[tokio::test]
async fn a_reader_sees_a_part_grow_and_the_file_has_it_whole() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let mut live = EventStream::new(&journal, None);
    begin(&journal, "m1");
    let part = journal.begin_part("s", "m1", text());
    for piece in ["Hel", "lo ", "wörld"] {
        journal.add(&part, DeltaField::Text, piece);
    }
    let PartBody::Text(open) = &journal.messages("s", 0..9).unwrap()[0].parts[0].body else {
        panic!("no text")
    };
    assert_eq!(open.text, "Hello wörld");
    journal.end_part(&part, |_| {}).unwrap();
    let events = drain(&mut live);
    assert!(events.is_sorted_by(|a, b| a.id < b.id));
    assert_eq!(texts(&events), [(part.clone(), "Hello wörld".to_owned())]);
    drop((journal, live));
    let journal = self::open(folder.path());
    let message = &journal.messages("s", 0..9).unwrap()[0];
    assert_eq!(message.parts.len(), 1);
    assert_eq!(
        (&message.parts[0].id, message.finish),
        (&part, Some(Finish::Interrupted))
    );
}

#[tokio::test]
async fn a_slow_reader_is_told_and_loses_nothing_that_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open_with(folder.path(), 4096);
    let mut slow = EventStream::new(&journal, None);
    begin(&journal, "m1");
    let first = drain(&mut slow);
    let done = journal.begin_part("s", "m1", text());
    for _ in 0..1000 {
        journal.add(&done, DeltaField::Text, "a");
    }
    journal.end_part(&done, |_| {}).unwrap();
    let growing = journal.begin_part("s", "m1", text());
    journal.add(&growing, DeltaField::Text, "b");
    for _ in 0..20 {
        journal.announce("s", EventBody::Resync {});
    }
    let mut late = drain(&mut slow);
    assert!(matches!(late[0].body, EventBody::Resync {}), "{:?}", late[0]);
    assert_eq!(late[0].id, first.last().unwrap().id);
    journal.add(&growing, DeltaField::Text, "c");
    late.extend(drain(&mut slow));
    assert_eq!(texts(&late), [(done, "a".repeat(1000)), (growing, "bc".to_owned())]);
}

#[tokio::test]
async fn replay_from_any_number_gives_every_stored_event_after_it_once() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    for number in 0..300 {
        begin(&journal, &format!("m{number}"));
    }
    let all = drain(&mut EventStream::new(&journal, Some(0)));
    assert_eq!(all.len(), 301);
    drop(journal);
    let journal = self::open(folder.path());
    // From the file, since the memory is empty; those that mark the messages interrupted follow.
    for after in [0, 1, 150, 300, 301] {
        let events = drain(&mut EventStream::new(&journal, Some(after)));
        let created = events
            .iter()
            .filter(|event| matches!(event.body, EventBody::MessageCreated { .. }));
        let ids: Vec<u64> = created.map(|event| event.id).collect();
        let expected: Vec<u64> = (after.max(1) + 1..=301).collect();
        assert_eq!(ids, expected, "after {after}");
    }
    // A number of another transcript: everything, after a word that it is.
    let events = drain(&mut EventStream::new(&journal, Some(1 << 40)));
    assert!(events.len() > 600, "{}", events.len());
}

#[tokio::test]
async fn numbers_grow_across_restarts_even_past_what_was_not_stored() {
    let folder = tempfile::tempdir().unwrap();
    let mut last = 0;
    for round in 0..3 {
        let journal = open(folder.path());
        begin(&journal, &format!("m{round}"));
        let part = journal.begin_part("s", &format!("m{round}"), text());
        journal.add(&part, DeltaField::Text, "never stored");
        assert!(journal.last() > last + 2, "round {round}");
        last = journal.last();
    }
}

#[tokio::test]
async fn what_was_unfinished_is_marked_when_the_session_opens_again() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let started = TurnStarted {
        turn: "t".to_owned(),
        agent: "a".to_owned(),
        model: "m".to_owned(),
        chosen: false,
        message: None,
    };
    journal.publish("s", EventBody::TurnStarted(started)).unwrap();
    begin(&journal, "m1");
    let mut parts = Vec::new();
    for status in [ToolStatus::Running, ToolStatus::Pending, ToolStatus::Completed] {
        let part = journal.begin_part("s", "m1", tool(ToolStatus::Pending));
        journal.end_part(&part, |body| *body = tool(status)).unwrap();
        parts.push(part);
    }
    drop(journal);
    for _ in 0..2 {
        let journal = open(folder.path());
        let message = journal.messages("s", 0..1).unwrap().remove(0);
        assert_eq!(message.finish, Some(Finish::Interrupted));
        let calls: Vec<ToolCall> = message
            .parts
            .into_iter()
            .map(|part| match part.body {
                PartBody::Tool(call) => call,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(
            calls.iter().map(|call| call.status).collect::<Vec<_>>(),
            [ToolStatus::Interrupted, ToolStatus::Interrupted, ToolStatus::Completed]
        );
        assert!(
            calls[0]
                .error
                .as_ref()
                .unwrap()
                .contains("may have done all, some or none")
        );
        assert!(calls[1].error.as_ref().unwrap().contains("It was not run"));
        assert!(!journal.with("s", |transcript| transcript.running).unwrap());
        let events = drain(&mut EventStream::new(&journal, Some(0)));
        let interrupted = |event: &&Arc<Event>| matches!(&event.body, EventBody::TurnEnded(ended) if ended.outcome == TurnOutcome::Interrupted);
        assert_eq!(events.iter().filter(interrupted).count(), 1, "marked once");
    }
}

#[tokio::test]
async fn a_request_that_nobody_can_answer_any_more_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let request: beeuni_protocol::session::PermissionRequest = serde_json::from_str(
        r#"{"id":"per_1","session":"s","agent":"a","message":"m","call":"c","tool":"bash","accesses":[],"always":[],"created":1}"#,
    )
    .unwrap();
    journal.publish("s", EventBody::PermissionAsked { request }).unwrap();
    drop(journal);
    let journal = self::open(folder.path());
    let events = drain(&mut EventStream::new(&journal, Some(0)));
    let closed = events.iter().any(|event| {
        matches!(&event.body, EventBody::PermissionReplied { reply: PermissionReply::Reject, request, .. } if request == "per_1")
    });
    assert!(closed, "{events:?}");
}

#[tokio::test]
async fn a_transcript_of_another_session_or_form_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()));
    let of = |root: &str, format| {
        Journal::open(folder.path(), root, 1024, || SessionCreated {
            format,
            parent: None,
            agent: String::new(),
            environment: String::new(),
        })
    };
    let error = of("other", FORMAT).unwrap_err().to_string();
    assert!(error.contains("it holds no session other"), "{error}");
    let later = tempfile::tempdir().unwrap();
    let created = || SessionCreated {
        format: 2,
        parent: None,
        agent: String::new(),
        environment: String::new(),
    };
    drop(Journal::open(later.path(), "s", 1024, created).unwrap());
    let error = Journal::open(later.path(), "s", 1024, created).unwrap_err().to_string();
    assert!(error.contains("it has form 2, this version reads 1"), "{error}");
}

#[tokio::test]
async fn a_closed_session_ends_its_readers_after_the_last_event() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let mut stream = EventStream::new(&journal, None);
    begin(&journal, "m1");
    journal.close();
    assert!(stream.next().await.unwrap().is_some());
    assert!(stream.next().await.unwrap().is_none());
}
