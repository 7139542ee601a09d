//! The gateway itself: what callers hold, and how it finds the provider of a model.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use http::HeaderMap;

use crate::chat::{ChatRequest, ChatStream};
use crate::config::{GatewayConfig, Limits, ProviderConfig};
use crate::error::{ChatError, ChatErrorKind};
use crate::models::{Listing, REHEARSAL};
use crate::net::Clients;
use crate::provider::{self, Provider};
use crate::send::Retry;
use crate::{json, rehearsal, send};

/// Access to every configured model. Cheap to clone; starting one opens nothing and waits for nothing.
#[derive(Clone)]
pub struct Gateway {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) seats: Vec<Seat>,
    pub(crate) default_model: Option<String>,
    limits: Limits,
    pub(crate) clients: Clients,
    rehearsal: Arc<Provider>,
}

/// A provider and what is known of its models.
pub(crate) struct Seat {
    pub(crate) provider: Arc<Provider>,
    pub(crate) listing: Listing,
    /// Ollama where nobody said that there is one: its absence is no problem.
    pub(crate) maybe: bool,
}

/// Where a model's answer comes from.
pub(crate) enum Target<'a> {
    Rehearsal(&'a Arc<Provider>),
    Provider(&'a Arc<Provider>, &'a str),
}

impl Gateway {
    /// A gateway with these providers, and `beeuni/rehearsal`.
    pub fn new(config: GatewayConfig) -> Self {
        let mut seats: Vec<Seat> = config.providers.into_iter().map(|it| Seat::new(it, false)).collect();
        if let Some(ollama) = config.ollama
            && !seats.iter().any(|seat| seat.provider.name == "ollama")
        {
            let provider = ProviderConfig {
                name: "ollama".to_owned(),
                base_url: ollama.base_url,
                key: None,
                models: Vec::new(),
            };
            seats.push(Seat::new(provider, !ollama.expected));
        }
        let rehearsal = ProviderConfig {
            name: "beeuni".to_owned(),
            base_url: String::new(),
            key: None,
            models: vec!["rehearsal".to_owned()],
        };
        Self {
            shared: Arc::new(Shared {
                seats,
                default_model: config.default_model,
                clients: Clients::new(config.limits.connect, config.extra_ca_file),
                limits: config.limits,
                rehearsal: Arc::new(Provider::new(rehearsal)),
            }),
        }
    }

    /// Asks a model and streams its answer.
    ///
    /// Returns when the answer begins. Until then a 408, 429 or 5xx and a connection that fails are
    /// tried again; afterwards nothing is. Dropping the future or the stream ends the request.
    ///
    /// # Errors
    /// The provider is unknown or refuses, or no answer came: see [`ChatErrorKind`](crate::ChatErrorKind).
    pub async fn chat(&self, request: ChatRequest) -> Result<ChatStream, ChatError> {
        self.chat_watched(request, &|_| {}).await
    }

    /// The same, with a word on each try that failed and is followed by another.
    ///
    /// # Errors
    /// As [`chat`](Self::chat).
    pub async fn chat_watched(
        &self,
        request: ChatRequest,
        on_retry: &(dyn Fn(Retry<'_>) + Send + Sync),
    ) -> Result<ChatStream, ChatError> {
        let (provider, model) = match self.target(&request.model)? {
            Target::Provider(provider, model) => (provider, model),
            Target::Rehearsal(provider) => {
                let body = json::chat_body(&request.body, "rehearsal", true).map_err(no_object)?;
                return Ok(ChatStream::new(rehearsal::answer(&body)?.body, Arc::clone(provider)));
            }
        };
        let mut with_usage = !provider.without_usage.load(Ordering::Relaxed);
        loop {
            let body = json::chat_body(&request.body, model, with_usage).map_err(no_object)?;
            let reply = self.post_chat(provider, HeaderMap::new(), body, true, on_retry).await;
            match reply {
                Ok(reply) => return Ok(ChatStream::new(reply.body, Arc::clone(provider))),
                // An older server that does not know the option: better without usage than without answer.
                Err(refusal) if with_usage && names_stream_options(&refusal.error) => {
                    provider.without_usage.store(true, Ordering::Relaxed);
                    with_usage = false;
                }
                Err(refusal) => return Err(refusal.error),
            }
        }
    }

    /// Finds the provider of a model id.
    pub(crate) fn target<'a>(&'a self, id: &'a str) -> Result<Target<'a>, ChatError> {
        if id == REHEARSAL {
            return Ok(Target::Rehearsal(&self.shared.rehearsal));
        }
        let (name, model) = id.split_once('/').unwrap_or(("", id));
        let seat = self.shared.seats.iter().find(|seat| seat.provider.name == name);
        let problem = match seat {
            Some(seat) if seat.provider.models.is_empty() || seat.provider.models.iter().any(|it| it == model) => {
                if !model.is_empty() {
                    return Ok(Target::Provider(&seat.provider, model));
                }
                format!("\"{id}\" names no model of provider {name}.")
            }
            Some(seat) => {
                let models = seat.provider.models.join(", ");
                format!("Provider {name} has no model \"{model}\". Its models are: {models}.")
            }
            None if name == "beeuni" => format!("There is no model \"{id}\": Beeuni's own is {REHEARSAL}."),
            None => self.unknown_provider(id, name),
        };
        Err(ChatError::new(ChatErrorKind::UnknownModel, problem))
    }

    fn unknown_provider(&self, id: &str, name: &str) -> String {
        let mut names: Vec<&str> = self
            .shared
            .seats
            .iter()
            .map(|seat| seat.provider.name.as_str())
            .collect();
        names.push("beeuni");
        let names = names.join(", ");
        if name.is_empty() {
            return format!("\"{id}\" is no model id: write provider/model. The providers that are set up: {names}.");
        }
        let remedy = match provider::setting_of(name) {
            Some(setting) => format!(" Set {setting} to set it up."),
            None => String::new(),
        };
        format!("Provider \"{name}\" of model \"{id}\" is not set up.{remedy} Set up are: {names}.")
    }

    pub(crate) async fn post_chat(
        &self,
        provider: &Provider,
        headers: HeaderMap,
        body: Bytes,
        streamed: bool,
        on_retry: &(dyn Fn(Retry<'_>) + Send + Sync),
    ) -> Result<send::Reply, send::Refusal> {
        let mut limits = self.shared.limits.clone();
        if !streamed {
            // The first byte of an answer that is sent whole comes when the whole of it is there.
            limits.first_byte = limits.first_byte.saturating_mul(2);
        }
        send::post_chat(&self.shared.clients, provider, &limits, headers, body, on_retry).await
    }
}

impl Seat {
    fn new(config: ProviderConfig, maybe: bool) -> Self {
        Self {
            provider: Arc::new(Provider::new(config)),
            listing: Listing::default(),
            maybe,
        }
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self
            .shared
            .seats
            .iter()
            .map(|seat| seat.provider.name.as_str())
            .collect();
        f.debug_struct("Gateway")
            .field("providers", &names)
            .finish_non_exhaustive()
    }
}

fn no_object(error: serde_json::Error) -> ChatError {
    ChatError::new(
        ChatErrorKind::BadRequest,
        format!("The request's body is no JSON object: {error}."),
    )
}

fn names_stream_options(error: &ChatError) -> bool {
    error.kind() == ChatErrorKind::BadRequest
        && error
            .provider_message()
            .is_some_and(|message| message.contains("stream_options"))
}
