//! What recorded sequences of OpenCode's events become in the transcript.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
use std::collections::HashSet;
use std::fmt::Write;
use std::sync::Arc;

use beeuni_agent::kit::{FORMAT, Journal, Models};
use beeuni_gateway::{Gateway, GatewayConfig};
use beeuni_protocol::session::{
    EventBody, Message, MessageTime, Origin, Part, PartBody, Role, SessionCreated, TextPart, ToolCall, ToolStatus,
    TurnOutcome,
};

use super::{Begun, Closing, Scribe};
use crate::client::{Happening, WholeMessage, happening};

/// A scribe at the beginning of the turn that was recorded.
struct Desk {
    _folder: tempfile::TempDir,
    journal: Arc<Journal>,
    scribe: Scribe,
    events: Vec<Happening>,
}

fn desk(recorded: &str, hosted: &[&str]) -> Desk {
    let folder = tempfile::tempdir().unwrap();
    let created = || SessionCreated {
        format: FORMAT,
        parent: None,
        agent: "build".to_owned(),
        environment: "here".to_owned(),
    };
    let journal = Arc::new(Journal::open(&folder.path().join("s"), "s", 1 << 20, created).unwrap());
    let events: Vec<Happening> = recorded.lines().map(happening).collect();
    let root = events
        .iter()
        .find_map(|event| match event {
            Happening::Session(info) => Some(info.id.clone()),
            _ => None,
        })
        .unwrap();
    let prompt = events
        .iter()
        .find_map(|event| match event {
            Happening::Message(info) => Some(info.id.clone()),
            _ => None,
        })
        .unwrap();
    let models = Models::new(Gateway::new(GatewayConfig::default()));
    let redact = Arc::new(|text: String| text.replace("secret", "[redacted]"));
    let written = Arc::new(|_: &str, _: &str| None);
    let mut scribe = Scribe::new(Arc::clone(&journal), models, redact, written, &root);
    let message = Message {
        id: prompt.clone(),
        session: "s".to_owned(),
        turn: "turn_1".to_owned(),
        role: Role::User,
        origin: Some(Origin::Prompt),
        agent: "build".to_owned(),
        model: None,
        time: MessageTime {
            created: 1,
            completed: Some(1),
        },
        finish: None,
        error: None,
        usage: None,
        parts: Vec::new(),
    };
    let part = Part {
        id: "prt_0".to_owned(),
        message: prompt.clone(),
        body: PartBody::Text(TextPart {
            text: "first".to_owned(),
        }),
    };
    let said = [EventBody::MessageCreated { message }, EventBody::PartUpdated { part }];
    journal.publish_all("s", said).unwrap();
    let begun = Begun {
        turn: "turn_1",
        prompt: &prompt,
        agent: "build",
        model: "openai/m1",
        limit: 10,
    };
    scribe.begin(&begun, hosted.iter().map(|name| (*name).to_owned()).collect());
    Desk {
        _folder: folder,
        journal,
        scribe,
        events,
    }
}

impl Desk {
    fn play(&mut self) {
        for event in &self.events {
            self.scribe.take(event).unwrap();
        }
    }

    fn messages(&self, session: &str) -> Vec<Message> {
        self.journal.messages(session, 0..usize::MAX).unwrap()
    }

    /// The conversation, a line for each thing in it.
    fn told(&self, session: &str) -> String {
        let mut text = String::new();
        for message in self.messages(session) {
            let who = match message.origin {
                Some(origin) => format!("{origin:?}"),
                None => "Answer".to_owned(),
            };
            let finish = message.finish.map(|finish| format!(" {finish:?}")).unwrap_or_default();
            let error = message
                .error
                .map(|error| format!(" [{}: {}]", error.kind, error.message));
            writeln!(text, "{who}{finish}{}", error.unwrap_or_default()).unwrap();
            for part in message.parts {
                let line = match part.body {
                    PartBody::Text(part) => format!("text: {}", part.text),
                    PartBody::Reasoning(part) => format!("reasoning: {}", part.text),
                    PartBody::Tool(call) => of_call(&call),
                    PartBody::File(file) => format!("file: {}", file.mime),
                    PartBody::Compaction(mark) => format!("compaction ({}): {}", mark.reason, mark.summary),
                };
                writeln!(text, "  {line}").unwrap();
            }
        }
        text
    }
}

