//! The process is killed at random moments of a session: nothing finished is lost, nothing runs twice silently, and
//! the session goes on each time.
//!
//! The child is this test program itself, started anew with `BEEUNI_CRASH_STATE` set: it opens the session, works off
//! the script of the parent's model server, and is killed with SIGKILL after a random while.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod support;

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use beeuni_agent::{AgentDefinition, Session, SessionConfig, Settings, Setup, SkillShelf};
use beeuni_gateway::testing::{Answer, RecordedRequest, ScriptedServer};
use beeuni_protocol::session::{DeltaField, Event, EventBody, Finish, PartBody, Role, ToolStatus};
use support::{TestTools, gateway, harness, messages, wait_until};

const STATE: &str = "BEEUNI_CRASH_STATE";
const SERVER: &str = "BEEUNI_CRASH_SERVER";

/// How often the process is killed.
const KILLS: usize = 50;

/// A small generator of its own: the moments are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn open(state: &Path, server: &str, tools: Arc<TestTools>) -> Session {
    let skills = SkillShelf::new(state);
    let config = SessionConfig {
        id: "s1".to_owned(),
        state: state.to_owned(),
        checkout: state.to_owned(),
        gateway: gateway(server),
        hosted: tools,
        harness: harness(state, state, &skills),
        skills,
        home: None,
        settings: Settings::default(),
    };
    let setup = Setup {
        agents: vec![AgentDefinition::new("beeuni", "You are the agent.")],
        default_agent: Some("beeuni".to_owned()),
        model: Some(support::MODEL.to_owned()),
        ..Setup::default()
    };
    Session::open(config, setup).unwrap()
}

/// The tool writes down that it ran before it says so: what the transcript must not contradict.
fn recording_tools(state: &Path) -> Arc<TestTools> {
    let tools = TestTools::new();
    let effects = state.join("effects");
    tools.add("work", move |args| {
        let effects = effects.clone();
        async move {
            let mut file = std::fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(effects)
                .unwrap();
            file.write_all(format!("{args}\n").as_bytes()).unwrap();
            tokio::time::sleep(Duration::from_millis(2)).await;
            Ok(format!("worked {args}"))
        }
    });
    tools
}

/// What the killed process does: prompts for ever.
#[tokio::test]
async fn child_of_the_crash_test() {
    let (Ok(state), Ok(server)) = (std::env::var(STATE), std::env::var(SERVER)) else {
        return;
    };
    let state = PathBuf::from(state);
    let session = open(&state, &server, recording_tools(&state));
    tokio::spawn(write_down_what_was_seen(session.clone(), state.join("seen")));
    loop {
        let count = session.state().messages;
        support::say(&session, &format!("prompt after {count}")).await;
    }
}

/// A reader of the events, as a browser is: it writes down each message that it was told to be complete.
async fn write_down_what_was_seen(session: Session, file: PathBuf) {
    let mut file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)
        .unwrap();
    let mut events = session.events(None);
    let mut texts: HashMap<String, String> = HashMap::new();
    while let Some(event) = events.next().await.unwrap() {
        match &event.body {
            EventBody::PartDelta(delta) if delta.field == DeltaField::Text => {
                texts.entry(delta.message.clone()).or_default().push_str(&delta.text);
            }
            EventBody::MessageUpdated { message } => {
                let text = texts.remove(&message.id).unwrap_or_default();
                file.write_all(format!("{} {text}\n", message.id).as_bytes()).unwrap();
            }
            _ => {}
        }
    }
}

fn start(state: &Path, server: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_of_the_crash_test", "--nocapture"])
        .env(STATE, state)
        .env(SERVER, server)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Two parallel calls with arguments that occur once in the whole run, then a text, streamed in small pieces.
fn script(request: &RecordedRequest) -> Option<Answer> {
    if request.path() != "/v1/chat/completions" {
        return None;
    }
    let body = request.json();
    let messages = body["messages"].as_array().unwrap();
    let last = messages.last().unwrap();
    if last["role"] == "tool" {
        let answer = Answer::text(&format!("answer to {} messages, in a few words more", messages.len()));
        return Some(answer.pieces(40));
    }
    let number = messages.len();
    let args = |call: usize| format!("{{\"of\":{number},\"call\":{call}}}");
    let calls = [("a", args(1)), ("b", args(2))];
    let calls: Vec<(&str, &str, &str)> = calls.iter().map(|(id, args)| (*id, "work", args.as_str())).collect();
    Some(Answer::tool_calls(&calls).pieces(60))
}

/// What a reader had seen finished when the process was killed: parts and messages by id.
fn finished(log: &Path) -> HashMap<String, String> {
    let mut finished = HashMap::new();
    let text = std::fs::read(log).unwrap_or_default();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let Some(json) = line.get(9..).and_then(|rest| rest.strip_suffix(b"\n")) else {
            continue;
        };
        let Ok(event) = serde_json::from_slice::<Event>(json) else {
            continue;
        };
        if let EventBody::PartUpdated { part } = event.body {
            let ended = match &part.body {
                PartBody::Tool(call) => !matches!(call.status, ToolStatus::Pending | ToolStatus::Running),
                _ => true,
            };
            if ended {
                finished.insert(part.id.clone(), serde_json::to_string(&part).unwrap());
            }
        }
    }
    finished
}

