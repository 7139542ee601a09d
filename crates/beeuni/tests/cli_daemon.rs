//! `beeuni daemon`: its ready line, its arguments and its end.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]
mod support;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use support::{PATIENCE, Shell};

const TOKEN: &str = "token-of-this-session";

/// A daemon that is ready; it ends with the test.
struct Daemon {
    child: Child,
    stdout: BufReader<ChildStdout>,
    ready: Value,
}

impl Daemon {
    fn start(shell: &Shell, args: &[&str]) -> Self {
        let mut command = shell.command([&["daemon", "--harness", "none"], args].concat());
        support::with_bun(&mut command)
            .env("BEEUNI_TOKEN", TOKEN)
            .env("CITY", "Berlin")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        if line.is_empty() {
            let mut log = String::new();
            child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
            panic!("the daemon did not get ready:\n{log}");
        }
        Self {
            child,
            stdout,
            ready: serde_json::from_str(&line).unwrap(),
        }
    }

    fn post(&self, route: &str, body: &str) -> String {
        let address = self.ready["url"].as_str().unwrap().strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let length = body.len();
        write!(
            stream,
            "POST {route} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {TOKEN}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// SIGTERM: the exit code, and what else was on stdout.
    fn end(mut self) -> (Option<i32>, String) {
        let sent = Command::new("kill")
            .args(["-TERM", &self.child.id().to_string()])
            .status()
            .unwrap();
        assert!(sent.success());
        let code = self.child.wait().unwrap().code();
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        (code, rest)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It has ended already, unless the test failed.
        let _ = self.child.kill();
    }
}

fn project() -> Shell {
    let shell = Shell::with_manifest("beeuni_version: 2\ntools:\n  memory: beeuni:memory\n  probe: tools/probe.ts\n");
    shell.write(
        "tools/probe.ts",
        "export default { description: 'A probe.', parameters: { type: 'object', properties: {} }, execute: (args, context) => ({ args, city: context.env.CITY, session: context.sessionId }) }\n",
    );
    shell
}

#[test]
fn one_line_says_that_it_is_ready_and_sigterm_ends_it_with_0() {
    let shell = project();
    let state = shell.root().join("state");
    let daemon = Daemon::start(
        &shell,
        &["--project", ".", "--state", state.to_str().unwrap(), "--session", "s-1"],
    );
    assert_eq!(
        (&daemon.ready["ready"], &daemon.ready["session"]),
        (&json!(true), &json!("s-1"))
    );
    assert!(daemon.ready["url"].as_str().unwrap().starts_with("http://127.0.0.1:"));
    let answer = daemon.post("/beeuni/tools/probe", r#"{"args":{"a":1},"agent":"beeuni"}"#);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("s-1"), "{answer}");
    assert!(state.join("tool-bridge.key").is_file());
    assert_eq!(daemon.end(), (Some(0), String::new()));
}

#[test]
fn variables_reach_the_tools_only_by_name() {
    let shell = project();
    let city = |args: &[&str]| {
        let daemon = Daemon::start(&shell, args);
        let answer = daemon.post("/beeuni/tools/probe", r#"{"args":{},"agent":"beeuni"}"#);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert_eq!(daemon.end().0, Some(0));
        answer.contains("Berlin")
    };
    assert!(!city(&[]));
    assert!(city(&["--pass-env", "CITY"]));
}

#[test]
fn arguments_that_cannot_be_used_are_exit_2() {
    let shell = project();
    let run = |args: &[&str]| {
        let mut command = shell.command([&["daemon"], args].concat());
        shell.ran(support::with_bun(&mut command))
    };
    insta::assert_snapshot!(run(&["--listen", "0.0.0.0:80"]), @"
    exit 2
    ----- stderr
    error: invalid value '0.0.0.0:80' for '--listen <ADDRESS>': 0.0.0.0:80 is not a loopback address: the daemon holds the session's secrets and listens on 127.0.0.1, [::1] or a Unix socket only

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(run(&["--listen", "somewhere"]), @r#"
    exit 2
    ----- stderr
    error: invalid value 'somewhere' for '--listen <ADDRESS>': "somewhere" is no listen address: use 127.0.0.1:PORT, [::1]:PORT (port 0 takes a free one) or unix:/path/to/socket

    For more information, try '--help'.
    "#);
    insta::assert_snapshot!(run(&["--harness", "other"]), @"
    exit 2
    ----- stderr
    error: invalid value 'other' for '--harness <HARNESS>'
      [possible values: none, standard, experimental]

    For more information, try '--help'.
    ");
    assert_eq!(run(&["--session", "a b"]).code, 2);
    assert_eq!(run(&["--memory", "1"]).code, 2);
    assert_eq!(run(&["--call-timeout", "0"]).code, 2);
    assert_eq!(run(&["--project", "nowhere"]).code, 2);
    assert_eq!(run(&["--agent", "nobody"]).code, 1);
}

#[test]
fn a_log_filter_that_is_none_is_told() {
    let shell = project();
    let mut command = shell.command(["daemon"]);
    let ran = shell.ran(support::with_bun(&mut command).env("BEEUNI_LOG", "beeuni=loudly"));
    assert_eq!(ran.code, 2, "{ran}");
    assert!(ran.stderr.starts_with("error: BEEUNI_LOG is no log filter"), "{ran}");
}