fn of_call(call: &ToolCall) -> String {
    format!(
        "{} {} {} {:?} {:?} {:?}",
        call.call,
        call.tool,
        call.arguments,
        call.status,
        call.output.as_deref().unwrap_or_default(),
        call.error.as_deref().unwrap_or_default()
    )
}

const BASIC: &str = include_str!("recorded/basic.jsonl");

const BASIC_TOLD: &str = r#"Prompt
  text: first
Answer ToolCalls
  reasoning: think more
  text: I'll look.
  c1 bash {"command":"echo hi; echo err >&2","description":"say hi"} Completed "hi\nerr\n" ""
  c2 read {"filePath":"nope.txt"} Error "" "File not found: /tmp/project/nope.txt"
  c3 nosuch  Error "" "Tool nosuch not found"
Answer Stop
  text: Done.
"#;

#[tokio::test]
async fn a_turn_becomes_messages_with_parts_in_order() {
    let mut desk = desk(BASIC, &[]);
    desk.play();
    assert_eq!(desk.told("s"), BASIC_TOLD);
    assert!(!desk.scribe.is_busy() && desk.scribe.unfinished().is_empty());
    let root = desk.scribe.root().to_owned();
    assert_eq!(desk.scribe.outcome(&root), (TurnOutcome::Done, None));
    let usage = desk.scribe.used(&root);
    // Those from the cache are part of the request.
    assert_eq!((usage.input, usage.output, usage.cached), (22, 14, 6));
    assert_eq!(desk.scribe.root_steps(), 2);
    for message in desk.messages("s") {
        assert!(message.time.completed.is_some());
        for call in message.parts.iter().filter_map(|part| match &part.body {
            PartBody::Tool(call) => Some(call),
            _ => None,
        }) {
            assert!(call.time.created <= call.time.started.unwrap());
            assert!(call.time.started <= call.time.ended);
        }
    }
}

#[tokio::test]
async fn hearing_everything_twice_changes_nothing() {
    let mut desk = desk(BASIC, &[]);
    desk.play();
    let before = desk.journal.last();
    desk.play();
    assert_eq!(desk.told("s"), BASIC_TOLD);
    assert_eq!(desk.journal.last(), before);
}

#[tokio::test]
async fn a_turn_whose_events_were_cut_off_anywhere_can_still_be_closed() {
    let count = desk(BASIC, &[]).events.len();
    for heard in 0..count {
        let mut desk = desk(BASIC, &[]);
        desk.events.truncate(heard);
        desk.play();
        desk.scribe
            .close(&Closing::stopped(TurnOutcome::Aborted, None))
            .unwrap();
        for message in desk.messages("s") {
            assert!(message.time.completed.is_some(), "after {heard} events");
            for part in &message.parts {
                if let PartBody::Tool(call) = &part.body {
                    let open = matches!(call.status, ToolStatus::Pending | ToolStatus::Running);
                    assert!(!open, "after {heard} events: {call:?}");
                }
            }
        }
        // What is stored is what is shown.
        drop(desk.scribe);
        let shown = desk.journal.messages("s", 0..9).unwrap();
        desk.journal.close();
        let again = Journal::open(&desk._folder.path().join("s"), "s", 1024, || unreachable!()).unwrap();
        assert_eq!(again.messages("s", 0..9).unwrap(), shown, "after {heard} events");
    }
}

/// What OpenCode has stored when all has happened.
fn stored(events: &[Happening], session: &str) -> Vec<WholeMessage> {
    let mut messages: Vec<WholeMessage> = Vec::new();
    for event in events {
        match event {
            Happening::Message(info) if info.session == session => {
                match messages.iter_mut().find(|known| known.info.id == info.id) {
                    Some(known) => known.info = info.clone(),
                    None => messages.push(WholeMessage {
                        info: info.clone(),
                        parts: Vec::new(),
                    }),
                }
            }
            Happening::Part(part) if part.session == session => {
                let message = messages.iter_mut().find(|known| known.info.id == part.message).unwrap();
                match message.parts.iter_mut().find(|known| known.id == part.id) {
                    Some(known) => *known = part.clone(),
                    None => message.parts.push(part.clone()),
                }
            }
            _ => {}
        }
    }
    messages
}

