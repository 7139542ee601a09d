//! Pages of every kind, through the built-in reader.

use std::io::Write;

use beeuni_gateway::testing::{Answer, Gate, ScriptedServer};
use beeuni_gateway::web::{PageRequest, WebRouter};
use serde_json::{Value, json};

use super::{body, config, json_of, scrape};

const ARTICLE: &str = include_str!("article.html");

async fn one(answer: Answer) -> Value {
    let server = ScriptedServer::start().await;
    server.on("/dir/page", answer);
    let (status, mut found) = scrape(&WebRouter::new(config(&server)), &format!("{}/dir/page", server.url())).await;
    assert_eq!(status, 200, "{found}");
    assert_eq!(found["success"], true, "{found}");
    let data = found["data"].take();
    // What it is called differs from run to run.
    let text = data.to_string().replace(&server.url(), "http://SERVER");
    serde_json::from_str(&text).unwrap()
}

#[tokio::test]
async fn an_article_becomes_markdown_with_what_the_page_says_about_itself() {
    let data = one(Answer::new(200, "text/html; charset=utf-8", ARTICLE)).await;
    let markdown = data["markdown"].as_str().unwrap();
    for expected in [
        "[a link](http://SERVER/dir/rel?x=1&y=2)",
        "## Numbers",
        "- One\n  - One a\n- Two",
        "```rust\nfn main() {\n    println!(\"<hi>\");\n}\n```",
        "| Name | Value |\n| --- | --- |\n| a | 1 |",
        "> A quotation",
        "![A bee](http://SERVER/img/bee.png)",
        "**Term**",
    ] {
        assert!(markdown.contains(expected), "{expected:?} in:\n{markdown}");
    }
    for noise in [
        "Home",
        "Imprint",
        "alert",
        "color: red",
        "Subscribe",
        "hidden words",
        "javascript:",
    ] {
        assert!(!markdown.contains(noise), "{noise:?} in:\n{markdown}");
    }
    assert_eq!(
        data["metadata"],
        json!({
            "title": "All about bees", "description": "What bees do.", "language": "en-GB",
            "canonicalUrl": "http://SERVER/bees", "author": "A. Writer", "siteName": "Bee Site",
            "publishedTime": "2026-01-02T03:04:05Z",
            "sourceURL": "http://SERVER/dir/page", "url": "http://SERVER/dir/page", "statusCode": 200,
            "contentType": "text/html; charset=utf-8", "linkCount": 4, "imageCount": 1,
        })
    );
    assert!(data.get("warning").is_none() && data.get("html").is_none());
}

#[tokio::test]
async fn html_links_and_the_whole_page_come_when_asked_for() {
    let server = ScriptedServer::start().await;
    server.on("/", Answer::new(200, "text/html", ARTICLE));
    let router = WebRouter::new(config(&server));
    let request = json!({ "url": server.url(), "formats": ["markdown", "html", { "type": "links" }, "screenshot"],
        "onlyMainContent": false, "actions": [] });
    let (_, found) = json_of(router.scrape(body(&request)).await).await;
    let data = &found["data"];
    let markdown = data["markdown"].as_str().unwrap();
    assert!(markdown.contains("Home") && markdown.contains("Imprint"), "{markdown}");
    assert!(!markdown.contains("alert"), "{markdown}");
    let html = data["html"].as_str().unwrap();
    assert!(html.contains("<h2>Numbers</h2>") && !html.contains("<script"), "{html}");
    assert_eq!(data["links"].as_array().unwrap().len(), 4);
    assert_eq!(
        data["warning"],
        "The built-in reader has no format screenshot. The built-in reader does not know these options: actions."
    );
}

#[tokio::test]
async fn a_manual_keeps_the_signatures_of_its_functions() {
    let function = |name: &str| {
        let words = "It does what its name says, with care, and returns what was asked for, or an error. ".repeat(4);
        format!(
            "<details class='toggle method-toggle'><summary><section id='method.{name}' class='method'>\
             <h4 class='code-header'>pub fn {name}(&amp;self) -&gt; <a href='t' title='struct T'>T</a></h4></section></summary>\
             <div class='docblock'><p>{words}</p></div></details><a class='anchor' href='#method.{name}'>§</a>"
        )
    };
    let page = format!(
        "<title>T</title><nav class='sidebar'><a href=/all>All</a></nav><main><h1>Struct T</h1>{}{}{}</main>",
        function("open"),
        function("read"),
        function("close")
    );
    let data = one(Answer::new(200, "text/html", page)).await;
    let markdown = data["markdown"].as_str().unwrap();
    for name in ["open", "read", "close"] {
        let signature = format!("#### pub fn {name}(&self) -> [T](http://SERVER/dir/t)\n\nIt does what");
        assert!(markdown.contains(&signature), "{signature} in:\n{markdown}");
    }
    assert!(!markdown.contains('§') && !markdown.contains("All"), "{markdown}");
}

