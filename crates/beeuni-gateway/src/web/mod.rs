//! The web router: search, image search and page reading for sessions that hold no provider's key.
//!
//! Requests and answers have the shape of the provider's own interface (Tavily, Serper, Firecrawl).
//! With a key they go there; without one, pages are read by the built-in reader and searches go to a
//! SearXNG instance, and every answer from such a source says so in `warning`.

mod address;
mod config;
mod error;
mod fetch;
mod guard;
mod images;
mod provider;
mod read;
mod scrape;
mod search;
mod searxng;

pub use crate::page::{AboutPage, PageText, ReaderProgram, page_reader_main};
pub use config::{WebConfig, WebProvider};
pub use read::{Page, PageError, PageRequest};

use bytes::Bytes;
use http::Response;

use crate::net::{AnswerBody, Clients};
use crate::page::Converter;
use error::{Provider, WebError};
use fetch::Fetcher;
use searxng::Searxng;

/// The largest request that a route should accept: search words and addresses are short.
pub const MAX_REQUEST_BYTES: usize = 256 * 1024;

/// The routes behind `/v1/router/`. There are no others.
pub const ROUTES: [&str; 3] = ["tavily/search", "serper/images", "firecrawl/v2/scrape"];

/// The web router. Setting one up opens nothing.
#[derive(Debug)]
pub struct WebRouter {
    config: WebConfig,
    clients: Clients,
    searxng: Option<Searxng>,
    fetcher: Fetcher,
    converter: Converter,
}

impl WebRouter {
    /// A router with these providers and limits.
    pub fn new(config: WebConfig) -> Self {
        let guard = guard::Guard::new(config.allow.iter().map(String::as_str));
        Self {
            clients: Clients::new(config.timeout, config.extra_ca_file.clone()),
            searxng: config.searxng_url.as_deref().map(Searxng::new),
            fetcher: Fetcher::new(guard, config.extra_ca_file.clone()),
            converter: Converter::new(config.reader.clone()),
            config,
        }
    }

    /// Answers a route of [`ROUTES`]; `None` for any other.
    pub async fn route(&self, route: &str, body: Bytes) -> Option<Response<AnswerBody>> {
        match route {
            "tavily/search" => Some(self.search(body).await),
            "serper/images" => Some(self.images(body).await),
            "firecrawl/v2/scrape" => Some(self.scrape(body).await),
            _ => None,
        }
    }

    /// Tavily's `POST /search`.
    pub async fn search(&self, body: Bytes) -> Response<AnswerBody> {
        let outcome = search::answer(self, body).await;
        outcome.unwrap_or_else(|error| error.response(Provider::Tavily))
    }

    /// Serper's `POST /images`.
    pub async fn images(&self, body: Bytes) -> Response<AnswerBody> {
        let outcome = images::answer(self, body).await;
        outcome.unwrap_or_else(|error| error.response(Provider::Serper))
    }

    /// Firecrawl's `POST /v2/scrape`.
    pub async fn scrape(&self, body: Bytes) -> Response<AnswerBody> {
        let outcome = scrape::answer(self, body).await;
        outcome.unwrap_or_else(|error| error.response(Provider::Firecrawl))
    }

    /// Reads a page with the built-in reader.
    ///
    /// # Errors
    /// The address is none, or not public; the page cannot be fetched, or not turned into text.
    pub async fn read_page(&self, request: PageRequest) -> Result<Page, PageError> {
        read::read(self, request).await
    }
}

fn object(body: &Bytes) -> Result<serde_json::Map<String, serde_json::Value>, WebError> {
    if body.len() > MAX_REQUEST_BYTES {
        return Err(WebError::too_large(body.len()));
    }
    serde_json::from_slice(body)
        .map_err(|error| WebError::bad_request(format!("The request is no JSON object: {error}.")))
}
