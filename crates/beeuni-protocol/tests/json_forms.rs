//! Pins the JSON form of every wire type: programs in other languages depend on these bytes.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
use std::borrow::Cow;
use std::collections::BTreeMap;

use beeuni_protocol::*;
use serde::{Serialize, de::DeserializeOwned};

/// Asserts that `value` is written as `text` and that `text` is read back as the same.
#[track_caller]
fn pins<T: Serialize + DeserializeOwned>(value: &T, text: &str) {
    assert_eq!(serde_json::to_string(value).unwrap(), text);
    let read: T = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), text, "read back");
}

#[test]
fn ready_is_the_line_that_starts_a_session() {
    pins(
        &Ready {
            ready: true,
            url: "http://127.0.0.1:4410".into(),
            session: "s-1".into(),
        },
        r#"{"ready":true,"url":"http://127.0.0.1:4410","session":"s-1"}"#,
    );
}

#[test]
fn errors_are_one_field() {
    pins(
        &ErrorAnswer {
            error: "no tool named show is loaded".into(),
        },
        r#"{"error":"no tool named show is loaded"}"#,
    );
}

#[test]
fn health_names_every_part_even_when_it_is_empty() {
    let health = Health {
        version: "0.1.0".into(),
        session: "s-1".into(),
        harness: HarnessHealth {
            id: "none".into(),
            state: "off".into(),
            ready: false,
        },
        model: None,
        runtime: RuntimeHealth { ready: true },
        project: ProjectHealth {
            current: true,
            ..ProjectHealth::default()
        },
        release: None,
        tools: ToolsHealth {
            loaded: 5,
            failed: 1,
            failed_names: vec!["broken".into()],
            replaced: Vec::new(),
        },
        env: EnvHealth { revision: None },
        capabilities: vec!["tools".into(), "env".into()],
    };
    pins(
        &health,
        r#"{"version":"0.1.0","session":"s-1","harness":{"id":"none","state":"off","ready":false},"model":null,"runtime":{"ready":true},"project":{"current":true,"errors":0,"warnings":0,"problem":null},"release":null,"tools":{"loaded":5,"failed":1,"failed_names":["broken"]},"env":{"revision":null},"capabilities":["tools","env"]}"#,
    );
}

#[test]
fn a_tool_list_keeps_the_bytes_of_the_parameters() {
    let parameters = r#"{"type":"object","properties":{"z":{"type":"string"},"a":{"maximum":1.0e3}}}"#;
    let text = format!(
        r#"{{"tools":[{{"name":"lookup_order","kind":"project","source":"tools/lookup_order.ts","description":"Looks up.","parameters":{parameters}}}],"failed":[{{"name":"broken","source":"tools/broken.ts","error":"no default export"}}]}}"#
    );
    let list: ToolList = serde_json::from_str(&text).unwrap();
    assert_eq!(list.tools[0].parameters.get(), parameters);
    pins(&list, &text);
}

#[test]
fn a_call_borrows_its_body_and_keeps_the_arguments_as_written() {
    let text = r#"{"args":{"id":7301444403212345679,"s":"\ud800"},"agent":"beeuni","directory":"/workspace","call":{"session":"ses_1","message":"msg_1","id":"call_1"},"extra":[1]}"#;
    let call: CallRequest<'_> = serde_json::from_str(text).unwrap();
    assert_eq!(call.args.unwrap().get(), r#"{"id":7301444403212345679,"s":"\ud800"}"#);
    assert!(
        matches!(&call.agent, Some(Text(Cow::Borrowed("beeuni")))),
        "{:?}",
        call.agent
    );
    assert_eq!(call.directory.as_deref(), Some("/workspace"));
    let origin = call.call.as_ref().unwrap();
    assert_eq!(
        (&*origin.session, &*origin.message, &*origin.id),
        ("ses_1", "msg_1", "call_1")
    );
    let again = serde_json::to_string(&call).unwrap();
    assert_eq!(text.replace(r#","extra":[1]"#, ""), again);
}

#[test]
fn absent_and_null_fields_of_a_call_are_the_same() {
    for text in ["{}", r#"{"args":null,"agent":null,"directory":null,"call":null}"#] {
        let call: CallRequest<'_> = serde_json::from_str(text).unwrap();
        assert!(
            call.args.is_none() && call.agent.is_none() && call.directory.is_none(),
            "{text}"
        );
        assert_eq!(serde_json::to_string(&call).unwrap(), "{}");
    }
}

#[test]
fn an_escaped_agent_name_is_read_too() {
    let call: CallRequest<'_> = serde_json::from_str(r#"{"agent":"bee\u0075ni"}"#).unwrap();
    assert_eq!(call.agent.as_deref(), Some("beeuni"));
}

#[test]
fn an_answer_is_one_output() {
    let answer = CallAnswer {
        output: "line 1\n\"quoted\"".into(),
    };
    let text = r#"{"output":"line 1\n\"quoted\""}"#;
    assert_eq!(serde_json::to_string(&answer).unwrap(), text);
    assert_eq!(serde_json::from_str::<CallAnswer<'_>>(text).unwrap(), answer);
}

#[test]
fn secrets_are_pushed_by_agent_and_never_shown() {
    let set = BTreeMap::from([("API_TOKEN".to_owned(), "tok-6f1e".to_owned())]);
    let push = EnvPush {
        revision: "r7".into(),
        agents: BTreeMap::from([("beeuni".into(), set)]),
    };
    pins(
        &push,
        r#"{"revision":"r7","agents":{"beeuni":{"API_TOKEN":"tok-6f1e"}}}"#,
    );
    let shown = format!("{push:?}");
    assert!(shown.contains("API_TOKEN") && !shown.contains("tok-6f1e"), "{shown}");
    pins(&EnvAnswer { revision: "r7".into() }, r#"{"revision":"r7"}"#);
}
