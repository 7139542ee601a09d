//! The pass-through for harnesses: what goes to the provider, and what comes back, byte for byte.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test stops at the first surprise"
)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use beeuni_gateway::testing::{Answer, Gate, ScriptedServer};
use beeuni_gateway::{AnswerBody, ApiKey, Gateway, GatewayConfig, Limits, ProviderConfig, WrittenCall};
use bytes::Bytes;
use http::{HeaderMap, Response};
use http_body_util::BodyExt;
use serde_json::{Value, json};

const KEY: &str = "sk-very-secret-key";

fn gateway(base_url: String) -> Gateway {
    Gateway::new(GatewayConfig {
        providers: vec![ProviderConfig {
            name: "custom".to_owned(),
            base_url,
            key: Some(ApiKey::new(KEY, "TEST_KEY")),
            models: Vec::new(),
        }],
        limits: Limits {
            first_pause: Duration::from_millis(1),
            first_byte: Duration::from_millis(200),
            idle: Duration::from_millis(200),
            ..Limits::default()
        },
        ..GatewayConfig::default()
    })
}

async fn pass(server: &ScriptedServer, body: &'static str) -> Response<AnswerBody> {
    let body = Bytes::from_static(body.as_bytes());
    gateway(server.base_url()).completions(&HeaderMap::new(), body).await
}

async fn bytes(response: Response<AnswerBody>) -> Bytes {
    response.into_body().collect().await.expect("a whole body").to_bytes()
}

async fn error(response: Response<AnswerBody>) -> (u16, Value) {
    let status = response.status().as_u16();
    assert_eq!(response.headers()["content-type"], "application/json");
    let mut value: Value = serde_json::from_slice(&bytes(response).await).expect("JSON");
    (status, value["error"].take())
}

const BODY: &str = "{ \"model\" : \"custom/org/m\",\n \"stream\": true, \"messages\": [ ], \"n\": 1e2 }";

#[tokio::test]
async fn only_the_model_changes_on_the_way_and_nothing_on_the_way_back() {
    let server = ScriptedServer::start().await;
    let stream = ": hi\r\n\r\ndata: {\"any\": thing\u{0}}\n\ndata: [DONE]\n\n";
    server.push(
        Answer::stream(stream)
            .header("x-request-id", "r1")
            .header("x-ratelimit-remaining-tokens", "5")
            .header("set-cookie", "a=b")
            .pieces(3),
    );
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("authorization", "Bearer of-the-session"),
        ("cookie", "a=b"),
        ("host", "daemon"),
        ("x-api-key", "of-the-session"),
        ("accept", "text/event-stream"),
        ("user-agent", "harness/1"),
        ("openai-beta", "x"),
    ] {
        headers.insert(name, value.parse().unwrap());
    }
    let response = gateway(server.base_url())
        .completions(&headers, Bytes::from_static(BODY.as_bytes()))
        .await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    assert_eq!(response.headers()["x-request-id"], "r1");
    assert_eq!(response.headers()["x-ratelimit-remaining-tokens"], "5");
    assert!(!response.headers().contains_key("set-cookie"));
    assert!(!response.headers().contains_key("transfer-encoding"));
    assert_eq!(bytes(response).await, stream);
    let sent = &server.requests()[0];
    assert_eq!(sent.text(), BODY.replace("custom/org/m", "org/m"));
    assert_eq!(sent.header("authorization"), format!("Bearer {KEY}"));
    assert_eq!(sent.header("user-agent"), "harness/1");
    assert_eq!(sent.header("openai-beta"), "x");
    assert_eq!(sent.header("cookie"), "");
    assert_eq!(sent.header("x-api-key"), "");
    assert_eq!(sent.header("host"), server.address().to_string());
}

#[tokio::test]
async fn the_stream_arrives_while_it_is_being_written() {
    let server = ScriptedServer::start().await;
    let gate = Gate::closed();
    server.push(Answer::stream("data: 1\n\ndata: 2\n\n").hold_at(9, &gate));
    let mut body = pass(&server, BODY).await.into_body();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(first, "data: 1\n\n");
    gate.open();
    let rest = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(rest, "data: 2\n\n");
}

#[tokio::test]
async fn calls_are_noted_as_they_pass_and_only_where_they_can_be_read() {
    let arguments = r#"{ "n": 9007199254740993, "m": 1.0 }"#;
    let calls = || Answer::tool_calls(&[("c1", "count", arguments)]);
    for (answer, status, noted) in [
        (calls().pieces(7), 200, 1),
        (calls().header("content-encoding", "zstd"), 200, 0),
        (Answer::new(400, "text/event-stream", calls().body().clone()), 400, 0),
    ] {
        let server = ScriptedServer::start().await;
        let body = answer.body().clone();
        server.push(answer);
        let found = Arc::new(Mutex::new(Vec::new()));
        let note = {
            let found = Arc::clone(&found);
            move |call: WrittenCall| found.lock().unwrap().push((call.id, call.name, call.arguments))
        };
        let asked = Bytes::from_static(BODY.as_bytes());
        let response = gateway(server.base_url())
            .completions_noting(&HeaderMap::new(), asked, note)
            .await;
        assert_eq!(response.status(), status);
        let passed = bytes(response).await;
        assert!(status == 400 || passed == body);
        let expected = ("c1".to_owned(), "count".to_owned(), arguments.to_owned());
        assert_eq!(*found.lock().unwrap(), vec![expected; noted]);
    }
}

