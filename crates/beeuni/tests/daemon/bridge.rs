//! The bridge's listener: what it takes from whom, and that no way around the permission rules leads through it.
use std::fs;

use serde_json::{Value, json};

use crate::support::{Connection, KEY, Project, Reply, TOKEN, Talk, request, until};

/// Where the bridge of a daemon listens: OpenCode's plugin reads it there too.
fn address(talk: &Talk) -> String {
    let session = fs::read_to_string(talk.project.state().join("opencode/plugin/session.json")).unwrap();
    let session: Value = serde_json::from_str(&session).unwrap();
    session["url"]
        .as_str()
        .unwrap()
        .trim_start_matches("http://")
        .to_owned()
}

/// One request to the bridge.
fn ask(talk: &Talk, token: &str, method: &str, path: &str, body: &str) -> Reply {
    let headers = format!("authorization: Bearer {token}\r\n");
    Connection::tcp(&address(talk)).ask(&request(method, path, &headers, body))
}

fn careful() -> Project {
    let project = Project::new(&[("count", "require('fs').appendFileSync('counted', '1'); return 'ok'")]);
    project.write(
        "agents/a.md",
        "---\ndescription: An agent\npermission: { count: ask, fail: deny }\n---\nBe kind.\n",
    );
    project
}

#[test]
fn it_takes_the_bridge_key_and_nothing_else_and_knows_three_routes() {
    let talk = Talk::on_harness(Project::new(&[]), "standard");
    let key = talk.project.bridge_key();
    let models = "/beeuni/llm/v1/models";
    assert_ne!(address(&talk), talk.daemon.address());
    for stranger in ["", TOKEN, "wrong", &key[..63], &format!("{key}0"), KEY] {
        for (method, path, body) in [
            ("POST", "/beeuni/tools/echo", r#"{"args":{}}"#),
            ("POST", "/beeuni/llm/v1/chat/completions", "{}"),
            ("GET", models, ""),
        ] {
            let reply = ask(&talk, stranger, method, path, body);
            assert_eq!(reply.status, 401, "{method} {path} with {stranger:?}");
            assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
        }
    }
    let listed = ask(&talk, &key, "GET", models, "");
    assert!(
        listed.status == 200 && listed.body.contains("custom/scripted"),
        "{}",
        listed.body
    );
    for (method, path) in [
        ("GET", "/"),
        ("GET", "/beeuni/health"),
        ("GET", "/beeuni/tools"),
        ("GET", "/beeuni/tools/echo"),
        ("POST", "/beeuni/tools/echo/more"),
        ("POST", "/beeuni/env"),
        ("POST", "/beeuni/reload"),
        ("GET", "/beeuni/events"),
        ("GET", "/beeuni/sessions/s-1/permissions"),
        ("POST", "/beeuni/sessions/s-1/prompt"),
        ("POST", "/v1/router/tavily/search"),
    ] {
        let reply = ask(&talk, &key, method, path, "");
        assert_eq!(reply.status, 404, "{method} {path}: {}", reply.body);
    }
    // A web page that was made to point here.
    let mut connection = Connection::tcp(&address(&talk));
    let rebound = request("GET", models, &format!("authorization: Bearer {key}\r\n"), "")
        .replace("host: 127.0.0.1", "host: example.com");
    assert_eq!(connection.ask(&rebound).status, 403);
}

#[test]
fn the_key_opens_no_way_around_the_rules_on_either_listener() {
    let talk = Talk::on_harness(careful(), "standard");
    let key = talk.project.bridge_key();
    let body = json!({ "args": {}, "agent": "lead" }).to_string();
    let counted = || talk.project.read("counted");
    // Not a call of OpenCode's: there is nobody to ask.
    for listener in ["the bridge", "the daemon"] {
        let call = |tool: &str| {
            let path = format!("/beeuni/tools/{tool}");
            if listener == "the bridge" {
                ask(&talk, &key, "POST", &path, &body)
            } else {
                talk.daemon.ask_as(Some(&key), "POST", &path, &body)
            }
        };
        let (status, text) = call("count").error();
        assert!(
            status == 403 && text.contains("permission"),
            "{listener}: {status} {text}"
        );
        let (status, text) = call("fail").error();
        assert!(
            status == 403 && !text.contains("no order"),
            "{listener}: {status} {text}"
        );
        assert_eq!(call("echo").status, 200, "{listener}");
        assert_eq!(
            call("show").error(),
            (404, "no tool named show is loaded".to_owned()),
            "{listener}"
        );
    }
    assert_eq!(counted(), None);
    assert_eq!(talk.get("/permissions").json(), json!({ "permissions": [] }));
    // A hidden tool is no agent's (A2), and a stranger is nobody.
    for (agent, tool) in [
        ("greeter", "echo"),
        ("reader", "fail"),
        ("gone", "echo"),
        ("nobody", "echo"),
    ] {
        let body = json!({ "args": {}, "agent": agent }).to_string();
        let reply = ask(&talk, &key, "POST", &format!("/beeuni/tools/{tool}"), &body);
        assert_eq!(reply.status, 403, "{agent} {tool}: {}", reply.body);
    }
    // Whoever holds the session token decides for themselves.
    assert_eq!(talk.daemon.output("count", json!({})), "ok");
    assert_eq!(counted().as_deref(), Some("1"));
}

#[test]
fn a_call_is_refused_for_the_same_reasons_as_on_the_daemons_route() {
    let talk = Talk::on_harness(Project::new(&[]), "standard");
    let key = talk.project.bridge_key();
    let call = |tool: &str, body: &str| ask(&talk, &key, "POST", &format!("/beeuni/tools/{tool}"), body);
    for body in [
        "",
        "[]",
        "{",
        r#"{"args":[]}"#,
        r#"{"args":{},"directory":"/etc"}"#,
        r#"{"args":{},"call":{"session":1}}"#,
    ] {
        assert_eq!(call("echo", body).status, 400, "{body}");
    }
    let (status, text) = call("fail", r#"{"args":{"id":"A-9"}}"#).error();
    assert!(status == 422 && text.contains("no order A-9"), "{status} {text}");
    let reply = call("echo", r#"{"args":{"n":9007199254740993}}"#);
    assert!(reply.body.contains("9007199254740993"), "{}", reply.body);
    // The session is always the daemon's own.
    assert!(reply.body.contains(r#"\"session\": \"s-1\""#), "{}", reply.body);
}

#[test]
fn a_client_that_leaves_while_a_person_is_asked_takes_the_question_back() {
    let talk = Talk::on_harness(careful(), "standard");
    talk.model.calls(&[("c1", "count", json!({}))]);
    talk.prompt(&json!({ "text": "go" }));
    talk.asked();
    assert_eq!(talk.post("/abort", &json!({})).json(), json!({ "aborted": true }));
    talk.until_idle();
    until("the question to be taken back", || {
        (talk.get("/permissions").json() == json!({ "permissions": [] })).then_some(())
    });
    assert_eq!(talk.project.read("counted"), None);
}
