//! Fetching a page: redirects one by one, each checked, up to a size.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_LANGUAGE, CONTENT_LENGTH, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, StatusCode};
use hyper_util::client::proxy::matcher::Matcher;
use rustls::ClientConfig;
use tokio::sync::OnceCell;
use url::Url;

use super::guard::{Guard, Pass, PublicOnly, Refused, refusal_in, resolve_public};
use crate::net::{BodyError, TlsError, base_builder, collect_up_to, from_reqwest, roots_of_the_system, without_roots};
use crate::send::chain;

/// More of a page is not read.
pub(crate) const MAX_PAGE_BYTES: usize = 10 * 1024 * 1024;

const MAX_REDIRECTS: usize = 10;
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// Some sites refuse what does not look like a browser; this says both.
const READER_AGENT: &str = concat!("Mozilla/5.0 (compatible; beeuni/", env!("CARGO_PKG_VERSION"), ")");

/// A page as its server sent it, decompressed.
#[derive(Debug)]
pub(crate) struct Fetched {
    /// Where it was in the end.
    pub(crate) url: Url,
    pub(crate) status: StatusCode,
    /// The `Content-Type`, as sent.
    pub(crate) content_type: Option<String>,
    pub(crate) body: Bytes,
    /// There was more than [`MAX_PAGE_BYTES`].
    pub(crate) cut: bool,
    /// How many bytes its server announced.
    pub(crate) announced: Option<u64>,
}

/// Why a page could not be fetched. Shown to the model as it is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum FetchError {
    #[error("{0}")]
    Refused(#[from] Refused),
    #[error("it redirected to an address that is not opened: {0}")]
    RefusedRedirect(Refused),
    #[error("it redirects more than {MAX_REDIRECTS} times")]
    TooManyRedirects,
    #[error("it redirects to something that is no address: {0}")]
    BadRedirect(String),
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    #[error("the connection broke in the middle of the page: {0}")]
    Broken(String),
    #[error("it did not answer within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    #[error("{0}")]
    Tls(Arc<TlsError>),
}

/// Fetches pages. Its clients are set up at the first page.
#[derive(Debug)]
pub(crate) struct Fetcher {
    guard: Guard,
    extra_roots: Option<std::path::PathBuf>,
    clients: OnceCell<ReaderClients>,
}

#[derive(Debug)]
struct ReaderClients {
    /// Connects to public addresses only.
    public: reqwest::Client,
    /// For what is allowed by name.
    allowed: reqwest::Client,
    /// Through the proxy of the environment.
    proxied: reqwest::Client,
    proxies: Matcher,
    /// Why no https address can be opened. Pages without it still can.
    no_tls: Option<Arc<TlsError>>,
}

impl Fetcher {
    pub(crate) fn new(guard: Guard, extra_roots: Option<std::path::PathBuf>) -> Self {
        Self {
            guard,
            extra_roots,
            clients: OnceCell::new(),
        }
    }

    /// Checks an address, also what its name resolves to, without opening it.
    pub(crate) async fn check(&self, url: &Url) -> Result<(), Refused> {
        if self.guard.check(url)? == Pass::Public
            && let Some(url::Host::Domain(name)) = url.host()
            && let Err(error) = resolve_public(name).await
            && let Some(refused) = refusal_in(error.as_ref())
        {
            return Err(refused);
        }
        Ok(())
    }

    /// Fetches a page within a time.
    pub(crate) async fn fetch(&self, url: Url, time: Duration) -> Result<Fetched, FetchError> {
        let fetching = self.follow(url);
        tokio::time::timeout(time, fetching)
            .await
            .unwrap_or(Err(FetchError::TimedOut(time)))
    }

    async fn follow(&self, mut url: Url) -> Result<Fetched, FetchError> {
        for redirects in 0..=MAX_REDIRECTS {
            let response = self.open(&url).await.map_err(|error| match error {
                FetchError::Refused(refused) if redirects > 0 => FetchError::RefusedRedirect(refused),
                error => error,
            })?;
            let Some(next) = redirect(&url, response.status(), response.headers())? else {
                return read(url, response).await;
            };
            url = next;
        }
        Err(FetchError::TooManyRedirects)
    }

