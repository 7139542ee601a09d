//! What the gateway is set up with: providers, keys and limits, read from the environment or given.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::provider::{BUILT_IN, ollama_address};

/// A provider's key: `Debug` prints `[secret]`, and it cannot be serialised.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey {
    value: String,
    variable: String,
}

impl ApiKey {
    /// A key, and the name of the variable or secret that holds it, for messages.
    pub fn new(value: impl Into<String>, variable: impl Into<String>) -> Self {
        Self {
            value: value.into(),
            variable: variable.into(),
        }
    }

    /// The value, for the one place that puts it into a request.
    pub(crate) fn expose(&self) -> &str {
        &self.value
    }

    /// The name of the variable or secret that holds it.
    pub fn variable(&self) -> &str {
        &self.variable
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// One provider of models that speaks OpenAI's chat completions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderConfig {
    /// Its name, the part before the `/` of a model id: `[a-z0-9][a-z0-9_-]*`, not `beeuni`.
    pub name: String,
    /// Its address up to `/chat/completions`, such as `https://api.openai.com/v1`. With no path,
    /// `/v1` is meant.
    pub base_url: String,
    /// Its key, sent as a bearer token. Absent: none is sent.
    pub key: Option<ApiKey>,
    /// The models to offer, without the provider's name. Empty: what the provider's `/models` lists.
    pub models: Vec<String>,
}

/// Times that a model call may take. All of them are settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Longest wait for the connection. Default 10 s.
    pub connect: Duration,
    /// Longest wait for the answer's first byte. Default 300 s.
    pub first_byte: Duration,
    /// Longest wait between two bytes of an answer. Default 120 s.
    pub idle: Duration,
    /// How often a request is sent at most while nothing of the answer has arrived. Default 4.
    pub tries: u32,
    /// The pause before the second try; it doubles with each, at most 8 s. Default 0.5 s. What the
    /// provider asks for (`Retry-After`) counts instead.
    pub first_pause: Duration,
    /// Longest time that all pauses between tries may take together. Default 30 s.
    pub retry_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(300),
            idle: Duration::from_secs(120),
            tries: 4,
            first_pause: Duration::from_millis(500),
            retry_time: Duration::from_secs(30),
        }
    }
}

/// Where a local Ollama may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OllamaConfig {
    /// Its address, such as `http://127.0.0.1:11434`.
    pub base_url: String,
    /// Whether somebody said that it is there: then its absence is a problem to report.
    pub expected: bool,
}

/// Everything that a [`Gateway`](crate::Gateway) is set up with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GatewayConfig {
    /// The providers, in the order in which they become the default. `beeuni` is always there.
    pub providers: Vec<ProviderConfig>,
    /// The model to use where none is named: `provider/model`.
    pub default_model: Option<String>,
    /// Where to look for a local Ollama, the provider `ollama`. `None`: nowhere.
    pub ollama: Option<OllamaConfig>,
    /// A PEM file of certificates to trust beside the system's.
    pub extra_ca_file: Option<PathBuf>,
    /// Times and tries.
    pub limits: Limits,
}

impl GatewayConfig {
    /// What this process's environment switches on.
    ///
    /// | Variable | Effect |
    /// |---|---|
    /// | `BEEUNI_LLM_BASE_URL`, `BEEUNI_LLM_API_KEY` | the provider `custom` |
    /// | `OPENAI_API_KEY`, `ANTHROPIC_API_KEY`, `GEMINI_API_KEY`, `OPENROUTER_API_KEY` | that provider |
    /// | `OPENAI_BASE_URL` and so on | another address for it |
    /// | `OLLAMA_HOST` | where Ollama is; without it, `127.0.0.1:11434` is tried |
    /// | `BEEUNI_OLLAMA=off` | no Ollama is looked for |
    /// | `BEEUNI_MODEL` | the model to use where none is named |
    /// | `BEEUNI_LLM_IDLE_SECONDS` | [`Limits::idle`] |
    /// | `NODE_EXTRA_CA_CERTS` | certificates to trust beside the system's |
    pub fn from_env() -> Self {
        Self::from_vars(|name| std::env::var(name).ok())
    }

    /// The same from any source of variables. Empty values count as absent.
    pub fn from_vars(var: impl Fn(&str) -> Option<String>) -> Self {
        let var = |name: &str| {
            let value = var(name)?.trim().to_owned();
            (!value.is_empty()).then_some(value)
        };
        let mut providers = Vec::new();
        // First: who sets this one up for Beeuni means it, while other keys may just lie around.
        if let Some(base_url) = var("BEEUNI_LLM_BASE_URL") {
            providers.push(ProviderConfig {
                name: "custom".to_owned(),
                base_url,
                key: var("BEEUNI_LLM_API_KEY").map(|key| ApiKey::new(key, "BEEUNI_LLM_API_KEY")),
                models: Vec::new(),
            });
        }
        for known in &BUILT_IN {
            if let Some(key) = var(known.key_variable) {
                providers.push(ProviderConfig {
                    name: known.name.to_owned(),
                    base_url: var(known.url_variable).unwrap_or_else(|| known.base_url.to_owned()),
                    key: Some(ApiKey::new(key, known.key_variable)),
                    models: Vec::new(),
                });
            }
        }
        let host = var("OLLAMA_HOST");
        let mut limits = Limits::default();
        if let Some(seconds) = var("BEEUNI_LLM_IDLE_SECONDS").and_then(|it| it.parse::<u64>().ok())
            && seconds > 0
        {
            limits.idle = Duration::from_secs(seconds);
        }
        Self {
            providers,
            default_model: var("BEEUNI_MODEL"),
            ollama: (var("BEEUNI_OLLAMA").as_deref() != Some("off")).then(|| OllamaConfig {
                base_url: ollama_address(host.as_deref().unwrap_or("127.0.0.1")),
                expected: host.is_some(),
            }),
            extra_ca_file: var("NODE_EXTRA_CA_CERTS").map(PathBuf::from),
            limits,
        }
    }
}
