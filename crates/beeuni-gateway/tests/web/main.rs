//! The web router against local servers: providers, SearXNG, and pages of every kind.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test stops at the first surprise"
)]

mod guard;
mod pages;
mod pdf;
mod providers;
mod reader_process;
mod searxng;

use beeuni_gateway::testing::ScriptedServer;
use beeuni_gateway::web::{WebConfig, WebProvider, WebRouter};
use beeuni_gateway::{AnswerBody, ApiKey};
use bytes::Bytes;
use http::Response;
use http_body_util::BodyExt;
use serde_json::{Value, json};

/// A key that must never show.
const KEY: &str = "tvly-very+secret/key";

/// Nothing set up, but the local server may be read.
fn config(server: &ScriptedServer) -> WebConfig {
    WebConfig {
        allow: vec![server.address().to_string()],
        ..WebConfig::default()
    }
}

fn provider(server: &ScriptedServer) -> Option<WebProvider> {
    Some(WebProvider {
        key: ApiKey::new(KEY, "TEST_KEY"),
        base_url: server.url(),
    })
}

/// Status and JSON of an answer.
async fn json_of(response: Response<AnswerBody>) -> (u16, Value) {
    let status = response.status().as_u16();
    assert_eq!(response.headers()["content-type"], "application/json");
    let body = response.into_body().collect().await.expect("a whole body").to_bytes();
    assert!(!String::from_utf8_lossy(&body).contains(KEY), "the key shows");
    (status, serde_json::from_slice(&body).expect("JSON"))
}

fn body(value: &Value) -> Bytes {
    Bytes::from(value.to_string())
}

/// Scrapes a page of the server; the whole answer.
async fn scrape(router: &WebRouter, url: &str) -> (u16, Value) {
    let request = json!({ "url": url, "formats": ["markdown"], "onlyMainContent": true, "timeout": 20_000 });
    json_of(router.scrape(body(&request)).await).await
}
