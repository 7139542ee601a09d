//! Searches without a key: SearXNG in the provider's form, and its troubles told apart from "nothing".

use std::collections::BTreeMap;

use beeuni_gateway::testing::{Answer, ScriptedServer};
use beeuni_gateway::web::{WebConfig, WebRouter};
use serde_json::{Value, json};

use super::{body, json_of, provider};

fn router(server: &ScriptedServer) -> WebRouter {
    WebRouter::new(WebConfig {
        searxng_url: Some(format!("{}/searx/", server.url())),
        ..WebConfig::default()
    })
}

async fn search(router: &WebRouter, request: &Value) -> (u16, Value) {
    json_of(router.search(body(request)).await).await
}

fn results(range: std::ops::Range<u32>) -> Value {
    let results: Vec<Value> = range
        .map(|it| json!({ "url": format!("https://example.com/{it}"), "title": format!("T{it}"), "content": "c", "score": 4.0 / f64::from(it) }))
        .collect();
    json!({ "query": "q", "results": results, "answers": [], "infoboxes": [], "unresponsive_engines": [] })
}

/// The query parameters of a request.
fn query(target: &str) -> BTreeMap<String, String> {
    let url = url::Url::parse(&format!("http://x{target}")).unwrap();
    url.query_pairs().into_owned().collect()
}

#[tokio::test]
async fn a_search_comes_back_in_tavilys_form_and_says_where_from() {
    let server = ScriptedServer::start().await;
    let mut reply = results(1..4);
    reply["answers"] = json!([{ "answer": "42", "url": null }]);
    reply["results"][0]["publishedDate"] = json!("2026-01-02T00:00:00");
    reply["results"][1]["img_src"] = json!("//img.example.com/a.png");
    reply["results"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "title": "no address" }));
    reply["unresponsive_engines"] = json!([["google", "CAPTCHA"], ["bing", "timeout"]]);
    server.push(Answer::json(200, &reply));
    let request = json!({ "query": "what is 6×7?", "max_results": 2, "topic": "news", "time_range": "week",
        "include_domains": ["a.example", "b.example"], "exclude_domains": ["c.example"] });
    let (status, mut found) = search(&router(&server), &request).await;
    assert_eq!(status, 200, "{found}");
    assert!(found["response_time"].take().is_f64());
    assert_eq!(
        found,
        json!({
            "query": "what is 6×7?", "answer": "42",
            "images": [{ "url": "https://img.example.com/a.png", "description": "T2" }],
            "results": [
                { "url": "https://example.com/1", "title": "T1", "content": "c", "score": 1.0, "raw_content": null,
                  "published_date": "2026-01-02T00:00:00" },
                { "url": "https://example.com/2", "title": "T2", "content": "c", "score": 0.5, "raw_content": null },
            ],
            "response_time": null,
            "warning": "Results from SearXNG at 127.0.0.1. Engines that did not answer: google: CAPTCHA; bing: timeout.",
        })
    );
    let sent = query(&server.requests()[0].target);
    assert!(server.requests()[0].target.starts_with("/searx/search?"));
    assert_eq!(
        sent["q"],
        "what is 6×7? (site:a.example OR site:b.example) -site:c.example"
    );
    assert_eq!((sent["categories"].as_str(), sent["format"].as_str()), ("news", "json"));
    assert_eq!((sent["time_range"].as_str(), sent["pageno"].as_str()), ("week", "1"));
}

#[tokio::test]
async fn further_pages_are_asked_for_until_there_is_enough() {
    let server = ScriptedServer::start().await;
    server
        .push(Answer::json(200, &results(1..9)))
        .push(Answer::json(200, &results(9..17)));
    let (_, found) = search(&router(&server), &json!({ "query": "q", "max_results": 12 })).await;
    assert_eq!(found["results"].as_array().unwrap().len(), 12);
    assert_eq!(server.requests().len(), 2);
    // A second page that fails does not lose the first.
    server
        .push(Answer::json(200, &results(1..9)))
        .push(Answer::json(429, &json!({})));
    let (status, found) = search(&router(&server), &json!({ "query": "q", "max_results": 12 })).await;
    assert_eq!((status, found["results"].as_array().unwrap().len()), (200, 8));
}

#[tokio::test]
async fn web_06_counts_are_brought_into_range() {
    let server = ScriptedServer::start().await;
    for (count, expected) in [
        (json!(null), 5),
        (json!(0), 1),
        (json!(-5), 5),
        (json!(1_000_000_000), 20),
        (json!("10"), 5),
        (json!(2.5), 5),
    ] {
        server.push(Answer::json(200, &results(1..40)));
        let (status, found) = search(&router(&server), &json!({ "query": "q", "max_results": count })).await;
        assert_eq!(
            (status, found["results"].as_array().unwrap().len()),
            (200, expected),
            "{count}"
        );
    }
}

