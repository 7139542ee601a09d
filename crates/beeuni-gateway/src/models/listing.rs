//! What a provider says about its models: asked when somebody wants to know, and kept for a while.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use serde_json::Value;
use tokio::sync::Mutex;

use super::{ModelInfo, Price, known_window};
use crate::classify;
use crate::error::{ChatError, ChatErrorKind};
use crate::net::{Clients, collect_up_to, from_reqwest};
use crate::provider::Provider;
use crate::send;

/// How long a list is current.
const FRESH: Duration = Duration::from_secs(300);

/// How long a failure is: short, so that an Ollama that was just started is found.
const FRESH_FAILURE: Duration = Duration::from_secs(15);

/// OpenRouter's list has about a megabyte.
const MAX_BYTES: usize = 16 * 1024 * 1024;

type Outcome = Result<Arc<Vec<ModelInfo>>, ChatError>;

/// The last list of one provider. Whoever asks while it is being fetched waits for that.
#[derive(Debug, Default)]
pub(crate) struct Listing(Mutex<Option<(Instant, Outcome)>>);

impl Listing {
    /// The list: the last one while it is fresh, else fetched anew.
    pub(crate) async fn get(&self, clients: &Clients, provider: &Provider, time: Duration) -> Outcome {
        let mut last = self.0.lock().await;
        if let Some((when, outcome)) = &*last {
            let fresh = if outcome.is_ok() { FRESH } else { FRESH_FAILURE };
            if when.elapsed() < fresh {
                return outcome.clone();
            }
        }
        let outcome = fetch(clients, provider, time).await.map(Arc::new);
        *last = Some((Instant::now(), outcome.clone()));
        outcome
    }
}

/// Asks a provider for its models. A configured list is that list, with what the provider adds to it.
async fn fetch(clients: &Clients, provider: &Provider, time: Duration) -> Result<Vec<ModelInfo>, ChatError> {
    let outcome = match tokio::time::timeout(time, ask(clients, provider)).await {
        Ok(outcome) => outcome,
        Err(_) => {
            let message = format!(
                "{} did not list its models within {} s.",
                provider.name,
                time.as_secs_f64()
            );
            Err(ChatError::new(ChatErrorKind::TimedOut, message).of_provider(&provider.name))
        }
    };
    if provider.models.is_empty() {
        return outcome;
    }
    let known = outcome.unwrap_or_default();
    let configured = provider.models.iter().map(|model| {
        let info = bare(&provider.name, model);
        known.iter().find(|it| it.id == info.id).cloned().unwrap_or(info)
    });
    Ok(configured.collect())
}

async fn ask(clients: &Clients, provider: &Provider) -> Result<Vec<ModelInfo>, ChatError> {
    let mut url = provider.url("models")?;
    let client = clients
        .for_url(&url)
        .map_err(|error| send::no_client(provider, &error))?;
    let mut headers = HeaderMap::new();
    if let Some(authorization) = provider.authorization()? {
        headers.insert(AUTHORIZATION, authorization);
    }
    if provider.name == "anthropic" {
        // This route of Anthropic's speaks its own dialect, unlike the chat completions beside it.
        url.set_query(Some("limit=1000"));
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
        if let Some(key) = provider.key_header()? {
            headers.insert("x-api-key", key);
        }
    }
    let request = client.get(url).headers(headers);
    let response = request
        .send()
        .await
        .map_err(|error| send::unreachable(provider, error))?;
    let (parts, body) = http::Response::<reqwest::Body>::from(response).into_parts();
    let mut body = from_reqwest(body);
    let (body, cut) = collect_up_to(&mut body, MAX_BYTES).await.map_err(|error| {
        let message = format!("{} broke off its list of models: {error}.", provider.name);
        ChatError::new(ChatErrorKind::Unavailable, message).of_provider(&provider.name)
    })?;
    if !parts.status.is_success() {
        return Err(classify::refusal(provider, parts.status, &body));
    }
    let list = serde_json::from_slice(&body)
        .ok()
        .filter(|_| !cut)
        .and_then(|it| models_of(provider, &it));
    list.ok_or_else(|| {
        let what = provider.clean(&classify::describe(&body).chars().take(200).collect::<String>());
        let message = format!("{} answered with no list of models but {what}.", provider.name);
        ChatError::new(ChatErrorKind::Protocol, message).of_provider(&provider.name)
    })
}