#[tokio::test]
async fn what_was_missed_is_caught_up_from_the_store_wherever_the_events_broke_off() {
    let count = desk(BASIC, &[]).events.len();
    for heard in 0..count {
        let mut desk = desk(BASIC, &[]);
        let root = desk.scribe.root().to_owned();
        let whole = stored(&desk.events, &root);
        desk.events.truncate(heard);
        desk.play();
        desk.scribe.reconcile(&root, &whole).unwrap();
        assert_eq!(desk.told("s"), BASIC_TOLD, "after {heard} events");
        assert!(desk.scribe.unfinished().is_empty(), "after {heard} events");
        let before = desk.journal.last();
        desk.scribe.reconcile(&root, &whole).unwrap();
        assert_eq!(desk.journal.last(), before, "after {heard} events");
    }
}

#[tokio::test]
async fn a_subagent_of_which_nothing_was_heard_is_caught_up_too() {
    let recorded = include_str!("recorded/task.jsonl");
    let mut whole = desk(recorded, &[]);
    whole.play();
    let is_child = |id: &String| id != "s";
    let child = whole.journal.sessions().into_iter().find(is_child).unwrap();
    let expected = (whole.told("s"), whole.told(&child));

    let mut desk = desk(recorded, &[]);
    let root = desk.scribe.root().to_owned();
    let begun = |event: &Happening| matches!(event, Happening::Session(info) if info.parent.is_some());
    let at = desk.events.iter().position(begun).unwrap();
    let (of_root, of_child) = (stored(&desk.events, &root), stored(&desk.events, &child));
    let session = desk.events[at].clone();
    desk.events.truncate(at);
    desk.play();
    desk.scribe.take(&session).unwrap();
    desk.scribe.reconcile(&child, &of_child).unwrap();
    desk.scribe.reconcile(&root, &of_root).unwrap();
    assert_eq!((desk.told("s"), desk.told(&child)), expected);
}

#[tokio::test]
async fn a_hosted_call_begins_when_it_is_permitted_whichever_comes_first() {
    let is_running = |event: &Happening| matches!(event, Happening::Part(part) if part.tool == "bash" && part.state.as_ref().is_some_and(|it| it.status == "running"));
    for early in [false, true] {
        let mut desk = desk(BASIC, &["bash"]);
        let root = desk.scribe.root().to_owned();
        let at = desk.events.iter().position(is_running).unwrap();
        desk.events.truncate(at + 1);
        if early {
            desk.scribe.permit(&root, "c1").unwrap();
        }
        desk.play();
        let status = |desk: &Desk| match &desk.messages("s")[1].parts.last().unwrap().body {
            PartBody::Tool(call) => call.status,
            other => panic_on(other),
        };
        assert_eq!(
            status(&desk),
            if early {
                ToolStatus::Running
            } else {
                ToolStatus::Pending
            }
        );
        desk.scribe.permit(&root, "c1").unwrap();
        assert_eq!(status(&desk), ToolStatus::Running);
    }
}

#[expect(clippy::panic, reason = "a test stops at the first surprise")]
fn panic_on(body: &PartBody) -> ! {
    panic!("{body:?}")
}

#[tokio::test]
async fn a_subagent_becomes_a_session_of_its_own() {
    let mut desk = desk(include_str!("recorded/task.jsonl"), &[]);
    desk.play();
    let child = desk.journal.sessions().into_iter().find(|id| id != "s").unwrap();
    assert_eq!(
        desk.told(&child),
        r#"Prompt
  text: please
Answer ToolCalls
  text: ok
  k1 bash {"command":"echo child","description":"s"} Completed "child\n" ""
Answer Stop
  text: child done
"#
    );
    let (created, title, running) = desk
        .journal
        .with(&child, |it| (it.created.clone(), it.title.clone(), it.running))
        .unwrap();
    assert_eq!(
        (created.parent.as_deref(), created.agent.as_str()),
        (Some("s"), "helper")
    );
    assert_eq!(
        (created.environment.as_str(), title.as_deref(), running),
        ("here", Some("do it"), false)
    );
    let root = desk.scribe.root().to_owned();
    assert_eq!(desk.scribe.used(&root).input, 44, "with the subagent's");
    let task = desk.messages("s")[1].parts.remove(0);
    let PartBody::Tool(task) = task.body else {
        panic_on(&task.body)
    };
    assert_eq!(task.metadata["session"], child.as_str());
    assert_eq!(task.metadata["agent"], "helper");
    assert!(!task.metadata.contains_key("parentSessionId"), "{:?}", task.metadata);
}

