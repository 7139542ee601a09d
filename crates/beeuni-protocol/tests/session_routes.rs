//! Pins the JSON of what clients of a session send and get.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
use beeuni_protocol::session::{
    AbortAnswer, MessageList, OnAsk, PermissionList, PromptAnswer, PromptRequest, QuestionList, SessionList,
};
use beeuni_protocol::{Finding, ReloadAnswer, ToolsHealth};
use serde::{Serialize, de::DeserializeOwned};

/// Asserts that `value` is written as `text` and that `text` is read back as the same.
#[track_caller]
fn pins<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T, text: &str) {
    assert_eq!(serde_json::to_string(value).unwrap(), text);
    assert_eq!(serde_json::from_str::<T>(text).unwrap(), *value);
}

#[test]
fn a_prompt_is_a_text_and_what_is_said_about_its_answer() {
    let bare = PromptRequest {
        text: "hello".into(),
        ..PromptRequest::default()
    };
    pins(&bare, r#"{"text":"hello"}"#);
    let whole = PromptRequest {
        agent: Some("support".into()),
        model: Some("openai/gpt-5".into()),
        on_ask: Some(OnAsk::Deny),
        ..bare
    };
    pins(
        &whole,
        r#"{"text":"hello","agent":"support","model":"openai/gpt-5","on_ask":"deny"}"#,
    );
    for (on_ask, text) in [(OnAsk::Wait, "wait"), (OnAsk::Allow, "allow"), (OnAsk::Fail, "fail")] {
        pins(&on_ask, &format!("\"{text}\""));
    }
}

#[test]
fn answers_of_a_session_name_what_they_hold() {
    pins(
        &PromptAnswer {
            turn: "turn_1".into(),
            message: "msg_1".into(),
            steering: true,
        },
        r#"{"turn":"turn_1","message":"msg_1","steering":true}"#,
    );
    pins(&AbortAnswer { aborted: false }, r#"{"aborted":false}"#);
    pins(
        &MessageList {
            messages: Vec::new(),
            more: false,
        },
        r#"{"messages":[],"more":false}"#,
    );
    pins(&SessionList { sessions: Vec::new() }, r#"{"sessions":[]}"#);
    pins(
        &PermissionList {
            permissions: Vec::new(),
        },
        r#"{"permissions":[]}"#,
    );
    pins(&QuestionList { questions: Vec::new() }, r#"{"questions":[]}"#);
}

#[test]
fn a_reload_tells_what_is_loaded_and_what_is_wrong() {
    let answer = ReloadAnswer {
        pending: false,
        tools: ToolsHealth {
            loaded: 1,
            failed: 0,
            failed_names: Vec::new(),
            replaced: vec!["show".into()],
        },
        findings: vec![Finding {
            path: "tools.show".into(),
            message: "must be a string".into(),
            severity: "error".into(),
            file: "beeuni.yaml".into(),
            line: 3,
            column: 9,
        }],
    };
    pins(
        &answer,
        r#"{"pending":false,"tools":{"loaded":1,"failed":0,"failed_names":[],"replaced":["show"]},"findings":[{"path":"tools.show","message":"must be a string","severity":"error","file":"beeuni.yaml","line":3,"column":9}]}"#,
    );
}
