//! What waits for a person: permission requests and questions, answered over the routes.
use serde_json::{Value, json};

use crate::support::{Events, Project, Talk, until};

/// A daemon whose agent has to ask before it calls `echo`.
fn careful() -> Talk {
    let project = Project::new(&[]);
    project.write(
        "agents/a.md",
        "---\ndescription: An agent\npermission: { echo: ask, bash: { '*': ask } }\n---\nBe kind.\n",
    );
    Talk::on(project)
}

impl Talk {
    /// Waits for a permission request.
    pub(crate) fn asked(&self) -> Value {
        until("a permission request", || {
            self.get("/permissions").json()["permissions"].get(0).cloned()
        })
    }

    pub(crate) fn reply(&self, request: &Value, body: &Value) -> (u16, String) {
        let reply = self.post(&format!("/permissions/{}", request["id"].as_str().unwrap()), body);
        (reply.status, reply.body)
    }
}

/// What the model read of its last call.
fn last_result(request: &Value) -> String {
    let messages = request["messages"].as_array().unwrap();
    let result = messages.iter().rfind(|message| message["role"] == "tool").unwrap();
    result["content"].as_str().unwrap().to_owned()
}

#[test]
fn a_call_waits_for_permission_and_once_is_for_this_call() {
    let talk = careful();
    let events = Events::of(&talk.daemon, None);
    for round in 0..2 {
        talk.model.calls(&[("c1", "echo", json!({}))]).says("done");
        talk.prompt(&json!({ "text": "go" }));
        let request = talk.asked();
        assert_eq!(
            (&request["tool"], &request["session"]),
            (&json!("echo"), &json!("s-1")),
            "round {round}"
        );
        assert_eq!(talk.state()["waiting"], 1);
        assert_eq!(events.wait_for("permission.asked")["data"]["request"], request);
        assert_eq!(
            talk.reply(&request, &json!({ "reply": "once" })),
            (200, "{}".to_owned())
        );
        talk.until_idle();
        assert_eq!(talk.tool_calls().last().unwrap()["status"], "completed");
        assert_eq!(events.wait_for("permission.replied")["data"]["reply"], "once");
        events.forget();
    }
    assert_eq!(talk.state()["waiting"], 0);
}

#[test]
fn always_is_for_the_rest_of_the_session_also_after_another_start() {
    let talk = careful();
    talk.model.calls(&[("c1", "echo", json!({}))]).says("done");
    talk.prompt(&json!({ "text": "go" }));
    let request = talk.asked();
    assert_eq!(talk.reply(&request, &json!({ "reply": "always" })).0, 200);
    talk.until_idle();
    talk.model.calls(&[("c2", "echo", json!({}))]).says("done");
    talk.say("again");
    let talk = talk.again();
    talk.model.calls(&[("c3", "echo", json!({}))]).says("done");
    talk.say("once more");
    let calls = talk.tool_calls();
    assert_eq!(calls.len(), 3);
    assert!(calls.iter().all(|call| call["status"] == "completed"), "{calls:?}");
}

#[test]
fn a_refusal_with_a_word_goes_to_the_model_and_one_without_ends_the_turn() {
    let talk = careful();
    talk.model.calls(&[("c1", "echo", json!({}))]).says("I see");
    talk.prompt(&json!({ "text": "go" }));
    let request = talk.asked();
    talk.reply(&request, &json!({ "reply": "reject", "message": "ask me first" }));
    talk.until_idle();
    let result = last_result(&talk.model.until_asked(2));
    assert!(result.contains("ask me first"), "{result}");

    let events = Events::of(&talk.daemon, None);
    talk.model.calls(&[("c2", "echo", json!({}))]);
    talk.prompt(&json!({ "text": "go" }));
    let request = talk.asked();
    talk.reply(&request, &json!({ "reply": "reject" }));
    assert_eq!(events.wait_for("turn.ended")["data"]["outcome"], "blocked");
    assert_eq!(talk.model.asked().len(), 3);
}

#[test]
fn a_reply_that_makes_no_sense_or_comes_twice_is_refused() {
    let talk = careful();
    talk.model.calls(&[("c1", "echo", json!({}))]).says("done");
    talk.prompt(&json!({ "text": "go" }));
    let request = talk.asked();
    for body in [json!({}), json!({ "reply": "perhaps" }), json!(["once"])] {
        assert_eq!(talk.reply(&request, &body).0, 400, "{body}");
    }
    assert_eq!(
        talk.post("/permissions/per_unknown", &json!({ "reply": "once" }))
            .status,
        404
    );
    // Whoever only has the bridge key, as a tool's own process may, gives no permissions.
    let path = format!("/beeuni/sessions/s-1/permissions/{}", request["id"].as_str().unwrap());
    let key = talk.project.bridge_key();
    assert_eq!(
        talk.daemon
            .ask_as(Some(&key), "POST", &path, r#"{"reply":"once"}"#)
            .status,
        403
    );
    assert_eq!(talk.reply(&request, &json!({ "reply": "once" })).0, 200);
    talk.until_idle();
    assert_eq!(talk.reply(&request, &json!({ "reply": "once" })).0, 404);
}

#[test]
fn an_unattended_prompt_says_what_happens_instead_of_asking() {
    for (on_ask, status, outcome) in [
        ("allow", "completed", "done"),
        ("deny", "error", "done"),
        ("fail", "error", "blocked"),
    ] {
        let talk = careful();
        let events = Events::of(&talk.daemon, None);
        talk.model.calls(&[("c1", "echo", json!({}))]).says("done");
        talk.prompt(&json!({ "text": "go", "on_ask": on_ask }));
        assert_eq!(events.wait_for("turn.ended")["data"]["outcome"], outcome, "{on_ask}");
        assert_eq!(talk.tool_calls()[0]["status"], status, "{on_ask}");
    }
}

#[test]
fn questions_are_answered_or_rejected() {
    let talk = Talk::new(&[]);
    let question = json!({ "questions": [{
        "question": "Which colour?", "header": "Colour",
        "options": [{ "label": "red", "description": "" }, { "label": "blue", "description": "" }],
    }] });
    let asked = || {
        until("a question", || {
            talk.get("/questions").json()["questions"].get(0).cloned()
        })
    };
    talk.model
        .calls(&[("c1", "question", question.clone())])
        .says("blue it is");
    talk.prompt(&json!({ "text": "paint it" }));
    let request = asked();
    assert_eq!(request["questions"][0]["question"], "Which colour?");
    let route = format!("/questions/{}", request["id"].as_str().unwrap());
    assert_eq!(talk.post(&route, &json!({ "answers": [] })).status, 400);
    assert_eq!(talk.post(&route, &json!({ "answers": [["blue"]] })).status, 200);
    talk.until_idle();
    assert!(last_result(&talk.model.until_asked(2)).contains("blue"));

    let events = Events::of(&talk.daemon, None);
    talk.model.calls(&[("c2", "question", question)]);
    talk.prompt(&json!({ "text": "paint it again" }));
    let request = asked();
    let route = format!("/questions/{}/reject", request["id"].as_str().unwrap());
    assert_eq!(talk.post(&route, &json!({})).status, 200);
    assert_eq!(events.wait_for("turn.ended")["data"]["outcome"], "blocked");
    assert_eq!(talk.post(&route, &json!({})).status, 404);
}
