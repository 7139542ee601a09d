//! A session that is started again: after a good end, and after a kill at any moment.
use std::collections::BTreeMap;

use beeuni_gateway::testing::Answer;
use serde_json::{Value, json};

use crate::support::{Events, Project, Talk, parts, until};

const WAIT: (&str, &str) = (
    "wait",
    "const fs = require('fs'); fs.appendFileSync('started', 'x'); while (!fs.existsSync('go')) await Bun.sleep(5); return 'ok'",
);

/// The same session, whose daemon was killed in this moment.
fn killed(talk: Talk) -> Talk {
    let mut talk = talk;
    talk.daemon.signal("KILL");
    assert_eq!(talk.daemon.exit_code(), None);
    talk.again()
}

#[test]
fn after_a_kill_every_finished_part_is_there_and_the_running_call_is_marked() {
    let talk = Talk::new(&[WAIT]);
    talk.model
        .calls(&[("c1", "echo", json!({ "n": 1 })), ("c2", "wait", json!({}))]);
    talk.prompt(&json!({ "text": "remember the number 4711" }));
    until("the second tool to start", || talk.project.read("started"));
    until("the first call to end", || {
        (talk.tool_calls()[0]["status"] == "completed").then_some(())
    });
    let before = talk.messages();

    let talk = killed(talk);
    let after = talk.messages();
    assert_eq!(after[0], before[0]);
    assert_eq!(
        after[1]["parts"][0], before[1]["parts"][0],
        "a finished call is as it was"
    );
    assert_eq!(after[1]["parts"][1]["status"], "interrupted");
    assert_eq!(talk.state()["activity"], "idle");
    assert_eq!(
        talk.project.read("started").as_deref(),
        Some("x"),
        "nothing runs twice by itself"
    );

    talk.model.says("4711");
    let messages = talk.say("which number?");
    assert_eq!(parts(&messages[1..], "text")[0]["text"], "4711");
    let asked = talk.model.until_asked(2)["messages"].to_string();
    assert!(
        asked.contains("remember the number 4711") && asked.contains("interrupted"),
        "{asked}"
    );
}

/// The parts of a session that are finished, by their ids.
fn finished(talk: &Talk) -> BTreeMap<String, Value> {
    let messages = talk.messages();
    let parts = messages
        .iter()
        .flat_map(|message| message["parts"].as_array().into_iter().flatten());
    let ended = parts.filter(|part| part["type"] != "tool" || !part["time"]["ended"].is_null());
    ended
        .map(|part| (part["id"].as_str().unwrap().to_owned(), part.clone()))
        .collect()
}

#[test]
fn fifty_kills_at_fifty_moments_lose_nothing_that_was_finished_and_run_nothing_twice() {
    let project = Project::with_manifest(
        "beeuni_version: 2\ntools: { mark: tools/mark.ts }\nagents: { lead: { file: agents/a.md } }\n",
    );
    project.tool(
        "mark",
        "require('fs').appendFileSync('marks', args.n + ' '); await Bun.sleep(10); return 'marked ' + args.n",
    );
    let mut talk = Talk::on(project);
    talk.model.server.respond_with(|request| {
        (request.path() == "/v1/chat/completions").then(|| {
            let body = request.json();
            let messages = body["messages"].as_array().unwrap();
            let last = messages.last().unwrap();
            if last["role"] == "tool" {
                return Answer::text("both are marked");
            }
            let round = last["content"].as_str().unwrap().rsplit(' ').next().unwrap().to_owned();
            let args = ["a", "b"].map(|part| json!({ "n": format!("{round}{part}") }).to_string());
            let ids = ["a", "b"].map(|part| format!("call_{round}{part}"));
            Answer::tool_calls(&[(&ids[0], "mark", &args[0]), (&ids[1], "mark", &args[1])])
        })
    });
    let mut known = BTreeMap::new();
    for round in 0..50 {
        let events = Events::of(&talk.daemon, None);
        talk.prompt(&json!({ "text": format!("round {round}") }));
        // A whole turn has about 25 events.
        let moment = round % 25;
        until("the moment", || {
            let seen = events.all();
            let over = seen.last().is_some_and(|event| event["type"] == "turn.ended");
            (seen.len() >= moment || over).then_some(())
        });
        let told: Vec<Value> = events
            .all()
            .into_iter()
            .filter(|event| event["type"] == "part.updated")
            .collect();
        talk = killed(talk);
        let after = finished(&talk);
        for (id, part) in &known {
            assert_eq!(after.get(id), Some(part), "round {round}");
        }
        for event in told {
            let part = &event["data"]["part"];
            if part["status"] == "completed" {
                assert_eq!(after.get(part["id"].as_str().unwrap()), Some(part), "round {round}");
            }
        }
        assert_eq!(talk.state()["activity"], "idle", "round {round}");
        known = after;
    }
    let marks = talk.project.read("marks").unwrap();
    let mut marks: Vec<&str> = marks.split_whitespace().collect();
    let all = marks.len();
    marks.sort_unstable();
    marks.dedup();
    assert_eq!(marks.len(), all, "a call ran twice");
    // Every call that ran is told, as completed or as interrupted.
    let calls = talk.tool_calls();
    for mark in marks {
        let call = calls.iter().find(|call| call["call"] == format!("call_{mark}"));
        let status = &call.unwrap_or_else(|| panic!("{mark} ran and is not told"))["status"];
        assert!(status == "completed" || status == "interrupted", "{mark}: {status}");
    }
    let messages = talk.say("round 50");
    assert_eq!(parts(&messages, "text").last().unwrap()["text"], "both are marked");
}

