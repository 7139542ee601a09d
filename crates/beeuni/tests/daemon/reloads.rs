//! Reading the project again in a running daemon (C2): by itself, when asked, and never a half of it.
use std::fs;
use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Daemon, Events, Project, Talk, offered, until};

/// A daemon that logs also what it finds unchanged.
fn watching(project: &Project) -> Daemon {
    let mut command = project.command(&[]);
    command.env("BEEUNI_LOG", "info,beeuni_daemon::reload=debug");
    Daemon::start(command)
}

/// Waits until `tool` gives `text`.
fn until_gives(daemon: &Daemon, tool: &str, text: &str) {
    until(&format!("{tool} to give {text}"), || {
        let reply = daemon.call(tool, &json!({}));
        (reply.status == 200 && reply.json()["output"] == text).then_some(())
    });
}

/// How often the daemon has reloaded.
fn reloads(daemon: &Daemon) -> usize {
    daemon.log().matches("reloaded after").count()
}

/// Waits until it has reloaded so often, and no more.
fn until_reloads(daemon: &Daemon, times: usize) {
    until(&format!("{times} reloads"), || (reloads(daemon) >= times).then_some(()));
    assert_eq!(reloads(daemon), times, "{}", daemon.log());
}

fn project_health(daemon: &Daemon) -> Value {
    daemon.ask("GET", "/beeuni/health", "").json()["project"].clone()
}

