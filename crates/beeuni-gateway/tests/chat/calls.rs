//! Tool calls: parallel ones, and the many ways in which providers number and name them.

use std::collections::BTreeMap;

use beeuni_gateway::testing::{Answer, chunk};
use beeuni_gateway::{ChatErrorKind, ChatEvent, FinishReason};
use serde_json::{Value, json};

use super::{chunks, events, read};

/// Calls in order: id, name, arguments.
type Calls = Vec<(String, String, String)>;

/// Puts calls together as a caller does: by index, with the same id and name in every event.
fn assembled(events: &[ChatEvent]) -> Calls {
    let mut calls: BTreeMap<usize, (String, String, String)> = BTreeMap::new();
    for event in events {
        if let ChatEvent::ToolCall {
            index,
            id,
            name,
            arguments_delta,
        } = event
        {
            let call = calls
                .entry(*index)
                .or_insert_with(|| (id.clone(), name.clone(), String::new()));
            assert_eq!((&call.0, &call.1), (id, name), "one id and name throughout");
            call.2.push_str(arguments_delta);
        }
    }
    assert!(calls.keys().copied().eq(0..calls.len()), "0, 1, 2 …");
    calls.into_values().collect()
}

async fn calls_of(deltas: &[Value]) -> Calls {
    let mut list: Vec<Value> = deltas
        .iter()
        .map(|it| chunk(&json!({ "tool_calls": it }), None))
        .collect();
    list.push(chunk(&json!({}), Some("tool_calls")));
    let events = events(chunks(&list)).await;
    assert_eq!(events.last(), Some(&ChatEvent::Finish(FinishReason::ToolCalls)));
    assembled(&events)
}

fn expect(calls: &[(&str, &str, &str)]) -> Calls {
    let owned = calls.iter().map(|(id, name, arguments)| (*id, *name, *arguments));
    owned
        .map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned()))
        .collect()
}