#[test]
fn a_kill_in_the_middle_of_an_answer_keeps_what_was_asked() {
    let talk = Talk::new(&[]);
    let gate = beeuni_gateway::testing::Gate::closed();
    talk.model
        .server
        .push(Answer::text("one two three four").hold_at(300, &gate));
    let prompt = talk.prompt(&json!({ "text": "count" }));
    talk.model.until_asked(1);
    let talk = killed(talk);
    let messages = talk.messages();
    assert_eq!(messages[0]["id"], prompt["message"]);
    talk.model.says("fine");
    talk.say("again");
    assert_eq!(talk.state()["activity"], "idle");
}

#[test]
fn a_session_goes_on_after_a_good_end_with_the_same_request_prefix() {
    let talk = Talk::new(&[]);
    talk.model.says("one").says("two");
    talk.say("first");
    let mut talk = talk;
    talk.daemon.signal("TERM");
    assert_eq!(talk.daemon.exit_code(), Some(0));
    let talk = talk.again();
    talk.say("second");
    let asked = talk.model.asked();
    // The provider's cache hits when a request begins as the one before did.
    let messages = |at: usize| {
        let text = asked[at].text();
        text[..text.find("first").unwrap()].to_owned()
    };
    assert_eq!(messages(0), messages(1));
    let tools = |at: usize| asked[at].json()["tools"].to_string();
    assert_eq!(tools(0), tools(1));
}

#[test]
fn the_transcript_is_private_and_another_session_has_its_own() {
    use std::os::unix::fs::PermissionsExt;
    let talk = Talk::new(&[]);
    talk.model.says("one");
    talk.say("first");
    let folder = talk.project.state().join("sessions/s-1");
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for entry in std::fs::read_dir(&folder).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
    let Talk { daemon, project, .. } = talk;
    drop(daemon);
    let other = project.daemon(&["--harness", "experimental", "--session", "s-2"]);
    let messages = other.ask("GET", "/beeuni/sessions/s-2/messages", "").json();
    assert_eq!(messages, json!({ "messages": [], "more": false }));
}

#[test]
fn a_transcript_that_cannot_be_used_ends_the_start_with_its_path() {
    let Talk { daemon, project, .. } = Talk::new(&[]);
    drop(daemon);
    let sessions = project.state().join("sessions");
    std::fs::rename(sessions.join("s-1"), sessions.join("s-2")).unwrap();
    let (code, out, log) = project.refused(&["--harness", "experimental", "--session", "s-2"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(log.contains("sessions/s-2/log.jsonl"), "{log}");
}

#[test]
fn secrets_are_in_no_transcript_event_or_request() {
    let secret = "tok-6f1e-Zq+/9=x";
    let talk = Talk::new(&[("leak", "throw new Error('GET https://x/?key=' + context.env.API_TOKEN)")]);
    assert_eq!(
        talk.daemon
            .push("r1", json!({ "lead": { "API_TOKEN": secret } }))
            .status,
        200
    );
    talk.project.write("notes.txt", &format!("the key is {secret}\n"));
    talk.project
        .write("leak.sh", &format!("cat notes.txt; echo {secret}\n"));
    talk.model.calls(&[
        ("c1", "leak", json!({})),
        (
            "c2",
            "read",
            json!({ "filePath": talk.project.path().join("notes.txt") }),
        ),
        ("c3", "bash", json!({ "command": "sh leak.sh", "description": "Reads" })),
    ]);
    talk.model.says("done");
    let events = Events::of(&talk.daemon, None);
    talk.say(&format!("my key is {secret}, keep it"));
    let asked: Vec<String> = talk.model.asked().iter().map(|request| request.text()).collect();
    events.wait_for("turn.ended");
    let told: Vec<String> = events.all().iter().map(Value::to_string).collect();
    let bare = |texts: &[String]| {
        texts
            .iter()
            .filter(|text| text.contains("6f1e"))
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(bare(&asked), [""; 0]);
    assert_eq!(bare(&told), [""; 0]);
    let calls = talk.tool_calls();
    assert!(
        calls[1]["output"]
            .as_str()
            .unwrap()
            .contains("the key is [secret API_TOKEN]"),
        "{calls:?}"
    );
    assert!(
        calls[2]["output"].as_str().unwrap().contains("[secret API_TOKEN]"),
        "{calls:?}"
    );
    for (path, bytes) in talk.project.kept_files() {
        let found = bytes.windows(4).any(|part| part == b"6f1e");
        assert!(!found, "{} has it", path.display());
    }
    let first = talk.messages()[0]["parts"][0]["text"].clone();
    assert_eq!(first, "my key is [secret API_TOKEN], keep it");
}
