//! Calls: what reaches the tool, what comes back, and what is refused before anything runs.
use serde_json::{Value, json};

use crate::support::{Daemon, Project, descendants};

/// What `echo` saw of a call with `body`.
fn seen(daemon: &Daemon, body: &str) -> Value {
    let reply = daemon.ask("POST", "/beeuni/tools/echo", body);
    assert_eq!(reply.status, 200, "{body}: {}", reply.body);
    serde_json::from_str(reply.json()["output"].as_str().unwrap()).unwrap()
}

#[test]
fn an_output_is_200_and_a_thrown_error_422_with_its_message() {
    let project = Project::new(&[("text", "return 'plain'"), ("nothing", "")]);
    let daemon = project.daemon(&[]);
    let reply = daemon.call("text", &json!({}));
    assert_eq!((reply.status, reply.body.as_str()), (200, r#"{"output":"plain"}"#));
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(daemon.call("nothing", &json!({})).body, r#"{"output":""}"#);
    let reply = daemon.call("fail", &json!({ "args": { "id": 7 } }));
    assert_eq!((reply.status, reply.body.as_str()), (422, r#"{"error":"no order 7"}"#));
}

#[test]
fn s8_a_tool_that_is_not_loaded_is_404_for_every_agent() {
    let project = Project::new(&[("broken", "")]);
    project.write("tools/broken.ts", "export const tool = 1\n");
    let daemon = project.daemon(&[]);
    for tool in ["show", "broken", "Echo", "echo%20", "%65cho", "__proto__"] {
        for agent in ["lead", "greeter", "nobody"] {
            let reply = daemon.call(tool, &json!({ "agent": agent }));
            let expected = format!(r#"{{"error":"no tool named {tool} is loaded"}}"#);
            assert_eq!((reply.status, reply.body), (404, expected));
        }
    }
}

#[test]
fn a2_a_tool_outside_the_agents_list_is_403_and_starts_nothing() {
    let project = Project::new(&[]);
    let daemon = project.daemon(&[]);
    let denied = |agent: &str, tool: &str| daemon.call(tool, &json!({ "agent": agent })).error();
    let before = descendants(daemon.pid());
    for (agent, tool, text) in [
        (
            "reader",
            "fail",
            r#"the agent "reader" may not use fail: its tools list leaves it out"#,
        ),
        (
            "reader",
            "memory",
            r#"the agent "reader" may not use memory: its tools list leaves it out"#,
        ),
        (
            "careful",
            "echo",
            r#"the agent "careful" may not use echo: its tools list leaves it out"#,
        ),
        (
            "greeter",
            "echo",
            r#"the agent "greeter" may not use echo: its tools list leaves it out"#,
        ),
        ("gone", "echo", r#"the agent "gone" is disabled"#),
        (
            "nobody",
            "echo",
            r#"no agent named "nobody" is declared in this project"#,
        ),
        ("", "echo", r#"no agent named "" is declared in this project"#),
        ("Lead", "echo", r#"no agent named "Lead" is declared in this project"#),
    ] {
        assert_eq!(denied(agent, tool), (403, text.to_owned()));
    }
    assert_eq!(descendants(daemon.pid()), before, "a refused call started a process");
    for (agent, tool) in [("lead", "echo"), ("reader", "echo"), ("careful", "memory")] {
        assert_ne!(
            daemon.call(tool, &json!({ "agent": agent })).status,
            403,
            "{agent} {tool}"
        );
    }
}

#[test]
fn a_call_without_an_agent_is_the_sessions_agents() {
    let project = Project::new(&[]);
    let daemon = project.daemon(&["--session", "s-1"]);
    let expected = json!({ "args": {}, "agent": "lead", "session": "s-1", "directory": project.path() });
    for body in [
        "{}",
        r#"{"agent":null}"#,
        r#"{"agent":"lead","session":"another","sessionId":"x","unknown":[]}"#,
    ] {
        assert_eq!(seen(&daemon, body), expected, "{body}");
    }
    drop(daemon);
    let daemon = project.daemon(&["--agent", "greeter"]);
    assert_eq!(daemon.call("echo", &json!({})).status, 403);
    assert_eq!(daemon.call("echo", &json!({ "agent": "lead" })).status, 200);
}

#[test]
fn args_03_no_arguments_in_any_form_are_an_empty_object() {
    let project = Project::new(&[]);
    let daemon = project.daemon(&[]);
    for body in [
        "{}",
        r#"{"args":null}"#,
        r#"{"args":""}"#,
        r#"{"args":{}}"#,
        " { \"args\" : { } } \n",
    ] {
        assert_eq!(seen(&daemon, body)["args"], json!({}), "{body}");
    }
}

#[test]
fn m2_arguments_reach_the_tool_as_they_were_sent() {
    let project = Project::new(&[]);
    let daemon = project.daemon(&[]);
    let args = json!({ "queries": "[\"a\"]", "max": "200", "limit": null, "n": 1.5, "漢": { "é": ["😀", true] }, "__proto__": 1 });
    assert_eq!(seen(&daemon, &json!({ "args": args }).to_string())["args"], args);
    // OUT-02: half a character, as some models write it.
    let reply = daemon.ask("POST", "/beeuni/tools/echo", r#"{"args":{"s":"a\ud800b"}}"#);
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert!(
        reply.json()["output"].as_str().unwrap().contains("a\u{fffd}b"),
        "{}",
        reply.body
    );
}

#[test]
fn a_body_that_is_no_call_is_400_with_what_is_wrong() {
    let project = Project::new(&[]);
    let daemon = project.daemon(&[]);
    let path = project.path();
    let outside = project.home();
    for (body, part) in [
        ("", "no call"),
        ("{", "no call"),
        ("[]", "no call"),
        ("null", "no call"),
        ("\"args\"", "no call"),
        (r#"{"args":{}} trailing"#, "trailing"),
        (r#"{"args":{},"args":{}}"#, "duplicate"),
        (r#"{"args":{'a':1}}"#, "no call"),
        (r#"{"agent":7}"#, "string"),
        (r#"{"directory":["/"]}"#, "string"),
        (r#"{"args":[]}"#, "args must be a JSON object"),
        (r#"{"args":1}"#, "args must be a JSON object"),
        (r#"{"args":"{}"}"#, "args must be a JSON object"),
        (r#"{"args":"{\"a\":1}"}"#, "args must be a JSON object"),
        (r#"{"args":true}"#, "args must be a JSON object"),
        (r#"{"directory":"src"}"#, "absolute"),
        (r#"{"directory":""}"#, "absolute"),
        (&json!({ "directory": outside }).to_string(), "below"),
        (&json!({ "directory": path.join("../home") }).to_string(), "below"),
        (&json!({ "directory": path.join("missing") }).to_string(), "directory"),
    ] {
        let (status, text) = daemon.ask("POST", "/beeuni/tools/echo", body).error();
        assert!(status == 400 && text.contains(part), "{body}: {status} {text}");
    }
    let mut connection = daemon.connect();
    let mut raw = crate::support::request(
        "POST",
        "/beeuni/tools/echo",
        &crate::support::signed(),
        "{\"agent\":\"XX\"}",
    )
    .into_bytes();
    let at = raw.len() - 4;
    raw[at..at + 2].copy_from_slice(&[0xff, 0xfe]);
    connection.send(&raw);
    assert_eq!(connection.reply(false).status, 400, "bytes that are no UTF-8");
}

#[test]
fn a_directory_below_the_checkout_is_the_tools_directory() {
    let project = Project::new(&[]);
    project.write("src/deep/file", "");
    let daemon = project.daemon(&[]);
    let directory =
        |asked: &std::path::Path| seen(&daemon, &json!({ "directory": asked }).to_string())["directory"].clone();
    assert_eq!(directory(&project.path()), json!(project.path()));
    assert_eq!(
        directory(&project.path().join("src/deep")),
        json!(project.path().join("src/deep"))
    );
}

#[test]
fn proto_03_five_megabytes_of_any_text_pass_both_ways_unharmed() {
    let project = Project::new(&[(
        "both",
        "const { createHash } = require('crypto'); const sum = createHash('sha256').update(args.text).digest('hex');
         return args.back ? args.text : sum + ' ' + args.text.length",
    )]);
    let daemon = project.daemon(&[]);
    let text = "漢😀é".repeat(5 * 1024 * 1024 / 9);
    let sum = daemon.output("both", json!({ "text": text }));
    let expected = daemon.output("both", json!({ "text": "漢😀é".repeat(5 * 1024 * 1024 / 9) }));
    assert_eq!(sum, expected);
    assert!(sum.ends_with(&format!(" {}", 4 * (5 * 1024 * 1024 / 9))), "{sum}");
    let output = daemon.output("both", json!({ "text": text, "back": true }));
    assert!(
        output.len() <= 51_200 && output.starts_with("漢😀é"),
        "{} bytes",
        output.len()
    );
    let file = crate::outputs::file_named_in(&output);
    assert!(
        std::fs::read_to_string(file).unwrap() == text,
        "the saved output is not what the tool returned"
    );
}
