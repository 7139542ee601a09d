//! The reader's own process: what a hostile page does there, it does only there.

use beeuni_gateway::testing::{Answer, ScriptedServer};
use beeuni_gateway::web::{ReaderProgram, WebConfig, WebRouter, page_reader_main};
use serde_json::{Value, json};

use super::{body, config, json_of, scrape};

/// Plays the program that [`router`] starts: this test program with only this test.
#[test]
#[ignore = "the reader's process, started by the other tests"]
fn the_page_reader_itself() {
    std::process::exit(page_reader_main());
}

fn router(server: &ScriptedServer) -> WebRouter {
    let args = [
        "--exact",
        "reader_process::the_page_reader_itself",
        "--ignored",
        "--nocapture",
    ];
    WebRouter::new(WebConfig {
        reader: Some(ReaderProgram {
            program: std::env::current_exe().unwrap(),
            args: args.map(str::to_owned).to_vec(),
        }),
        ..config(server)
    })
}

async fn read(server: &ScriptedServer, path: &str) -> Value {
    let request = json!({ "url": format!("{}{path}", server.url()), "timeout": 2000 });
    let (status, found) = json_of(router(server).scrape(body(&request)).await).await;
    assert_eq!(status, 200, "{found}");
    found
}

#[tokio::test]
async fn a_page_is_read_in_a_process_of_its_own() {
    let server = ScriptedServer::start().await;
    server.on("/", Answer::new(200, "text/html", "<title>T</title><p>Grüße</p>"));
    server.on("/empty", Answer::new(200, "text/html", ""));
    let found = read(&server, "/").await;
    assert_eq!(
        (&found["data"]["markdown"], &found["data"]["metadata"]["title"]),
        (&"Grüße".into(), &"T".into())
    );
    assert_eq!(read(&server, "/empty").await["data"]["markdown"], "");
}

#[tokio::test]
async fn a_page_that_breaks_its_reader_is_an_error_and_nothing_else() {
    let server = ScriptedServer::start().await;
    // Deeper than any stack, and a PDF that claims to be larger than any memory.
    let deep = format!("<p>before{}", "<blockquote>".repeat(30_000));
    server.on("/deep", Answer::new(200, "text/html", deep));
    server.on(
        "/broken",
        Answer::new(200, "application/pdf", "%PDF-1.7\n1 0 obj<</Length 99999999999>>stream"),
    );
    for path in ["/deep", "/broken"] {
        let found = read(&server, path).await;
        // Either it was read after all, or it says that it could not be.
        let fine = found["success"] == true || found["code"] == "PAGE_UNREADABLE";
        assert!(fine, "{path}: {found}");
    }
    server.on("/", Answer::new(200, "text/html", "<p>still here"));
    assert_eq!(read(&server, "/").await["data"]["markdown"], "still here");
}

#[tokio::test]
async fn a_program_that_is_missing_or_says_nothing_is_an_error() {
    let server = ScriptedServer::start().await;
    server.on("/", Answer::new(200, "text/html", "<p>hello"));
    for program in ["/no/such/program", "/bin/true", "/bin/cat"] {
        let router = WebRouter::new(WebConfig {
            reader: Some(ReaderProgram {
                program: program.into(),
                args: Vec::new(),
            }),
            ..config(&server)
        });
        let (status, found) = scrape(&router, &server.url()).await;
        assert_eq!(
            (status, found["code"].as_str()),
            (200, Some("PAGE_UNREADABLE")),
            "{program}: {found}"
        );
    }
}