fn models_of(provider: &Provider, reply: &Value) -> Option<Vec<ModelInfo>> {
    // OpenAI's `data`; some servers say `models`, Together sends the bare list.
    let list = reply.get("data").or_else(|| reply.get("models")).unwrap_or(reply);
    let entries = match list {
        // Ollama, without any model.
        Value::Null if reply.get("object").is_some() => return Some(Vec::new()),
        list => list.as_array()?,
    };
    let models = entries.iter().filter_map(|entry| {
        let id = entry.get("id").or_else(|| entry.get("name")).and_then(Value::as_str)?;
        // Gemini lists `models/gemini-…` and is asked for `gemini-…`.
        let id = id
            .strip_prefix("models/")
            .filter(|_| provider.name == "gemini")
            .unwrap_or(id);
        is_chat(&provider.name, id).then(|| described(&provider.name, id, entry))
    });
    Some(models.collect())
}

/// What is known without asking.
pub(crate) fn bare(provider: &str, model: &str) -> ModelInfo {
    let known = known_window(provider, model);
    ModelInfo {
        id: format!("{provider}/{model}"),
        provider: provider.to_owned(),
        context_window: known.map(|it| it.0),
        max_output: known.and_then(|it| it.1),
        price: None,
    }
}

fn described(provider: &str, model: &str, entry: &Value) -> ModelInfo {
    let number = |names: &[&str]| {
        let found = names
            .iter()
            .find_map(|name| entry.pointer(name).and_then(Value::as_u64));
        found.filter(|number| *number > 0)
    };
    let mut info = bare(provider, model);
    // OpenRouter and Together; vLLM; Groq; LM Studio, where the loaded size counts; Mistral; llama.cpp.
    let window = number(&[
        "/loaded_context_length",
        "/context_length",
        "/max_model_len",
        "/context_window",
        "/max_context_length",
        "/max_input_tokens",
        "/meta/n_ctx",
        "/meta/n_ctx_train",
    ]);
    info.context_window = window.or(info.context_window);
    let output = number(&[
        "/top_provider/max_completion_tokens",
        "/max_completion_tokens",
        "/max_output_tokens",
    ]);
    info.max_output = output.or(info.max_output);
    info.price = price_of(entry);
    info
}

/// OpenRouter's prices: dollars for one token, as text.
fn price_of(entry: &Value) -> Option<Price> {
    let dollars = |name: &str| {
        let text = entry.get("pricing")?.get(name)?.as_str()?;
        let million = text.parse::<f64>().ok()? * 1_000_000.0;
        (million.is_finite() && million >= 0.0).then_some(million)
    };
    Some(Price {
        input: dollars("prompt")?,
        output: dollars("completion")?,
        cached_input: dollars("input_cache_read"),
    })
}

/// Whether a model of the two providers that list everything they have takes part in conversations.
fn is_chat(provider: &str, model: &str) -> bool {
    const OTHERS: [&str; 19] = [
        "embed",
        "whisper",
        "tts",
        "dall-e",
        "moderation",
        "transcribe",
        "realtime",
        "audio",
        "image",
        "sora",
        "veo",
        "imagen",
        "babbage",
        "davinci",
        "aqa",
        "live",
        "lyria",
        "robotics",
        "computer-use",
    ];
    let lists_everything = matches!(provider, "openai" | "gemini");
    !(lists_everything && OTHERS.iter().any(|word| model.contains(word)))
}
