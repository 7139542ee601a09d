//! `/beeuni/llm/v1/…`: models for a harness that holds no key.
use beeuni_gateway::testing::{Answer, Gate};
use serde_json::{Value, json};

use crate::support::{Daemon, KEY, Model, Project, TOKEN, Talk, request, signed, until};

const COMPLETIONS: &str = "/beeuni/llm/v1/chat/completions";

#[test]
fn a_completion_goes_through_with_the_key_put_in_and_only_the_model_changed() {
    let talk = Talk::new(&[]);
    talk.model.says("hello there");
    let body = r#"{"model":"custom/scripted","messages":[{"role":"user","content":"n 9007199254740993"}],"stream":true,"seed":9007199254740993}"#;
    for token in [TOKEN.to_owned(), talk.project.bridge_key()] {
        talk.model.says("hello there");
        let number = talk.model.asked().len();
        let reply = talk.daemon.ask_as(Some(&token), "POST", COMPLETIONS, body);
        assert_eq!(
            (reply.status, reply.header("content-type")),
            (200, Some("text/event-stream"))
        );
        assert!(
            reply.body.contains("hello") && reply.body.trim_end().ends_with("data: [DONE]"),
            "{}",
            reply.body
        );
        assert!(!reply.body.contains(KEY));
        let asked = &talk.model.asked()[number];
        assert_eq!(asked.text(), body.replace("custom/scripted", "scripted"));
        assert_eq!(asked.header("authorization"), format!("Bearer {KEY}"));
        assert!(
            !asked
                .headers
                .values()
                .any(|value| value.to_str().unwrap_or_default().contains(&token))
        );
    }
}

#[test]
fn the_answer_is_streamed_as_it_comes_and_a_client_that_leaves_ends_the_request() {
    let talk = Talk::new(&[]);
    let gate = Gate::closed();
    talk.model
        .server
        .push(Answer::text("one two three").hold_at(200, &gate));
    let body = r#"{"model":"custom/scripted","messages":[],"stream":true}"#;
    let mut client = talk.daemon.connect();
    client.send(request("POST", COMPLETIONS, &signed(), body).as_bytes());
    assert_eq!(client.head().status, 200);
    // The first bytes are here while the model has not finished.
    let first = String::from_utf8(client.chunk().unwrap()).unwrap();
    assert!(first.contains("one") && !first.contains("three"), "{first}");
    client.leave();
    talk.model.until_left(0);
}

#[test]
fn the_models_are_listed_and_the_stand_in_is_one_of_them() {
    let talk = Talk::new(&[]);
    let reply = talk.daemon.ask("GET", "/beeuni/llm/v1/models", "");
    let ids: Vec<Value> = reply.json()["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| model["id"].clone())
        .collect();
    assert_eq!(ids, ["custom/scripted", "beeuni/rehearsal"]);
}

#[test]
fn a_daemon_without_a_harness_offers_models_too_and_errors_have_openais_form() {
    let (project, model) = (Project::new(&[]), Model::new());
    let mut command = project.command(&[]);
    command.env("BEEUNI_LLM_BASE_URL", model.server.base_url());
    let daemon = Daemon::start(command);
    let ask = |body: &Value| daemon.ask("POST", COMPLETIONS, &body.to_string());
    let text = "Call the echo tool once with n 1.";
    let reply = ask(&json!({ "model": "beeuni/rehearsal", "messages": [{ "role": "user", "content": text }] }));
    assert_eq!(reply.status, 200, "{}", reply.body);
    for (body, status) in [
        (json!({ "messages": [] }), 400),
        (json!({ "model": "nobody/x", "messages": [] }), 404),
        (json!([]), 400),
    ] {
        let reply = ask(&body);
        assert_eq!(reply.status, status, "{body}");
        assert!(reply.json()["error"]["message"].is_string(), "{}", reply.body);
    }
    model
        .server
        .push(Answer::json(429, &json!({ "error": { "message": "slow down" } })).header("retry-after", "60"));
    let reply = ask(&json!({ "model": "custom/scripted", "messages": [] }));
    assert_eq!((reply.status, reply.header("retry-after")), (429, Some("60")));
    until("one request", || (model.asked().len() == 1).then_some(()));
}
