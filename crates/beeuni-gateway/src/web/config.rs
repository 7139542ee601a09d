//! What the web router is set up with.

use std::path::PathBuf;
use std::time::Duration;

use crate::config::ApiKey;
use crate::page::ReaderProgram;

/// A provider with a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebProvider {
    /// Its key.
    pub key: ApiKey,
    /// Its address, without a path: `https://api.tavily.com`.
    pub base_url: String,
}

/// Everything that a [`WebRouter`](super::WebRouter) is set up with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebConfig {
    /// Tavily, for searches.
    pub tavily: Option<WebProvider>,
    /// Serper, for image searches.
    pub serper: Option<WebProvider>,
    /// Firecrawl, for pages.
    pub firecrawl: Option<WebProvider>,
    /// A SearXNG instance, for searches of both kinds where there is no key.
    pub searxng_url: Option<String>,
    /// Hosts that may be read although they are not public: `host` or `host:port`.
    pub allow: Vec<String>,
    /// How to start the process that turns pages into text. `None`: it happens in this process, where
    /// a hostile page can end it; for tests and short-lived commands.
    pub reader: Option<ReaderProgram>,
    /// A PEM file of certificates to trust beside the system's.
    pub extra_ca_file: Option<PathBuf>,
    /// How long a provider may take. Default 50 s: as long as the tools wait.
    pub timeout: Duration,
    /// How long a page may take; a request may say less. Default 60 s.
    pub page_timeout: Duration,
}

impl Default for WebConfig {
    fn default() -> Self {
        Self {
            tavily: None,
            serper: None,
            firecrawl: None,
            searxng_url: None,
            allow: Vec::new(),
            reader: None,
            extra_ca_file: None,
            timeout: Duration::from_secs(50),
            page_timeout: Duration::from_secs(60),
        }
    }
}

impl WebConfig {
    /// What this process's environment sets up.
    ///
    /// | Variable | Effect |
    /// |---|---|
    /// | `TAVILY_API_KEY`, `SERPER_API_KEY`, `FIRECRAWL_API_KEY` | that provider |
    /// | `TAVILY_API_URL`, `SERPER_API_URL`, `FIRECRAWL_API_URL` | another address for it |
    /// | `BEEUNI_SEARXNG_URL` | a SearXNG instance for searches without a key |
    /// | `BEEUNI_WEB_ALLOW` | hosts that may be read although they are not public, comma-separated |
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
        let provider = |key: &str, url: &str, address: &str| {
            let value = var(key)?;
            Some(WebProvider {
                key: ApiKey::new(value, key),
                base_url: var(url).unwrap_or_else(|| address.to_owned()),
            })
        };
        let allow = var("BEEUNI_WEB_ALLOW").unwrap_or_default();
        let allow = allow.split([',', ' ']).map(str::trim).filter(|it| !it.is_empty());
        Self {
            tavily: provider("TAVILY_API_KEY", "TAVILY_API_URL", "https://api.tavily.com"),
            serper: provider("SERPER_API_KEY", "SERPER_API_URL", "https://google.serper.dev"),
            firecrawl: provider("FIRECRAWL_API_KEY", "FIRECRAWL_API_URL", "https://api.firecrawl.dev"),
            searxng_url: var("BEEUNI_SEARXNG_URL"),
            allow: allow.map(str::to_owned).collect(),
            extra_ca_file: var("NODE_EXTRA_CA_CERTS").map(PathBuf::from),
            ..Self::default()
        }
    }
}
