//! HTTP clients: which one a request needs, built when it is first needed.

mod body;
mod tls;

pub use body::{AnswerBody, BodyError};
pub(crate) use body::{boxed, collect_up_to, from_reqwest, full};
pub(crate) use tls::{TlsError, roots_of_the_system, without_roots};

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::redirect::Policy;
use rustls::ClientConfig;
use url::{Host, Url};

/// What the gateway calls itself when it asks a server.
pub(crate) const USER_AGENT: &str = concat!("beeuni/", env!("CARGO_PKG_VERSION"));

/// The clients for model providers and search providers.
///
/// They follow no redirect: the key would go to an address that nobody chose. Proxies of the
/// environment are for remote hosts only: a local Ollama or vLLM is never behind one.
///
/// Reading the system's root certificates takes some milliseconds and memory, so a gateway that only
/// talks to a local server never does it.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    connect_timeout: Duration,
    extra_roots: Option<PathBuf>,
    tls: OnceLock<ClientConfig>,
    local: OnceLock<reqwest::Client>,
    local_tls: OnceLock<reqwest::Client>,
    remote: OnceLock<reqwest::Client>,
}

/// A client could not be built.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("cannot set up the HTTP client")]
    Build(#[source] reqwest::Error),
}

impl Clients {
    /// `extra_roots`: a PEM file of certificates to trust beside the system's.
    pub(crate) fn new(connect_timeout: Duration, extra_roots: Option<PathBuf>) -> Self {
        Self {
            connect_timeout,
            extra_roots,
            ..Self::default()
        }
    }

    /// The client for this address.
    pub(crate) fn for_url(&self, url: &Url) -> Result<reqwest::Client, ClientError> {
        let (cell, tls, proxied) = match (is_local(url), url.scheme() == "https") {
            (true, false) => (&self.local, false, false),
            (true, true) => (&self.local_tls, true, false),
            // Also for http: the proxy itself may be an https address.
            (false, _) => (&self.remote, true, true),
        };
        if let Some(client) = cell.get() {
            return Ok(client.clone());
        }
        let config = if tls { self.tls()? } else { without_roots()? };
        let mut builder = base_builder(config, self.connect_timeout)
            .no_gzip()
            .no_brotli()
            .no_zstd();
        if !proxied {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(ClientError::Build)?;
        Ok(cell.get_or_init(|| client).clone())
    }

    /// The TLS settings with the system's root certificates.
    pub(crate) fn tls(&self) -> Result<ClientConfig, TlsError> {
        if let Some(config) = self.tls.get() {
            return Ok(config.clone());
        }
        let config = roots_of_the_system(self.extra_roots.as_deref())?;
        Ok(self.tls.get_or_init(|| config).clone())
    }
}

/// What every client has: no redirects, a connect timeout, and idle connections that go soon, for a
/// daemon that is idle most of the time.
pub(crate) fn base_builder(tls: ClientConfig, connect_timeout: Duration) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .user_agent(USER_AGENT)
        .redirect(Policy::none())
        .referer(false)
        .connect_timeout(connect_timeout)
        .pool_idle_timeout(Duration::from_secs(30))
        .pool_max_idle_per_host(4)
        // A provider may think for minutes: a middlebox must not forget the connection meanwhile.
        .tcp_keepalive(Duration::from_secs(30))
        .tcp_nodelay(true)
}

/// Whether an address is on this machine.
pub(crate) fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback() || ip.to_ipv4_mapped().is_some_and(|ip| ip.is_loopback()),
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name == "localhost" || name.ends_with(".localhost")
        }
        None => false,
    }
}
