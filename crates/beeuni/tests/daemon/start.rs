//! Starting: the ready line, the session's id, the state folder, and every way not to start.
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::support::{Daemon, Project, ended, until};

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Whether `text` is a random UUID (version 4).
fn is_uuid(text: &str) -> bool {
    let groups: Vec<usize> = text.split('-').map(str::len).collect();
    groups == [8, 4, 4, 4, 12] && text.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit()) && &text[14..15] == "4"
}

#[test]
fn the_ready_line_is_all_that_stands_on_stdout() {
    let project = Project::new(&[]);
    let daemon = project.daemon(&["--session", "s-1", "--listen", "127.0.0.1:0", "--harness", "none"]);
    let port: u16 = daemon.address().strip_prefix("127.0.0.1:").unwrap().parse().unwrap();
    let line = format!("{{\"ready\":true,\"url\":\"http://127.0.0.1:{port}\",\"session\":\"s-1\"}}\n");
    assert_eq!(daemon.stdout(), line);
    daemon.output("echo", json!({}));
    let out = daemon.stdout();
    daemon.stop();
    assert_eq!(out, line);
}

#[test]
fn a_session_without_an_id_gets_a_new_uuid_each_time() {
    let project = Project::new(&[]);
    let ids = [0, 1].map(|_| project.daemon(&[]).ready["session"].as_str().unwrap().to_owned());
    assert!(is_uuid(&ids[0]) && is_uuid(&ids[1]) && ids[0] != ids[1], "{ids:?}");
}

#[test]
fn the_bridge_key_is_made_once_and_kept_private() {
    let project = Project::new(&[]);
    drop(project.daemon(&[]));
    let key = project.bridge_key();
    assert!(
        key.len() == 64 && key.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)),
        "{} bytes",
        key.len()
    );
    let file = project.state().join("tool-bridge.key");
    assert_eq!((mode(&project.state()), mode(&file)), (0o700, 0o600));
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let daemon = project.daemon(&[]);
    assert_eq!((project.bridge_key(), mode(&file)), (key.clone(), 0o600));
    assert_eq!(daemon.ask_as(Some(&key), "GET", "/beeuni/tools", "").status, 200);
    assert!(!daemon.log().contains(&key), "the key is in the log");
}

#[test]
fn a_state_folder_is_found_from_where_the_daemon_was_started() {
    let project = Project::new(&[]);
    let mut command = project.command_with_state(Path::new("kept/state"));
    command.current_dir(project.home());
    let daemon = Daemon::start(command);
    daemon.output("echo", json!({}));
    assert!(project.home().join("kept/state/tool-bridge.key").is_file());
}

