//! Servers with a certificate of a company's own authority.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;

use beeuni_gateway::web::{PageError, PageRequest, WebConfig, WebRouter};
use beeuni_gateway::{ChatEvent, ChatRequest, FinishReason, Gateway, GatewayConfig, ProviderConfig};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tempfile::NamedTempFile;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

const STREAM: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"safe\"},\"finish_reason\":\"stop\"}]}\n\n";

/// Serves one answer over TLS, again and again; its address, and the file of its authority.
async fn serve() -> (SocketAddr, NamedTempFile) {
    let authority_key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_certificate = authority.self_signed(&authority_key).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap();
    let certificate = params
        .signed_by(&key, &Issuer::from_params(&authority, &authority_key))
        .unwrap();
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(authority_certificate.pem().as_bytes()).unwrap();

    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        )
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // A client that does not trust the authority ends it here.
            if let Ok(mut stream) = acceptor.accept(stream).await {
                let _ = stream.read(&mut [0; 8192]).await;
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\n";
                let answer = format!("{head}content-length: {}\r\n\r\n{STREAM}", STREAM.len());
                let _ = stream.write_all(answer.as_bytes()).await;
                let _ = stream.shutdown().await;
            }
        }
    });
    (address, file)
}

fn gateway(address: SocketAddr, authority: Option<&NamedTempFile>) -> Gateway {
    Gateway::new(GatewayConfig {
        providers: vec![ProviderConfig {
            name: "company".to_owned(),
            base_url: format!("https://{address}/v1"),
            key: None,
            models: Vec::new(),
        }],
        extra_ca_file: authority.map(|file| file.path().to_owned()),
        limits: beeuni_gateway::Limits {
            tries: 1,
            ..beeuni_gateway::Limits::default()
        },
        ..GatewayConfig::default()
    })
}

#[tokio::test]
async fn a_companys_own_authority_is_trusted_when_it_is_named() {
    let (address, authority) = serve().await;
    let request = ChatRequest::new("company/m", "{\"messages\":[]}");
    let mut stream = gateway(address, Some(&authority)).chat(request.clone()).await.unwrap();
    assert_eq!(
        stream.next().await.unwrap().unwrap(),
        ChatEvent::Text("safe".to_owned())
    );
    assert_eq!(
        stream.next().await.unwrap().unwrap(),
        ChatEvent::Finish(FinishReason::Stop)
    );

    let router = WebRouter::new(WebConfig {
        allow: vec!["localhost".to_owned()],
        extra_ca_file: Some(authority.path().to_owned()),
        ..WebConfig::default()
    });
    let url = format!("https://localhost:{}/", address.port());
    let page = router.read_page(PageRequest::new(url)).await.unwrap();
    assert_eq!(page.text.markdown, STREAM.trim_end());
}

#[tokio::test]
async fn an_authority_that_is_not_named_is_not_trusted() {
    let (address, other) = (serve().await.0, serve().await.1);
    let request = ChatRequest::new("company/m", "{\"messages\":[]}");
    let error = gateway(address, Some(&other)).chat(request).await.unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
    let router = WebRouter::new(WebConfig {
        allow: vec!["127.0.0.1".to_owned()],
        extra_ca_file: Some(other.path().to_owned()),
        ..WebConfig::default()
    });
    let error = router
        .read_page(PageRequest::new(format!("https://{address}/")))
        .await
        .unwrap_err();
    assert!(
        matches!(&error, PageError::Unreachable(text) if text.contains("certificate")),
        "{error}"
    );
}

#[tokio::test]
async fn a_file_of_certificates_that_cannot_be_read_is_named() {
    let (address, _) = serve().await;
    let mut config = GatewayConfig {
        extra_ca_file: Some("/no/such/file.pem".into()),
        ..GatewayConfig::default()
    };
    config.providers.push(ProviderConfig {
        name: "company".to_owned(),
        base_url: format!("https://{address}/v1"),
        key: None,
        models: Vec::new(),
    });
    let error = Gateway::new(config)
        .chat(ChatRequest::new("company/m", "{}"))
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("cannot read the certificates in /no/such/file.pem"),
        "{error}"
    );
    assert!(!error.retryable());
}
