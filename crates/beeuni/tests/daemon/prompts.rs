//! The conversation over the routes: prompts, what the model is offered, what it reads, aborting, steering.
use std::time::{Duration, Instant};

use beeuni_gateway::testing::{Answer, Gate};
use serde_json::{Value, json};

use crate::support::{Daemon, Project, Talk, offered, parts, until};

const SLOW: (&str, &str) = (
    "slow",
    "const fs = require('fs'); fs.writeFileSync('started', '');
     return new Promise((done, fail) => {
       const timer = setTimeout(() => { fs.writeFileSync('too-late', ''); done('done') }, 60000);
       context.signal.addEventListener('abort', () => { clearTimeout(timer); fs.writeFileSync('aborted', ''); fail(context.signal.reason) }, { once: true })
     })",
);

/// The texts of the tool results in a request to the model, by the ids of their calls.
fn results(request: &Value) -> Vec<(String, String)> {
    let messages = request["messages"].as_array().unwrap().iter();
    let results = messages.filter(|message| message["role"] == "tool");
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned();
    results
        .map(|result| (text(&result["tool_call_id"]), text(&result["content"])))
        .collect()
}

#[test]
fn the_rehearsal_model_answers_where_no_provider_is_set_up_and_that_is_said_plainly() {
    let project = Project::new(&[]);
    project.tool("lookup_order", "return `${args.id} is on its way`");
    let manifest = project.read("beeuni.yaml").unwrap();
    project.write(
        "beeuni.yaml",
        &manifest.replace("  echo:", "  lookup_order: tools/lookup_order.ts\n  echo:"),
    );
    let daemon = project.daemon(&["--harness", "experimental", "--session", "s-1"]);
    let prompt = json!({ "text": "Call the lookup_order tool once with id A-1042 and print its output." });
    let reply = daemon.ask("POST", "/beeuni/sessions/s-1/prompt", &prompt.to_string());
    assert_eq!(reply.status, 202, "{}", reply.body);
    let state = || daemon.ask("GET", "/beeuni/sessions/s-1", "").json();
    until("the turn to end", || (state()["activity"] == "idle").then_some(()));
    let messages = daemon.ask("GET", "/beeuni/sessions/s-1/messages", "").json()["messages"].clone();
    let messages = messages.as_array().unwrap();
    let calls = parts(messages, "tool");
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert_eq!(
        (&calls[0]["tool"], &calls[0]["status"]),
        (&json!("lookup_order"), &json!("completed"))
    );
    assert_eq!(calls[0]["output"], "A-1042 is on its way");
    let said = parts(&messages[1..], "text");
    assert!(
        said.last().unwrap()["text"]
            .as_str()
            .unwrap()
            .contains("A-1042 is on its way"),
        "{said:?}"
    );

    let health = daemon.ask_as(None, "GET", "/beeuni/health", "").json();
    assert_eq!(health["model"], json!({ "id": "beeuni/rehearsal", "rehearsal": true }));
    assert_eq!(
        health["harness"],
        json!({ "id": "experimental", "state": "idle", "ready": true })
    );
    daemon.wait_for_log(&["WARN", "stand-in", "OPENAI_API_KEY"]);
}

#[test]
fn each_kind_of_agent_list_offers_what_it_says() {
    let talk = Talk::new(&[]);
    for (agent, there, absent) in [
        ("lead", &["bash", "read", "echo", "fail", "memory", "task"][..], &[][..]),
        ("reader", &["read", "echo"], &["bash", "fail", "memory", "task"]),
        ("careful", &["bash", "fail", "memory"], &["echo"]),
    ] {
        talk.model.says("hi");
        let number = talk.model.asked().len() + 1;
        talk.prompt(&json!({ "text": "hello", "agent": agent }));
        let names = offered(&talk.model.until_asked(number));
        talk.until_idle();
        for tool in there {
            assert!(
                names.iter().any(|name| name == tool),
                "{agent} has no {tool}: {names:?}"
            );
        }
        for tool in absent {
            assert!(!names.iter().any(|name| name == tool), "{agent} has {tool}: {names:?}");
        }
    }
    talk.model.says("hi");
    talk.prompt(&json!({ "text": "hello", "agent": "greeter" }));
    assert_eq!(talk.model.until_asked(4)["tools"], Value::Null);
}

