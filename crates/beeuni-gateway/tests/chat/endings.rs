//! Answers that break off, stall, or report an error.

use std::time::Duration;

use beeuni_gateway::testing::{Answer, Gate, ScriptedServer, chunk};
use beeuni_gateway::{ChatError, ChatErrorKind, ChatEvent, FinishReason, Gateway};
use serde_json::{Value, json};

use super::{KEY, chunks, config, gateway, items, read, request, text};

async fn error_of(answer: Answer) -> ChatError {
    read(answer)
        .await
        .pop()
        .expect("an item")
        .expect_err("an error at the end")
}

#[tokio::test]
async fn a_stream_cut_at_any_byte_ends_in_a_clear_state() {
    let whole = Answer::events(&[
        chunk(&json!({ "content": "Hello" }), None),
        chunk(&json!({}), Some("stop")),
    ]);
    let length = whole.body().len();
    let finish_seen = length - "\n\ndata: [DONE]\n\n".len();
    let server = ScriptedServer::start().await;
    let gateway = gateway(&server);
    for cut in 1..length {
        server.push(whole.clone().cut_at(cut));
        let mut items = items(gateway.chat(request()).await.unwrap()).await;
        let last = items.pop().unwrap();
        if cut >= finish_seen {
            assert_eq!(last.unwrap(), ChatEvent::Finish(FinishReason::Stop), "cut at {cut}");
            continue;
        }
        let error = last.unwrap_err();
        // A line that breaks off in the middle is a cut, not nonsense.
        assert_eq!(error.kind(), ChatErrorKind::CutStream, "cut at {cut}: {error}");
        assert!(error.retryable());
        assert_eq!(
            error.to_string(),
            "custom stopped in the middle of its answer: the connection ended."
        );
    }
}

#[tokio::test]
async fn an_answer_without_done_or_without_a_finish_reason_is_complete() {
    let finished = chunks(&[chunk(&json!({ "content": "a" }), Some("stop"))]);
    assert_eq!(
        read(finished).await.pop().unwrap().unwrap(),
        ChatEvent::Finish(FinishReason::Stop)
    );
    let done = Answer::events(&[chunk(&json!({ "content": "a" }), None)]);
    assert_eq!(
        read(done).await.pop().unwrap().unwrap(),
        ChatEvent::Finish(FinishReason::Stop)
    );
}

#[tokio::test]
async fn an_answer_without_either_was_cut() {
    let error = error_of(chunks(&[chunk(&json!({ "content": "a" }), None)])).await;
    assert_eq!(error.kind(), ChatErrorKind::CutStream);
}

#[tokio::test]
async fn a_connection_that_stays_open_after_done_delays_nothing() {
    let answer = Answer::text("a").never_ends();
    let started = std::time::Instant::now();
    assert_eq!(
        read(answer).await.pop().unwrap().unwrap(),
        ChatEvent::Finish(FinishReason::Stop)
    );
    assert!(started.elapsed() < Duration::from_secs(4));
}

#[tokio::test]
async fn an_error_inside_the_stream_is_typed_and_ends_it() {
    for (event, kind, retryable, said) in [
        (
            json!({ "error": { "message": "Provider disconnected", "code": 502 } }),
            ChatErrorKind::Unavailable,
            true,
            "Provider disconnected",
        ),
        (
            json!({ "error": { "message": "Too fast", "code": 429 } }),
            ChatErrorKind::RateLimited,
            true,
            "Too fast",
        ),
        (
            json!({ "error": { "type": "overloaded_error", "message": "Overloaded" } }),
            ChatErrorKind::Unavailable,
            true,
            "Overloaded",
        ),
        (
            json!({ "error": { "code": "context_length_exceeded", "message": "too long" } }),
            ChatErrorKind::ContextOverflow,
            false,
            "too long",
        ),
        (
            json!({ "error": "it broke" }),
            ChatErrorKind::Provider,
            true,
            "it broke",
        ),
        (
            json!({ "object": "error", "message": "bad tokens", "code": 400 }),
            ChatErrorKind::BadRequest,
            false,
            "bad tokens",
        ),
        (
            json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "error",
                "error": { "message": "upstream", "code": 500 } }] }),
            ChatErrorKind::Unavailable,
            true,
            "upstream",
        ),
    ] {
        let mut found = read(chunks(&[chunk(&json!({ "content": "a" }), None), event.clone()])).await;
        let error = found.pop().unwrap().unwrap_err();
        assert_eq!((error.kind(), error.retryable()), (kind, retryable), "{event}");
        assert_eq!(error.provider_message(), Some(said), "{event}");
        assert_eq!(
            error.to_string(),
            format!("custom reported an error while it answered: {said}.")
        );
        assert_eq!(found.pop().unwrap().unwrap(), text("a"), "what came before stays");
    }
}