#[tokio::test]
async fn parallel_calls_keep_their_ids_and_arguments() {
    let calls = [
        ("call_a", "read", r#"{"path":"a"}"#),
        ("call_b", "read", r#"{"path":"b"}"#),
    ];
    assert_eq!(assembled(&events(Answer::tool_calls(&calls)).await), expect(&calls));
}

#[tokio::test]
async fn interleaved_deltas_find_their_call_by_index() {
    let found = calls_of(&[
        json!([{ "index": 0, "id": "a", "function": { "name": "f", "arguments": "" } },
               { "index": 1, "id": "b", "function": { "name": "g", "arguments": "" } }]),
        json!([{ "index": 1, "function": { "arguments": "{\"x\":" } }]),
        json!([{ "index": 0, "function": { "arguments": "{}" } }]),
        json!([{ "index": 1, "id": "", "function": { "name": "", "arguments": "1}" } }]),
    ])
    .await;
    assert_eq!(found, expect(&[("a", "f", "{}"), ("b", "g", "{\"x\":1}")]));
}

#[tokio::test]
async fn a_provider_that_leaves_out_the_index_is_understood() {
    let found = calls_of(&[
        json!([{ "id": "a", "function": { "name": "f", "arguments": "{\"x\"" } }]),
        json!([{ "function": { "arguments": ":1}" } }]),
        json!([{ "id": "b", "function": { "name": "f", "arguments": "{}" } }]),
    ])
    .await;
    assert_eq!(found, expect(&[("a", "f", "{\"x\":1}"), ("b", "f", "{}")]));
}

#[tokio::test]
async fn a_provider_that_numbers_every_call_zero_is_understood() {
    let found = calls_of(&[
        json!([{ "index": 0, "id": "a", "function": { "name": "f", "arguments": "{\"x\":1}" } }]),
        json!([{ "index": 0, "id": "b", "function": { "name": "f", "arguments": "{\"x\":2}" } }]),
    ])
    .await;
    assert_eq!(found, expect(&[("a", "f", "{\"x\":1}"), ("b", "f", "{\"x\":2}")]));
}

#[tokio::test]
async fn calls_without_ids_get_ids_that_every_provider_accepts() {
    let found = calls_of(&[
        json!([{ "function": { "name": "f", "arguments": "{}" } }, { "function": { "name": "f", "arguments": "{}" } }]),
        json!([{ "id": "", "function": { "name": "g", "arguments": "{\"y\"" } }]),
        json!([{ "function": { "arguments": ":1}" } }]),
    ])
    .await;
    let plain: Vec<(&str, &str)> = found.iter().map(|it| (it.1.as_str(), it.2.as_str())).collect();
    assert_eq!(plain, [("f", "{}"), ("f", "{}"), ("g", "{\"y\":1}")]);
    let ids: std::collections::BTreeSet<&str> = found.iter().map(|it| it.0.as_str()).collect();
    assert_eq!(ids.len(), 3, "{ids:?}");
    assert!(
        ids.iter()
            .all(|id| id.len() == 9 && id.chars().all(|it| it.is_ascii_alphanumeric())),
        "{ids:?}"
    );
}

#[tokio::test]
async fn a_repeated_name_or_a_changing_id_stays_one_call() {
    let repeated = calls_of(&[
        json!([{ "index": 0, "id": "a", "function": { "name": "f", "arguments": "{\"x\"" } }]),
        json!([{ "index": 0, "id": "a", "function": { "name": "f", "arguments": ":1}" } }]),
        json!([{ "index": 0, "id": "a", "function": { "name": "f", "arguments": "" } }]),
    ])
    .await;
    assert_eq!(repeated, expect(&[("a", "f", "{\"x\":1}")]));
    let changing = calls_of(&[
        json!([{ "index": 0, "id": "a1", "function": { "name": "f", "arguments": "{\"x\"" } }]),
        json!([{ "index": 0, "id": "a2", "function": { "arguments": ":1}" } }]),
    ])
    .await;
    assert_eq!(changing, expect(&[("a1", "f", "{\"x\":1}")]));
}

#[tokio::test]
async fn calls_that_share_an_id_stay_separate() {
    let two = expect(&[("a", "f", "{\"x\":1}"), ("a", "g", "{\"y\":2}")]);
    let by_index = calls_of(&[
        json!([{ "index": 0, "id": "a", "function": { "name": "f", "arguments": "" } }]),
        json!([{ "index": 0, "function": { "arguments": "{\"x\":1}" } }]),
        json!([{ "index": 1, "id": "a", "function": { "name": "g", "arguments": "" } }]),
        json!([{ "index": 1, "function": { "arguments": "{\"y\"" } }]),
        json!([{ "index": 1, "id": "a", "function": { "arguments": ":2}" } }]),
    ])
    .await;
    assert_eq!(by_index, two);
    let interleaved = calls_of(&[
        json!([{ "index": 0, "id": "a", "function": { "name": "f", "arguments": "{\"x\"" } },
               { "index": 1, "id": "a", "function": { "name": "g", "arguments": "{\"y\"" } }]),
        json!([{ "index": 1, "id": "a", "function": { "name": "g", "arguments": ":2}" } },
               { "index": 0, "id": "a", "function": { "name": "f", "arguments": ":1}" } }]),
    ])
    .await;
    assert_eq!(interleaved, two);
    for numbered in [json!(0), json!(null)] {
        let in_one = calls_of(&[
            json!([{ "index": numbered, "id": "a", "function": { "name": "f", "arguments": "{\"x\":1}" } },
                   { "index": numbered, "id": "a", "function": { "name": "g", "arguments": "{\"y\":2}" } }]),
        ])
        .await;
        assert_eq!(in_one, two, "{numbered}");
    }
    let same_tool = calls_of(&[
        json!([{ "id": "a", "function": { "name": "f", "arguments": "{}" } }]),
        json!([{ "id": "a", "function": { "name": "f", "arguments": "{\"x\":1}" } }]),
    ])
    .await;
    assert_eq!(same_tool, expect(&[("a", "f", "{}"), ("a", "f", "{\"x\":1}")]));
}

#[tokio::test]
async fn a_call_that_is_sent_again_as_a_whole_is_made_once() {
    let found = calls_of(&[
        json!([{ "index": 0, "id": "a", "function": { "name": "f", "arguments": "{\"x\"" } }]),
        json!([{ "index": 0, "function": { "arguments": ":1}" } }]),
        json!([{ "index": 0, "id": "a", "function": { "name": "f", "arguments": "{\"x\":1}" } }]),
    ])
    .await;
    assert_eq!(found, expect(&[("a", "f", "{\"x\":1}")]));
}

#[tokio::test]
async fn arguments_before_the_name_are_kept() {
    let found = calls_of(&[
        json!([{ "index": 0, "id": "a", "function": { "arguments": "{\"x\"" } }]),
        json!([{ "index": 0, "function": { "name": "f", "arguments": ":1}" } }]),
    ])
    .await;
    assert_eq!(found, expect(&[("a", "f", "{\"x\":1}")]));
}

#[tokio::test]
async fn arguments_as_an_object_keep_their_text() {
    let raw = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"f\",\
               \"arguments\":{\"n\": 9007199254740993}}}]},\"finish_reason\":\"tool_calls\"}]}\n\n";
    let found = assembled(&events(Answer::stream(raw)).await);
    assert_eq!(found, expect(&[("a", "f", "{\"n\": 9007199254740993}")]));
}

#[tokio::test]
async fn malformed_arguments_stay_text() {
    let broken = "{\"a\": 1,, \u{0} }}";
    let found = calls_of(&[json!([{ "index": 0, "id": "a", "function": { "name": "f", "arguments": broken } }])]).await;
    assert_eq!(found, expect(&[("a", "f", broken)]));
}

#[tokio::test]
async fn thought_signatures_come_through() {
    let raw = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\
               \"arguments\":\"{}\"},\"extra_content\":{\"google\":{\"thought_signature\":\"c2ln\"}}}]},\
               \"finish_reason\":\"stop\"}]}\n\n";
    let events = events(Answer::stream(raw)).await;
    assert!(events.contains(&ChatEvent::ToolCallExtra {
        index: 0,
        json: "{\"google\":{\"thought_signature\":\"c2ln\"}}".to_owned(),
    }));
    // `stop` after a call means that the call waits.
    assert_eq!(events.last(), Some(&ChatEvent::Finish(FinishReason::ToolCalls)));
}

#[tokio::test]
async fn a_call_that_never_gets_a_name_is_an_error() {
    let nameless = json!({ "tool_calls": [{ "index": 0, "id": "a", "function": { "arguments": "{}" } }] });
    let items = read(chunks(&[chunk(&nameless, Some("tool_calls"))])).await;
    let error = items.into_iter().last().unwrap().unwrap_err();
    assert_eq!(error.kind(), ChatErrorKind::Protocol);
    assert_eq!(error.to_string(), "custom sent a tool call without a name.");
}

#[tokio::test]
async fn calls_cut_by_length_say_so() {
    let call = json!({ "tool_calls": [{ "index": 0, "id": "a", "function": { "name": "f", "arguments": "{\"x" } }] });
    let events = events(chunks(&[chunk(&call, None), chunk(&json!({}), Some("length"))])).await;
    assert_eq!(events.last(), Some(&ChatEvent::Finish(FinishReason::Length)));
}
