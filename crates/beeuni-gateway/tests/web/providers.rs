//! The pass-through to Tavily, Serper and Firecrawl.

use std::time::Duration;

use beeuni_gateway::testing::{Answer, Gate, ScriptedServer};
use beeuni_gateway::web::{MAX_REQUEST_BYTES, ROUTES, WebConfig, WebRouter};
use bytes::Bytes;
use serde_json::{Value, json};

use super::{KEY, body, config, json_of, provider};

fn router(server: &ScriptedServer) -> WebRouter {
    WebRouter::new(WebConfig {
        tavily: provider(server),
        serper: provider(server),
        firecrawl: provider(server),
        ..config(server)
    })
}

async fn ask(router: &WebRouter, route: &str, request: Bytes) -> (u16, Value) {
    json_of(router.route(route, request).await.expect("a route")).await
}

#[tokio::test]
async fn each_route_asks_its_provider_with_the_key_and_changes_nothing() {
    let server = ScriptedServer::start().await;
    let answer = json!({ "results": [1.50, 9_007_199_254_740_993_u64], "x": null });
    for path in ["/search", "/images", "/v2/scrape"] {
        server.on(path, Answer::json(200, &answer));
    }
    let router = router(&server);
    for (route, path, header, value, request) in [
        (
            ROUTES[0],
            "/search",
            "authorization",
            format!("Bearer {KEY}"),
            "{ \"query\":\"a\",  \"n\": 1e0 }",
        ),
        (ROUTES[1], "/images", "x-api-key", KEY.to_owned(), "{ \"q\":\"a\" }"),
        (
            ROUTES[2],
            "/v2/scrape",
            "authorization",
            format!("Bearer {KEY}"),
            "{\"url\":\"http://8.8.8.8/x\" }",
        ),
    ] {
        let (status, found) = ask(&router, route, Bytes::from_static(request.as_bytes())).await;
        assert_eq!((status, &found), (200, &answer), "{route}");
        let sent = server.requests().pop().unwrap();
        assert_eq!(
            (sent.method.as_str(), sent.target.as_str(), sent.text().as_str()),
            ("POST", path, request)
        );
        assert_eq!(sent.header(header), value);
    }
}

#[tokio::test]
async fn there_are_no_other_routes() {
    let router = WebRouter::new(WebConfig::default());
    for route in [
        "tavily/extract",
        "tavily/search/",
        "firecrawl/v2/crawl",
        "",
        "serper/images?x",
    ] {
        assert!(router.route(route, Bytes::new()).await.is_none(), "{route}");
    }
}

