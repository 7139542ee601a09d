//! The standard harness behind the daemon's routes: a conversation with the real OpenCode.
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{
    Connection, Daemon, Events, KEY, Project, TOKEN, Talk, descendants, offered, parts, request, signed, until,
    until_gone,
};

/// A tool that runs until it is stopped.
const SLOW: (&str, &str) = (
    "slow",
    "const fs = require('fs'); fs.writeFileSync('started', '');
     return new Promise((done, fail) => {
       const timer = setTimeout(() => { fs.writeFileSync('too-late', ''); done('done') }, 60000);
       context.signal.addEventListener('abort', () => { clearTimeout(timer); fs.writeFileSync('aborted', ''); fail(context.signal.reason) }, { once: true })
     })",
);

/// A project whose agent asks before `echo`.
fn careful() -> Project {
    let project = Project::new(&[]);
    project.write(
        "agents/a.md",
        "---\ndescription: An agent\npermission: { echo: ask }\n---\nBe kind.\n",
    );
    project
}

/// How a turn ended.
fn end_of(events: &Events, turn: &Value) -> Value {
    let ended = events.wait("the end of the turn", |event| {
        event["type"] == "turn.ended" && event["data"]["turn"] == *turn
    });
    ended["data"].clone()
}

/// What the model read of its last call.
fn last_result(request: &Value) -> String {
    let messages = request["messages"].as_array().unwrap();
    let result = messages.iter().rfind(|message| message["role"] == "tool").unwrap();
    match &result["content"] {
        Value::String(text) => text.clone(),
        parts => parts[0]["text"].as_str().unwrap().to_owned(),
    }
}

#[test]
fn a_prompt_calls_a_hosted_tool_and_the_transcript_has_it() {
    let talk = Talk::on_harness(Project::new(&[]), "standard");
    let events = Events::of(&talk.daemon, Some(0));
    let health = talk.daemon.ask_as(None, "GET", "/beeuni/health", "").json();
    assert_eq!(
        health["harness"],
        json!({ "id": "standard", "state": "idle", "ready": true })
    );
    for group in ["sessions", "events", "asks"] {
        assert!(
            health["capabilities"].as_array().unwrap().contains(&json!(group)),
            "{health}"
        );
    }
    talk.model
        .calls(&[("call_1", "echo", json!({ "n": 1.5, "s": "Ünï" }))])
        .says("It said so.");
    let messages = talk.say("Please echo.");
    let names = offered(&talk.model.asked()[0].json());
    for tool in ["echo", "fail", "memory", "bash", "read"] {
        assert!(names.iter().any(|name| name == tool), "{tool}: {names:?}");
    }
    assert!(!names.iter().any(|name| name == "show"), "S6: {names:?}");
    let calls = parts(&messages, "tool");
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert_eq!(
        (&calls[0]["tool"], &calls[0]["status"]),
        (&json!("echo"), &json!("completed"))
    );
    let output: Value = serde_json::from_str(calls[0]["output"].as_str().unwrap()).unwrap();
    assert_eq!(
        output,
        json!({
            "args": { "n": 1.5, "s": "Ünï" },
            "agent": "lead",
            "session": "s-1",
            "directory": talk.project.path(),
        })
    );
    assert_eq!(
        last_result(&talk.model.until_asked(2)),
        calls[0]["output"].as_str().unwrap()
    );
    assert_eq!(parts(&messages[1..], "text")[0]["text"], "It said so.");
    assert_eq!(events.wait_for("turn.ended")["data"]["outcome"], "done");
    let state = talk.state();
    assert_eq!(
        (&state["agent"], &state["model"], &state["activity"]),
        (&json!("lead"), &json!("custom/scripted"), &json!("idle"))
    );
    // The provider's key went to the provider alone.
    assert_eq!(talk.model.asked()[0].header("authorization"), format!("Bearer {KEY}"));
    for (path, bytes) in talk.project.kept_files() {
        let holds = |secret: &str| bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!holds(KEY) && !holds(TOKEN), "{} holds a secret", path.display());
    }
}

#[test]
fn a_rule_that_asks_holds_the_call_until_a_person_answers() {
    let talk = Talk::on_harness(careful(), "standard");
    let events = Events::of(&talk.daemon, None);
    let call = |id: &str| talk.model.calls(&[(id, "echo", json!({}))]);
    call("c1").says("done");
    talk.prompt(&json!({ "text": "go" }));
    let request = talk.asked();
    assert_eq!(
        (&request["tool"], &request["session"], &request["agent"]),
        (&json!("echo"), &json!("s-1"), &json!("lead"))
    );
    assert_eq!(events.wait_for("permission.asked")["data"]["request"], request);
    assert_eq!(talk.state()["waiting"], 1);
    assert_eq!(
        talk.reply(&request, &json!({ "reply": "once" })),
        (200, "{}".to_owned())
    );
    talk.until_idle();
    assert_eq!(talk.tool_calls()[0]["status"], "completed");

    // With a word the model goes on, and reads it.
    call("c2").says("I see");
    talk.prompt(&json!({ "text": "go" }));
    let request = talk.asked();
    talk.reply(&request, &json!({ "reply": "reject", "message": "ask me first" }));
    talk.until_idle();
    let last = talk.model.asked().len();
    assert!(last_result(&talk.model.until_asked(last)).contains("ask me first"));
    assert_eq!(talk.tool_calls()[1]["status"], "error");

    // Without one the turn ends.
    call("c3");
    let turn = talk.prompt(&json!({ "text": "go" }))["turn"].clone();
    let request = talk.asked();
    talk.reply(&request, &json!({ "reply": "reject" }));
    assert_eq!(end_of(&events, &turn)["outcome"], "blocked");
    assert_eq!(talk.model.asked().len(), last + 1);

    // For the rest of the session, also after another start.
    call("c4").says("done");
    talk.prompt(&json!({ "text": "go" }));
    let request = talk.asked();
    assert_eq!(talk.reply(&request, &json!({ "reply": "always" })).0, 200);
    talk.until_idle();
    call("c5").says("done");
    talk.say("again");
    let talk = talk.again_on("standard");
    talk.model.calls(&[("c6", "echo", json!({}))]).says("done");
    talk.say("once more");
    let statuses: Vec<Value> = talk.tool_calls().iter().map(|call| call["status"].clone()).collect();
    assert_eq!(
        statuses,
        ["completed", "error", "error", "completed", "completed", "completed"]
    );
}

