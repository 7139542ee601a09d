//! Refusals before the first byte: what is tried again, for how long, and what is said in the end.

use std::time::{Duration, Instant};

use beeuni_gateway::testing::{Answer, Gate, ScriptedServer};
use beeuni_gateway::{ChatError, ChatErrorKind, Gateway};
use serde_json::json;

use super::{KEY, config, gateway, items, request};

async fn refused(answers: &[Answer]) -> (ChatError, usize) {
    let server = ScriptedServer::start().await;
    for answer in answers {
        server.push(answer.clone());
    }
    let error = gateway(&server).chat(request()).await.expect_err("a refusal");
    (error, server.requests().len())
}

fn says(status: u16, message: &str) -> Answer {
    Answer::json(status, &json!({ "error": { "message": message, "code": "x" } }))
}

#[tokio::test]
async fn passing_trouble_is_tried_again_until_an_answer_comes() {
    for trouble in [
        says(429, "slow down"),
        says(500, "oops"),
        says(503, "busy"),
        says(529, "overloaded"),
        Answer::hang_up(),
        Answer::text("lost").cut_at(0),
    ] {
        let server = ScriptedServer::start().await;
        server.push(trouble.clone()).push(trouble).push(Answer::text("here"));
        let found = items(gateway(&server).chat(request()).await.expect("an answer at last")).await;
        assert!(found.iter().all(Result::is_ok), "{found:?}");
        let sent = server.requests();
        assert_eq!(sent.len(), 3);
        assert_eq!(sent[0].body, sent[2].body);
    }
}

#[tokio::test]
async fn whoever_watches_is_told_of_each_try_that_another_follows() {
    let server = ScriptedServer::start().await;
    server
        .push(says(503, "busy"))
        .push(says(429, "slow down").header("retry-after-ms", "7"))
        .push(Answer::text("here"));
    let told = std::sync::Mutex::new(Vec::new());
    let note = |retry: beeuni_gateway::Retry<'_>| {
        let reason = retry.error.provider_message().map(str::to_owned);
        told.lock().unwrap().push((retry.attempt, reason, retry.pause));
    };
    items(gateway(&server).chat_watched(request(), &note).await.unwrap()).await;
    let told = told.into_inner().unwrap();
    let plain: Vec<(u32, Option<&str>)> = told.iter().map(|it| (it.0, it.1.as_deref())).collect();
    assert_eq!(plain, [(1, Some("busy")), (2, Some("slow down"))]);
    assert_eq!(told[1].2, Duration::from_millis(7));
}

#[tokio::test]
async fn it_gives_up_after_four_tries_and_says_so() {
    let (error, sent) = refused(&vec![says(503, "busy"); 9]).await;
    assert_eq!(sent, 4);
    assert_eq!(
        error.to_string(),
        "custom answered 503 Service Unavailable: busy. (tried 4 times)"
    );
    assert_eq!(error.kind(), ChatErrorKind::Unavailable);
    assert_eq!(error.status().unwrap(), 503);
    assert!(error.retryable());
}

#[tokio::test]
async fn what_would_fail_again_is_not_tried_again() {
    for (answer, kind) in [
        (says(400, "bad"), ChatErrorKind::BadRequest),
        (says(422, "bad"), ChatErrorKind::BadRequest),
        (says(401, "who"), ChatErrorKind::Auth),
        (says(403, "no"), ChatErrorKind::Auth),
        (says(404, "no such model"), ChatErrorKind::UnknownModel),
        (says(402, "pay"), ChatErrorKind::QuotaExceeded),
        (
            says(429, "You exceeded your current quota"),
            ChatErrorKind::QuotaExceeded,
        ),
        (
            says(400, "Your credit balance is too low"),
            ChatErrorKind::QuotaExceeded,
        ),
        (
            says(413, "prompt is too long: 210000 tokens"),
            ChatErrorKind::ContextOverflow,
        ),
        (
            says(400, "This model's maximum context length is 8192 tokens"),
            ChatErrorKind::ContextOverflow,
        ),
        (
            says(500, "input is too long for the context window"),
            ChatErrorKind::ContextOverflow,
        ),
        (says(501, "no"), ChatErrorKind::Unavailable),
        (
            says(307, "elsewhere").header("location", "http://127.0.0.1:9/"),
            ChatErrorKind::BadRequest,
        ),
        (
            says(503, "busy").header("x-should-retry", "false"),
            ChatErrorKind::Unavailable,
        ),
    ] {
        let (error, sent) = refused(&[answer, Answer::text("too late")]).await;
        assert_eq!(error.kind(), kind, "{error}");
        assert_eq!(sent, 1, "{error}");
    }
}

