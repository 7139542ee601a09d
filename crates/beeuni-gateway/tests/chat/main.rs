//! What a model call sends, and what becomes of everything that a provider may answer.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test stops at the first surprise"
)]

mod calls;
mod endings;
mod request;
mod retries;
mod stream;

use std::time::Duration;

use beeuni_gateway::testing::{Answer, ScriptedServer};
use beeuni_gateway::{
    ApiKey, ChatError, ChatEvent, ChatRequest, ChatStream, Gateway, GatewayConfig, Limits, ProviderConfig,
};
use serde_json::{Value, json};

/// A key that must never show.
const KEY: &str = "sk-very+secret/key==";

fn config(server: &ScriptedServer) -> GatewayConfig {
    GatewayConfig {
        providers: vec![ProviderConfig {
            name: "custom".to_owned(),
            base_url: server.base_url(),
            key: Some(ApiKey::new(KEY, "TEST_KEY")),
            models: Vec::new(),
        }],
        limits: Limits {
            first_pause: Duration::from_millis(1),
            ..Limits::default()
        },
        ..GatewayConfig::default()
    }
}

fn gateway(server: &ScriptedServer) -> Gateway {
    Gateway::new(config(server))
}

fn request() -> ChatRequest {
    ChatRequest::from_value(
        "custom/m",
        &json!({ "messages": [{ "role": "user", "content": "hi" }] }),
    )
}

/// Every item of a stream.
async fn items(mut stream: ChatStream) -> Vec<Result<ChatEvent, ChatError>> {
    let mut items = Vec::new();
    let reading = async {
        while let Some(item) = stream.next().await {
            items.push(item);
        }
    };
    tokio::time::timeout(Duration::from_secs(20), reading)
        .await
        .expect("a stream that ends");
    assert!(stream.next().await.is_none(), "nothing follows the end");
    items
}

/// What a gateway makes of one answer.
async fn read(answer: Answer) -> Vec<Result<ChatEvent, ChatError>> {
    let server = ScriptedServer::start().await;
    server.push(answer);
    items(gateway(&server).chat(request()).await.expect("an answer that begins")).await
}

/// The events of an answer that ends well, text and arguments joined.
async fn events(answer: Answer) -> Vec<ChatEvent> {
    joined(read(answer).await.into_iter().map(|item| item.expect("no error")))
}

fn joined(events: impl IntoIterator<Item = ChatEvent>) -> Vec<ChatEvent> {
    let mut joined: Vec<ChatEvent> = Vec::new();
    for event in events {
        match (joined.last_mut(), &event) {
            (Some(ChatEvent::Text(before)), ChatEvent::Text(more))
            | (Some(ChatEvent::Reasoning(before)), ChatEvent::Reasoning(more)) => before.push_str(more),
            _ => joined.push(event),
        }
    }
    joined
}

/// An event stream of these chunks, without `[DONE]`.
fn chunks(chunks: &[Value]) -> Answer {
    Answer::stream(
        chunks
            .iter()
            .map(|chunk| format!("data: {chunk}\n\n"))
            .collect::<String>(),
    )
}

fn text(text: &str) -> ChatEvent {
    ChatEvent::Text(text.to_owned())
}
