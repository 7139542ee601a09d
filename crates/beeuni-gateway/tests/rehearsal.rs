//! The stand-in through the same doors as any model, and everything that `docs/rehearsal.md` promises.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test stops at the first surprise"
)]

use beeuni_gateway::{ChatEvent, ChatRequest, FinishReason, Gateway, GatewayConfig};
use bytes::Bytes;
use http::HeaderMap;
use http_body_util::BodyExt;
use serde_json::{Value, json};

/// Text, calls as `(name, arguments)`, and ids.
#[derive(Debug, Default)]
struct Said {
    text: String,
    calls: Vec<(String, String)>,
    ids: Vec<String>,
    finish: Option<FinishReason>,
    usage: bool,
}

fn tool(name: &str, properties: &Value) -> Value {
    json!({ "type": "function", "function": { "name": name, "description": "",
        "parameters": { "type": "object", "properties": properties } } })
}

fn tools() -> Value {
    json!([
        tool(
            "weather_now",
            &json!({ "city": { "type": "string" }, "days": { "type": "integer" } })
        ),
        tool("lookup_order", &json!({ "id": { "type": "string" } })),
        tool("echo", &json!({ "text": { "type": "string" } })),
        tool("now", &json!({})),
        tool(
            "all",
            &json!({
                "n": { "type": "number" }, "big": { "type": "integer" }, "on": { "type": "boolean" },
                "list": { "type": "array", "items": { "type": "string" } }, "map": { "type": "object" },
                "maybe": { "type": ["null", "number"] }, "either": { "anyOf": [{ "type": "integer" }, { "type": "string" }] },
                "code": { "type": "string" }, "kind": { "enum": ["a", "b"] },
            })
        ),
    ])
}

async fn said(messages: &Value, tools: &Value) -> Said {
    let body = json!({ "messages": messages, "tools": tools });
    let gateway = Gateway::new(GatewayConfig::default());
    let mut stream = gateway
        .chat(ChatRequest::from_value("beeuni/rehearsal", &body))
        .await
        .unwrap();
    let mut said = Said::default();
    while let Some(event) = stream.next().await {
        match event.expect("no error") {
            ChatEvent::Text(text) => said.text.push_str(&text),
            ChatEvent::ToolCall {
                index,
                id,
                name,
                arguments_delta,
            } => {
                if said.calls.len() == index {
                    said.calls.push((name, String::new()));
                    said.ids.push(id);
                }
                said.calls[index].1.push_str(&arguments_delta);
            }
            ChatEvent::Usage(_) => said.usage = true,
            ChatEvent::Finish(reason) => said.finish = Some(reason),
            other => assert_eq!(other, ChatEvent::Text(String::new()), "no such event"),
        }
    }
    said
}

/// Plays a session: gives each call the output that `run` makes of it, until the answer is text.
async fn play(instruction: &str, run: impl Fn(&str, &str) -> String) -> (Vec<Vec<(String, String)>>, String) {
    let mut messages = vec![
        json!({ "role": "system", "content": "Call the now tool. This is no instruction." }),
        json!({ "role": "user", "content": instruction }),
    ];
    let mut steps = Vec::new();
    loop {
        let said = said(&messages.clone().into(), &tools()).await;
        if said.calls.is_empty() {
            assert_eq!(said.finish, Some(FinishReason::Stop));
            return (steps, said.text);
        }
        assert_eq!(said.finish, Some(FinishReason::ToolCalls));
        let calls: Vec<Value> = said.calls.iter().zip(&said.ids).map(|((name, arguments), id)| {
            json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
        }).collect();
        messages.push(json!({ "role": "assistant", "content": null, "tool_calls": calls }));
        for ((name, arguments), id) in said.calls.iter().zip(&said.ids) {
            messages.push(json!({ "role": "tool", "tool_call_id": id, "content": run(name, arguments) }));
        }
        steps.push(said.calls);
        assert!(steps.len() < 60, "it never ends");
    }
}

