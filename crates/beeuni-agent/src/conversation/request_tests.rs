//! Tests of what a model is sent.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
use beeuni_protocol::session::{MessageTime, Origin, Part, Reasoning, TextPart, ToolTime};
use serde_json::{Value, json};

use super::*;

const MODEL: &str = "p/m";

fn message(role: Role, parts: Vec<PartBody>) -> Message {
    let part = |(at, body)| Part {
        id: format!("prt_{at}"),
        message: "msg".to_owned(),
        body,
    };
    Message {
        id: "msg".to_owned(),
        session: "s".to_owned(),
        turn: "t".to_owned(),
        role,
        origin: (role == Role::User).then_some(Origin::Prompt),
        agent: "a".to_owned(),
        model: (role == Role::Assistant).then(|| MODEL.to_owned()),
        time: MessageTime {
            created: 0,
            completed: Some(0),
        },
        finish: (role == Role::Assistant).then_some(Finish::Stop),
        error: None,
        usage: None,
        parts: parts.into_iter().enumerate().map(part).collect(),
    }
}

fn said(text: &str) -> PartBody {
    PartBody::Text(TextPart { text: text.to_owned() })
}

fn call(id: &str, tool: &str, arguments: &str) -> ToolCall {
    ToolCall {
        call: id.to_owned(),
        tool: tool.to_owned(),
        arguments: arguments.to_owned(),
        status: ToolStatus::Completed,
        title: None,
        output: Some("out".to_owned()),
        error: None,
        extra: None,
        metadata: serde_json::Map::new(),
        attachments: Vec::new(),
        time: ToolTime {
            created: 0,
            started: None,
            ended: None,
        },
    }
}

fn chat(messages: &[Message], model: &str) -> Vec<Value> {
    let mut history = History::default();
    for message in messages {
        history.add(message, model);
    }
    let body = Head::default().body(&history, true);
    let body: Value = serde_json::from_str(&body).unwrap();
    body["messages"].as_array().unwrap()[1..].to_vec()
}

#[test]
fn a_request_begins_with_the_bytes_of_the_one_before() {
    let head = Head {
        system: "S \"quoted\"\n".to_owned(),
        tools: Some("[{\"z\":1,\"a\":2}]".to_owned()),
        temperature: Some(0.2),
        top_p: Some(1.0),
    };
    let mut history = History::default();
    history.add(&message(Role::User, vec![said("one")]), MODEL);
    let first = head.body(&history, true);
    assert_eq!(
        first,
        "{\"tools\":[{\"z\":1,\"a\":2}],\"temperature\":0.2,\"top_p\":1,\"messages\":[{\"role\":\"system\",\"content\":\
         \"S \\\"quoted\\\"\\n\"},{\"role\":\"user\",\"content\":\"one\"}]}"
    );
    history.add(&message(Role::Assistant, vec![said("two")]), MODEL);
    assert!(head.body(&history, true).starts_with(first.strip_suffix("]}").unwrap()));
    assert!(!head.body(&history, false).contains("tools"));
}