#[tokio::test]
async fn an_error_event_that_is_no_json_is_an_error_too() {
    let error = error_of(Answer::stream("event: error\ndata: it is all over\n\n")).await;
    assert_eq!(error.kind(), ChatErrorKind::Provider);
    assert_eq!(error.provider_message(), Some("it is all over"));
}

#[tokio::test]
async fn a_malformed_chunk_is_shown_without_the_key() {
    let error = error_of(Answer::stream(format!("data: {{\"choices\": oops {KEY}\n\n"))).await;
    assert_eq!(error.kind(), ChatErrorKind::Protocol);
    assert!(error.to_string().contains("oops [secret TEST_KEY]"), "{error}");
    assert!(!format!("{error:?}").contains(KEY));
}

#[tokio::test]
async fn a_web_page_instead_of_an_answer_says_so() {
    let page = "<!doctype html><html><head><title>Sign in</title></head></html>";
    let error = error_of(Answer::new(200, "text/html", page)).await;
    assert_eq!(error.kind(), ChatErrorKind::Protocol);
    assert_eq!(
        error.to_string(),
        "custom answered with a web page, \"Sign in\" instead of an event stream. Check its base URL."
    );
}

#[tokio::test]
async fn an_empty_body_is_no_answer() {
    for answer in [
        Answer::stream(""),
        Answer::stream("\n\n: nothing\n\n"),
        Answer::stream("data: [DONE]\n\n"),
    ] {
        let error = error_of(answer).await;
        assert_eq!(error.kind(), ChatErrorKind::Protocol);
        assert_eq!(error.to_string(), "custom answered with an empty body.");
    }
}

#[tokio::test]
async fn a_stream_that_stalls_times_out() {
    let server = ScriptedServer::start().await;
    let gate = Gate::closed();
    let answer = Answer::text("one two three");
    let second = answer.body().windows(6).position(|it| it == b"\ndata:").unwrap();
    server.push(answer.hold_at(second, &gate));
    let mut config = config(&server);
    config.limits.idle = Duration::from_millis(80);
    let mut found = items(Gateway::new(config).chat(request()).await.unwrap()).await;
    let error = found.pop().unwrap().unwrap_err();
    assert_eq!(error.kind(), ChatErrorKind::TimedOut);
    assert_eq!(
        error.to_string(),
        "custom sent nothing more for 0.08 s in the middle of its answer."
    );
    assert_eq!(found.pop().unwrap().unwrap(), text("one "));
    server.requests()[0].hung_up().await;
}

#[tokio::test]
async fn dropping_the_stream_ends_the_request() {
    let server = ScriptedServer::start().await;
    let gate = Gate::closed();
    server.push(Answer::text("one two").hold_at(150, &gate));
    let mut stream = gateway(&server).chat(request()).await.unwrap();
    drop(tokio::time::timeout(Duration::from_millis(20), stream.next()).await);
    drop(stream);
    server.requests()[0].hung_up().await;
}

#[tokio::test]
async fn dropping_the_call_before_an_answer_ends_the_request() {
    let server = ScriptedServer::start().await;
    let gate = Gate::closed();
    server.push(Answer::text("one").hold(&gate));
    let gateway = gateway(&server);
    let call = tokio::spawn(async move { gateway.chat(request()).await.map(|_| ()) });
    let sent = server.wait_for_requests(1).await;
    call.abort();
    sent[0].hung_up().await;
}

#[tokio::test]
async fn usage_that_came_before_a_cut_is_not_lost() {
    let mut early: Value = chunk(&json!({ "content": "a" }), None);
    early["usage"] = json!({ "prompt_tokens": 5, "completion_tokens": 1 });
    let found = read(chunks(&[early])).await;
    assert!(
        matches!(&found[1], Ok(ChatEvent::Usage(usage)) if usage.input_tokens == 5),
        "{found:?}"
    );
    assert_eq!(found[2].as_ref().unwrap_err().kind(), ChatErrorKind::CutStream);
}
