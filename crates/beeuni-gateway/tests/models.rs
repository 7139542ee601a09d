//! Which models there are, what is known of them, and which one is used when nobody says.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test stops at the first surprise"
)]

use std::collections::BTreeMap;

use beeuni_gateway::testing::{Answer, Gate, ScriptedServer};
use beeuni_gateway::{ChatErrorKind, DefaultSource, Gateway, GatewayConfig};
use serde_json::json;

/// A gateway set up as an environment with these variables sets it up, and no Ollama.
fn from_vars(vars: &[(&str, &str)]) -> GatewayConfig {
    let vars: BTreeMap<String, String> = vars.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    let mut config = GatewayConfig::from_vars(|name| vars.get(name).cloned());
    if !vars.contains_key("OLLAMA_HOST") {
        config.ollama = None;
    }
    config
}

fn listing(ids: &[&str]) -> Answer {
    let data: Vec<_> = ids.iter().map(|id| json!({ "id": id, "object": "model" })).collect();
    Answer::json(200, &json!({ "object": "list", "data": data }))
}

#[test]
fn keys_in_the_environment_switch_their_providers_on() {
    let config = from_vars(&[
        ("OPENROUTER_API_KEY", "k4"),
        ("OPENAI_API_KEY", "k1"),
        ("ANTHROPIC_API_KEY", " k2 "),
        ("GEMINI_API_KEY", ""),
        ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1"),
        ("BEEUNI_LLM_BASE_URL", "http://127.0.0.1:2"),
        ("BEEUNI_LLM_IDLE_SECONDS", "7"),
    ]);
    let found: Vec<(&str, &str, &str)> = config
        .providers
        .iter()
        .map(|it| {
            (
                it.name.as_str(),
                it.base_url.as_str(),
                it.key.as_ref().map_or("-", |key| key.variable()),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("custom", "http://127.0.0.1:2", "-"),
            ("openai", "http://127.0.0.1:1/v1", "OPENAI_API_KEY"),
            ("anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
            ("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
        ]
    );
    assert_eq!(config.limits.idle.as_secs(), 7);
}

#[test]
fn ollama_is_looked_for_where_its_own_variable_says() {
    for (host, expected) in [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        (":8080", "http://127.0.0.1:8080"),
        ("box", "http://box:11434"),
        ("box:1234/x/", "http://box:1234/x"),
        ("http://box", "http://box:80"),
        ("https://box", "https://box:443"),
        ("https://box:9/ollama", "https://box:9/ollama"),
        ("::1", "http://[::1]:11434"),
        ("[::]:5", "http://[::1]:5"),
    ] {
        let config = GatewayConfig::from_vars(|name| (name == "OLLAMA_HOST").then(|| host.to_owned()));
        let ollama = config.ollama.unwrap();
        assert_eq!(
            (ollama.base_url.as_str(), ollama.expected),
            (expected, !host.is_empty()),
            "{host}"
        );
    }
}

#[tokio::test]
async fn models_of_all_providers_are_listed_with_what_is_known_of_them() {
    let server = ScriptedServer::start().await;
    server.on(
        "/openai/models",
        listing(&["gpt-5", "text-embedding-3-large", "gpt-image-1"]),
    );
    server.on(
        "/router/models",
        Answer::json(
            200,
            &json!({ "data": [{
                "id": "anthropic/claude-sonnet-4.5", "context_length": 1_000_000,
                "top_provider": { "max_completion_tokens": 64_000 },
                "pricing": { "prompt": "0.000003", "completion": "0.000015", "input_cache_read": "0.0000003" },
            }] }),
        ),
    );
    server.on(
        "/custom/models",
        Answer::json(
            200,
            &json!({ "data": [{ "id": "our-model", "max_model_len": 32_768 }] }),
        ),
    );
    let gateway = Gateway::new(from_vars(&[
        ("OPENAI_API_KEY", "k-openai"),
        ("OPENAI_BASE_URL", &format!("{}/openai", server.url())),
        ("OPENROUTER_API_KEY", "k-router"),
        ("OPENROUTER_BASE_URL", &format!("{}/router", server.url())),
        ("BEEUNI_LLM_BASE_URL", &format!("{}/custom", server.url())),
    ]));
    let list = gateway.models().await;
    assert!(list.problems.is_empty(), "{:?}", list.problems);
    let found: Vec<(&str, Option<u64>)> = list
        .models
        .iter()
        .map(|it| (it.id.as_str(), it.context_window))
        .collect();
    assert_eq!(
        found,
        [
            ("custom/our-model", Some(32_768)),
            ("openai/gpt-5", Some(400_000)),
            ("openrouter/anthropic/claude-sonnet-4.5", Some(1_000_000)),
            ("beeuni/rehearsal", Some(128_000)),
        ]
    );
    let price = list.models[2].price.unwrap();
    assert!(
        (price.input - 3.0).abs() < 1e-9 && (price.output - 15.0).abs() < 1e-9,
        "{price:?}"
    );
    assert_eq!(list.models[2].max_output, Some(64_000));
    // The list is kept.
    gateway.models().await;
    let model = gateway.model("custom/our-model").await.unwrap();
    assert_eq!(model.context_window, Some(32_768));
    assert_eq!(server.requests().len(), 3);
    let openai = server
        .requests()
        .into_iter()
        .find(|it| it.path() == "/openai/models")
        .unwrap();
    assert_eq!(openai.header("authorization"), "Bearer k-openai");
}

#[tokio::test]
async fn anthropics_list_is_asked_in_its_own_dialect() {
    let server = ScriptedServer::start().await;
    server.on(
        "/v1/models",
        listing(&["claude-sonnet-4-5-20250929", "claude-sonnet-4-20250514"]),
    );
    let gateway = Gateway::new(from_vars(&[
        ("ANTHROPIC_API_KEY", "k-anthropic"),
        ("ANTHROPIC_BASE_URL", &server.url()),
    ]));
    assert_eq!(gateway.default_model().await.id, "anthropic/claude-sonnet-4-5-20250929");
    let sent = &server.requests()[0];
    assert_eq!(sent.target, "/v1/models?limit=1000");
    assert_eq!(sent.header("x-api-key"), "k-anthropic");
    assert_eq!(sent.header("anthropic-version"), "2023-06-01");
}

#[tokio::test]
async fn geminis_models_lose_their_prefix() {
    let server = ScriptedServer::start().await;
    server.on(
        "/g/models",
        listing(&["models/gemini-2.5-pro", "models/gemini-embedding-001"]),
    );
    let gateway = Gateway::new(from_vars(&[
        ("GEMINI_API_KEY", "k"),
        ("GEMINI_BASE_URL", &format!("{}/g", server.url())),
    ]));
    let ids: Vec<String> = gateway.models().await.models.into_iter().map(|it| it.id).collect();
    assert_eq!(ids, ["gemini/gemini-2.5-pro", "beeuni/rehearsal"]);
}

#[tokio::test]
async fn a_provider_that_does_not_answer_is_a_problem_beside_the_others() {
    let server = ScriptedServer::start().await;
    server.on("/good/models", listing(&["gpt-5"]));
    server.on(
        "/bad/models",
        Answer::json(401, &json!({ "error": { "message": "no such key k-secret-key" } })),
    );
    let gateway = Gateway::new(from_vars(&[
        ("OPENAI_API_KEY", "k1"),
        ("OPENAI_BASE_URL", &format!("{}/good", server.url())),
        ("BEEUNI_LLM_BASE_URL", &format!("{}/bad", server.url())),
        ("BEEUNI_LLM_API_KEY", "k-secret-key"),
    ]));
    let list = gateway.models().await;
    assert_eq!(list.models.len(), 2);
    let (name, error) = &list.problems[0];
    assert_eq!((name.as_str(), error.kind()), ("custom", ChatErrorKind::Auth));
    assert!(!format!("{error} {error:?}").contains("k-secret-key"), "{error}");
    // The default passes it over, and says so.
    let default = gateway.default_model().await;
    assert_eq!(default.id, "openai/gpt-5");
    let notice = default.notice().unwrap();
    assert!(notice.contains("custom answered 401"), "{notice}");
    assert!(
        notice.ends_with("Using openai/gpt-5; BEEUNI_MODEL chooses another."),
        "{notice}"
    );
}

#[tokio::test]
async fn the_setting_decides_before_everything_else() {
    let gateway = Gateway::new(from_vars(&[
        ("OPENAI_API_KEY", "k"),
        ("BEEUNI_MODEL", "openai/gpt-4.1"),
    ]));
    let default = gateway.default_model().await;
    assert_eq!(
        (default.id.as_str(), default.source),
        ("openai/gpt-4.1", DefaultSource::Setting)
    );
    assert_eq!(default.notice(), None);
}

#[tokio::test]
async fn a_configured_list_of_models_is_the_list() {
    let server = ScriptedServer::start().await;
    server.on(
        "/v1/models",
        Answer::json(
            200,
            &json!({ "data": [{ "id": "two", "max_model_len": 7 }, { "id": "x" }] }),
        ),
    );
    let mut config = from_vars(&[("BEEUNI_LLM_BASE_URL", &server.url())]);
    config.providers[0].models = vec!["one".to_owned(), "two".to_owned()];
    let gateway = Gateway::new(config);
    assert_eq!(gateway.default_model().await.id, "custom/one");
    let found: Vec<(String, Option<u64>)> = gateway
        .models()
        .await
        .models
        .into_iter()
        .map(|it| (it.id, it.context_window))
        .collect();
    assert_eq!(
        found[..2],
        [("custom/one".to_owned(), None), ("custom/two".to_owned(), Some(7))]
    );
}

#[tokio::test]
async fn with_nothing_set_up_the_rehearsal_answers_and_says_so() {
    let default = Gateway::new(from_vars(&[])).default_model().await;
    assert_eq!(
        (default.id.as_str(), default.source),
        ("beeuni/rehearsal", DefaultSource::Rehearsal)
    );
    let notice = default.notice().unwrap();
    assert!(
        notice.starts_with("No model provider is set up. beeuni/rehearsal answers"),
        "{notice}"
    );
    assert!(notice.contains("OPENAI_API_KEY"), "{notice}");
}

#[tokio::test]
async fn an_ollama_that_runs_is_found_and_one_that_does_not_is_no_problem() {
    let server = ScriptedServer::start().await;
    server.on("/v1/models", listing(&["qwen3:8b", "llama3.2:latest"]));
    let mut config = from_vars(&[]);
    config.ollama = Some(beeuni_gateway::OllamaConfig {
        base_url: server.url(),
        expected: false,
    });
    let default = Gateway::new(config.clone()).default_model().await;
    assert_eq!(
        (default.id.as_str(), default.source),
        ("ollama/qwen3:8b", DefaultSource::Provider)
    );
    // Without any model it is as good as absent.
    server.on(
        "/v1/models",
        Answer::json(200, &json!({ "object": "list", "data": null })),
    );
    assert_eq!(
        Gateway::new(config.clone()).default_model().await.source,
        DefaultSource::Rehearsal
    );
    // One that listens and says nothing delays for half a second, not for minutes.
    server.on("/v1/models", listing(&[]).hold(&Gate::closed()));
    let started = std::time::Instant::now();
    assert_eq!(
        Gateway::new(config.clone()).default_model().await.source,
        DefaultSource::Rehearsal
    );
    assert!(started.elapsed().as_secs() < 4);
    drop(server);
    let list = Gateway::new(config.clone()).models().await;
    assert_eq!((list.models.len(), list.problems.len()), (1, 0));
    // Where somebody said that it is there, its absence is one.
    config.ollama.as_mut().unwrap().expected = true;
    let list = Gateway::new(config).models().await;
    let text = list.problems.first().expect("a problem").1.to_string();
    assert!(text.contains("Start it with `ollama serve`"), "{text}");
}

#[tokio::test]
async fn an_answer_that_is_no_list_is_described() {
    for (answer, expected) in [
        (
            Answer::new(200, "text/html", "<title>Hi</title>"),
            "no list of models but a web page, \"Hi\"",
        ),
        (
            Answer::json(200, &json!({ "data": 1 })),
            "no list of models but {\"data\":1}",
        ),
    ] {
        let server = ScriptedServer::start().await;
        server.on("/v1/models", answer);
        let list = Gateway::new(from_vars(&[("BEEUNI_LLM_BASE_URL", &server.url())]))
            .models()
            .await;
        let text = list.problems.first().expect("a problem").1.to_string();
        assert!(text.contains(expected), "{text}");
    }
}
