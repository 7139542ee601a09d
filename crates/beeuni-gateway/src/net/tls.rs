//! TLS settings: the system's root certificates, and those that a company adds.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject};
use rustls::{ClientConfig, RootCertStore};

/// TLS could not be set up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsError {
    #[error(
        "no root certificates were found on this system, so no https address can be trusted. Install the package \
         `ca-certificates`, or set SSL_CERT_FILE to a PEM file"
    )]
    NoRoots,
    #[error("cannot read the certificates in {}", path.display())]
    ExtraRoots { path: PathBuf, source: pem::Error },
    #[error("cannot set up TLS")]
    Setup(#[source] rustls::Error),
}

/// Trusts what the system trusts (SSL_CERT_FILE and SSL_CERT_DIR replace that), and the certificates
/// of one PEM file.
pub(crate) fn roots_of_the_system(extra: Option<&Path>) -> Result<ClientConfig, TlsError> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::debug!("reading the system's root certificates: {error}");
    }
    // Some systems carry certificates that webpki cannot read: the others still count.
    roots.add_parsable_certificates(found.certs);
    if let Some(path) = extra {
        let unreadable = |source| TlsError::ExtraRoots {
            path: path.to_owned(),
            source,
        };
        let certificates = CertificateDer::pem_file_iter(path).map_err(unreadable)?;
        let certificates = certificates.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
        roots.add_parsable_certificates(certificates);
    }
    if roots.is_empty() {
        return Err(TlsError::NoRoots);
    }
    config(roots)
}

/// Trusts nobody: for clients that never open an https address.
pub(crate) fn without_roots() -> Result<ClientConfig, TlsError> {
    config(RootCertStore::empty())
}

fn config(roots: RootCertStore) -> Result<ClientConfig, TlsError> {
    // No process-wide default: what embeds this library may have one of its own.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Setup)?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