#[test]
fn reload_01_an_edited_tool_is_served_anew_and_a_revert_too() {
    let project = Project::new(&[("probe", "return 'v1'")]);
    let daemon = watching(&project);
    let file = project.path().join("tools/probe.ts");
    let first = fs::read(&file).unwrap();
    let time = fs::metadata(&file).unwrap().modified().unwrap();
    assert_eq!(daemon.output("probe", json!({})), "v1");
    project.tool("probe", "return 'v2'");
    until_gives(&daemon, "probe", "v2");
    fs::write(&file, &first).unwrap();
    fs::File::options()
        .write(true)
        .open(&file)
        .unwrap()
        .set_modified(time)
        .unwrap();
    until_gives(&daemon, "probe", "v1");
    // Only the description.
    let text = String::from_utf8(first).unwrap();
    fs::write(&file, text.replace("The tool probe", "Probes")).unwrap();
    until("the new description", || {
        let list = daemon.ask("GET", "/beeuni/tools", "").body;
        list.contains(r#""description":"Probes""#).then_some(())
    });
    // The same bytes again. A look that began before the first time ends before the second is seen.
    until_reloads(&daemon, 3);
    let same = fs::read(&file).unwrap();
    for _ in 0..2 {
        let unchanged = || daemon.log().matches("nothing differs").count();
        let before = unchanged();
        fs::write(&file, &same).unwrap();
        until("the touched file to be looked at", || {
            (unchanged() > before).then_some(())
        });
    }
    until_reloads(&daemon, 3);
}

#[test]
fn reload_02_what_a_module_imports_counts_two_levels_down_and_new_files_too() {
    let project = Project::new(&[("probe", "")]);
    let module = "import { text } from './lib/a.ts'\nexport default { description: 'd', parameters: { type: 'object' }, execute: () => text }\n";
    project.write("tools/probe.ts", module);
    project.write(
        "tools/lib/a.ts",
        "import { part } from './b.mjs'\nexport const text = 'a' + part\n",
    );
    project.write(
        "tools/lib/b.mjs",
        "import data from './c.json'\nexport const part = 'b' + data.c\n",
    );
    project.write("tools/lib/c.json", r#"{"c":1}"#);
    let daemon = project.daemon(&[]);
    assert_eq!(daemon.output("probe", json!({})), "ab1");
    project.write("tools/lib/c.json", r#"{"c":2}"#);
    until_gives(&daemon, "probe", "ab2");
    project.write(
        "tools/lib/b.mjs",
        "import data from './c.json'\nexport const part = 'B' + data.c\n",
    );
    until_gives(&daemon, "probe", "aB2");
    project.write("tools/lib/d.ts", "export const d = 'd'\n");
    project.write(
        "tools/lib/a.ts",
        "import { d } from './d.ts'\nexport const text = 'a' + d\n",
    );
    until_gives(&daemon, "probe", "ad");
    project.write("tools/lib/d.ts", "export const d = 'D'\n");
    until_gives(&daemon, "probe", "aD");
}

#[test]
fn the_list_of_tools_and_the_agents_follow_the_manifest() {
    let project = Project::new(&[]);
    let daemon = project.daemon(&[]);
    let manifest = project.read("beeuni.yaml").unwrap();
    project.tool("extra", "return 'extra'");
    let changed = manifest
        .replace("  memory: beeuni:memory\n", "  extra: tools/extra.ts\n")
        .replace("  reader: { tools: [read, echo]", "  reader: { tools: [extra]");
    project.write("beeuni.yaml", &changed);
    until_gives(&daemon, "extra", "extra");
    assert_eq!(daemon.call("memory", &json!({})).status, 404);
    let call = |tool: &str| daemon.call(tool, &json!({ "agent": "reader" })).status;
    assert_eq!((call("extra"), call("echo")), (200, 403));
}

#[test]
fn reload_04_a_file_that_is_replaced_linked_or_written_in_halves_is_read_once_and_whole() {
    let project = Project::new(&[
        ("one", "return 'one'"),
        ("two", "return 'two'"),
        ("three", "return 'three'"),
    ]);
    let whole = project.read("beeuni.yaml").unwrap();
    let without = |tool: &str| whole.replace(&format!("  {tool}: tools/{tool}.ts\n"), "");
    let daemon = watching(&project);
    let manifest = project.path().join("beeuni.yaml");
    let has = |tool: &str| daemon.call(tool, &json!({})).status == 200;

    // Renamed into place, as editors do.
    fs::write(project.path().join("m.tmp"), without("one")).unwrap();
    fs::rename(project.path().join("m.tmp"), &manifest).unwrap();
    until_reloads(&daemon, 1);
    assert!(!has("one"));

    // Away for a while: what was loaded stays.
    fs::rename(&manifest, project.path().join("m.bak")).unwrap();
    until("the missing manifest to be noticed", || {
        (project_health(&daemon)["current"] == false).then_some(())
    });
    assert!(has("two"));
    fs::write(&manifest, without("two")).unwrap();
    until_reloads(&daemon, 2);
    assert!(!has("two"));

    // Through a link that is exchanged.
    for (folder, text) in [("r1", &without("two")), ("r2", &without("three"))] {
        project.write(&format!("releases/{folder}/beeuni.yaml"), text);
    }
    std::os::unix::fs::symlink("releases/r1/beeuni.yaml", project.path().join("first")).unwrap();
    fs::rename(project.path().join("first"), &manifest).unwrap();
    std::os::unix::fs::symlink("releases/r2/beeuni.yaml", project.path().join("next")).unwrap();
    fs::rename(project.path().join("next"), &manifest).unwrap();
    until_reloads(&daemon, 3);
    assert!(!has("three") && has("two"));

    // Edited twice in a moment, then written in two halves with a pause between them.
    project.tool("one", "return 'a'");
    project.tool("one", "return 'b'");
    until_gives(&daemon, "one", "b");
    until_reloads(&daemon, 4);
    let (half, rest) = whole.split_at(whole.len() / 2);
    let mut file = fs::File::create(project.path().join("releases/r2/beeuni.yaml")).unwrap();
    file.write_all(half.as_bytes()).unwrap();
    let begin = Instant::now();
    until("the pause between the halves", || {
        (begin.elapsed() > Duration::from_millis(100)).then_some(())
    });
    file.write_all(rest.as_bytes()).unwrap();
    until_reloads(&daemon, 5);
    assert!(has("one") && has("two") && has("three"));
    assert_eq!(project_health(&daemon)["current"], true);
}

#[test]
fn reload_05_a_manifest_that_cannot_be_read_changes_nothing_and_is_told_once() {
    let project = Project::new(&[("probe", "return 'v1'")]);
    let whole = project.read("beeuni.yaml").unwrap();
    let daemon = watching(&project);
    project.write("beeuni.yaml", "tools: {\n");
    let problem = until("the problem in the health", || {
        let health = project_health(&daemon);
        (health["current"] == false).then(|| health["problem"].as_str().unwrap().to_owned())
    });
    assert!(problem.starts_with("beeuni.yaml:"), "{problem}");
    assert_eq!(daemon.output("probe", json!({})), "v1");
    // A tool that changes meanwhile waits too: never a mixture. Then the reason is still told once.
    project.tool("probe", "return 'v2'");
    let (status, error) = daemon.ask("POST", "/beeuni/reload", "{}").error();
    assert!(status == 422 && error.contains("beeuni.yaml:"), "{status} {error}");
    let told = |daemon: &Daemon| daemon.log().matches("what was loaded before stays in force").count();
    assert_eq!((told(&daemon), reloads(&daemon)), (1, 0), "{}", daemon.log());
    project.write("beeuni.yaml", "");
    until("the other problem in the health", || (told(&daemon) == 2).then_some(()));
    assert_eq!(daemon.output("probe", json!({})), "v1");
    project.write("beeuni.yaml", &whole);
    until_gives(&daemon, "probe", "v2");
    assert_eq!(
        project_health(&daemon),
        json!({ "current": true, "errors": 0, "warnings": 0, "problem": null })
    );
}

#[test]
fn reload_05_a_bad_entry_fails_alone_and_heals_when_it_is_fixed() {
    let project = Project::new(&[("probe", "return 'v1'")]);
    let daemon = project.daemon(&[]);
    let whole = project.read("beeuni.yaml").unwrap();
    project.write("beeuni.yaml", &whole.replace("tools/probe.ts", "tools/missing.ts"));
    until("the failed tool", || {
        let health = daemon.ask("GET", "/beeuni/health", "").json();
        (health["tools"]["failed_names"] == json!(["probe"])).then_some(())
    });
    let health = project_health(&daemon);
    assert_eq!((&health["current"], &health["errors"]), (&json!(true), &json!(1)));
    assert!(
        health["problem"].as_str().unwrap().contains("tools/missing.ts"),
        "{health}"
    );
    daemon.output("echo", json!({}));
    // The file appears.
    fs::copy(
        project.path().join("tools/probe.ts"),
        project.path().join("tools/missing.ts"),
    )
    .unwrap();
    until_gives(&daemon, "probe", "v1");
}

#[test]
fn load_01_a_package_that_is_installed_later_heals_its_tool_without_a_restart() {
    let project = Project::new(&[("probe", "")]);
    let module = "import { z } from 'zod'\nexport default { description: 'd', parameters: { type: 'object' }, execute: () => z }\n";
    project.write("tools/probe.ts", module);
    let daemon = project.daemon(&[]);
    daemon.wait_for_log(&[
        "[tools] project tools that did not load",
        "probe",
        "Cannot find package 'zod'",
    ]);
    daemon.output("echo", json!({}));
    project.write(
        "node_modules/zod/package.json",
        r#"{"name":"zod","version":"4.0.0","main":"index.js"}"#,
    );
    project.write("node_modules/zod/index.js", "export const z = 'zod is here'\n");
    until_gives(&daemon, "probe", "zod is here");
}

#[test]
fn a_request_and_sighup_reload_at_once_whatever_has_changed() {
    let project = Project::new(&[]);
    let daemon = project.daemon(&[]);
    let answer = daemon.ask("POST", "/beeuni/reload", "{}");
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(
        answer.json(),
        json!({ "pending": false, "tools": { "loaded": 3, "failed": 0, "failed_names": [] }, "findings": [] })
    );
    daemon.wait_for_log(&["reloaded after a request"]);
    daemon.signal("HUP");
    daemon.wait_for_log(&["reloaded after SIGHUP"]);
    // An agent that names no tool there is: told with its place.
    let manifest = project.read("beeuni.yaml").unwrap();
    project.write("beeuni.yaml", &manifest.replace("[read, echo]", "[read, ecko]"));
    let findings = daemon.ask("POST", "/beeuni/reload", "{}").json()["findings"].clone();
    assert_eq!(
        (&findings[0]["file"], &findings[0]["severity"]),
        (&json!("beeuni.yaml"), &json!("warning"))
    );
    assert!(findings[0]["line"].as_u64() > Some(1), "{findings}");
}

#[test]
fn c2_the_experimental_harness_reloads_between_turns_and_the_conversation_goes_on() {
    let talk = Talk::new(&[(
        "wait",
        "const fs = require('fs'); fs.writeFileSync('started', ''); while (!fs.existsSync('go')) await Bun.sleep(5); return 'ok'",
    )]);
    let events = Events::of(&talk.daemon, None);
    talk.model
        .calls(&[("c1", "wait", json!({}))])
        .calls(&[("c2", "echo", json!({}))])
        .says("done");
    talk.prompt(&json!({ "text": "remember 4711" }));
    until("the tool to start", || talk.project.read("started"));
    // While the turn runs: another tool instead of `echo`, and another prompt for the agent.
    let manifest = talk.project.read("beeuni.yaml").unwrap();
    talk.project.tool("extra", "return 'extra'");
    talk.project.write(
        "beeuni.yaml",
        &manifest.replace("  echo: tools/echo.ts", "  extra: tools/extra.ts"),
    );
    talk.project
        .write("agents/a.md", "---\ndescription: An agent\n---\nBe brief.\n");
    let answer = talk.daemon.ask("POST", "/beeuni/reload", "{}");
    assert_eq!((answer.status, &answer.json()["pending"]), (202, &json!(true)));
    talk.project.write("go", "");
    let reloaded = events.wait_for("session.reloaded");
    let ended = events.wait_for("turn.ended");
    assert!(
        ended["id"].as_u64() < reloaded["id"].as_u64(),
        "in the middle of a turn"
    );
    // The turn that ran had its tools to the end.
    assert_eq!(talk.tool_calls()[1]["status"], "completed");

    talk.model
        .calls(&[("c3", "echo", json!({})), ("c4", "extra", json!({}))])
        .says("4711");
    talk.say("go on");
    let calls = talk.tool_calls();
    assert_eq!(calls[2]["error"], "Tool echo not found");
    assert_eq!(calls[3]["output"], "extra");
    let request = talk.model.until_asked(5);
    assert!(
        request["messages"][0]["content"]
            .as_str()
            .unwrap()
            .starts_with("Be brief."),
        "{request}"
    );
    assert!(request["messages"].to_string().contains("remember 4711"));
    let names = offered(&request);
    assert!(
        names.iter().any(|name| name == "extra") && !names.iter().any(|name| name == "echo"),
        "{names:?}"
    );
}

#[test]
fn a_skill_and_an_agent_that_are_new_are_there_in_the_next_turn() {
    let talk = Talk::new(&[]);
    let manifest = talk.project.read("beeuni.yaml").unwrap();
    talk.project.write(
        "beeuni.yaml",
        &(manifest + "  fresh: { tools: [echo, skill], skills: all }\n"),
    );
    talk.project
        .write("agents/fresh.md", "---\ndescription: Fresh\n---\nI am fresh.\n");
    talk.project.write(
        "skills/knots/SKILL.md",
        "---\ndescription: How to tie knots\n---\nOver and under.\n",
    );
    talk.daemon.ask("POST", "/beeuni/reload", "{}");
    talk.model.says("hi");
    talk.prompt(&json!({ "text": "hello", "agent": "fresh" }));
    let request = talk.model.until_asked(1);
    let prompt = request["messages"][0]["content"].as_str().unwrap();
    assert!(
        prompt.starts_with("I am fresh.") && prompt.contains("knots: How to tie knots"),
        "{prompt}"
    );
    assert_eq!(offered(&request), ["skill", "echo"]);
}
