//! The standard harness when the project changes: tools, agents, and OpenCode's own folder (C2, O1).
use serde_json::{Value, json};

use crate::support::{Daemon, Project, Talk, offered, parts, until};

/// Waits until the daemon has reloaded so often.
fn until_reloads(daemon: &Daemon, times: usize) {
    until(&format!("{times} reloads"), || {
        (daemon.log().matches("reloaded after").count() >= times).then_some(())
    });
}

/// What the model is offered for one more prompt.
fn offer(talk: &Talk, agent: &str) -> Vec<String> {
    talk.model.says("hi");
    let number = talk.model.asked().len() + 1;
    talk.prompt(&json!({ "text": "hello", "agent": agent }));
    let names = offered(&talk.model.until_asked(number));
    talk.until_idle();
    names
}

/// A tool in OpenCode's own form.
fn own_tool(says: &str) -> String {
    format!("export default {{ description: 'OpenCode own', args: {{}}, async execute() {{ return '{says}' }} }}\n")
}

fn replaced(daemon: &Daemon) -> Value {
    daemon.ask_as(None, "GET", "/beeuni/health", "").json()["tools"]["replaced"].clone()
}

#[test]
fn c2_tools_and_agents_that_change_count_for_the_next_turn_and_the_conversation_goes_on() {
    let talk = Talk::on_harness(Project::new(&[]), "standard");
    talk.model.says("I will remember it.");
    talk.say("The word is heron.");
    let before = offer(&talk, "lead");
    assert!(!before.iter().any(|name| name == "added"), "{before:?}");

    let manifest = talk.project.read("beeuni.yaml").unwrap();
    talk.project.tool("added", "return 'I am new'");
    let with_added = manifest.replace("  echo:", "  added: tools/added.ts\n  echo:");
    let changed = with_added.replace("tools: [read, echo]", "tools: [read, added]");
    talk.project.write("beeuni.yaml", &changed);
    until_reloads(&talk.daemon, 1);
    assert!(offer(&talk, "lead").iter().any(|name| name == "added"));
    let reader = offer(&talk, "reader");
    assert!(
        reader.iter().any(|name| name == "added") && !reader.iter().any(|name| name == "echo"),
        "{reader:?}"
    );
    talk.model.calls(&[("c1", "added", json!({}))]).says("done");
    talk.prompt(&json!({ "text": "go", "agent": "lead" }));
    talk.until_idle();
    assert_eq!(talk.tool_calls()[0]["output"], "I am new");
    assert!(talk.model.asked().pop().unwrap().text().contains("The word is heron."));

    // Removed again: S6.
    talk.project.write("beeuni.yaml", &manifest);
    until_reloads(&talk.daemon, 2);
    assert!(!offer(&talk, "lead").iter().any(|name| name == "added"));

    // An agent's prompt.
    talk.project
        .write("agents/a.md", "---\ndescription: An agent\n---\nBe a pirate.\n");
    until_reloads(&talk.daemon, 3);
    talk.model.says("Arr.");
    talk.say("hello");
    assert!(talk.model.asked().pop().unwrap().text().contains("Be a pirate."));
}

#[test]
fn a_reload_that_is_asked_for_in_a_turn_waits_for_its_end() {
    let talk = Talk::on_harness(
        Project::new(&[(
            "wait",
            "const fs = require('fs'); fs.writeFileSync('started', ''); while (!fs.existsSync('go')) await Bun.sleep(5); return 'ok'",
        )]),
        "standard",
    );
    talk.model.calls(&[("c1", "wait", json!({}))]).says("done");
    talk.prompt(&json!({ "text": "go" }));
    until("the tool to start", || talk.project.read("started"));
    let reply = talk.daemon.ask("POST", "/beeuni/reload", "{}");
    assert_eq!((reply.status, &reply.json()["pending"]), (202, &json!(true)));
    talk.project.write("go", "");
    talk.until_idle();
    until_reloads(&talk.daemon, 1);
    assert_eq!(talk.tool_calls()[0]["output"], "ok");
    assert_eq!(talk.daemon.ask("POST", "/beeuni/reload", "{}").status, 200);
}

#[test]
fn o1_a_tool_in_opencodes_own_folder_wins_and_log_and_health_say_so() {
    let project = Project::new(&[]);
    project.write("harnesses/opencode/tools/echo.js", &own_tool("of the folder"));
    let talk = Talk::on_harness(project, "standard");
    talk.daemon
        .wait_for_log(&["WARN", "echo", "harnesses/opencode/tools/echo.js"]);
    assert_eq!(replaced(&talk.daemon), json!(["echo"]));
    let calls = || {
        talk.model.calls(&[("c1", "echo", json!({}))]).says("done");
        let messages = talk.say("go");
        parts(&messages, "tool")[0]["output"].as_str().unwrap().to_owned()
    };
    assert_eq!(calls(), "of the folder");

    // Another one, and an edit.
    talk.project
        .write("harnesses/opencode/tools/fail.js", &own_tool("not any more"));
    talk.project
        .write("harnesses/opencode/tools/echo.js", &own_tool("of the folder, edited"));
    until_reloads(&talk.daemon, 1);
    assert_eq!(replaced(&talk.daemon), json!(["echo", "fail"]));
    assert_eq!(calls(), "of the folder, edited");

    // Gone: the hosted one is back.
    std::fs::remove_dir_all(talk.project.path().join("harnesses")).unwrap();
    until_reloads(&talk.daemon, 2);
    assert_eq!(replaced(&talk.daemon), Value::Null);
    assert!(calls().contains("s-1"));
    let log = talk.daemon.log();
    assert_eq!(log.matches("tools/echo.js takes the place").count(), 1, "{log}");
}
