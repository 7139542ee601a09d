//! Calls of hosted tools through the plugin.
use std::time::Duration;

use beeuni_gateway::testing::{Answer, Gate};
use beeuni_tools::{MAX_OUTPUT_BYTES, MAX_OUTPUT_LINES};
use serde_json::{Value, json};

use super::rig::{KEY, Rig, Running, call, hosted, script};

/// What the model reads as the outcome of each call.
fn read_by_model(rig: &Rig) -> Vec<String> {
    let asked = rig.asked();
    let messages = asked.last().unwrap()["messages"].as_array().unwrap();
    let results = messages.iter().filter(|message| message["role"] == "tool");
    results
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn a_call_brings_its_origin_and_its_result_and_the_schema_reaches_the_model_as_it_was_written() {
    let schema = concat!(
        r##"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"id":{"type":"string","##,
        r##""pattern":"^A-\\d+$","default":"A-1"},"kind":{"enum":["a",1,null]},"at":{"$ref":"#/$defs/at"},"##,
        r##""more":{"oneOf":[{"type":["string","null"]},true]}},"required":["id"],"additionalProperties":false,"##,
        r##""$defs":{"at":{"type":"integer","exclusiveMinimum":0}},"examples":[{"id":"A-2"}]}"##
    );
    let mut rig = Rig::new().await;
    rig.given.tools = vec![hosted("lookup_order", schema), hosted("bare", r#"{"type":"object"}"#)];
    rig.answers(
        "lookup_order",
        Answer::json(200, &json!({"output": "shipped ✓ \u{1F600}"})),
    );
    rig.answers("bare", Answer::json(200, &json!({"output": ""})));
    let running = rig.start().await;
    let session = running.session().await;
    let args = json!({"id": "A-7", "kind": null, "extra": [1.5, "é"]});
    let steps = [call("lookup_order", &args), call("bare", &json!({}))];
    let parts = running.prompt_in(&session, "beeuni", &steps).await;
    let calls = rig.calls();
    assert_eq!(calls[0].header("authorization"), format!("Bearer {KEY}"));
    assert_eq!(
        calls[0].json(),
        json!({
            "args": args,
            "agent": "beeuni",
            "directory": rig.place.checkout,
            "call": {"session": session, "message": parts[0]["messageID"], "id": "call_0_0"},
        })
    );
    assert_eq!(read_by_model(&rig), ["shipped ✓ \u{1F600}", "(no output)"]);
    let text = rig.daemon.requests()[0].text();
    assert!(text.contains(&format!("\"parameters\":{schema}")), "{text}");
    assert!(
        text.contains("\"description\":\"The hosted tool lookup_order.\""),
        "{text}"
    );
    let first = &rig.asked()[0];
    assert_eq!(first["model"], "tests/m1");
    assert!(
        first["max_tokens"].is_null(),
        "the provider decides how long an answer may be"
    );
    assert_eq!(
        rig.daemon.requests()[0].header("authorization"),
        format!("Bearer {KEY}")
    );
    running.server.stop(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn errors_keep_their_text_and_outputs_at_the_limits_stay_whole() {
    let lines = "x\n".repeat(MAX_OUTPUT_LINES);
    let outputs = [
        "é".repeat(MAX_OUTPUT_BYTES / 2),
        lines.trim_end().to_owned(),
        lines,
        format!("{}\n", "y".repeat(MAX_OUTPUT_BYTES - 1)),
        " \n".to_owned(),
    ];
    let errors = [
        (
            Answer::json(422, &json!({"error": "No order \"A-9\"\n  caused by: gone"})),
            "No order \"A-9\"\n  caused by: gone",
        ),
        (
            Answer::json(404, &json!({"error": "no tool named e1 is loaded"})),
            "no tool named e1 is loaded",
        ),
        (
            Answer::json(403, &json!({"error": "the agent may not"})),
            "the agent may not",
        ),
        (
            Answer::json(413, &json!({"error": "the body is too large"})),
            "the body is too large",
        ),
        (
            Answer::json(422, &json!({"error": ""})),
            "the tool failed without a message",
        ),
        (
            Answer::new(502, "text/html", "<h1>Bad gateway</h1>"),
            "Beeuni's daemon gave no result for e5 (HTTP 502)",
        ),
        (
            Answer::json(200, &json!({"else": 1})),
            "Beeuni's daemon gave no result for e6 (HTTP 200)",
        ),
        (Answer::hang_up(), "Beeuni's daemon could not be reached for e7: "),
    ];
    let mut rig = Rig::new().await;
    rig.given.tools.clear();
    let mut steps = Vec::new();
    let mut add = |rig: &mut Rig, name: String, answer: Answer| {
        rig.answers(&name, answer);
        rig.given.tools.push(hosted(&name, r#"{"type":"object"}"#));
        steps.push(call(&name, &json!({})));
    };
    for (at, output) in outputs.iter().enumerate() {
        add(
            &mut rig,
            format!("o{at}"),
            Answer::json(200, &json!({"output": output})),
        );
    }
    for (at, (answer, _)) in errors.iter().enumerate() {
        add(&mut rig, format!("e{at}"), answer.clone());
    }
    let running = rig.start().await;
    // In one step: they run at the same time and keep their places.
    running.prompt("beeuni", &[Value::Array(steps)]).await;
    let read = read_by_model(&rig);
    for (at, output) in outputs.iter().enumerate() {
        let expected = if output.trim().is_empty() {
            "(no output)"
        } else {
            output
        };
        assert!(
            read[at] == *expected,
            "output {at}: {} bytes, ends {:?}",
            read[at].len(),
            &read[at][read[at].len().saturating_sub(200)..]
        );
    }
    for (at, (_, expected)) in errors.iter().enumerate() {
        let said = &read[outputs.len() + at];
        if expected.ends_with(": ") {
            assert!(said.starts_with(expected) && said.len() > expected.len(), "{said}");
        } else {
            assert_eq!(said, expected);
        }
    }
    running.server.stop(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn a_stop_closes_the_connection_of_a_running_call_at_once() {
    let mut rig = Rig::new().await;
    rig.given.tools = vec![hosted("slow", r#"{"type":"object"}"#)];
    let gate = Gate::closed();
    rig.answers("slow", Answer::json(200, &json!({"output": "late"})).hold(&gate));
    let running = rig.start().await;
    let session = running.session().await;
    let body = Running::body("beeuni", &script(&[call("slow", &json!({}))]));
    let (status, _) = running
        .send("POST", &format!("/session/{session}/prompt_async"), Some(body))
        .await;
    assert_eq!(status, 204);
    let rig_ref = &rig;
    running
        .until("the call has reached the daemon", || async move {
            !rig_ref.calls().is_empty()
        })
        .await;
    let called = rig.calls().remove(0);
    let stopped = std::time::Instant::now();
    let (status, _) = running.send("POST", &format!("/session/{session}/abort"), None).await;
    assert_eq!(status, 200);
    called.hung_up().await;
    assert!(stopped.elapsed() < Duration::from_secs(1), "{:?}", stopped.elapsed());
    running
        .until("the call is an error", || async {
            running.tool_parts(&session).await[0]["state"]["status"] == "error"
        })
        .await;
    running.server.stop(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn commands_see_the_project_s_environment_and_no_key() {
    let mut rig = Rig::new().await;
    rig.place.env.insert("SHOWN".to_owned(), "yes".to_owned());
    rig.place.env.insert("HOME".to_owned(), "/home/of-the-user".to_owned());
    let running = rig.start().await;
    let command = json!({"command": "env", "description": "x"});
    let parts = running.prompt("beeuni", &[call("bash", &command)]).await;
    let env = parts[0]["state"]["output"].as_str().unwrap();
    let has = |line: &str| env.lines().any(|found| found == line);
    assert!(
        has("SHOWN=yes") && has("HOME=/home/of-the-user") && has("GIT_TERMINAL_PROMPT=0"),
        "{env}"
    );
    for hidden in [
        "OPENCODE",
        "XDG_DATA_HOME",
        "NODE_PATH",
        KEY,
        running.server.password().expose(),
    ] {
        assert!(!env.contains(hidden), "{hidden} in {env}");
    }
    let (status, _) = running.send("GET", "/global/health", None).await;
    assert_eq!(status, 200);
    let open = running
        .client
        .get(format!("{}/global/health", running.server.url()))
        .send()
        .await
        .unwrap();
    assert_eq!(
        open.status().as_u16(),
        401,
        "the password holds though the plugin took it from the environment"
    );
    running.server.stop(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn c2_a_changed_tool_list_and_agent_reach_the_next_turn_of_the_same_conversation() {
    let mut rig = Rig::new().await;
    let running = rig.start().await;
    let session = running.session().await;
    running.prompt_in(&session, "beeuni", &[]).await;
    assert_eq!(
        running.server.update(&rig.given).await.unwrap(),
        beeuni_opencode::server::Change::Nothing
    );
    rig.given.tools = vec![hosted(
        "other",
        r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#,
    )];
    rig.answers("other", Answer::json(200, &json!({"output": "from the other"})));
    rig.setup(|setup| setup.agents[0].prompt = "You are changed.".to_owned());
    assert_eq!(
        running.server.update(&rig.given).await.unwrap(),
        beeuni_opencode::server::Change::Dispose
    );
    running.server.dispose().await.unwrap();
    let before = rig.asked().len();
    running
        .prompt_in(&session, "beeuni", &[call("other", &json!({"n": 1}))])
        .await;
    let asked = rig.asked();
    let offered = rig.offered(before);
    assert!(
        offered.contains(&"other".to_owned()) && !offered.contains(&"lookup_order".to_owned()),
        "{offered:?}"
    );
    let messages = asked[before]["messages"].as_array().unwrap();
    assert!(messages[0]["content"].as_str().unwrap().starts_with("You are changed."));
    assert_eq!(
        messages.iter().filter(|message| message["role"] == "user").count(),
        2,
        "the conversation goes on"
    );
    assert_eq!(read_by_model(&rig), ["from the other"]);
    running.server.stop(Duration::from_secs(5)).await;
}