#[tokio::test]
async fn a_page_without_an_article_keeps_its_content_and_loses_its_navigation() {
    let list: String = (1..40)
        .map(|it| format!("<li><a href='/{it}'>Entry {it}</a></li>"))
        .collect();
    let page = format!("<title>List</title><nav><a href=/home>Home</a></nav><ul>{list}</ul><footer>Imprint</footer>");
    let data = one(Answer::new(200, "text/html", page)).await;
    let markdown = data["markdown"].as_str().unwrap();
    assert!(
        markdown.contains("[Entry 1](http://SERVER/1)") && markdown.contains("Entry 39"),
        "{markdown}"
    );
    assert!(
        !markdown.contains("Home") && !markdown.contains("Imprint"),
        "{markdown}"
    );
}

#[tokio::test]
async fn web_01_pages_in_other_character_sets_are_readable() {
    let gbk = encoding_rs::GBK
        .encode("<meta charset=gbk><title>标题</title><p>中文 <a href=/x>链接</a>")
        .0
        .into_owned();
    let data = one(Answer::new(200, "text/html", gbk)).await;
    assert_eq!(data["metadata"]["title"], "标题");
    assert_eq!(data["markdown"], "中文 [链接](http://SERVER/x)");
    let sjis = encoding_rs::SHIFT_JIS
        .encode("<title>日本</title><p>日本語")
        .0
        .into_owned();
    let data = one(Answer::new(200, "text/html; charset=Shift_JIS", sjis)).await;
    assert_eq!(
        (&data["metadata"]["title"], &data["markdown"]),
        (&json!("日本"), &json!("日本語"))
    );
    let data = one(Answer::new(200, "text/html; charset=utf8mb4", "<p>Grüße")).await;
    assert_eq!(data["markdown"], "Grüße");
    assert_eq!(
        data["warning"],
        "The page declares an unknown character set, \"utf8mb4\"."
    );
}

#[tokio::test]
async fn web_06_what_is_no_text_is_described_and_never_decoded() {
    for (answer, expected) in [
        (
            Answer::new(200, "image/png", &b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..]),
            "A PNG image (image/png), 16 bytes: no text to read.",
        ),
        (
            Answer::new(200, "application/octet-stream", &b"\x01\x02\x03\0\xFF"[..]),
            "A binary file (application/octet-stream), 5 bytes: no text to read.",
        ),
        (
            Answer::new(200, "text/html", &b"PK\x03\x04\0\0"[..]),
            "A ZIP archive or an office document (text/html), 6 bytes: no text to read.",
        ),
        (
            Answer::new(200, "application/json", "{\"a\": 1}\n"),
            "```json\n{\"a\": 1}\n```",
        ),
        (Answer::new(200, "text/plain", "a < b\n  *c*\n"), "a < b\n  *c*"),
        (Answer::new(200, "text/markdown", "# T\n"), "# T"),
        (Answer::new(200, "", "# plain\n"), "# plain"),
    ] {
        let data = one(answer).await;
        assert_eq!(data["markdown"], expected);
        assert!(data.get("warning").is_none(), "{data}");
    }
}

#[tokio::test]
async fn web_06_empty_is_called_empty() {
    for answer in [
        Answer::new(200, "text/html", ""),
        Answer::new(204, "", ""),
        Answer::new(200, "text/html", "<html><body>  </body></html>"),
    ] {
        let data = one(answer).await;
        // The tool says "The page is empty." by itself.
        assert_eq!((&data["markdown"], data.get("warning")), (&json!(""), None), "{data}");
    }
    let data = one(Answer::new(
        200,
        "text/html",
        "<div id=root></div><script src=app.js></script>",
    ))
    .await;
    assert_eq!(
        data["warning"],
        "The page shows its content with JavaScript, which this reader does not run."
    );
    let forward = "<meta http-equiv=Refresh content=\"0; URL='../new'\">";
    let data = one(Answer::new(200, "text/html", forward)).await;
    assert_eq!(data["warning"], "The page sends its readers on to http://SERVER/new");
}

#[tokio::test]
async fn an_error_page_is_not_reported_as_success() {
    let data = one(Answer::new(404, "text/html", "<title>Gone</title><p>Not here")).await;
    assert_eq!(data["metadata"]["statusCode"], 404);
    assert_eq!(data["metadata"]["error"], "Not Found");
    assert_eq!(data["markdown"], "Not here");
}

#[tokio::test]
async fn redirects_are_followed_ten_times_and_no_more() {
    let server = ScriptedServer::start().await;
    for at in 0..12 {
        let next = format!("step{}", at + 1);
        server.on(
            &format!("/a/step{at}"),
            Answer::new(302, "", "").header("location", &next),
        );
    }
    server.on("/a/step12", Answer::new(200, "text/html", "<p>here <a href=x>x</a>"));
    let router = WebRouter::new(config(&server));
    let (_, found) = scrape(&router, &format!("{}/a/step2", server.url())).await;
    assert_eq!(found["data"]["metadata"]["url"], format!("{}/a/step12", server.url()));
    assert_eq!(
        found["data"]["metadata"]["sourceURL"],
        format!("{}/a/step2", server.url())
    );
    assert_eq!(found["data"]["markdown"], format!("here [x]({}/a/x)", server.url()));
    let (status, found) = scrape(&router, &format!("{}/a/step1", server.url())).await;
    assert_eq!((status, found["success"].as_bool()), (200, Some(false)));
    assert_eq!(found["error"], "it redirects more than 10 times");
}

