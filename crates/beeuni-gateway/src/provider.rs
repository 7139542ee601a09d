//! A provider at run time: its address, its key as a header, and how it is named in messages.

use std::fmt;
use std::sync::atomic::AtomicBool;

use http::HeaderValue;
use url::Url;

use crate::config::{ApiKey, ProviderConfig};
use crate::error::{ChatError, ChatErrorKind};

/// One provider, ready to be asked.
pub(crate) struct Provider {
    pub(crate) name: String,
    base: Result<Url, String>,
    key: Option<ApiKey>,
    /// The models that its configuration lists; empty: whatever it has.
    pub(crate) models: Vec<String>,
    /// It refused `stream_options` once: it is not asked for its usage again.
    pub(crate) without_usage: AtomicBool,
}

impl Provider {
    pub(crate) fn new(config: ProviderConfig) -> Self {
        Self {
            base: base_url(&config.base_url),
            name: config.name,
            key: config.key,
            models: config.models,
            without_usage: AtomicBool::new(false),
        }
    }

    /// The address of one of its routes, such as `chat/completions`.
    pub(crate) fn url(&self, route: &str) -> Result<Url, ChatError> {
        let mut url = self.base.clone().map_err(|problem| {
            let message = format!("The base URL of provider {} {problem}.", self.name);
            ChatError::new(ChatErrorKind::Unavailable, message)
                .of_provider(&self.name)
                .retry_if(false)
        })?;
        let path = format!("{}/{route}", url.path().trim_end_matches('/'));
        url.set_path(&path);
        Ok(url)
    }

    /// The header that carries the key.
    pub(crate) fn authorization(&self) -> Result<Option<HeaderValue>, ChatError> {
        self.key_as("Bearer ")
    }

    /// The key alone, for a header of a provider's own.
    pub(crate) fn key_header(&self) -> Result<Option<HeaderValue>, ChatError> {
        self.key_as("")
    }

    /// The key, for taking it out of text.
    pub(crate) fn key(&self) -> Option<&ApiKey> {
        self.key.as_ref()
    }

    fn key_as(&self, scheme: &str) -> Result<Option<HeaderValue>, ChatError> {
        let Some(key) = &self.key else { return Ok(None) };
        let header = HeaderValue::try_from(format!("{scheme}{}", key.expose())).ok();
        let Some(mut header) = header.filter(|_| key.expose().is_ascii()) else {
            let message = format!(
                "{} holds a line break or a non-ASCII character: it cannot be the key of {}. Set it again.",
                key.variable(),
                self.name
            );
            return Err(ChatError::new(ChatErrorKind::Auth, message).of_provider(&self.name));
        };
        header.set_sensitive(true);
        Ok(Some(header))
    }

    /// What to do when the key is refused or missing.
    pub(crate) fn key_remedy(&self) -> String {
        match &self.key {
            Some(key) => format!("Check the key in {}.", key.variable()),
            None => match key_variable(&self.name) {
                Some(variable) => format!("It was sent no key: set {variable}."),
                None => format!("It was sent no key: provider {} has none configured.", self.name),
            },
        }
    }

    /// `text` on one line, without the key, at most 2,000 characters: a provider may echo what it was sent.
    pub(crate) fn clean(&self, text: &str) -> String {
        clean(text, self.key.as_ref())
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// One line of at most 2,000 characters, with the key replaced by `[secret NAME]`.
pub(crate) fn clean(text: &str, key: Option<&ApiKey>) -> String {
    const LIMIT: usize = 2000;
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some(key) = key {
        line = without_key(&line, key);
    }
    if line.chars().count() > LIMIT {
        line = line.chars().take(LIMIT).chain(['…']).collect();
    }
    line
}

/// `text` with the key replaced, also in its percent-encoded form.
pub(crate) fn without_key(text: &str, key: &ApiKey) -> String {
    // A key this short is a placeholder such as `none`: replacing it would only garble the text.
    if key.expose().len() < 8 {
        return text.to_owned();
    }
    let shown = format!("[secret {}]", key.variable());
    let encoded: String = url::form_urlencoded::byte_serialize(key.expose().as_bytes()).collect();
    text.replace(key.expose(), &shown).replace(&encoded, &shown)
}

/// A base URL with a path: `/v1` when it has none.
fn base_url(text: &str) -> Result<Url, String> {
    let mut url = Url::parse(text.trim()).map_err(|error| format!("is no address ({error})"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err("must begin with https:// or http://".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("holds a user name or password: give the key by its own setting".to_owned());
    }
    if matches!(url.path(), "" | "/") {
        url.set_path("/v1");
    }
    url.set_fragment(None);
    Ok(url)
}

/// A provider that the environment can switch on.
pub(crate) struct BuiltIn {
    pub(crate) name: &'static str,
    pub(crate) base_url: &'static str,
    pub(crate) key_variable: &'static str,
    pub(crate) url_variable: &'static str,
}

/// The providers that a key alone switches on, in the order in which they become the default.
pub(crate) const BUILT_IN: [BuiltIn; 4] = [
    BuiltIn {
        name: "openai",
        base_url: "https://api.openai.com/v1",
        key_variable: "OPENAI_API_KEY",
        url_variable: "OPENAI_BASE_URL",
    },
    BuiltIn {
        name: "anthropic",
        base_url: "https://api.anthropic.com/v1",
        key_variable: "ANTHROPIC_API_KEY",
        url_variable: "ANTHROPIC_BASE_URL",
    },
    BuiltIn {
        name: "gemini",
        base_url: "https://generativelanguage.googleapis.com/v1beta/openai",
        key_variable: "GEMINI_API_KEY",
        url_variable: "GEMINI_BASE_URL",
    },
    BuiltIn {
        name: "openrouter",
        base_url: "https://openrouter.ai/api/v1",
        key_variable: "OPENROUTER_API_KEY",
        url_variable: "OPENROUTER_BASE_URL",
    },
];

/// The variable that sets this provider up.
pub(crate) fn setting_of(name: &str) -> Option<&'static str> {
    match name {
        "custom" => Some("BEEUNI_LLM_BASE_URL"),
        "ollama" => Some("OLLAMA_HOST"),
        name => key_variable(name),
    }
}

fn key_variable(name: &str) -> Option<&'static str> {
    if name == "custom" {
        return Some("BEEUNI_LLM_API_KEY");
    }
    BUILT_IN.iter().find(|it| it.name == name).map(|it| it.key_variable)
}

/// OLLAMA_HOST in its many forms, as an address that a client can ask: `host`, `host:port`, `:port`,
/// an address of its own, and `0.0.0.0`, where a server listens but nobody can be reached.
pub(crate) fn ollama_address(host: &str) -> String {
    let (scheme, rest) = match host.split_once("://") {
        Some((scheme, rest)) => (scheme, rest),
        None => ("http", host),
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (name, port) = match authority.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() && (name.ends_with(']') || !name.contains(':')) => {
            (name, port.to_owned())
        }
        _ if host.contains("://") => (authority, if scheme == "https" { "443" } else { "80" }.to_owned()),
        _ => (authority, "11434".to_owned()),
    };
    let name = match name {
        "" | "0.0.0.0" => "127.0.0.1".to_owned(),
        "::" | "[::]" => "[::1]".to_owned(),
        name if name.contains(':') && !name.starts_with('[') => format!("[{name}]"),
        name => name.to_owned(),
    };
    format!("{scheme}://{name}:{port}{}", path.trim_end_matches('/'))
}