#[test]
fn an_unattended_prompt_says_what_happens_instead_of_asking() {
    let talk = Talk::on_harness(careful(), "standard");
    let events = Events::of(&talk.daemon, None);
    for (on_ask, status, outcome) in [
        ("allow", "completed", "done"),
        ("deny", "error", "done"),
        ("fail", "error", "blocked"),
    ] {
        talk.model.calls(&[("c1", "echo", json!({}))]);
        if outcome == "done" {
            talk.model.says("done");
        }
        let turn = talk.prompt(&json!({ "text": "go", "on_ask": on_ask }))["turn"].clone();
        assert_eq!(end_of(&events, &turn)["outcome"], outcome, "{on_ask}");
        assert_eq!(talk.tool_calls().last().unwrap()["status"], status, "{on_ask}");
    }
}

#[test]
fn run_02_abort_reaches_the_hosted_tool_within_a_second_and_ends_the_turn() {
    let talk = Talk::on_harness(Project::new(&[SLOW]), "standard");
    talk.model.calls(&[("c1", "slow", json!({}))]);
    talk.prompt(&json!({ "text": "go" }));
    until("the tool to start", || talk.project.read("started"));
    assert_eq!(talk.state()["activity"], "running");
    let begin = Instant::now();
    assert_eq!(talk.post("/abort", &json!({})).json(), json!({ "aborted": true }));
    until("the tool to see the signal", || talk.project.read("aborted"));
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
    talk.until_idle();
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    assert_eq!(talk.tool_calls()[0]["status"], "interrupted");
    assert_eq!(talk.project.read("too-late"), None);
    talk.model.says("still here");
    let messages = talk.say("hello?");
    assert_eq!(parts(&messages[1..], "text")[0]["text"], "still here");
}

#[test]
fn a_conversation_goes_on_after_another_start_and_on_either_harness() {
    let talk = Talk::on_harness(Project::new(&[]), "standard");
    talk.model.says("I will remember it.");
    talk.say("The word is heron.");
    let processes = descendants(talk.daemon.pid());
    assert!(!processes.is_empty());
    let Talk { daemon, project, model } = talk;
    daemon.stop();
    until_gone(&processes);
    let mut talk = Talk {
        daemon: project.daemon(&[]),
        project,
        model,
    };
    for (round, harness) in ["standard", "experimental", "standard"].into_iter().enumerate() {
        talk = talk.again_on(harness);
        talk.model.says("Heron.");
        let messages = talk.say(&format!("Which word, round {round}?"));
        assert_eq!(parts(&messages[1..], "text")[0]["text"], "Heron.", "{harness}");
        let asked = talk.model.asked().pop().unwrap().text();
        assert!(asked.contains("The word is heron."), "{harness} forgot it: {asked}");
        let earlier = (0..round).all(|round| asked.contains(&format!("round {round}?")));
        assert!(earlier, "{harness} forgot a round: {asked}");
    }
    assert_eq!(talk.messages().len(), 8);
}

#[test]
fn a_daemon_on_a_unix_socket_says_that_it_starts_and_then_takes_prompts() {
    let project = Project::new(&[]);
    let socket = project.beside("run/daemon.sock");
    let listen = format!("unix:{}", socket.display());
    let flags = ["--harness", "standard", "--session", "s-1", "--listen", &listen];
    let daemon = Daemon::start_only(project.command(&flags));
    let ask = |method: &str, path: &str, body: &str| {
        let mut connection = until("the socket", || Connection::unix(&socket).ok());
        connection.ask(&request(method, path, &signed(), body))
    };
    let health = || ask("GET", "/beeuni/health", "").json();
    let first = health();
    assert_eq!(
        (&first["harness"], &first["runtime"]["ready"]),
        (
            &json!({ "id": "standard", "state": "starting", "ready": false }),
            &json!(false)
        )
    );
    let prompt = json!({ "text": "Call the echo tool once with n 1 and print its output." }).to_string();
    for (method, path, body) in [
        ("POST", "/beeuni/sessions/s-1/prompt", prompt.as_str()),
        ("GET", "/beeuni/sessions/s-1/messages", ""),
        ("POST", "/beeuni/tools/echo", "{}"),
    ] {
        let reply = ask(method, path, body);
        assert_eq!((reply.status, reply.header("retry-after")), (503, Some("1")), "{path}");
    }
    until("OpenCode", || (health()["harness"]["state"] == "idle").then_some(()));
    assert_eq!(ask("POST", "/beeuni/sessions/s-1/prompt", &prompt).status, 202);
    until("the turn to end", || {
        let messages = ask("GET", "/beeuni/sessions/s-1/messages", "").json()["messages"].clone();
        let calls = parts(messages.as_array().unwrap(), "tool");
        (calls.first()?["status"] == "completed" && health()["harness"]["state"] == "idle").then_some(())
    });
    daemon.stop();
}