#[tokio::test]
async fn kill_9_at_50_random_moments_loses_nothing_finished_and_runs_nothing_twice_silently() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().to_owned();
    let server = ScriptedServer::start().await;
    server.respond_with(script);
    let log = state.join("sessions/s1/log.jsonl");
    let mut random = Random(0x5eed_1234_abcd_0001);
    let mut before: HashMap<String, String> = HashMap::new();
    let (mut interrupted, mut torn) = (0, 0);
    for round in 0..KILLS {
        let size = std::fs::metadata(&log).map(|file| file.len()).unwrap_or(0);
        let mut child = start(&state, &server.base_url());
        // From its first byte on: the moment is counted in work done, not in time that a slow machine stretches.
        let grown = size + 1 + random.below(9_000);
        wait_until("the transcript to grow", || {
            std::fs::metadata(&log).is_ok_and(|file| file.len() >= grown)
        })
        .await;
        tokio::time::sleep(Duration::from_micros(random.below(4_000))).await;
        child.kill().unwrap();
        child.wait().unwrap();
        if random.below(3) == 0 {
            // What a crash of the machine does to the last write.
            let file = std::fs::OpenOptions::new().append(true).open(&log).unwrap();
            let mut file = file;
            file.write_all(b"0badc0de {\"id\":1,\"sess").unwrap();
            torn += 1;
        }
        let seen = finished(&log);
        let session = open(&state, &server.base_url(), recording_tools(&state));
        let all = messages(&session);
        let parts: HashMap<String, String> = all
            .iter()
            .flat_map(|message| &message.parts)
            .map(|part| (part.id.clone(), serde_json::to_string(part).unwrap()))
            .collect();
        for (id, part) in seen.iter().chain(&before) {
            assert_eq!(
                parts.get(id),
                Some(part),
                "round {round}: a finished part changed or is gone"
            );
        }
        let told = std::fs::read_to_string(state.join("seen")).unwrap_or_default();
        for (id, text) in told
            .split_inclusive('\n')
            .filter_map(|line| line.strip_suffix('\n')?.split_once(' '))
        {
            let message = all.iter().find(|message| message.id == id);
            assert_eq!(
                message.map(support::text_of).as_deref(),
                Some(text),
                "round {round}: what a reader saw is gone"
            );
        }
        for message in &all {
            assert!(message.time.completed.is_some(), "round {round}: {message:?}");
            assert!(message.role == Role::User || message.finish.is_some());
        }
        let calls = support::calls_of(&all);
        assert!(
            calls
                .iter()
                .all(|call| !matches!(call.status, ToolStatus::Pending | ToolStatus::Running))
        );
        interrupted += all
            .iter()
            .filter(|message| message.finish == Some(Finish::Interrupted))
            .count();
        // Whatever had an effect is in the transcript as begun: the model is told, and nothing repeats by itself.
        let effects = std::fs::read_to_string(state.join("effects")).unwrap_or_default();
        for effect in effects.lines() {
            assert_eq!(
                effects.lines().filter(|other| *other == effect).count(),
                1,
                "{effect} ran twice"
            );
            let call = calls.iter().find(|call| call.arguments == effect);
            let call = call.unwrap_or_else(|| panic!("round {round}: {effect} is not in the transcript"));
            let told = call.output.as_ref().or(call.error.as_ref()).unwrap();
            assert!(!told.contains("It was not run"), "round {round}: {effect}: {told}");
        }
        before = parts;
        drop(session);
    }
    assert!(torn > 5, "{torn} torn ends");
    // It still works, and the model knows of what was interrupted.
    let session = open(&state, &server.base_url(), recording_tools(&state));
    support::say(&session, "the last prompt").await;
    assert!(interrupted > 0, "the moments were in the middle of something");
}
