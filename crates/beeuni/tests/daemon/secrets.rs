//! Secrets: who receives them, when they change, and that they show nowhere.
use std::thread;

use serde_json::json;

use crate::support::{Daemon, Project, TOKEN, until};

const PLANTED: &str = "tok-6f1e-Zq+/9=";

const READ: (&str, &str) = (
    "read_key",
    "return `${context.env.API_TOKEN?.slice(0, 4) ?? 'not set'} ${process.pid}`",
);

#[test]
fn sec_04_a_change_reaches_the_next_call_of_the_same_worker() {
    let project = Project::new(&[READ]);
    let daemon = project.daemon(&[]);
    let call = || daemon.output("read_key", json!({}));
    let first = call();
    let pid = first.strip_prefix("not set ").unwrap();
    for (revision, agents, expected) in [
        ("r1", json!({ "lead": { "API_TOKEN": "aaaa-value" } }), "aaaa"),
        (
            "r2",
            json!({ "lead": { "API_TOKEN": "bbbb-value", "OTHER": "x" } }),
            "bbbb",
        ),
        ("r3", json!({ "lead": { "OTHER": "x" } }), "not set"),
        ("r4", json!({ "lead": { "API_TOKEN": "cccc-value" } }), "cccc"),
        ("r5", json!({}), "not set"),
    ] {
        let reply = daemon.push(revision, agents);
        assert_eq!((reply.status, reply.json()), (200, json!({ "revision": revision })));
        assert_eq!(call(), format!("{expected} {pid}"), "{revision}");
    }
}

#[test]
fn a_running_call_keeps_the_secrets_that_it_started_with() {
    let project = Project::new(&[(
        "twice",
        "const before = context.env.API_TOKEN; require('fs').writeFileSync('started', ''); while (!require('fs').existsSync('go')) await Bun.sleep(5); return String(before.slice(0, 4) + context.env.API_TOKEN.slice(0, 4))",
    )]);
    let daemon = project.daemon(&[]);
    daemon.push("r1", json!({ "lead": { "API_TOKEN": "aaaa-value" } }));
    thread::scope(|scope| {
        let running = scope.spawn(|| daemon.output("twice", json!({})));
        until("the tool to start", || project.read("started"));
        assert_eq!(
            daemon
                .push("r2", json!({ "lead": { "API_TOKEN": "bbbb-value" } }))
                .status,
            200
        );
        project.write("go", "");
        assert_eq!(running.join().unwrap(), "aaaaaaaa");
    });
    assert_eq!(daemon.output("twice", json!({})), "bbbbbbbb");
}

#[test]
fn an_agent_sees_its_own_secrets_and_nobody_elses() {
    let project = Project::new(&[(
        "names",
        "return Object.keys(context.env).filter((name) => name.startsWith('S_')).join()",
    )]);
    let daemon = project.daemon(&[]);
    daemon.push(
        "r1",
        json!({ "lead": { "S_LEAD": "lead-value" }, "careful": { "S_CAREFUL": "careful-value", "S_BOTH": "both" } }),
    );
    let names = |agent: &str| daemon.call("names", &json!({ "agent": agent })).json()["output"].clone();
    assert_eq!(
        (names("lead"), names("careful")),
        (json!("S_LEAD"), json!("S_BOTH,S_CAREFUL"))
    );
}

#[test]
fn a_bad_push_is_refused_whole_and_names_the_name_only() {
    let project = Project::new(&[READ]);
    let daemon = project.daemon(&[]);
    daemon.push("r1", json!({ "lead": { "API_TOKEN": "aaaa-value" } }));
    let long = "v".repeat(64 * 1024 + 1);
    for (agents, part) in [
        (
            json!({ "lead": { "API_TOKEN": PLANTED, "lower": PLANTED } }),
            "agents.lead.lower",
        ),
        (
            json!({ "lead": { "API_TOKEN": PLANTED }, "x": { "BEEUNI_TOKEN": PLANTED } }),
            "agents.x.BEEUNI_TOKEN",
        ),
        (json!({ "lead": { "API_TOKEN": [PLANTED] } }), "agents.lead.API_TOKEN"),
        (json!({ "lead": { "API_TOKEN": long } }), "agents.lead.API_TOKEN"),
        (json!({ "lead": PLANTED }), "agents.lead"),
        (json!(PLANTED), "agents"),
    ] {
        let (status, text) = daemon.push("r2", agents).error();
        assert!(
            status == 400 && text.contains(part) && !text.contains("6f1e"),
            "{status} {text}"
        );
    }
    for body in [
        "",
        "{",
        "[]",
        r#"{"agents":{}}"#,
        r#"{"revision":"r"}"#,
        r#"{"revision":1,"agents":{}}"#,
    ] {
        assert_eq!(daemon.ask("POST", "/beeuni/env", body).error().0, 400, "{body}");
    }
    assert!(
        daemon.output("read_key", json!({})).starts_with("aaaa"),
        "a refused push changed something"
    );
    assert_eq!(daemon.ask("GET", "/beeuni/health", "").json()["env"]["revision"], "r1");
    assert!(!daemon.log().contains("6f1e"), "{}", daemon.log());
}