#[tokio::test]
async fn dropping_the_body_ends_the_request() {
    let server = ScriptedServer::start().await;
    server.push(Answer::stream("data: 1\n\n").never_ends());
    drop(pass(&server, BODY).await);
    server.requests()[0].hung_up().await;
}

#[tokio::test]
async fn a_stream_that_breaks_or_stalls_breaks_here_too() {
    for answer in [
        Answer::stream("data: 1\n\ndata: 2").cut_at(12),
        Answer::stream("data: 1\n\n").never_ends(),
    ] {
        let server = ScriptedServer::start().await;
        server.push(answer);
        let response = pass(&server, BODY).await;
        assert!(response.into_body().collect().await.is_err());
    }
}

#[tokio::test]
async fn a_refusal_comes_back_with_status_words_and_retry_after_but_without_the_key() {
    let server = ScriptedServer::start().await;
    let words = json!({ "error": { "message": format!("bad key {KEY}"), "type": "t", "code": "c", "extra": 1 } });
    server.push(Answer::json(401, &words));
    let (status, found) = error(pass(&server, BODY).await).await;
    assert_eq!(status, 401);
    assert_eq!(
        found,
        json!({ "message": "bad key [secret TEST_KEY]", "type": "t", "code": "c", "extra": 1 })
    );
    server.push(Answer::json(429, &json!({ "error": { "message": "slow" } })).header("retry-after", "77"));
    let response = pass(&server, BODY).await;
    assert_eq!(
        (response.status().as_u16(), &response.headers()["retry-after"]),
        (429, &"77".parse().unwrap())
    );
}

#[tokio::test]
async fn trouble_before_the_first_byte_is_tried_again() {
    let server = ScriptedServer::start().await;
    server
        .push(Answer::json(503, &json!({})))
        .push(Answer::hang_up())
        .push(Answer::stream("data: 1\n\n"));
    assert_eq!(bytes(pass(&server, BODY).await).await, "data: 1\n\n");
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn every_error_has_openais_form() {
    let server = ScriptedServer::start().await;
    for (body, status, code) in [
        ("", 400, "invalid_request"),
        ("[]", 400, "invalid_request"),
        ("{\"messages\":[]}", 400, "invalid_request"),
        ("{\"model\":7}", 400, "invalid_request"),
        ("{\"model\":\"gpt-5\"}", 404, "model_not_found"),
        ("{\"model\":\"nobody/x\"}", 404, "model_not_found"),
    ] {
        let (found, error) = error(pass(&server, body).await).await;
        assert_eq!(
            (found, error["code"].as_str().unwrap()),
            (status, code),
            "{body}: {error}"
        );
        assert!(error["message"].is_string() && error["type"].is_string());
        assert!(error.as_object().unwrap().contains_key("param"));
    }
    assert!(server.requests().is_empty());
    // A page of some proxy becomes one, too.
    server.push(Answer::new(403, "text/html", "<title>Blocked</title>"));
    let (status, found) = error(pass(&server, BODY).await).await;
    assert_eq!((status, found["code"].as_str().unwrap()), (403, "invalid_api_key"));
    assert!(found["message"].as_str().unwrap().contains("a web page, \"Blocked\""));
}

#[tokio::test]
async fn a_provider_that_is_silent_or_absent_is_a_typed_error() {
    let server = ScriptedServer::start().await;
    server.push(Answer::stream("x").hold(&Gate::closed()));
    let (status, found) = error(pass(&server, BODY).await).await;
    assert_eq!((status, found["code"].as_str().unwrap()), (504, "timeout"));
    let base_url = server.base_url();
    drop(server);
    let response = gateway(base_url)
        .completions(&HeaderMap::new(), Bytes::from_static(BODY.as_bytes()))
        .await;
    let (status, found) = error(response).await;
    assert_eq!((status, found["code"].as_str().unwrap()), (502, "provider_unavailable"));
}

#[tokio::test]
async fn a_whole_answer_may_take_longer_than_the_first_byte_of_a_stream() {
    let server = ScriptedServer::start().await;
    let gate = Gate::closed();
    server.push(Answer::json(200, &json!({ "ok": true })).hold(&gate));
    let body = "{\"model\":\"custom/m\",\"messages\":[]}";
    let (response, ()) = tokio::join!(pass(&server, body), async {
        // Longer than `first_byte`, shorter than twice that.
        tokio::time::sleep(Duration::from_millis(280)).await;
        gate.open();
    });
    assert_eq!(bytes(response).await, "{\"ok\":true}");
}

#[tokio::test]
async fn the_list_of_models_has_openais_form() {
    let server = ScriptedServer::start().await;
    let list = json!({ "data": [{ "id": "m", "max_model_len": 9 }] });
    server.on("/v1/models", Answer::json(200, &list));
    let response = gateway(server.base_url()).models_answer().await;
    assert_eq!(response.status(), 200);
    let found: Value = serde_json::from_slice(&bytes(response).await).unwrap();
    assert_eq!(
        found,
        json!({ "object": "list", "data": [
            { "id": "custom/m", "object": "model", "created": 0, "owned_by": "custom", "context_window": 9 },
            { "id": "beeuni/rehearsal", "object": "model", "created": 0, "owned_by": "beeuni",
              "context_window": 128_000 },
        ] })
    );
}
