//! Server-side request forgery: what a session must not reach through the router.

use beeuni_gateway::testing::{Answer, ScriptedServer};
use beeuni_gateway::web::{PageError, PageRequest, WebConfig, WebRouter};

use super::{config, provider, scrape};

#[tokio::test]
async fn ssrf_inner_addresses_are_refused_in_every_form() {
    let server = ScriptedServer::start().await;
    let port = server.address().port();
    let router = WebRouter::new(WebConfig::default());
    for host in [
        "127.0.0.1",
        "0x7f.1",
        "2130706433",
        "127.1",
        "localhost",
        "localhost.",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "0.0.0.0",
    ] {
        let (status, found) = scrape(&router, &format!("http://{host}:{port}/")).await;
        assert_eq!(
            (status, found["code"].as_str()),
            (400, Some("ADDRESS_REFUSED")),
            "{host}: {found}"
        );
        assert!(
            found["error"]
                .as_str()
                .unwrap()
                .contains("only public addresses are opened"),
            "{found}"
        );
    }
    for url in [
        "http://169.254.169.254/latest/meta-data/",
        "http://100.100.100.200/",
        "http://10.0.0.1/",
        "ftp://example.com/",
        "/etc/passwd",
        "",
    ] {
        let (status, found) = scrape(&router, url).await;
        assert_eq!(
            (status, found["success"].as_bool()),
            (400, Some(false)),
            "{url}: {found}"
        );
    }
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn ssrf_a_redirect_is_checked_like_a_first_address() {
    let inner = ScriptedServer::start().await;
    inner.on("/", Answer::new(200, "text/plain", "inner secret"));
    let outer = ScriptedServer::start().await;
    let router = WebRouter::new(config(&outer));
    for (path, location) in [
        ("/ip", format!("{}/", inner.url())),
        ("/name", format!("http://localhost:{}/", inner.address().port())),
        ("/file", "file:///etc/passwd".to_owned()),
        ("/auth", format!("http://me:pw@{}/", outer.address())),
    ] {
        outer.on(path, Answer::new(302, "", "").header("location", &location));
        let (status, found) = scrape(&router, &format!("{}{path}", outer.url())).await;
        assert_eq!(
            (status, found["code"].as_str()),
            (400, Some("ADDRESS_REFUSED")),
            "{path}: {found}"
        );
        assert!(
            found["error"]
                .as_str()
                .unwrap()
                .contains("it redirected to an address that is not opened"),
            "{found}"
        );
    }
    assert!(inner.requests().is_empty());
}

#[tokio::test]
async fn ssrf_a_provider_of_ones_own_is_not_asked_for_inner_pages() {
    let server = ScriptedServer::start().await;
    let router = WebRouter::new(WebConfig {
        firecrawl: provider(&server),
        ..WebConfig::default()
    });
    for url in ["http://localhost/", "http://169.254.169.254/", "http://[::1]/"] {
        let (status, _) = scrape(&router, url).await;
        assert_eq!(status, 400, "{url}");
    }
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn only_the_allowed_port_of_a_host_is_open() {
    let server = ScriptedServer::start().await;
    let other = ScriptedServer::start().await;
    server.on("/", Answer::new(200, "text/plain", "hello"));
    let router = WebRouter::new(config(&server));
    assert_eq!(scrape(&router, &server.url()).await.0, 200);
    assert_eq!(scrape(&router, &other.url()).await.0, 400);
    assert!(other.requests().is_empty());
}

#[tokio::test]
async fn the_typed_reader_refuses_the_same() {
    let router = WebRouter::new(WebConfig::default());
    let error = router
        .read_page(PageRequest::new("http://127.0.0.1/"))
        .await
        .unwrap_err();
    assert!(matches!(error, PageError::Refused(_)), "{error}");
    assert_eq!(
        error.to_string(),
        "127.0.0.1 is a loopback address; only public addresses are opened. Who runs Beeuni can allow it with \
         BEEUNI_WEB_ALLOW=127.0.0.1"
    );
}