#[tokio::test]
async fn images_come_back_in_serpers_form() {
    let server = ScriptedServer::start().await;
    let reply = json!({ "results": [
        { "img_src": "https://img.example.com/a.jpg", "thumbnail_src": "//img.example.com/t.jpg", "title": "A",
          "url": "https://example.com/page", "source": "Example", "resolution": "1920 x 1080" },
        { "img_src": "data:image/png;base64,AAAA", "title": "no address", "url": "https://example.com/2" },
        { "img_src": "https://img.example.com/b.jpg", "title": "B", "url": "https://example.com/3", "resolution": "large" },
    ] });
    server
        .push(Answer::json(200, &reply))
        .push(Answer::json(200, &json!({ "results": [] })));
    let (status, found) = json_of(router(&server).images(body(&json!({ "q": "bees", "num": 12 }))).await).await;
    assert_eq!(status, 200);
    assert_eq!(
        found["images"],
        json!([
            { "title": "A", "imageUrl": "https://img.example.com/a.jpg", "imageWidth": 1920, "imageHeight": 1080,
              "thumbnailUrl": "https://img.example.com/t.jpg", "source": "Example", "domain": "example.com",
              "link": "https://example.com/page", "position": 1 },
            { "title": "B", "imageUrl": "https://img.example.com/b.jpg", "imageWidth": null, "imageHeight": null,
              "thumbnailUrl": null, "source": "example.com", "domain": "example.com",
              "link": "https://example.com/3", "position": 2 },
        ])
    );
    assert_eq!(found["warning"], "Results from SearXNG at 127.0.0.1.");
    assert_eq!(query(&server.requests()[0].target)["categories"], "images");
}

#[tokio::test]
async fn web_05_only_an_empty_list_is_no_results() {
    let server = ScriptedServer::start().await;
    server.push(Answer::json(200, &json!({ "results": [] })));
    let (status, found) = search(&router(&server), &json!({ "query": "q" })).await;
    assert_eq!((status, &found["results"]), (200, &json!([])));
    let silent = json!({ "results": [], "unresponsive_engines": [["google", "CAPTCHA"]] });
    for (answer, status, expected) in [
        (
            Answer::json(200, &silent),
            502,
            "No search engine answered SearXNG (google: CAPTCHA).",
        ),
        (
            Answer::new(403, "text/html", "<title>403</title>"),
            424,
            "SearXNG answered 403 Forbidden: it gives no JSON. Add `json` to `search.formats` in its settings.yml.",
        ),
        (
            Answer::new(429, "text/html", "").header("retry-after", "2"),
            429,
            "SearXNG answered 429 Too Many Requests: its limiter holds this machine back.",
        ),
        (
            Answer::new(200, "text/html", "<title>Are you human?</title>"),
            502,
            "SearXNG answered 200 OK with no list of results but a web page, \"Are you human?\".",
        ),
        (
            Answer::new(202, "", ""),
            502,
            "SearXNG answered 202 Accepted with no list of results but an empty body.",
        ),
        (
            Answer::new(500, "text/plain", "oops"),
            502,
            "SearXNG answered 500 Internal Server Error: oops.",
        ),
    ] {
        server.push(answer);
        let response = router(&server).search(body(&json!({ "query": "q" }))).await;
        assert_eq!(response.headers().contains_key("retry-after"), status == 429);
        let (found, answer) = json_of(response).await;
        assert_eq!((found, answer["detail"]["error"].as_str()), (status, Some(expected)));
    }
}

#[tokio::test]
async fn with_neither_key_nor_instance_the_error_names_both_and_the_command() {
    let router = WebRouter::new(WebConfig::default());
    let (status, found) = search(&router, &json!({ "query": "q" })).await;
    assert_eq!((status, found["code"].as_str()), (424, Some("NOT_SET_UP")));
    let text = found["detail"]["error"].as_str().unwrap();
    for expected in [
        "`export TAVILY_API_KEY=…`",
        "`export BEEUNI_SEARXNG_URL=http://127.0.0.1:8080`",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    let (status, found) = json_of(router.images(body(&json!({ "q": "q" }))).await).await;
    assert_eq!(status, 424);
    assert!(found["message"].as_str().unwrap().contains("SERPER_API_KEY"), "{found}");
}

#[tokio::test]
async fn an_instance_that_is_not_there_or_not_an_address_says_so() {
    let server = ScriptedServer::start().await;
    let gone = router(&server);
    drop(server);
    let (status, found) = search(&gone, &json!({ "query": "q" })).await;
    assert_eq!(status, 502);
    assert!(
        found["detail"]["error"]
            .as_str()
            .unwrap()
            .starts_with("SearXNG at 127.0.0.1 cannot be reached: "),
        "{found}"
    );
    let router = WebRouter::new(WebConfig {
        searxng_url: Some("searx.example.com".to_owned()),
        ..WebConfig::default()
    });
    let (status, found) = search(&router, &json!({ "query": "q" })).await;
    assert_eq!(status, 424);
    assert!(
        found["detail"]["error"]
            .as_str()
            .unwrap()
            .starts_with("BEEUNI_SEARXNG_URL is not an address"),
        "{found}"
    );
}

#[tokio::test]
async fn web_05_a_fallback_to_searxng_is_stated() {
    let tavily = ScriptedServer::start().await;
    tavily.push(Answer::json(432, &json!({ "detail": { "error": "plan used up" } })));
    let server = ScriptedServer::start().await;
    server.push(Answer::json(200, &results(1..9)));
    let router = WebRouter::new(WebConfig {
        tavily: provider(&tavily),
        searxng_url: Some(server.url()),
        ..WebConfig::default()
    });
    let (status, found) = search(&router, &json!({ "query": "q" })).await;
    assert_eq!(status, 200);
    let warning = found["warning"].as_str().unwrap();
    assert!(
        warning.starts_with("Results from SearXNG at 127.0.0.1. Used because: Tavily answered 432"),
        "{warning}"
    );
    assert!(warning.contains("plan used up"), "{warning}");
    // Where neither works, the provider's own words come back.
    tavily.push(Answer::json(432, &json!({ "detail": { "error": "plan used up" } })));
    server.push(Answer::new(500, "", ""));
    let (status, found) = search(&router, &json!({ "query": "q" })).await;
    assert_eq!((status, &found["detail"]["error"]), (432, &json!("plan used up")));
}