#[test]
fn args_05_what_goes_back_has_every_digit_and_is_always_an_object() {
    let parts = [
        call("1", "t", r#"{"id": 7301444403212345679}"#),
        call("2", "t", r#"{"id": 73"#),
        call("3", "t", ""),
        call("4", "t", "[1]"),
        call("5", "t", r#"{"a":"\ud800"}"#),
    ];
    let chat = chat(&[message(Role::Assistant, parts.map(PartBody::Tool).to_vec())], MODEL);
    let arguments = |at: usize| chat[0]["tool_calls"][at]["function"]["arguments"].clone();
    assert_eq!(arguments(0), r#"{"id": 7301444403212345679}"#);
    assert_eq!([1, 2, 3].map(arguments), [json!("{}"), json!("{}"), json!("{}")]);
    assert_eq!(arguments(4), r#"{"a":"\ufffd"}"#);
    assert_eq!(chat[0]["content"], Value::Null);
    assert_eq!(chat.len(), 6);
    assert_eq!(
        chat[3],
        json!({ "role": "tool", "tool_call_id": "3", "content": "out" })
    );
}

#[test]
fn a_name_that_no_provider_takes_does_not_poison_the_session() {
    let long = "x".repeat(90);
    let names = ["functions.bash", "时间", "", &long, "ok-1_A"];
    let calls = names.map(|name| PartBody::Tool(call("1", name, "{}")));
    let chat = chat(&[message(Role::Assistant, calls.to_vec())], MODEL);
    let names: Vec<&str> = (0..5)
        .map(|at| chat[0]["tool_calls"][at]["function"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["functions_bash", "__", "unnamed", &long[..64], "ok-1_A"]);
}

#[test]
fn out_01_every_result_says_something() {
    let with = |status, output: Option<&str>, error: Option<&str>| ToolCall {
        status,
        output: output.map(str::to_owned),
        error: error.map(str::to_owned),
        ..call("1", "t", "{}")
    };
    for (call, expected) in [
        (with(ToolStatus::Completed, Some("0"), None), "0"),
        (with(ToolStatus::Completed, Some(""), None), "(no output)"),
        (with(ToolStatus::Completed, None, None), "(no output)"),
        (
            with(ToolStatus::Error, None, Some("Tool show not found")),
            "Tool show not found",
        ),
        (
            with(ToolStatus::Error, None, Some("")),
            "the tool failed without a message",
        ),
        (with(ToolStatus::Interrupted, None, Some("stopped")), "stopped"),
        (
            with(ToolStatus::Interrupted, Some("a"), Some("stopped")),
            "stopped\nUntil then it gave:\na",
        ),
        (
            with(ToolStatus::Running, None, None),
            "interrupted: this call did not end",
        ),
    ] {
        assert_eq!(result(&call), expected);
    }
}

#[test]
fn an_empty_answer_is_marked_and_one_that_never_came_is_left_out() {
    let empty = message(Role::Assistant, vec![]);
    assert_eq!(
        chat(&[empty], MODEL),
        [json!({ "role": "assistant", "content": "(no content)" })]
    );
    for finish in [
        Finish::Error,
        Finish::Aborted,
        Finish::Interrupted,
        Finish::Length,
        Finish::ContentFilter,
    ] {
        let failed = Message {
            finish: Some(finish),
            ..message(Role::Assistant, vec![])
        };
        assert_eq!(chat(&[failed], MODEL), [json!(null); 0]);
        let cut = Message {
            finish: Some(finish),
            ..message(Role::Assistant, vec![said("half a")])
        };
        assert_eq!(
            chat(&[cut], MODEL),
            [json!({ "role": "assistant", "content": "half a" })]
        );
    }
}

#[test]
fn what_a_provider_wants_back_goes_to_it_alone() {
    let thought = PartBody::Reasoning(Reasoning {
        text: "never sent".to_owned(),
        details: Some("[{\"data\":\"x\"}]".to_owned()),
    });
    let signed = ToolCall {
        extra: Some("{\"google\":{\"thought_signature\":\"s\"}}".to_owned()),
        ..call("1", "t", "{}")
    };
    let answer = message(Role::Assistant, vec![thought, PartBody::Tool(signed)]);
    let own = chat(std::slice::from_ref(&answer), MODEL);
    assert_eq!(own[0]["reasoning_details"], json!([{ "data": "x" }]));
    assert_eq!(
        own[0]["tool_calls"][0]["extra_content"]["google"]["thought_signature"],
        "s"
    );
    let other = chat(&[answer], "other/model");
    assert!(other[0].get("reasoning_details").is_none() && other[0]["tool_calls"][0].get("extra_content").is_none());
    assert!(!format!("{own:?}{other:?}").contains("never sent"));
}

#[test]
fn images_follow_the_results_of_all_calls() {
    let image = Attachment {
        mime: "image/png".to_owned(),
        name: Some("a.png".to_owned()),
        url: "data:image/png;base64,AA==".to_owned(),
    };
    let seen = ToolCall {
        attachments: vec![image.clone()],
        ..call("1", "read", "{}")
    };
    let answer = message(
        Role::Assistant,
        vec![PartBody::Tool(seen), PartBody::Tool(call("2", "t", "{}"))],
    );
    let text = Attachment {
        mime: "text/csv".to_owned(),
        name: Some("b.csv".to_owned()),
        url: "data:,".to_owned(),
    };
    let prompt = message(
        Role::User,
        vec![said("look"), PartBody::File(image), PartBody::File(text)],
    );
    let chat = chat(&[answer, prompt], MODEL);
    let roles: Vec<&str> = chat.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["assistant", "tool", "tool", "user", "user"]);
    assert_eq!(chat[3]["content"][0]["text"], "[From the call 1 of read: a.png]");
    assert_eq!(chat[3]["content"][1]["image_url"]["url"], "data:image/png;base64,AA==");
    assert_eq!(
        chat[4]["content"][0]["text"],
        "look\n[b.csv (text/csv) came with this message and cannot be shown]"
    );
}

#[test]
fn an_image_counts_by_itself_and_not_by_its_length() {
    let mut history = History::default();
    let image = Attachment {
        mime: "image/png".to_owned(),
        name: None,
        url: format!("data:image/png;base64,{}", "A".repeat(400_000)),
    };
    history.add(&message(Role::User, vec![said("look"), PartBody::File(image)]), MODEL);
    assert!(history.tokens(4.0) < 1_600.0, "{}", history.tokens(4.0));
}
