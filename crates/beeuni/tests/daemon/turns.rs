//! Turns and signals: a daemon that stops gives a running turn its time, then stops it and marks it.
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Talk, descendants, until, until_gone};

#[test]
fn sigterm_lets_a_running_turn_end() {
    let mut talk = Talk::new(&[(
        "wait",
        "require('fs').writeFileSync('started', ''); await Bun.sleep(1000); return 'ok'",
    )]);
    talk.model.calls(&[("c1", "wait", json!({}))]).says("done in time");
    talk.prompt(&json!({ "text": "go" }));
    until("the tool to start", || talk.project.read("started"));
    talk.daemon.signal("TERM");
    assert_eq!(talk.daemon.exit_code(), Some(0));
    let talk = talk.again();
    let last = talk.messages().pop().unwrap();
    assert_eq!(
        (&last["finish"], &last["parts"][0]["text"]),
        (&json!("stop"), &json!("done in time"))
    );
}

#[test]
fn a_turn_that_does_not_end_is_stopped_after_five_seconds_and_marked() {
    let mut talk = Talk::new(&[(
        "spin",
        "Bun.spawn(['sleep', '600']); require('fs').writeFileSync('started', ''); for (;;) {}",
    )]);
    talk.model.calls(&[("c1", "spin", json!({}))]);
    talk.prompt(&json!({ "text": "go" }));
    until("the tool to start", || talk.project.read("started"));
    let processes = descendants(talk.daemon.pid());
    let begin = Instant::now();
    talk.daemon.signal("TERM");
    assert_eq!(talk.daemon.exit_code(), Some(0));
    let took = begin.elapsed();
    assert!(
        (Duration::from_secs(4)..Duration::from_secs(9)).contains(&took),
        "{took:?}"
    );
    until_gone(&processes);
    let talk = talk.again();
    assert_eq!(talk.tool_calls()[0]["status"], "interrupted");
    assert_eq!(talk.state()["activity"], "idle");
}

#[test]
fn a_turn_that_waits_for_a_person_does_not_keep_the_daemon() {
    let talk = Talk::new(&[]);
    talk.project.write(
        "agents/a.md",
        "---\ndescription: An agent\npermission: { echo: ask }\n---\nBe kind.\n",
    );
    talk.daemon.ask("POST", "/beeuni/reload", "{}");
    talk.model.calls(&[("c1", "echo", json!({}))]);
    talk.prompt(&json!({ "text": "go" }));
    until("a permission request", || {
        talk.get("/permissions").json()["permissions"].get(0).cloned()
    });
    let mut talk = talk;
    talk.daemon.signal("TERM");
    assert_eq!(talk.daemon.exit_code(), Some(0));
    let talk = talk.again();
    assert_eq!(talk.get("/permissions").json(), json!({ "permissions": [] }));
}

#[test]
fn sigkill_in_a_turn_leaves_nothing_running() {
    let mut talk = Talk::new(&[]);
    let command = "sleep 600 & setsid sleep 601 & touch started; sleep 602";
    talk.model
        .calls(&[("c1", "bash", json!({ "command": command, "description": "Sleeps" }))]);
    talk.prompt(&json!({ "text": "go" }));
    until("the command to start", || talk.project.read("started"));
    let processes = until("its processes", || {
        let processes = descendants(talk.daemon.pid());
        (processes.len() >= 4).then_some(processes)
    });
    talk.daemon.signal("KILL");
    assert_eq!(talk.daemon.exit_code(), None);
    until_gone(&processes);
}
