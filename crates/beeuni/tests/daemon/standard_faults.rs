//! The standard harness when OpenCode dies, hangs or does not start.
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use beeuni_gateway::testing::Answer;
use serde_json::json;

use crate::support::{Events, KEY, Project, Talk, descendants, ended, parts, until, until_gone};

/// The process of OpenCode below a daemon: not its guard, whose arguments name it too.
fn opencode(talk: &Talk) -> u32 {
    until("OpenCode's process", || {
        descendants(talk.daemon.pid()).into_iter().find_map(|(pid, _)| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
            let program = words.split(|byte| *byte == 0).next()?;
            String::from_utf8_lossy(program).ends_with("opencode").then_some(pid)
        })
    })
}

fn kill(pid: u32) {
    let status = Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap();
    assert!(status.success());
}

#[test]
fn opencode_killed_in_a_turn_fails_it_and_the_next_prompt_works() {
    let talk = Talk::on_harness(
        Project::new(&[(
            "wait",
            "require('fs').writeFileSync('started', ''); await new Promise((_, fail) => context.signal.addEventListener('abort', () => { require('fs').writeFileSync('aborted', ''); fail(context.signal.reason) }))",
        )]),
        "standard",
    );
    talk.model.says("I will remember it.");
    talk.say("The word is heron.");
    let events = Events::of(&talk.daemon, None);
    talk.model.calls(&[("c1", "wait", json!({}))]);
    talk.prompt(&json!({ "text": "go" }));
    until("the tool to start", || talk.project.read("started"));
    // OpenCode tells of a call a moment after it makes it.
    until("the call in the transcript", || {
        (talk.tool_calls().first()?["status"] == "running").then_some(())
    });
    kill(opencode(&talk));
    let ended = events.wait_for("turn.ended");
    assert_eq!(ended["data"]["outcome"], "failed", "{ended}");
    let text = ended["data"]["error"]["message"].as_str().unwrap();
    assert!(text.contains("OpenCode") && text.contains("signal 9"), "{text}");
    until("the tool to be stopped", || talk.project.read("aborted"));
    assert_ne!(talk.tool_calls()[0]["status"], "running");
    talk.model.says("Heron.");
    let messages = talk.say("Which word?");
    let said = parts(&messages[1..], "text");
    assert_eq!(
        said.first().map(|part| &part["text"]),
        Some(&json!("Heron.")),
        "{messages:?}"
    );
    let asked = talk.model.asked().pop().unwrap().text();
    assert!(asked.contains("The word is heron."), "{asked}");
    talk.daemon.wait_for_log(&["OpenCode", "signal 9"]);
}

#[test]
fn opencode_killed_between_turns_is_started_again() {
    let talk = Talk::on_harness(Project::new(&[]), "standard");
    let first = opencode(&talk);
    kill(first);
    talk.daemon.wait_for_log(&["OpenCode", "signal 9"]);
    talk.model.calls(&[("c1", "echo", json!({}))]).says("done");
    talk.say("go");
    assert_eq!(talk.tool_calls()[0]["status"], "completed");
    assert_ne!(opencode(&talk), first);
}

#[test]
fn an_opencode_that_does_not_start_ends_the_daemon_with_what_it_said() {
    let project = Project::new(&[]);
    let program = project.beside("opencode");
    fs::write(&program, "#!/bin/sh\necho 'the disk is on fire' >&2\nexit 7\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = project.command(&["--harness", "standard"]);
    command.env("BEEUNI_OPENCODE", &program);
    let (code, out, log) = ended(command);
    assert_eq!((code, out.as_str()), (1, ""), "{log}");
    for part in [
        "cannot start the harness",
        "OpenCode",
        "exit code 7",
        "the disk is on fire",
    ] {
        assert!(log.contains(part), "{part}: {log}");
    }
}

#[test]
fn a_killed_daemon_leaves_no_opencode() {
    let mut talk = Talk::on_harness(Project::new(&[]), "standard");
    opencode(&talk);
    let processes = descendants(talk.daemon.pid());
    talk.daemon.signal("KILL");
    assert_eq!(talk.daemon.exit_code(), None);
    until_gone(&processes);
}

#[test]
fn sigterm_lets_a_running_turn_end_with_its_tools() {
    let mut talk = Talk::on_harness(
        Project::new(&[(
            "wait",
            "require('fs').writeFileSync('started', ''); await Bun.sleep(1000); return 'ok'",
        )]),
        "standard",
    );
    talk.model
        .calls(&[("c1", "wait", json!({}))])
        .calls(&[("c2", "echo", json!({}))])
        .says("done in time");
    talk.prompt(&json!({ "text": "go" }));
    until("the tool to start", || talk.project.read("started"));
    talk.daemon.signal("TERM");
    assert_eq!(talk.daemon.exit_code(), Some(0));
    // The other harness reads the same transcript.
    let talk = talk.again_on("experimental");
    let last = talk.messages().pop().unwrap();
    assert_eq!(
        (&last["finish"], &last["parts"][0]["text"]),
        (&json!("stop"), &json!("done in time"))
    );
    let calls = talk.tool_calls();
    assert!(calls.iter().all(|call| call["status"] == "completed"), "{calls:?}");
}

#[test]
fn what_a_provider_refuses_ends_the_turn_with_its_status_and_message_and_is_not_asked_again() {
    let talk = Talk::on_harness(Project::new(&[]), "standard");
    for (status, message) in [
        (429, "rate limit: slow down"),
        (400, "no such parameter"),
        (401, "who are you?"),
    ] {
        let asked = talk.model.asked().len();
        let events = Events::of(&talk.daemon, None);
        let error = json!({ "error": { "message": message } });
        talk.model
            .server
            .push(Answer::json(status, &error).header("retry-after", "60"));
        let turn = talk.prompt(&json!({ "text": "go" }))["turn"].clone();
        let ended = events.wait("the end of the turn", |event| {
            event["type"] == "turn.ended" && event["data"]["turn"] == turn
        });
        let error = &ended["data"]["error"];
        assert_eq!(
            (&ended["data"]["outcome"], &error["status"]),
            (&json!("failed"), &json!(status)),
            "{ended}"
        );
        assert!(error["message"].as_str().unwrap().contains(message), "{ended}");
        talk.until_idle();
        assert_eq!(talk.model.asked().len(), asked + 1, "{status}");
    }
    talk.model.says("still here");
    let messages = talk.say("hello?");
    assert_eq!(parts(&messages[1..], "text")[0]["text"], "still here");
    assert!(!talk.daemon.log().contains(KEY));
}