#[tokio::test]
async fn a_compaction_is_a_mark_with_its_summary() {
    let mut desk = desk(include_str!("recorded/compact.jsonl"), &[]);
    desk.play();
    let told = desk.told("s");
    assert!(
        told.starts_with("Prompt\n  text: first\nAnswer Stop\n  text: hi\nCompaction\n  compaction (window): SUMMARY\nHarness\n  text: Continue if you"),
        "{told}"
    );
    assert!(told.contains("Answer Stop\n  text: after\n"), "{told}");
    assert_eq!(desk.scribe.root_steps(), 4, "the summary was asked for too");
}

#[tokio::test]
async fn a_conversation_that_was_too_long_goes_on_after_its_compaction() {
    let mut desk = desk(include_str!("recorded/overflow.jsonl"), &[]);
    desk.play();
    let told = desk.told("s");
    assert!(
        told.contains("Answer Error [context_overflow: too long]\nCompaction\n  compaction (overflow): SUMMARY\n"),
        "{told}"
    );
    assert!(
        told.ends_with("Harness\n  text: second\nAnswer Stop\n  text: after\n"),
        "{told}"
    );
    let root = desk.scribe.root().to_owned();
    assert_eq!(desk.scribe.outcome(&root), (TurnOutcome::Done, None));
}

#[tokio::test]
async fn arguments_that_are_no_json_are_shown_as_the_model_wrote_them() {
    let mut desk = desk(include_str!("recorded/lengthcall.jsonl"), &[]);
    desk.play();
    let told = desk.told("s");
    assert!(
        told.contains("  c1 bash {\"command\":\"ec Error \"\" \"The arguments provided to the tool are invalid"),
        "{told}"
    );
}

#[tokio::test]
async fn what_a_stop_leaves_is_interrupted_with_what_there_is() {
    let mut desk = desk(include_str!("recorded/abort.jsonl"), &[]);
    for event in std::mem::take(&mut desk.events) {
        if matches!(event, Happening::Error { .. }) {
            desk.scribe.stopping();
        }
        desk.scribe.take(&event).unwrap();
    }
    let told = desk.told("s");
    assert!(told.contains("Answer Aborted\n  text: go\n"), "{told}");
    assert!(told.contains("Interrupted \"a\\n\\n\\n<shell_metadata>"), "{told}");
    assert!(desk.scribe.unfinished().is_empty());
    let root = desk.scribe.root().to_owned();
    assert_eq!(desk.scribe.outcome(&root), (TurnOutcome::Aborted, None));
}

#[tokio::test]
async fn failures_of_the_model_are_told_with_their_kind() {
    for (recorded, outcome, kind, told) in [
        (
            include_str!("recorded/err400.jsonl"),
            TurnOutcome::Failed,
            Some("bad_request"),
            "Answer Error [bad_request: bad thing]\n",
        ),
        (
            include_str!("recorded/filter.jsonl"),
            TurnOutcome::ContentFilter,
            None,
            "Answer ContentFilter\n  text: partial\n",
        ),
    ] {
        let mut desk = desk(recorded, &[]);
        desk.play();
        let root = desk.scribe.root().to_owned();
        let (ended, error) = desk.scribe.outcome(&root);
        assert_eq!((ended, error.map(|error| error.kind).as_deref()), (outcome, kind));
        assert!(desk.told("s").ends_with(told), "{}", desk.told("s"));
    }
}

#[tokio::test]
async fn a_sealed_turn_takes_no_further_answer() {
    let mut desk = desk(BASIC, &[]);
    let second = |event: &Happening| matches!(event, Happening::Message(info) if info.is_answer());
    let first = desk.events.iter().position(second).unwrap();
    for (at, event) in desk.events.iter().enumerate() {
        if at == first + 1 {
            desk.scribe.seal();
        }
        desk.scribe.take(event).unwrap();
    }
    assert!(desk.scribe.overran());
    assert_eq!(desk.messages("s").len(), 2, "{}", desk.told("s"));
}

#[tokio::test]
async fn what_comes_between_turns_is_not_written() {
    let mut desk = desk(BASIC, &[]);
    desk.play();
    let known = desk.scribe.end();
    assert_eq!(known.len(), 3);
    let before = desk.journal.last();
    desk.play();
    assert_eq!(desk.journal.last(), before);
    let _: HashSet<String> = known.into_iter().collect();
}