#[test]
fn sec_03_a_tool_inherits_no_credential_of_the_daemon() {
    let project = Project::new(&[(
        "env",
        "const fs = require('fs'); const of = (pid) => { try { return fs.readFileSync(`/proc/${pid}/environ`, 'utf8') } catch { return '' } };
         const inherited = JSON.stringify(process.env) + require('child_process').execSync('env') + of('self') + of(process.ppid);
         const sees = (text) => ['openai-planted', 'aws-planted', 'session-token-', 'pushed-planted'].map((part) => text.includes(part));
         return { process: sees(inherited), context: sees(JSON.stringify(context.env)), path: !!process.env.PATH, home: process.env.HOME,
           named: process.env.NAMED ?? null, api: context.env.BEEUNI_API_URL }",
    )]);
    let mut command = project.command(&["--pass-env", "NAMED"]);
    command
        .env("OPENAI_API_KEY", "openai-planted")
        .env("AWS_SECRET_ACCESS_KEY", "aws-planted")
        .env("NAMED", "let in");
    command.env("BEEUNI_API_URL", "http://127.0.0.1:4400");
    let daemon = Daemon::start(command);
    daemon.push("r1", json!({ "lead": { "PUSHED": "pushed-planted" } }));
    let seen: serde_json::Value = serde_json::from_str(&daemon.output("env", json!({}))).unwrap();
    let expected = json!({
        "process": [false, false, false, false], "context": [false, false, true, true],
        "path": true, "home": project.home(), "named": "let in", "api": "http://127.0.0.1:4400",
    });
    assert_eq!(seen, expected);
}

#[test]
fn sec_01_a_secret_shows_in_no_answer_no_log_and_no_file() {
    let project = Project::new(&[(
        "leak",
        "const key = context.env.API_TOKEN; console.log('log', context.env); console.error(new Error(key));
         if (args.how === 'throw') throw new Error('GET https://x.example.com/?key=' + key + ' 403');
         if (args.how === 'object') return { [key]: { deep: [key, context.env.BEEUNI_TOKEN] } };
         if (args.how === 'long') return (key + ' ' + context.env.BEEUNI_TOKEN + '\\n').repeat(3000);
         if (args.how === 'short') return 'one 1 and true';
         return key + context.env.BEEUNI_TOKEN",
    )]);
    let mut command = project.command(&["--session", "s-1"]);
    command.env("BEEUNI_LOG", "trace");
    let daemon = Daemon::start(command);
    assert_eq!(
        daemon
            .push(
                "r1",
                json!({ "lead": { "API_TOKEN": PLANTED, "ONE": "1", "YES": "true" } })
            )
            .status,
        200
    );
    let mut said = String::new();
    for how in ["plain", "throw", "object", "long"] {
        said.push_str(&daemon.call("leak", &json!({ "args": { "how": how } })).body);
    }
    assert!(said.contains("[secret API_TOKEN]"), "{}", &said[..500]);
    assert_eq!(daemon.output("leak", json!({ "how": "short" })), "one 1 and true");
    daemon.wait_for_log(&["[tool leak]", "[secret API_TOKEN]"]);
    for path in ["/beeuni/health", "/beeuni/tools"] {
        said.push_str(&daemon.ask("GET", path, "").body);
    }
    let key = project.bridge_key();
    let (out, log) = (daemon.stdout(), daemon.stop());
    for secret in [PLANTED, TOKEN, &key] {
        for (place, text) in [("an answer", &said), ("stdout", &out), ("the log", &log)] {
            assert!(!text.contains(secret), "{secret} is in {place}");
        }
        for (file, bytes) in project.kept_files() {
            let found = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
            assert!(
                !found || file.ends_with("tool-bridge.key"),
                "{secret} is in {}",
                file.display()
            );
        }
    }
}

#[test]
fn other_processes_of_the_user_cannot_read_the_daemon() {
    if rustix::process::geteuid().is_root() {
        // Nothing is closed to root; on a developer's machine and in CI tests do not run as root.
        return;
    }
    let project = Project::new(&[]);
    let daemon = project.daemon(&[]);
    for file in ["environ", "mem", "maps"] {
        let opened = std::fs::File::open(format!("/proc/{}/{file}", daemon.pid()));
        assert!(opened.is_err(), "{file} can be opened");
    }
}
