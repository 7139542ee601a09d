//! An HTTP client for this machine alone.

use std::sync::Arc;
use std::time::Duration;

/// Why there is no client.
type Error = Box<dyn std::error::Error + Send + Sync>;

/// A client for which a request may take `longest`.
///
/// # Errors
/// As of [`builder`].
pub fn client(longest: Duration) -> Result<reqwest::Client, Error> {
    Ok(builder()?.timeout(longest).build()?)
}

/// What makes a client that knows no proxy and follows nowhere else.
///
/// # Errors
/// The system has no TLS, which the library wants though no https address is ever opened.
pub(crate) fn builder() -> Result<reqwest::ClientBuilder, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    Ok(reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none()))
}
