//! The standard harness in a network that only has loopback: everything works, and nothing tries to leave the machine.
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Connection, Daemon, Project, SESSION, harness_command, parts, request, signed, until};

/// Brings loopback up in a new network and runs its arguments there.
const UP: &str = "ip link set lo up && exec \"$@\"";

/// The words before a command that give it a network of its own; `None` where this user may not have one.
fn namespace() -> Option<Vec<&'static str>> {
    let forms: [&[&str]; 2] = [
        &["unshare", "--net"],
        &["unshare", "--user", "--map-root-user", "--net"],
    ];
    forms.into_iter().find_map(|form| {
        let words: Vec<&str> = form.iter().copied().chain(["sh", "-c", UP, "sh"]).collect();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg("true").stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success()).then_some(words)
    })
}

/// Reads what the kernel counts in the network in which it runs: packets without a way out, and datagrams to loopback
/// ports where nobody listens, which is where a question to a local name server ends.
const COUNT: &str = "
    const { readFileSync } = require('fs')
    const lines = readFileSync('/proc/net/snmp', 'utf8').split('\\n').map((line) => line.split(' '))
    const count = (table, name) => {
      const [names, values] = lines.filter((line) => line[0] === table + ':')
      return Number(values[names.indexOf(name)])
    }
    const v6 = Number(/Ip6OutNoRoutes\\s+(\\d+)/.exec(readFileSync('/proc/net/snmp6', 'utf8'))[1])
    return { routes: count('Ip', 'OutNoRoutes') + v6, ports: count('Udp', 'NoPorts') }";

/// Tries to leave the machine.
const LEAVE: &str = "
    await fetch('http://203.0.113.1/').catch(() => {})
    await fetch('http://example.com/').catch(() => {})
    return 'tried'";

#[test]
#[expect(
    clippy::print_stderr,
    reason = "who reads the tests' output should know what was not proved"
)]
fn no_request_of_the_standard_harness_leaves_the_machine() {
    let Some(words) = namespace() else {
        eprintln!("skipped: this user cannot have a network namespace (unshare, ip)");
        return;
    };
    let project = Project::new(&[("count", COUNT), ("leave", LEAVE)]);
    let socket = project.beside("closed/d.sock");
    let mut inner = harness_command(&project, "standard");
    inner.args(["--listen", &format!("unix:{}", socket.display())]);
    inner.env("BEEUNI_MODEL", "beeuni/rehearsal");
    let mut command = Command::new(words[0]);
    command
        .args(&words[1..])
        .arg(inner.get_program())
        .args(inner.get_args())
        .env_clear();
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let daemon = Daemon::start(command);

    let ask = |method: &str, path: &str, body: &Value| {
        let body = if method == "GET" {
            String::new()
        } else {
            body.to_string()
        };
        let mut connection = Connection::unix(&socket).unwrap();
        let reply = connection.ask(&request(method, path, &signed(), &body));
        assert!((200..300).contains(&reply.status), "{path}: {}", reply.body);
        reply.json()
    };
    let counted = || -> Value {
        let answer = ask("POST", "/beeuni/tools/count", &json!({ "args": {} }));
        serde_json::from_str(answer["output"].as_str().unwrap()).unwrap()
    };
    let session = format!("/beeuni/sessions/{SESSION}");
    for prompt in [
        "Call the echo tool once with id A-1042 and print its output.",
        "Call the bash tool once with command \"ls\" and description \"Lists\" and print its output.",
        "Call the glob tool once with pattern \"**/*.ts\" and print its output.",
    ] {
        ask(
            "POST",
            &format!("{session}/prompt"),
            &json!({ "text": prompt, "on_ask": "allow" }),
        );
        until("the turn to end", || {
            (ask("GET", &session, &Value::Null)["activity"] == "idle").then_some(())
        });
    }
    let messages = ask("GET", &format!("{session}/messages"), &Value::Null);
    let calls = parts(messages["messages"].as_array().unwrap(), "tool");
    let ended: Vec<(&Value, &Value)> = calls.iter().map(|call| (&call["tool"], &call["status"])).collect();
    let done = json!("completed");
    let [echo, bash, glob] = ["echo", "bash", "glob"].map(|name| json!(name));
    assert_eq!(ended, [(&echo, &done), (&bash, &done), (&glob, &done)], "{calls:?}");

    assert_eq!(
        counted(),
        json!({ "routes": 0, "ports": 0 }),
        "something tried to leave"
    );
    // The count can see it.
    ask("POST", "/beeuni/tools/leave", &json!({ "args": {} }));
    let after = counted();
    assert!(after["routes"].as_u64() > Some(0), "{after}");
    drop(daemon);
}