/// The calls of an instruction, one line for each step, calls of one step beside each other.
async fn steps(instruction: &str) -> String {
    let (steps, _) = play(instruction, |_, _| "ok".to_owned()).await;
    let step = |calls: &Vec<(String, String)>| {
        let calls: Vec<String> = calls
            .iter()
            .map(|(name, arguments)| format!("{name} {arguments}"))
            .collect();
        calls.join(" + ")
    };
    steps.iter().map(step).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn the_documented_sentences_make_their_calls() {
    for (instruction, expected) in [
        (
            "Call the weather_now tool once with city Berlin and print its output.",
            r#"weather_now {"city":"Berlin"}"#,
        ),
        (
            "Call the lookup_order tool once with id A-1042 and print its output.",
            r#"lookup_order {"id":"A-1042"}"#,
        ),
        ("Call the now tool once and print its output.", "now {}"),
        ("call the now tool", "now {}"),
        ("Use now.", "now {}"),
        ("Please run `now`, then tell me.", "now {}"),
        (
            "Call the weather_now tool with city Berlin and days 3.",
            r#"weather_now {"city":"Berlin","days":3}"#,
        ),
        (
            "Call the tool weather_now with the city New York, days 3 and show the output",
            r#"weather_now {"city":"New York","days":3}"#,
        ),
        (
            "Call the weather_now tool with city=Berlin days=3",
            r#"weather_now {"city":"Berlin","days":3}"#,
        ),
        (
            "Call weather_now with city: \"St. Louis, and more\" and days: 2.",
            r#"weather_now {"city":"St. Louis, and more","days":2}"#,
        ),
        (
            "Call the weather_now tool with {\"city\": \"Berlin\",  \"days\": 1} and print its output.",
            r#"weather_now {"city": "Berlin",  "days": 1}"#,
        ),
        (
            "Call the echo tool with text salt and pepper and print it.",
            r#"echo {"text":"salt and pepper"}"#,
        ),
        (
            "Call the echo tool with text 'it's so' twice.",
            "echo {\"text\":\"it's so\"}\necho {\"text\":\"it's so\"}",
        ),
        ("Call the now tool 3 times.", "now {}\nnow {}\nnow {}"),
        ("Call the now tool three times in parallel.", "now {} + now {} + now {}"),
        (
            "Call the now tool, then call the echo tool with text hi. Use the lookup_order tool with id 7.",
            "now {}\necho {\"text\":\"hi\"}\nlookup_order {\"id\":\"7\"}",
        ),
        (
            "Call the echo tool with text a and the lookup_order tool with id 7 at the same time.",
            "echo {\"text\":\"a\"} + lookup_order {\"id\":\"7\"}",
        ),
        (
            "At the same time call the echo tool with text a, and call the now tool twice; then call now.",
            "echo {\"text\":\"a\"} + now {} + now {}\nnow {}",
        ),
        (
            "Call weather_now with city set to «Sankt Pölten» and days as 2 at once.",
            r#"weather_now {"city":"Sankt Pölten","days":2}"#,
        ),
        (
            "Invoke the tool \"echo\" passing text \"a \\\"b\\\"\\n\".",
            r#"echo {"text":"a \"b\"\n"}"#,
        ),
        ("Do not call the now tool.", ""),
        ("What does the echo tool do?", ""),
    ] {
        assert_eq!(steps(instruction).await, expected, "{instruction}");
    }
}

#[tokio::test]
async fn values_take_the_type_that_the_schema_gives_them() {
    for (written, expected) in [
        ("n 1.50", r#"{"n":1.50}"#),
        ("big 9007199254740993123", r#"{"big":9007199254740993123}"#),
        ("big three", r#"{"big":"three"}"#),
        ("on yes", r#"{"on":true}"#),
        ("on \"false\"", r#"{"on":false}"#),
        ("list a, b and c", r#"{"list":["a","b","c"]}"#),
        ("list [\"a\", 1]", r#"{"list":["a", 1]}"#),
        ("map {\"x\": {\"y\": 1}}", r#"{"map":{"x": {"y": 1}}}"#),
        ("maybe null and n 1", r#"{"maybe":null,"n":1}"#),
        ("maybe 4", r#"{"maybe":4}"#),
        ("either 4", r#"{"either":4}"#),
        ("either four", r#"{"either":"four"}"#),
        ("code 007", r#"{"code":"007"}"#),
        ("code {\"a\": 1}", r#"{"code":"{\"a\": 1}"}"#),
        ("kind b", r#"{"kind":"b"}"#),
        ("unknown 4", r#"{"unknown":4}"#),
        ("unknown \"4\"", r#"{"unknown":"4"}"#),
    ] {
        let instruction = format!("Call the all tool with {written} and print its output.");
        assert_eq!(steps(&instruction).await, format!("all {expected}"));
    }
}

#[tokio::test]
async fn the_output_is_the_answer_and_a_failure_is_called_one() {
    let ask = "Call the echo tool once with text hi and print its output.";
    let (_, answer) = play(ask, |_, _| "  {\"a\":\n1} ".to_owned()).await;
    assert_eq!(answer, "  {\"a\":\n1} ");
    let (_, answer) = play(ask, |_, _| "Error: no such city".to_owned()).await;
    assert_eq!(answer, "The echo tool failed: Error: no such city");
    let (_, answer) = play(ask, |_, _| "Tool echo not found".to_owned()).await;
    assert_eq!(answer, "The echo tool failed: Tool echo not found");
    let (_, answer) = play(ask, |_, _| String::new()).await;
    assert_eq!(answer, "The echo tool returned nothing.");
    let (_, answer) = play("Call the now tool and the echo tool with text x.", |name, _| {
        format!("of {name}")
    })
    .await;
    assert_eq!(answer, "now: of now\n\necho: of echo");
}

#[tokio::test]
async fn a_tool_that_is_not_offered_is_not_called_unless_told_to() {
    let ask = |text: &str| json!([{ "role": "user", "content": text }]);
    let offered = json!([tool("now", &json!({}))]);
    let found = said(&ask("Call the show tool with title x."), &offered).await;
    assert!(found.calls.is_empty());
    assert_eq!(
        found.text,
        "The show tool is not offered to me (beeuni/rehearsal). What is offered: now."
    );
    let found = said(&ask("Call the show tool anyway with title x."), &offered).await;
    assert_eq!(found.calls, [("show".to_owned(), "{\"title\":\"x\"}".to_owned())]);
    let found = said(&ask("Call the show tool."), &json!(null)).await;
    assert!(found.text.ends_with("No tool is."), "{}", found.text);
}

#[tokio::test]
async fn plain_talk_is_answered_honestly() {
    for text in ["Hello, who are you?", "", "Write me a poem about bees."] {
        let found = said(&json!([{ "role": "user", "content": text }]), &tools()).await;
        assert!(
            found.text.starts_with("I am beeuni/rehearsal, a stand-in"),
            "{}",
            found.text
        );
        assert!(found.text.contains("I am not a language model"));
        assert!(
            found
                .text
                .contains("Tools offered to me now: weather_now, lookup_order, echo, now, all.")
        );
        assert!(found.usage);
    }
}

#[tokio::test]
async fn the_last_instruction_counts_and_reminders_do_not() {
    let call = json!([{ "id": "c1", "type": "function", "function": { "name": "now", "arguments": "{}" } }]);
    let messages = json!([
        { "role": "user", "content": "Call the now tool." },
        { "role": "assistant", "content": null, "tool_calls": call },
        { "role": "tool", "tool_call_id": "c1", "content": "12:00" },
        // Steering: it came while the call ran.
        { "role": "user", "content": [{ "type": "text", "text": "Call the echo tool with text hi." },
            { "type": "image_url", "image_url": { "url": "data:," } }] },
        { "role": "user", "content": "<system-reminder>Call the now tool.</system-reminder>" },
    ]);
    let found = said(&messages, &tools()).await;
    assert_eq!(found.calls, [("echo".to_owned(), "{\"text\":\"hi\"}".to_owned())]);
}

#[tokio::test]
async fn a_call_without_a_result_is_said_to_have_none() {
    let call = json!([{ "id": "c1", "type": "function", "function": { "name": "now", "arguments": "{}" } }]);
    let messages = json!([
        { "role": "user", "content": "Call the now tool." },
        { "role": "assistant", "content": "", "tool_calls": call },
    ]);
    assert_eq!(said(&messages, &tools()).await.text, "The now tool gave no result.");
}

#[tokio::test]
async fn a_summary_lists_what_happened() {
    let call = json!([{ "id": "c1", "type": "function", "function": { "name": "now", "arguments": "{}" } }]);
    let messages = json!([
        { "role": "user", "content": "Call the now tool." },
        { "role": "assistant", "content": "", "tool_calls": call },
        { "role": "tool", "tool_call_id": "c1", "content": "12:00" },
        { "role": "assistant", "content": "12:00" },
        { "role": "user", "content": "Summarize our conversation." },
    ]);
    let text = said(&messages, &json!(null)).await.text;
    assert_eq!(
        text,
        "Summary by beeuni/rehearsal, a list of what happened, not a judgement of it.\n- Asked: Call the now tool.\n\
         - Called now with {}\n- Answered: 12:00"
    );
}

#[tokio::test]
async fn the_same_conversation_gets_the_same_bytes_and_another_one_other_ids() {
    let gateway = Gateway::new(GatewayConfig::default());
    let ask = async |text: &str, stream: bool| {
        let body = json!({ "model": "beeuni/rehearsal", "stream": stream, "tools": tools(),
            "messages": [{ "role": "user", "content": text }] });
        let response = gateway
            .completions(&HeaderMap::new(), Bytes::from(body.to_string()))
            .await;
        assert_eq!(response.status(), 200);
        let content_type = response.headers()["content-type"].to_str().unwrap().to_owned();
        assert_eq!(content_type.starts_with("text/event-stream"), stream);
        response.into_body().collect().await.unwrap().to_bytes()
    };
    let one = ask("Call the now tool.", true).await;
    assert_eq!(one, ask("Call the now tool.", true).await);
    assert!(one.ends_with(b"data: [DONE]\n\n"));
    let whole: Value = serde_json::from_slice(&ask("Call the now tool.", false).await).unwrap();
    let other: Value = serde_json::from_slice(&ask("Call  the now tool.", false).await).unwrap();
    let id = |it: &Value| {
        it["choices"][0]["message"]["tool_calls"][0]["id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_ne!(id(&whole), id(&other));
    assert_eq!(whole["model"], "rehearsal");
    assert!(whole["usage"]["prompt_tokens"].as_u64().unwrap() > 0);
}

#[tokio::test]
async fn a_long_output_of_a_long_conversation_is_repeated_in_no_time() {
    let call = json!([{ "id": "c1", "type": "function", "function": { "name": "now", "arguments": "{}" } }]);
    let output = "0123456789abcdef".repeat(32 * 1024); // half a megabyte, some 20,000 pieces
    let messages = json!([
        { "role": "user", "content": "Call the now tool and print its output." },
        { "role": "assistant", "content": null, "tool_calls": call },
        { "role": "tool", "tool_call_id": "c1", "content": output },
    ]);
    let begin = std::time::Instant::now();
    assert_eq!(said(&messages, &tools()).await.text, output);
    // One walk through the conversation for each piece would take minutes.
    assert!(begin.elapsed().as_secs() < 10, "{:?}", begin.elapsed());
}

#[tokio::test]
async fn a_request_that_cannot_be_read_is_refused() {
    let gateway = Gateway::new(GatewayConfig::default());
    let error = gateway
        .chat(ChatRequest::new("beeuni/rehearsal", "{\"messages\":7}"))
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("beeuni/rehearsal cannot read the request: "),
        "{error}"
    );
}
