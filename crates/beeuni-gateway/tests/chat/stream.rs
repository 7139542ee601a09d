//! Text, reasoning and usage as providers send them.

use beeuni_gateway::testing::{Answer, chunk};
use beeuni_gateway::{ChatEvent, FinishReason, Usage};
use serde_json::json;

use super::{chunks, events, text};

fn finish() -> ChatEvent {
    ChatEvent::Finish(FinishReason::Stop)
}

#[tokio::test]
async fn text_arrives_with_usage_and_the_finish_reason_last() {
    assert_eq!(
        events(Answer::text("Grüße aus Köln")).await,
        [
            text("Grüße aus Köln"),
            ChatEvent::Usage(Usage {
                input_tokens: 11,
                output_tokens: 7,
                ..Usage::default()
            }),
            finish(),
        ]
    );
}

#[tokio::test]
async fn one_byte_at_a_time_gives_the_same() {
    let whole = Answer::tool_calls(&[("call_1", "show", r#"{"title":"Grüße 🐝"}"#)]);
    let expected = events(whole.clone()).await;
    assert_eq!(events(whole.pieces(1)).await, expected);
}

#[tokio::test]
async fn keep_alives_roles_and_empty_deltas_are_no_events() {
    let stream = format!(
        ": OPENROUTER PROCESSING\n\n:\n\ndata: {}\n\ndata: {}\n\ndata: {}\n\nevent: ping\ndata: {{}}\n\n\
         data: {}\n\ndata: [DONE]\n\n",
        chunk(&json!({ "role": "assistant", "content": "" }), None),
        chunk(&json!({ "content": null }), None),
        chunk(&json!({ "content": "a" }), None),
        chunk(&json!({}), Some("stop")),
    );
    assert_eq!(events(Answer::stream(stream)).await, [text("a"), finish()]);
}

#[tokio::test]
async fn reasoning_is_read_under_each_of_its_names_and_once() {
    for delta in [
        json!({ "reasoning_content": "hm" }),
        json!({ "reasoning": "hm" }),
        json!({ "reasoning": "hm", "reasoning_content": "hm" }),
        json!({ "content": [{ "type": "thinking", "thinking": [{ "type": "text", "text": "hm" }] }] }),
    ] {
        let answer = chunks(&[chunk(&delta, None), chunk(&json!({ "content": "so" }), Some("stop"))]);
        let expected = [ChatEvent::Reasoning("hm".to_owned()), text("so"), finish()];
        assert_eq!(events(answer).await, expected, "{delta}");
    }
}

#[tokio::test]
async fn reasoning_details_come_through_unchanged() {
    let details = r#"[{"type":"reasoning.encrypted","data":"aGk=","n":9007199254740993}]"#;
    let raw = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"reasoning\":null,\"reasoning_details\":{details}}}}}]}}\n\n\
         data: {{\"choices\":[{{\"delta\":{{\"reasoning_details\":[]}},\"finish_reason\":\"stop\"}}]}}\n\n"
    );
    assert_eq!(
        events(Answer::stream(raw)).await,
        [ChatEvent::ReasoningDetails(details.to_owned()), finish()]
    );
}

#[tokio::test]
async fn content_in_parts_and_refusals_are_text() {
    let parts = json!({ "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] });
    let answer = chunks(&[
        chunk(&parts, None),
        chunk(&json!({ "content": null, "refusal": " no" }), Some("stop")),
    ]);
    assert_eq!(events(answer).await, [text("ab no"), finish()]);
}

#[tokio::test]
async fn usage_counts_what_each_provider_calls_it() {
    for (usage, expected) in [
        (
            json!({ "prompt_tokens": 100, "completion_tokens": 20, "cost": 0.25,
                "prompt_tokens_details": { "cached_tokens": 64, "cache_write_tokens": 8 },
                "completion_tokens_details": { "reasoning_tokens": 12 } }),
            Usage {
                input_tokens: 100,
                output_tokens: 20,
                cached_input_tokens: 64,
                cache_write_tokens: 8,
                reasoning_tokens: 12,
                cost: Some(0.25),
            },
        ),
        (
            json!({ "prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 4,
                "prompt_tokens_details": null }),
            Usage {
                input_tokens: 9,
                output_tokens: 1,
                cached_input_tokens: 4,
                ..Usage::default()
            },
        ),
    ] {
        // Some send it with every chunk, growing: the last counts.
        let mut early = chunk(&json!({ "content": "a" }), None);
        early["usage"] = json!({ "prompt_tokens": 1, "completion_tokens": 0 });
        let mut last = chunk(&json!({}), Some("stop"));
        last["usage"] = usage;
        let found = events(chunks(&[early, last])).await;
        assert_eq!(found, [text("a"), ChatEvent::Usage(expected), finish()]);
    }
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let answer = json!({
        "id": "x", "object": "chat.completion",
        "choices": [{ "index": 0, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": "Looking.",
            "tool_calls": [{ "id": "c1", "type": "function", "function": { "name": "ls", "arguments": "{}" } }],
        } }],
        "usage": { "prompt_tokens": 3, "completion_tokens": 2 },
    });
    assert_eq!(
        events(Answer::json(200, &answer).pieces(7)).await,
        [
            text("Looking."),
            ChatEvent::ToolCall {
                index: 0,
                id: "c1".to_owned(),
                name: "ls".to_owned(),
                arguments_delta: "{}".to_owned(),
            },
            ChatEvent::Usage(Usage {
                input_tokens: 3,
                output_tokens: 2,
                ..Usage::default()
            }),
            ChatEvent::Finish(FinishReason::ToolCalls),
        ]
    );
}

#[tokio::test]
async fn finish_reasons_of_all_providers_are_understood() {
    for (word, expected) in [
        ("stop", FinishReason::Stop),
        ("STOP", FinishReason::Stop),
        ("end_turn", FinishReason::Stop),
        ("length", FinishReason::Length),
        ("MAX_TOKENS", FinishReason::Length),
        ("tool_calls", FinishReason::ToolCalls),
        ("content_filter", FinishReason::ContentFilter),
        ("SAFETY", FinishReason::ContentFilter),
        ("Quota_Of_Moon", FinishReason::Other("Quota_Of_Moon".to_owned())),
    ] {
        let found = events(chunks(&[chunk(&json!({}), Some(word))])).await;
        assert_eq!(found, [ChatEvent::Finish(expected)], "{word}");
    }
}
