//! The web tools themselves, in Bun, through the router: that both sides mean the same.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test stops at the first surprise"
)]

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use beeuni_gateway::testing::{Answer, Gate, ScriptedServer};
use beeuni_gateway::web::{WebConfig, WebRouter};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// The Bun that the tests run: BEEUNI_BUN, else the one that `make` installed.
fn bun() -> PathBuf {
    let setting = std::env::var_os("BEEUNI_BUN").map(PathBuf::from);
    beeuni_tools::find_bun(setting.as_deref(), &repository().join("runtime")).expect("`make test` installs Bun")
}

/// Offers a router under `/v1/router/`, as the daemon and the server do.
async fn offer(router: WebRouter) -> String {
    let router = Arc::new(router);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let router = Arc::clone(&router);
            let service = service_fn(move |request: Request<Incoming>| {
                let router = Arc::clone(&router);
                async move {
                    let path = request
                        .uri()
                        .path()
                        .strip_prefix("/v1/router/")
                        .unwrap_or_default()
                        .to_owned();
                    let body = request.into_body().collect().await.unwrap().to_bytes();
                    let answer: Response<_> = router.route(&path, body).await.expect("a route of the router");
                    Ok::<_, Infallible>(answer)
                }
            });
            tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    url
}

/// Calls a tool; its output, or the message of its error.
async fn call(tool: &str, arguments: &Value, router: &str) -> Result<Value, String> {
    let script = "const [module, args, router] = process.argv.slice(1); const tool = (await import(module)).default; \
        const context = { agent: 'beeuni', env: { BEEUNI_API_URL: router, BEEUNI_TOKEN: 'token-of-the-session' }, \
        signal: new AbortController().signal }; \
        try { console.log(JSON.stringify({ output: await tool.execute(JSON.parse(args), context) })) } \
        catch (error) { console.log(JSON.stringify({ error: error.message })) }";
    let mut command = tokio::process::Command::new(bun());
    command
        .args(["-e", script])
        .arg(repository().join(format!("tools/{tool}.ts")))
        .args([arguments.to_string(), router.to_owned()])
        // Bun asks a proxy of the environment even for loopback.
        .env("NO_PROXY", "127.0.0.1")
        .kill_on_drop(true);
    let output = command.output().await.unwrap();
    let mut said: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&output.stderr).into_owned()));
    match said.get("error") {
        Some(error) => Err(error.as_str().unwrap().to_owned()),
        None => Ok(said["output"].take()),
    }
}

#[tokio::test]
async fn web_03_one_bad_page_does_not_hurt_the_others() {
    let server = ScriptedServer::start().await;
    server.on("/good", Answer::new(200, "text/html", "<title>Good</title><p>Bees</p>"));
    server.on("/slow", Answer::new(200, "text/html", "late").hold(&Gate::closed()));
    server.on("/file", Answer::new(200, "image/png", &b"\x89PNG\r\n\x1a\n"[..]));
    server.on("/missing", Answer::new(404, "text/html", "<p>Nothing here"));
    server.on("/empty", Answer::new(200, "text/html", ""));
    let router = offer(WebRouter::new(WebConfig {
        allow: vec![server.address().to_string()],
        page_timeout: Duration::from_millis(700),
        ..WebConfig::default()
    }))
    .await;
    let urls: Vec<String> = ["/good", "/missing", "/slow", "/good", "/file", "/empty"]
        .iter()
        .map(|path| format!("{}{path}", server.url()))
        .chain(["not-a-url".to_owned(), "http://127.0.0.1:9999/".to_owned()])
        .collect();
    let output = call("scrape_webpage", &json!({ "urls": urls.join(", ") }), &router)
        .await
        .unwrap();
    assert_eq!(
        (&output["total"], &output["successful"], &output["failed"]),
        (&json!(8), &json!(4), &json!(4))
    );
    let found = output["results"].as_array().unwrap();
    for (at, url) in urls.iter().enumerate() {
        assert_eq!(found[at]["url"], *url);
    }
    let error = |at: usize| found[at]["error"].as_str().unwrap().to_owned();
    assert_eq!(
        (&found[0]["title"], &found[0]["content"]),
        (&json!("Good"), &json!("Bees"))
    );
    assert_eq!(error(1), "The page answered 404: Not Found.");
    assert!(
        error(2).ends_with("could not read it: it did not answer within 0.7 s."),
        "{}",
        error(2)
    );
    assert_eq!(found[3], found[0]);
    assert_eq!(
        found[4]["content"],
        "A PNG image (image/png), 8 bytes: no text to read."
    );
    assert_eq!(
        (&found[5]["content"], &found[5]["note"]),
        (&json!(""), &json!("The page is empty."))
    );
    assert!(error(6).starts_with("not a web address"), "{}", error(6));
    assert!(
        error(7).contains("is a loopback address; only public addresses are opened"),
        "{}",
        error(7)
    );
    assert!(
        error(7).contains("Trying again with the same input does not help."),
        "{}",
        error(7)
    );
    // Each page once, and none of them again.
    assert_eq!(server.requests().len(), 5);
}

#[tokio::test]
async fn searches_say_which_source_was_used_and_what_is_missing() {
    let server = ScriptedServer::start().await;
    let results = json!({ "results": [{ "url": "https://example.com/", "title": "T", "content": "c", "score": 2.0,
        "img_src": "https://example.com/a.png", "resolution": "3x4" }] });
    server.on("/search", Answer::json(200, &results));
    let router = offer(WebRouter::new(WebConfig {
        searxng_url: Some(server.url()),
        ..WebConfig::default()
    }))
    .await;
    let output = call("web_search", &json!({ "query": "bees" }), &router).await.unwrap();
    assert_eq!(output["success"], true, "{output}");
    assert_eq!(
        output["results"],
        json!([{ "title": "T", "url": "https://example.com/", "snippet": "c", "score": 1, "published_date": null }])
    );
    assert_eq!(output["note"], "Results from SearXNG at 127.0.0.1.");
    let output = call("image_search", &json!({ "query": "bees" }), &router)
        .await
        .unwrap();
    assert_eq!(
        output["images"],
        json!([{ "url": "https://example.com/a.png", "title": "T", "source": "https://example.com/", "width": 3, "height": 4 }])
    );
    let router = offer(WebRouter::new(WebConfig::default())).await;
    let output = call("web_search", &json!({ "query": "bees" }), &router).await.unwrap();
    let error = output["error"].as_str().unwrap();
    assert!(
        error.contains("answered 424: Web search is not set up") && error.contains("BEEUNI_SEARXNG_URL"),
        "{error}"
    );
    assert!(!error.contains("BEEUNI_TOKEN"), "{error}");
    let error = call("image_search", &json!({ "query": "bees" }), &router)
        .await
        .unwrap_err();
    assert!(error.contains("SERPER_API_KEY"), "{error}");
}