#[test]
fn two_daemons_never_share_a_state_folder() {
    let project = Project::new(&[]);
    let first = project.daemon(&[]);
    let (code, out, log) = project.refused(&[]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(
        log.contains(&format!("process {}", first.pid())) && log.contains("--state"),
        "{log}"
    );
    assert_eq!(first.ask("GET", "/beeuni/tools", "").status, 200);
    drop(first);
    project.daemon(&[]);
}

/// The command of a daemon on a machine without OpenCode.
fn without_opencode(mut command: Command) -> Command {
    command.env("BEEUNI_OPENCODE", "/nonexistent/opencode");
    command
}

#[test]
fn a_missing_opencode_is_said_at_once_with_the_command_that_installs_it() {
    let project = Project::new(&[]);
    let (code, out, log) = ended(without_opencode(project.command(&["--harness", "standard"])));
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(
        log.contains("OpenCode was not found") && log.contains("beeuni setup"),
        "{log}"
    );
    assert!(!project.state().exists(), "a refused start wrote a state folder");
}

#[test]
fn without_the_flag_the_project_says_which_harness_and_the_flag_wins() {
    let project = Project::new(&[]);
    let (code, _, log) = ended(without_opencode(project.command_without_harness()));
    assert_eq!(code, 1);
    assert!(log.contains("OpenCode was not found"), "{log}");
    let (code, _, log) = project.refused(&["--harness", "another"]);
    assert!(
        code == 2 && log.contains("another") && log.contains("standard"),
        "{log}"
    );
    let manifest = project.read("beeuni.yaml").unwrap();
    project.write("beeuni.yaml", &format!("{manifest}harness: experimental\n"));
    let harness = |daemon: &Daemon| daemon.ask("GET", "/beeuni/health", "").json()["harness"]["id"].clone();
    let daemon = Daemon::start(project.command_without_harness());
    assert_eq!(harness(&daemon), "experimental");
    drop(daemon);
    assert_eq!(harness(&project.daemon(&["--harness", "none"])), "none");
}

#[test]
fn an_address_that_others_can_reach_is_refused() {
    let project = Project::new(&[]);
    for address in ["0.0.0.0:0", "192.0.2.1:80", "[::]:0", "10.0.0.1:4410"] {
        let (code, out, log) = project.refused(&["--listen", address]);
        assert_eq!((code, out.as_str()), (2, ""), "{address}");
        assert!(log.contains("loopback"), "{address}: {log}");
    }
    for address in ["here", "127.0.0.1", "127.0.0.1:99999", "unix:", "http://127.0.0.1:1"] {
        let (code, _, log) = project.refused(&["--listen", address]);
        assert!(code == 2 && log.contains("127.0.0.1:PORT"), "{address}: {code} {log}");
    }
}

#[test]
fn an_address_in_use_is_named() {
    let project = Project::new(&[]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (code, _, log) = project.refused(&["--listen", &address]);
    assert!(
        code == 1 && log.contains(&address) && log.contains("in use"),
        "{code} {log}"
    );
}

#[test]
fn a_session_id_is_one_plain_word() {
    let project = Project::new(&[]);
    for id in ["", "a b", "../x", "a/b", "é"] {
        let (code, _, log) = project.refused(&["--session", id]);
        assert!(code == 2 && log.contains("session"), "{id:?}: {code} {log}");
    }
}

#[test]
fn no_manifest_is_exit_2_and_a_missing_folder_says_so() {
    let project = Project::new(&[]);
    std::fs::remove_file(project.path().join("beeuni.yaml")).unwrap();
    std::fs::create_dir(project.path().join(".git")).unwrap();
    let (code, out, log) = project.refused(&[]);
    assert!(
        code == 2 && out.is_empty() && log.contains("no beeuni.yaml"),
        "{code} {log}"
    );
    std::fs::remove_dir_all(project.path()).unwrap();
    let (code, _, log) = project.refused(&[]);
    assert!(code == 2 && log.contains("no such folder"), "{code} {log}");
}

#[test]
fn cli_01_a_manifest_that_cannot_be_read_is_exit_1_with_its_place() {
    for (manifest, place) in [
        ("tools: {\n", "beeuni.yaml:"),
        ("tools:\n\techo: tools/echo.ts\n", "beeuni.yaml:2:1"),
        ("", "beeuni.yaml:1:1"),
    ] {
        let project = Project::with_manifest(manifest);
        let (code, out, log) = project.refused(&[]);
        assert!(
            code == 1 && out.is_empty() && log.contains(place),
            "{manifest:?}: {code} {log}"
        );
    }
}

#[test]
fn cli_03_one_bad_entry_takes_nothing_else_down_and_is_logged_with_its_place() {
    let project = Project::with_manifest(
        "beeuni_version: 2\ntools:\n  echo: tools/echo.ts\n  x: tools/x.md\n  missing: tools/missing.ts\n  web_search: beeuni:image_search\n\nagents:\n  lead: { tools: all, file: agents/a.md }\n",
    );
    let daemon = project.daemon(&[]);
    daemon.output("echo", json!({}));
    for place in ["beeuni.yaml:4:", "beeuni.yaml:5:", "beeuni.yaml:6:"] {
        daemon.wait_for_log(&["ERROR", place]);
    }
    let loaded = daemon.ask("GET", "/beeuni/tools", "").json();
    assert_eq!(loaded["tools"].as_array().unwrap().len(), 1, "{loaded}");
}

#[test]
fn the_sessions_agent_must_be_declared_and_enabled() {
    let project = Project::new(&[]);
    for (agent, part) in [("nobody", "is not declared"), ("gone", "is disabled")] {
        let (code, out, log) = project.refused(&["--agent", agent]);
        assert!(
            code == 1 && out.is_empty() && log.contains(part) && log.contains("reader"),
            "{agent}: {code} {log}"
        );
    }
    let several = "beeuni_version: 2\nagents:\n  a: { file: agents/a.md }\n  b: { file: agents/a.md }\n";
    let project = Project::with_manifest(several);
    let (code, _, log) = project.refused(&[]);
    assert!(
        code == 1 && log.contains("default_agent") && log.contains("--agent"),
        "{code} {log}"
    );
    project.daemon(&["--agent", "b"]);
}

#[test]
fn load_01_a_module_that_does_not_load_is_left_out_and_logged_with_the_reason() {
    let project = Project::new(&[("broken", ""), ("empty", "")]);
    project.write(
        "tools/broken.ts",
        "import { z } from 'zod'\nexport default { description: 'b', parameters: z.toJSONSchema(z.object({})), execute: () => 'b' }\n",
    );
    project.write("tools/empty.ts", "");
    let daemon = project.daemon(&[]);
    let line = "[tools] project tools that did not load";
    daemon.wait_for_log(&[line, "broken", "Cannot find package 'zod'"]);
    daemon.wait_for_log(&[line, "empty", "default export"]);
    daemon.output("echo", json!({}));
    assert_eq!(daemon.call("broken", &json!({})).status, 404);
}

#[test]
fn load_05_while_tools_load_health_answers_and_calls_are_told_to_wait() {
    let project = Project::new(&[("never", "")]);
    project.write("tools/never.ts", "await new Promise(() => {})\n");
    let socket = project.beside("run/daemon.sock");
    let daemon = Daemon::start_only(project.command(&[
        "--load-timeout",
        "3",
        "--listen",
        &format!("unix:{}", socket.display()),
    ]));
    let mut connection = until("the socket", || crate::support::Connection::unix(&socket).ok());
    let mut ask = |method, path| connection.ask(&crate::support::request(method, path, &crate::support::signed(), ""));
    assert_eq!(ask("GET", "/beeuni/health").json()["runtime"]["ready"], false);
    let call = ask("POST", "/beeuni/tools/echo");
    assert_eq!(
        (call.error(), call.header("retry-after")),
        ((503, "the tools are still loading".to_owned()), Some("1"))
    );
    assert_eq!(ask("GET", "/beeuni/tools").status, 503);
    assert_eq!(daemon.stdout(), "", "ready is said before the tools are loaded");
    until("the end of loading", || {
        (ask("GET", "/beeuni/health").json()["runtime"]["ready"] == true).then_some(())
    });
    assert_eq!(
        ask("POST", "/beeuni/tools/echo").status,
        400,
        "an empty body is no call"
    );
    daemon.wait_for_log(&["[tools] project tools that did not load", "never", "within 3 s"]);
}

#[test]
fn a_folder_below_the_project_starts_the_project() {
    let project = Project::new(&[]);
    project.write("deep/er/file", "");
    let mut command = project.command_in(&project.path().join("deep/er"), &[]);
    command.current_dir("/");
    let daemon = Daemon::start(command);
    let seen: serde_json::Value = serde_json::from_str(&daemon.output("echo", json!({}))).unwrap();
    assert_eq!(seen["directory"], json!(project.path()));
}

#[test]
fn a_project_without_tools_is_served_too() {
    let project = Project::with_manifest("beeuni_version: 2\ntools: {}\n");
    let daemon = project.daemon(&[]);
    assert_eq!(
        daemon.ask("GET", "/beeuni/tools", "").body,
        r#"{"tools":[],"failed":[]}"#
    );
    let expected = (404, "no tool named memory is loaded".to_owned());
    assert_eq!(daemon.call("memory", &json!({})).error(), expected);
}

#[test]
fn an_unused_worker_ends_and_the_next_call_finds_a_new_one() {
    let project = Project::new(&[]);
    let daemon = project.daemon(&["--idle-timeout", "1"]);
    daemon.output("echo", json!({}));
    let workers = crate::support::descendants(daemon.pid());
    assert!(!workers.is_empty());
    crate::support::until_gone(&workers);
    assert_eq!(crate::support::descendants(daemon.pid()), []);
    daemon.output("echo", json!({}));
}

#[test]
fn beeuni_log_debug_shows_every_call_with_its_time() {
    let project = Project::new(&[]);
    let mut command = project.command(&[]);
    command.env("BEEUNI_LOG", "debug");
    let daemon = Daemon::start(command);
    daemon.output("echo", json!({}));
    daemon.wait_for_log(&["DEBUG", "tool=\"echo\"", "agent=\"lead\"", "status=200", "ms="]);
    // A text of several lines stays one line, so that it cannot look like others.
    daemon.call(
        "fail",
        &json!({ "args": { "id": "7\n2030-01-01T00:00:00Z  INFO forged" } }),
    );
    let line = daemon.wait_for_log(&["INFO", "tool=\"fail\"", "status=422"]);
    assert!(line.contains("forged"), "{line}");
}