#[tokio::test]
async fn compressed_pages_are_read() {
    let page = format!("<p>{}</p>", "bees ".repeat(2000));
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(page.as_bytes()).unwrap();
    let mut brotli = Vec::new();
    brotli::BrotliCompress(
        &mut page.as_bytes(),
        &mut brotli,
        &brotli::enc::BrotliEncoderParams::default(),
    )
    .unwrap();
    let zstd = zstd::encode_all(page.as_bytes(), 1).unwrap();
    for (name, bytes) in [("gzip", gzip.finish().unwrap()), ("br", brotli), ("zstd", zstd)] {
        let data = one(Answer::new(200, "text/html", bytes).header("content-encoding", name)).await;
        assert!(
            data["markdown"].as_str().unwrap().starts_with("bees bees"),
            "{name}: {data}"
        );
    }
    let server = ScriptedServer::start().await;
    server.on(
        "/",
        Answer::new(200, "text/html", "no gzip").header("content-encoding", "gzip"),
    );
    let (status, found) = scrape(&WebRouter::new(config(&server)), &server.url()).await;
    assert_eq!(
        (status, found["code"].as_str()),
        (200, Some("PAGE_UNREACHABLE")),
        "{found}"
    );
}

#[tokio::test]
async fn a_page_beyond_the_limit_is_cut_also_when_it_is_a_bomb() {
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..64 {
        bomb.write_all(&[b'x'; 1024 * 1024]).unwrap();
    }
    let answer = Answer::new(200, "text/plain", bomb.finish().unwrap()).header("content-encoding", "gzip");
    let data = one(answer).await;
    assert_eq!(data["markdown"].as_str().unwrap().len(), 10 * 1024 * 1024);
    assert_eq!(
        data["warning"],
        "The page is larger than 10 MiB: only its beginning was read."
    );
}

#[tokio::test]
async fn web_03_each_bad_page_has_its_own_reason() {
    let server = ScriptedServer::start().await;
    server.on("/slow", Answer::new(200, "text/plain", "late").hold(&Gate::closed()));
    server.on("/cut", Answer::new(200, "text/html", "<p>half of it").cut_at(5));
    server.on("/gone", Answer::hang_up());
    server.on("/lost", Answer::new(301, "", "").header("location", "http://["));
    let router = WebRouter::new(config(&server));
    for (path, expected) in [
        ("/slow", "it did not answer within 0.1 s"),
        ("/cut", "the connection broke in the middle of the page"),
        ("/gone", "it cannot be reached"),
        ("/lost", "it redirects to something that is no address: http://["),
    ] {
        let request = json!({ "url": format!("{}{path}", server.url()), "timeout": 100 });
        let (status, found) = json_of(router.scrape(body(&request)).await).await;
        assert_eq!((status, found["success"].as_bool()), (200, Some(false)), "{found}");
        let error = found["error"].as_str().unwrap();
        assert!(error.starts_with(expected), "{path}: {error}");
    }
}

#[tokio::test]
async fn a_host_that_does_not_exist_says_so() {
    let server = ScriptedServer::start().await;
    let (status, found) = scrape(&WebRouter::new(config(&server)), "http://no-such-host.invalid/").await;
    assert_eq!(
        (status, found["code"].as_str()),
        (200, Some("PAGE_UNREACHABLE")),
        "{found}"
    );
    let error = found["error"].as_str().unwrap();
    assert!(
        error.starts_with("it cannot be reached: ") && !error.contains("client error"),
        "{error}"
    );
}

#[tokio::test]
async fn dropping_the_request_ends_the_fetch() {
    let server = ScriptedServer::start().await;
    server.on("/", Answer::new(200, "text/plain", "late").hold(&Gate::closed()));
    let router = WebRouter::new(config(&server));
    let url = server.url();
    let reading = tokio::spawn(async move { router.read_page(PageRequest::new(url)).await.map(|_| ()) });
    let sent = server.wait_for_requests(1).await;
    assert!(
        sent[0]
            .header("user-agent")
            .starts_with("Mozilla/5.0 (compatible; beeuni/")
    );
    reading.abort();
    sent[0].hung_up().await;
}

#[tokio::test]
async fn pages_are_read_at_the_same_time() {
    let server = ScriptedServer::start().await;
    let gate = Gate::closed();
    for path in ["/1", "/2", "/3", "/4", "/5"] {
        server.on(path, Answer::new(200, "text/plain", path).hold(&gate));
    }
    let router = std::sync::Arc::new(WebRouter::new(config(&server)));
    let mut reading = tokio::task::JoinSet::new();
    for path in 1..=5 {
        let (router, url) = (std::sync::Arc::clone(&router), format!("{}/{path}", server.url()));
        reading.spawn(async move { router.read_page(PageRequest::new(url)).await.unwrap().text.markdown });
    }
    server.wait_for_requests(5).await;
    gate.open();
    let mut found = reading.join_all().await;
    found.sort();
    assert_eq!(found, ["/1", "/2", "/3", "/4", "/5"]);
}