#[tokio::test]
async fn requests_that_cannot_be_meant_are_refused_here() {
    let server = ScriptedServer::start().await;
    let router = router(&server);
    for (route, request, status) in [
        (ROUTES[0], "", 400),
        (ROUTES[0], "[]", 400),
        (ROUTES[0], "{\"query\":\" \"}", 400),
        (ROUTES[1], "{\"query\":\"x\"}", 400),
        (ROUTES[2], "{\"url\":7}", 400),
        (ROUTES[2], "{\"url\":\"example.com\"}", 400),
    ] {
        let (found, answer) = ask(&router, route, Bytes::from_static(request.as_bytes())).await;
        assert_eq!(found, status, "{request}: {answer}");
    }
    let large = json!({ "query": "x".repeat(MAX_REQUEST_BYTES) });
    assert_eq!(ask(&router, ROUTES[0], body(&large)).await.0, 413);
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn web_05_refusals_keep_status_words_and_retry_after() {
    let server = ScriptedServer::start().await;
    let words = json!({ "detail": { "error": format!("slow down, {KEY}") } });
    server.push(Answer::json(429, &words).header("retry-after", "2"));
    let response = router(&server).search(body(&json!({ "query": "a" }))).await;
    assert_eq!(response.headers()["retry-after"], "2");
    let (status, found) = json_of(response).await;
    assert_eq!(
        (status, &found["detail"]["error"]),
        (429, &json!("slow down, [secret TEST_KEY]"))
    );
}

#[tokio::test]
async fn web_05_a_refused_key_is_the_operators_to_set_right() {
    let server = ScriptedServer::start().await;
    for status in [401, 403] {
        server.push(Answer::json(status, &json!({ "detail": { "error": "no such key" } })));
        let (found, answer) = ask(&router(&server), ROUTES[0], body(&json!({ "query": "a" }))).await;
        // Not 401 or 403: for the caller these speak of its own token.
        assert_eq!((found, answer["code"].as_str()), (424, Some("NOT_SET_UP")));
        let text = answer["detail"]["error"].as_str().unwrap();
        assert!(
            text.contains("no such key") && text.ends_with("Check the key in TEST_KEY."),
            "{text}"
        );
    }
}

#[tokio::test]
async fn web_05_what_is_no_answer_is_never_no_results() {
    let server = ScriptedServer::start().await;
    for (answer, expected) in [
        (Answer::new(202, "", ""), "Tavily answered 202 Accepted: an empty body."),
        (
            Answer::new(200, "text/html", "<title>Are you human?</title>"),
            "Tavily answered 200 OK: a web page, \"Are you human?\".",
        ),
        (
            Answer::new(200, "application/json", "{\"results\":"),
            "Tavily answered 200 OK: {\"results\":.",
        ),
        (
            Answer::new(200, "application/json", "[]"),
            "Tavily answered 200 OK: [].",
        ),
        (Answer::hang_up(), "Tavily cannot be reached"),
        (Answer::json(200, &json!({})).cut_at(1), "Tavily broke off"),
    ] {
        server.push(answer);
        let (status, found) = ask(&router(&server), ROUTES[0], body(&json!({ "query": "a" }))).await;
        assert_eq!(
            (status, found["code"].as_str()),
            (502, Some("UPSTREAM_FAILED")),
            "{found}"
        );
        let text = found["detail"]["error"].as_str().unwrap();
        assert!(text.starts_with(expected), "{text}");
    }
}

#[tokio::test]
async fn a_provider_that_takes_too_long_is_given_up() {
    let server = ScriptedServer::start().await;
    server.push(Answer::json(200, &json!({})).hold(&Gate::closed()));
    let router = WebRouter::new(WebConfig {
        serper: provider(&server),
        timeout: Duration::from_millis(80),
        ..config(&server)
    });
    let (status, found) = ask(&router, ROUTES[1], body(&json!({ "q": "a" }))).await;
    assert_eq!(
        (status, &found["message"]),
        (504, &json!("Serper did not answer within 0.08 s."))
    );
    server.requests()[0].hung_up().await;
}

#[tokio::test]
async fn web_05_a_page_is_read_here_when_firecrawl_cannot_and_the_answer_says_so() {
    let server = ScriptedServer::start().await;
    server.on("/page", Answer::new(200, "text/html", "<title>T</title><p>hello"));
    let router = router(&server);
    let request = json!({ "url": format!("{}/page", server.url()), "formats": ["markdown"] });
    server.on(
        "/v2/scrape",
        Answer::json(402, &json!({ "success": false, "error": "Insufficient credits" })),
    );
    let (status, found) = ask(&router, ROUTES[2], body(&request)).await;
    assert_eq!((status, &found["data"]["markdown"]), (200, &json!("hello")));
    assert_eq!(
        found["data"]["warning"],
        "Read by Beeuni's built-in reader, because: Firecrawl answered 402 Payment Required: Insufficient credits."
    );
    // What is wrong with the request is wrong with it here, too.
    server.on(
        "/v2/scrape",
        Answer::json(400, &json!({ "success": false, "error": "bad formats" })),
    );
    let (status, found) = ask(&router, ROUTES[2], body(&request)).await;
    assert_eq!((status, &found["error"]), (400, &json!("bad formats")));
}