#[tokio::test]
async fn the_provider_decides_how_long_to_wait() {
    for header in [("retry-after-ms", "60"), ("retry-after", "0.06")] {
        let server = ScriptedServer::start().await;
        server
            .push(says(429, "slow down").header(header.0, header.1))
            .push(Answer::text("here"));
        let started = Instant::now();
        items(gateway(&server).chat(request()).await.unwrap()).await;
        assert!(started.elapsed() >= Duration::from_millis(60));
    }
    // A date that is over means now.
    let server = ScriptedServer::start().await;
    let past = says(429, "slow down").header("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT");
    server.push(past).push(Answer::text("here"));
    items(gateway(&server).chat(request()).await.unwrap()).await;
}

#[tokio::test]
async fn a_wait_beyond_the_limit_is_handed_to_the_caller() {
    let (error, sent) = refused(&[says(429, "slow down").header("retry-after", "90"), Answer::text("x")]).await;
    assert_eq!(sent, 1);
    assert_eq!(error.retry_after(), Some(Duration::from_secs(90)));
    assert_eq!(
        error.to_string(),
        "custom answered 429 Too Many Requests: slow down. It asks to wait 90 s."
    );
    let future = httpdate::fmt_http_date(std::time::SystemTime::now() + Duration::from_secs(3600));
    let (error, sent) = refused(&[says(429, "slow down").header("retry-after", &future)]).await;
    assert_eq!(sent, 1);
    assert!(error.retry_after().unwrap() > Duration::from_secs(3500));
}

#[tokio::test]
async fn a_provider_that_never_begins_times_out_and_is_not_asked_again() {
    let server = ScriptedServer::start().await;
    let gate = Gate::closed();
    server.push(Answer::text("late").hold(&gate)).push(Answer::text("x"));
    let mut config = config(&server);
    config.limits.first_byte = Duration::from_millis(80);
    let error = Gateway::new(config).chat(request()).await.unwrap_err();
    assert_eq!(error.kind(), ChatErrorKind::TimedOut);
    assert_eq!(error.to_string(), "custom did not begin to answer within 0.08 s.");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_with_its_address() {
    let server = ScriptedServer::start().await;
    let config = config(&server);
    let address = server.base_url();
    drop(server);
    let error = Gateway::new(config).chat(request()).await.unwrap_err();
    assert_eq!(error.kind(), ChatErrorKind::Unavailable);
    let text = error.to_string();
    assert!(text.starts_with("custom cannot be reached: "), "{text}");
    assert!(text.contains("refused"), "{text}");
    assert!(text.contains(&format!("Its address is {address}.")), "{text}");
    assert!(text.ends_with("(tried 4 times)"), "{text}");
}

#[tokio::test]
async fn a_refusal_never_shows_the_key() {
    let encoded: String = url::form_urlencoded::byte_serialize(KEY.as_bytes()).collect();
    for message in [
        format!("Incorrect API key provided: {KEY}."),
        format!("bad query ?key={encoded}"),
    ] {
        let (error, _) = refused(&[says(401, &message)]).await;
        let shown = format!("{error} {error:?} {:?}", error.provider_message());
        assert!(!shown.contains(KEY) && !shown.contains(&encoded), "{shown}");
        assert!(error.to_string().contains("[secret TEST_KEY]"), "{error}");
        assert!(error.to_string().ends_with("Check the key in TEST_KEY."), "{error}");
    }
}

#[tokio::test]
async fn the_words_of_every_kind_of_error_body_are_found() {
    for (answer, said) in [
        (Answer::json(400, &json!({ "error": { "message": "a" } })), Some("a")),
        (
            Answer::json(400, &json!([{ "error": { "message": "b", "status": "INVALID" } }])),
            Some("b"),
        ),
        (Answer::json(400, &json!({ "error": "c" })), Some("c")),
        (Answer::json(400, &json!({ "detail": "d" })), Some("d")),
        (
            Answer::json(400, &json!({ "detail": [{ "loc": ["x"] }] })),
            Some(r#"[{"loc":["x"]}]"#),
        ),
        (
            Answer::json(
                400,
                &json!({ "error": { "message": "e", "metadata": { "raw": "deep" } } }),
            ),
            Some("e · deep"),
        ),
        (Answer::new(400, "text/plain", "  plain \n words "), Some("plain words")),
        (
            Answer::new(400, "text/html", "<HTML><Title>Oops</title>"),
            Some("a web page, \"Oops\""),
        ),
        (Answer::new(400, "", ""), None),
        (Answer::new(400, "application/json", "{\"cut\":"), Some("{\"cut\":")),
    ] {
        let (error, _) = refused(&[answer]).await;
        assert_eq!(error.provider_message(), said, "{error}");
    }
}