#[test]
fn m2_schema_and_description_reach_the_model_as_they_are_and_the_same_in_every_turn() {
    let parameters = r#"{"type":"object","properties":{"zeta":{"type":"string","description":"Ünï \"q\""},"alpha":{"enum":["é","\u0000"],"default":1.5}},"required":["zeta"],"additionalProperties":false}"#;
    let project = Project::new(&[("shaped", "")]);
    project.write(
        "tools/shaped.ts",
        &format!("export default {{ description: 'Shaped: \"yes\"\\nand so on.', parameters: {parameters}, execute() {{}} }}\n"),
    );
    let talk = Talk::on(project);
    talk.model.says("one").says("two");
    talk.say("first");
    talk.say("second");
    let asked = talk.model.asked();
    let tool = |text: &str| {
        let at = text.find(r#"{"type":"function","function":{"name":"shaped""#).unwrap();
        text[at..].to_owned()
    };
    let first = tool(&asked[0].text());
    assert!(first.contains(parameters), "{first}");
    assert!(
        first.contains(r#""description":"Shaped: \"yes\"\nand so on.""#),
        "{first}"
    );
    let tools = |request: &Value| request["tools"].to_string();
    assert_eq!(tools(&asked[0].json()), tools(&asked[1].json()));
}

#[test]
fn a_tool_error_reaches_the_model_and_parallel_calls_keep_their_ids() {
    let talk = Talk::new(&[("wait", "await Bun.sleep(args.ms); return 'waited ' + args.ms")]);
    talk.model.calls(&[
        ("call_a", "wait", json!({ "ms": 200 })),
        ("call_b", "fail", json!({ "id": "A-9" })),
        ("call_c", "wait", json!({ "ms": 1 })),
    ]);
    talk.model.says("done");
    talk.say("go");
    let results = results(&talk.model.until_asked(2));
    let ids: Vec<&str> = results.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["call_a", "call_b", "call_c"]);
    assert_eq!(
        (results[0].1.as_str(), results[2].1.as_str()),
        ("waited 200", "waited 1")
    );
    assert!(results[1].1.contains("no order A-9"), "{}", results[1].1);
    let calls = talk.tool_calls();
    assert_eq!(
        [&calls[0]["status"], &calls[1]["status"]],
        [&json!("completed"), &json!("error")]
    );
}

#[test]
fn numbers_above_2_53_reach_the_tool_and_the_transcript_as_the_model_wrote_them() {
    let talk = Talk::new(&[("digits", "return String(args.id)")]);
    let arguments = r#"{"id":9007199254740993,"x":1.50}"#;
    talk.model
        .server
        .push(Answer::tool_calls(&[("call_1", "digits", arguments)]));
    talk.model.says("done");
    talk.say("go");
    let call = &talk.tool_calls()[0];
    assert_eq!(
        (&call["output"], &call["arguments"]),
        (&json!("9007199254740993"), &json!(arguments))
    );
}

#[test]
fn s7_a_removed_or_hidden_tool_that_is_called_is_not_found() {
    let talk = Talk::new(&[]);
    // `show` is not in this project's list, `bash` is not in this agent's.
    talk.model.calls(&[
        ("c1", "show", json!({})),
        ("c2", "bash", json!({ "command": "touch hidden" })),
    ]);
    talk.model.says("done");
    talk.prompt(&json!({ "text": "go", "agent": "reader" }));
    talk.until_idle();
    let results = results(&talk.model.until_asked(2));
    assert!(results[0].1.contains("Tool show not found"), "{results:?}");
    assert!(results[1].1.contains("Tool bash not found"), "{results:?}");
    assert_eq!(talk.project.read("hidden"), None);
    // S8, A2: the same over the route.
    assert_eq!(
        talk.daemon.call("show", &json!({})).error(),
        (404, "no tool named show is loaded".to_owned())
    );
    assert_eq!(talk.daemon.call("echo", &json!({ "agent": "careful" })).status, 403);
}

#[test]
fn malformed_arguments_do_not_poison_the_session() {
    let talk = Talk::new(&[]);
    talk.model
        .server
        .push(Answer::tool_calls(&[("c1", "echo", r#"{"broken": "#)]));
    talk.model.says("sorry").says("fine");
    talk.say("go");
    assert_eq!(talk.tool_calls()[0]["status"], "error");
    let messages = talk.say("and now?");
    assert_eq!(parts(&messages[1..], "text")[0]["text"], "fine");
}

#[test]
fn run_02_abort_ends_a_running_tool_within_a_second_and_its_turn() {
    let talk = Talk::new(&[SLOW]);
    talk.model.calls(&[("c1", "slow", json!({}))]);
    talk.prompt(&json!({ "text": "go" }));
    until("the tool to start", || talk.project.read("started"));
    let begin = Instant::now();
    assert_eq!(talk.post("/abort", &json!({})).json(), json!({ "aborted": true }));
    until("the tool to see the signal", || talk.project.read("aborted"));
    talk.until_idle();
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
    assert_eq!(talk.tool_calls()[0]["status"], "interrupted");
    assert_eq!(talk.project.read("too-late"), None);
    assert_eq!(talk.post("/abort", &json!({})).json(), json!({ "aborted": false }));
    // The session goes on.
    talk.model.says("still here");
    let messages = talk.say("hello?");
    assert_eq!(parts(&messages[1..], "text")[0]["text"], "still here");
}

#[test]
fn abort_ends_the_models_answer_and_the_request_behind_it() {
    let talk = Talk::new(&[]);
    let gate = Gate::closed();
    talk.model
        .server
        .push(Answer::text("one two three four").hold_at(260, &gate));
    talk.prompt(&json!({ "text": "go" }));
    talk.model.until_asked(1);
    talk.post("/abort", &json!({}));
    talk.until_idle();
    talk.model.until_left(0);
}

#[test]
fn a_prompt_while_a_turn_runs_is_steering() {
    let talk = Talk::new(&[(
        "wait",
        "const fs = require('fs'); fs.writeFileSync('started', ''); while (!fs.existsSync('go')) await Bun.sleep(5); return 'ok'",
    )]);
    talk.model.calls(&[("c1", "wait", json!({}))]).says("done");
    let first = talk.prompt(&json!({ "text": "go" }));
    assert_eq!(first["steering"], false);
    until("the tool to start", || talk.project.read("started"));
    let second = talk.prompt(&json!({ "text": "and be brief" }));
    assert_eq!((&second["steering"], &second["turn"]), (&json!(true), &first["turn"]));
    // Another agent cannot take over a turn that runs.
    let other = talk.post("/prompt", &json!({ "text": "no", "agent": "reader" }));
    assert_eq!(other.status, 409, "{}", other.body);
    talk.project.write("go", "");
    talk.until_idle();
    let messages = talk.model.until_asked(2)["messages"].as_array().unwrap().clone();
    let texts: Vec<String> = messages.iter().map(|message| message["content"].to_string()).collect();
    assert!(texts.last().unwrap().contains("and be brief"), "{texts:?}");
    assert_eq!(talk.model.asked().len(), 2, "one turn");
    assert_eq!(talk.messages()[2]["id"], second["message"]);
}

#[test]
fn a_prompt_names_its_agent_and_model_and_says_what_is_wrong_with_them() {
    let talk = Talk::new(&[]);
    for (body, status, text) in [
        (json!({ "text": "" }), 400, "empty"),
        (json!({ "text": "x", "agent": "nobody" }), 400, "nobody"),
        (json!({ "text": "x", "agent": "gone" }), 400, "disabled"),
        (json!({ "text": "x", "on_ask": "maybe" }), 400, "maybe"),
        (json!({}), 400, "text"),
        (json!([]), 400, "JSON object"),
    ] {
        let (found, error) = talk.post("/prompt", &body).error();
        assert!(found == status && error.contains(text), "{body}: {found} {error}");
    }
    assert_eq!(talk.model.asked().len(), 0);
    talk.prompt(&json!({ "text": "x", "model": "custom/other" }));
    assert_eq!(talk.model.until_asked(1)["model"], "other");
}

#[test]
fn a_failed_model_ends_the_turn_with_its_status_and_message() {
    let talk = Talk::new(&[]);
    talk.model.server.push(Answer::json(
        400,
        &json!({ "error": { "message": "no such parameter" } }),
    ));
    talk.say("go");
    let message = talk.messages().pop().unwrap();
    assert_eq!(
        (&message["finish"], &message["error"]["status"]),
        (&json!("error"), &json!(400))
    );
    assert!(
        message["error"]["message"]
            .as_str()
            .unwrap()
            .contains("no such parameter"),
        "{message}"
    );
    assert!(!talk.daemon.log().contains(crate::support::KEY));
}

#[test]
fn another_session_is_404_on_every_route() {
    let talk = Talk::new(&[]);
    for (method, route, body) in [
        ("GET", "", ""),
        ("GET", "/messages", ""),
        ("GET", "/children", ""),
        ("GET", "/permissions", ""),
        ("GET", "/questions", ""),
        ("POST", "/prompt", r#"{"text":"x"}"#),
        ("POST", "/abort", "{}"),
        ("POST", "/permissions/p", r#"{"reply":"once"}"#),
        ("POST", "/questions/q", r#"{"answers":[]}"#),
        ("POST", "/questions/q/reject", "{}"),
    ] {
        let (status, error) = talk
            .daemon
            .ask(method, &format!("/beeuni/sessions/s-2{route}"), body)
            .error();
        assert!(
            status == 404 && error.contains("s-2"),
            "{method} {route}: {status} {error}"
        );
    }
}

#[test]
fn without_a_harness_a_conversation_is_a_409_that_names_the_flag() {
    let project = Project::new(&[]);
    let daemon = project.daemon(&["--session", "s-1"]);
    let routes = [
        "/beeuni/sessions/s-1",
        "/beeuni/sessions/s-1/messages",
        "/beeuni/events",
    ];
    for route in routes {
        let (status, error) = daemon.ask("GET", route, "").error();
        assert!(
            status == 409 && error.contains("--harness experimental"),
            "{route}: {status} {error}"
        );
    }
    let (status, error) = daemon
        .ask("POST", "/beeuni/sessions/s-1/prompt", r#"{"text":"x"}"#)
        .error();
    assert!(
        status == 409 && error.contains("--harness experimental"),
        "{status} {error}"
    );
}

#[test]
fn messages_are_read_page_by_page() {
    let talk = Talk::new(&[]);
    for text in ["one", "two", "three"] {
        talk.model.says(text);
        talk.say(text);
    }
    let all = talk.messages();
    assert_eq!(all.len(), 6);
    let mut seen = Vec::new();
    let mut after = String::new();
    loop {
        let page = talk.get(&format!("/messages?limit=4{after}")).json();
        seen.extend(page["messages"].as_array().unwrap().clone());
        if page["more"] == false {
            break;
        }
        after = format!("&after={}", seen.last().unwrap()["id"].as_str().unwrap());
    }
    assert_eq!(seen, all);
    assert_eq!(talk.get("/messages?after=msg_unknown").status, 404);
    for bad in ["?limit=x", "?limt=1", "?limit=%zz"] {
        assert_eq!(talk.get(&format!("/messages{bad}")).status, 400, "{bad}");
    }
}

#[test]
fn a_subagent_has_a_session_of_its_own_that_can_be_read_but_not_prompted() {
    let talk = Talk::new(&[]);
    let task = json!({ "description": "look", "prompt": "Say hi.", "subagent_type": "reader" });
    talk.model
        .calls(&[("c1", "task", task)])
        .says("hi from below")
        .says("done");
    talk.say("go");
    let children = talk.get("/children").json()["sessions"].as_array().unwrap().clone();
    assert_eq!(children.len(), 1, "{children:?}");
    let child = children[0]["id"].as_str().unwrap();
    assert_eq!(children[0]["parent"], "s-1");
    let route = |rest: &str| format!("/beeuni/sessions/{child}{rest}");
    let messages = talk.daemon.ask("GET", &route("/messages"), "").json();
    let said = parts(messages["messages"].as_array().unwrap(), "text");
    assert!(said.iter().any(|part| part["text"] == "hi from below"), "{said:?}");
    assert_eq!(talk.daemon.ask("GET", &route(""), "").json()["agent"], "reader");
    let (status, error) = talk.daemon.ask("POST", &route("/prompt"), r#"{"text":"x"}"#).error();
    assert!(status == 400 && error.contains("subagent"), "{status} {error}");
    // A4: what both lists allow, and nobody to ask.
    let names = offered(&talk.model.until_asked(2));
    assert_eq!(names, ["read", "echo"]);
}

#[test]
fn a_prompt_while_the_tools_load_is_told_to_come_again() {
    let project = Project::new(&[("never", "")]);
    project.write("tools/never.ts", "for (;;) {}\n");
    let daemon = Daemon::start_only(project.command(&[
        "--harness",
        "experimental",
        "--session",
        "s-1",
        "--listen",
        &format!("unix:{}", project.beside("run/d.sock").display()),
    ]));
    let socket = project.beside("run/d.sock");
    let mut connection = until("the socket", || crate::support::Connection::unix(&socket).ok());
    let request = crate::support::request(
        "POST",
        "/beeuni/sessions/s-1/prompt",
        &crate::support::signed(),
        r#"{"text":"x"}"#,
    );
    let reply = connection.ask(&request);
    assert_eq!(
        (reply.status, reply.header("retry-after")),
        (503, Some("1")),
        "{}",
        reply.body
    );
    drop(daemon);
}