    async fn open(&self, url: &Url) -> Result<reqwest::Response, FetchError> {
        let pass = self.guard.check(url)?;
        let clients = self
            .clients
            .get_or_try_init(|| async { ReaderClients::new(self.extra_roots.as_deref()) })
            .await?;
        if let (Some(error), "https") = (&clients.no_tls, url.scheme()) {
            return Err(FetchError::Tls(Arc::clone(error)));
        }
        let client = match pass {
            Pass::Allowed => &clients.allowed,
            Pass::Public if clients.is_proxied(url) => {
                // The proxy resolves the name itself. What resolves here too is checked here; what does
                // not is for the proxy to refuse.
                self.check(url).await?;
                &clients.proxied
            }
            Pass::Public => &clients.public,
        };
        let request = client
            .get(url.clone())
            .header(
                ACCEPT,
                "text/html,application/xhtml+xml,text/markdown;q=0.9,text/plain;q=0.9,*/*;q=0.5",
            )
            .header(ACCEPT_LANGUAGE, "en,*;q=0.5");
        request.send().await.map_err(|error| match refusal_in(&error) {
            Some(refused) => refused.into(),
            None => FetchError::Unreachable(chain(&error.without_url())),
        })
    }
}

impl ReaderClients {
    fn new(extra_roots: Option<&std::path::Path>) -> Result<Self, FetchError> {
        let (tls, no_tls) = match roots_of_the_system(extra_roots) {
            Ok(tls) => (tls, None),
            Err(error) => {
                let tls = without_roots().map_err(|error| FetchError::Tls(Arc::new(error)))?;
                (tls, Some(Arc::new(error)))
            }
        };
        let build = |change: fn(reqwest::ClientBuilder) -> reqwest::ClientBuilder, tls: ClientConfig| {
            let builder = base_builder(tls, CONNECT_TIME)
                .user_agent(READER_AGENT)
                .pool_idle_timeout(Duration::from_secs(5));
            change(builder)
                .build()
                .map_err(|error| FetchError::Unreachable(chain(&error)))
        };
        Ok(Self {
            public: build(|it| it.no_proxy().dns_resolver(Arc::new(PublicOnly)), tls.clone())?,
            allowed: build(reqwest::ClientBuilder::no_proxy, tls.clone())?,
            proxied: build(|it| it, tls)?,
            proxies: Matcher::from_env(),
            no_tls,
        })
    }

    fn is_proxied(&self, url: &Url) -> bool {
        let uri = url.as_str().parse::<http::Uri>();
        uri.is_ok_and(|uri| self.proxies.intercept(&uri).is_some())
    }
}

/// Where a response sends its reader.
fn redirect(url: &Url, status: StatusCode, headers: &HeaderMap) -> Result<Option<Url>, FetchError> {
    if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = headers.get(LOCATION) else {
        return Ok(None);
    };
    // Some servers send UTF-8 there.
    let location = String::from_utf8_lossy(location.as_bytes()).into_owned();
    let mut next = url.join(&location).map_err(|_| FetchError::BadRedirect(location))?;
    if next.fragment().is_none() {
        next.set_fragment(url.fragment());
    }
    Ok(Some(next))
}

async fn read(url: Url, response: reqwest::Response) -> Result<Fetched, FetchError> {
    let (parts, body) = http::Response::<reqwest::Body>::from(response).into_parts();
    let mut body = from_reqwest(body);
    let text = |name| {
        parts
            .headers
            .get(name)
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    let (body, cut) = collect_up_to(&mut body, MAX_PAGE_BYTES)
        .await
        .map_err(|error| match error {
            BodyError::Broken(error) => FetchError::Broken(chain(&error)),
            error => FetchError::Broken(error.to_string()),
        })?;
    Ok(Fetched {
        url,
        status: parts.status,
        content_type: text(CONTENT_TYPE),
        announced: text(CONTENT_LENGTH).and_then(|it| it.parse().ok()),
        body,
        cut,
    })
}
