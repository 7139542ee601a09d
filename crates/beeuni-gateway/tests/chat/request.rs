//! The bytes of a request.

use beeuni_gateway::testing::{Answer, ScriptedServer};
use beeuni_gateway::{ChatErrorKind, ChatRequest, Gateway, GatewayConfig, ProviderConfig};
use serde_json::json;

use super::{KEY, config, gateway, items, request};

#[tokio::test]
async fn the_request_is_a_streamed_chat_completion_with_the_key() {
    let server = ScriptedServer::start().await;
    server.push(Answer::text("hello"));
    let body = br#"{"messages": [ {"role":"user","content":"hi"} ], "seed":9007199254740993}"#;
    let stream = gateway(&server)
        .chat(ChatRequest::new("custom/a/b", &body[..]))
        .await
        .unwrap();
    items(stream).await;
    let sent = &server.requests()[0];
    assert_eq!(sent.method, "POST");
    assert_eq!(sent.target, "/v1/chat/completions");
    assert_eq!(sent.header("authorization"), format!("Bearer {KEY}"));
    assert_eq!(sent.header("content-type"), "application/json");
    assert_eq!(
        sent.text(),
        r#"{"model":"a/b","stream":true,"stream_options":{"include_usage":true},"messages":[ {"role":"user","content":"hi"} ],"seed":9007199254740993}"#
    );
}

#[tokio::test]
async fn two_turns_share_a_connection_and_their_prefix() {
    let server = ScriptedServer::start().await;
    server.push(Answer::text("one")).push(Answer::text("two"));
    let gateway = gateway(&server);
    for _ in 0..2 {
        items(gateway.chat(request()).await.unwrap()).await;
    }
    let sent = server.requests();
    assert_eq!(sent[0].body, sent[1].body);
    assert_eq!(sent[0].connection, sent[1].connection);
}

#[tokio::test]
async fn a_provider_without_a_key_is_sent_none() {
    let server = ScriptedServer::start().await;
    server.push(Answer::text("hello"));
    let mut config = config(&server);
    config.providers[0].key = None;
    items(Gateway::new(config).chat(request()).await.unwrap()).await;
    assert_eq!(server.requests()[0].header("authorization"), "");
}

#[tokio::test]
async fn a_base_url_without_a_path_means_v1_and_one_with_a_path_is_kept() {
    let server = ScriptedServer::start().await;
    for (base_url, target) in [
        (server.url(), "/v1/chat/completions"),
        (format!("{}/", server.url()), "/v1/chat/completions"),
        (format!("{}/api/x/", server.url()), "/api/x/chat/completions"),
    ] {
        server.push(Answer::text("hello"));
        let mut config = config(&server);
        config.providers[0].base_url = base_url;
        items(Gateway::new(config).chat(request()).await.unwrap()).await;
        assert_eq!(server.requests().last().unwrap().target, target);
    }
}

#[tokio::test]
async fn an_older_server_that_refuses_stream_options_is_asked_without() {
    let server = ScriptedServer::start().await;
    let refusal = json!({ "error": { "message": "Unrecognized request argument: stream_options" } });
    server
        .push(Answer::json(400, &refusal))
        .push(Answer::text("a"))
        .push(Answer::text("b"));
    let gateway = gateway(&server);
    items(gateway.chat(request()).await.unwrap()).await;
    items(gateway.chat(request()).await.unwrap()).await;
    let with: Vec<bool> = server
        .requests()
        .iter()
        .map(|it| it.text().contains("stream_options"))
        .collect();
    assert_eq!(with, [true, false, false]);
}

#[tokio::test]
async fn an_unknown_model_is_an_error_that_lists_what_is_set_up() {
    let server = ScriptedServer::start().await;
    let mut config = config(&server);
    config.providers.push(ProviderConfig {
        name: "fixed".to_owned(),
        base_url: server.base_url(),
        key: None,
        models: vec!["one".to_owned(), "two".to_owned()],
    });
    let gateway = Gateway::new(config);
    for (id, expected) in [
        (
            "m",
            "\"m\" is no model id: write provider/model. The providers that are set up: custom, fixed, beeuni.",
        ),
        (
            "openai/gpt-5",
            "Provider \"openai\" of model \"openai/gpt-5\" is not set up. Set OPENAI_API_KEY to set it up. \
             Set up are: custom, fixed, beeuni.",
        ),
        (
            "nobody/x",
            "Provider \"nobody\" of model \"nobody/x\" is not set up. Set up are: custom, fixed, beeuni.",
        ),
        (
            "fixed/three",
            "Provider fixed has no model \"three\". Its models are: one, two.",
        ),
        ("custom/", "\"custom/\" names no model of provider custom."),
        (
            "beeuni/other",
            "There is no model \"beeuni/other\": Beeuni's own is beeuni/rehearsal.",
        ),
    ] {
        let error = gateway.chat(ChatRequest::new(id, "{}")).await.unwrap_err();
        assert_eq!(error.kind(), ChatErrorKind::UnknownModel, "{id}");
        assert_eq!(error.to_string(), expected);
    }
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_body_that_is_no_object_is_refused_before_it_is_sent() {
    let server = ScriptedServer::start().await;
    let error = gateway(&server)
        .chat(ChatRequest::new("custom/m", "[1]"))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ChatErrorKind::BadRequest);
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_wrong_base_url_or_key_says_which_and_shows_no_secret() {
    for (base_url, expected) in [
        ("not an address", "is no address"),
        ("ftp://example.com/v1", "must begin with https:// or http://"),
        (
            "https://me:hidden-password@example.com/v1",
            "holds a user name or password",
        ),
    ] {
        let mut config = GatewayConfig::default();
        config.providers.push(ProviderConfig {
            name: "custom".to_owned(),
            base_url: base_url.to_owned(),
            key: None,
            models: Vec::new(),
        });
        let error = Gateway::new(config).chat(request()).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(!format!("{error} {error:?}").contains("hidden-password"));
    }
    let server = ScriptedServer::start().await;
    let mut config = config(&server);
    config.providers[0].key = Some(beeuni_gateway::ApiKey::new("hidden\nkey", "TEST_KEY"));
    let error = Gateway::new(config.clone()).chat(request()).await.unwrap_err();
    assert_eq!(error.kind(), ChatErrorKind::Auth);
    assert!(error.to_string().starts_with("TEST_KEY holds a line break"), "{error}");
    assert!(!format!("{error} {error:?} {config:?}").contains("hidden"));
}
