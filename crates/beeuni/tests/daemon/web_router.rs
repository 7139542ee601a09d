//! The web router of a daemon without a control plane: what the web tools get with which key.
use std::process::Command;

use beeuni_gateway::testing::Answer;
use serde_json::{Value, json};

use crate::support::{Connection, Daemon, Model, Project, TOKEN, Talk, request, signed};

const PAGE: &str = "<html><head><title>About bees</title></head><body><nav>Home</nav><article><h1>About bees</h1>
<p>Bees are insects. They fly from flower to flower and carry pollen, which is how many plants come to seed.</p>
<p>A colony has one queen and many workers, and it lives through the winter on the honey that it made.</p>
</article></body></html>";

/// A project with the web tools, and a server that plays the web and the providers.
fn web() -> (Project, Model) {
    let project = Project::new(&[]);
    let manifest = project.read("beeuni.yaml").unwrap();
    let tools = "  scrape_webpage: beeuni:scrape_webpage\n  web_search: beeuni:web_search\n  memory:";
    project.write("beeuni.yaml", &manifest.replace("  memory:", tools));
    let server = Model::new();
    server
        .server
        .on("/page", Answer::new(200, "text/html; charset=utf-8", PAGE));
    server.server.on("/v2/scrape", Answer::json(200, &json!({
        "success": true, "data": { "markdown": "from Firecrawl", "metadata": { "title": "T", "statusCode": 200 } },
    })));
    (project, server)
}

/// The command of a daemon that may read from the server's address.
fn command(project: &Project, server: &Model, flags: &[&str]) -> Command {
    let mut command = project.command(flags);
    command.env("BEEUNI_WEB_ALLOW", server.server.address().to_string());
    command
}

/// What `scrape_webpage` gives to an agent for the server's page.
fn scraped(daemon: &Daemon, server: &Model, agent: &str) -> Value {
    let args = json!({ "urls": format!("{}/page", server.server.url()) });
    let reply = daemon.call("scrape_webpage", &json!({ "args": args, "agent": agent }));
    assert_eq!(reply.status, 200, "{}", reply.body);
    serde_json::from_str(reply.json()["output"].as_str().unwrap()).unwrap()
}

#[test]
fn scrape_webpage_reads_a_page_with_no_key_at_all() {
    let (project, server) = web();
    let daemon = Daemon::start(command(&project, &server, &[]));
    let page = scraped(&daemon, &server, "lead");
    assert_eq!((&page["success"], &page["title"]), (&json!(true), &json!("About bees")));
    let content = page["content"].as_str().unwrap();
    assert!(
        content.contains("carry pollen") && !content.contains("Home"),
        "{content}"
    );
}

#[test]
fn the_key_of_the_calling_agent_comes_before_the_daemons_and_that_before_none() {
    let (project, server) = web();
    let mut command = command(&project, &server, &[]);
    command
        .env("FIRECRAWL_API_KEY", "fc-of-the-daemon")
        .env("FIRECRAWL_API_URL", server.server.url());
    let daemon = Daemon::start(command);
    let keys = || -> Vec<String> {
        let mut requests = server.server.requests();
        requests.retain(|request| request.path() == "/v2/scrape");
        requests
            .iter()
            .map(|request| request.header("authorization").to_owned())
            .collect()
    };
    assert_eq!(scraped(&daemon, &server, "lead")["content"], "from Firecrawl");
    let own = json!({ "FIRECRAWL_API_KEY": "fc-of-the-agent", "FIRECRAWL_API_URL": server.server.url() });
    assert_eq!(daemon.push("r1", json!({ "lead": own })).status, 200);
    scraped(&daemon, &server, "lead");
    scraped(&daemon, &server, "careful");
    // Gone again at once.
    daemon.push("r2", json!({}));
    scraped(&daemon, &server, "lead");
    let [daemons, agents] = ["Bearer fc-of-the-daemon", "Bearer fc-of-the-agent"];
    assert_eq!(keys(), [daemons, agents, daemons, daemons]);
}

#[test]
fn an_address_of_the_agent_never_gets_the_daemons_key() {
    let (project, server) = web();
    let thief = Model::new();
    let mut command = command(&project, &server, &[]);
    command
        .env("FIRECRAWL_API_KEY", "fc-of-the-daemon")
        .env("FIRECRAWL_API_URL", server.server.url());
    let daemon = Daemon::start(command);
    daemon.push("r1", json!({ "lead": { "FIRECRAWL_API_URL": thief.server.url() } }));
    assert_eq!(scraped(&daemon, &server, "lead")["content"], "from Firecrawl");
    assert!(thief.server.requests().is_empty());
}

#[test]
fn pages_inside_the_network_are_refused_and_a_search_without_a_source_says_what_to_set() {
    let (project, server) = web();
    let daemon = project.daemon(&[]);
    let args = json!({ "urls": format!("{}/page", server.server.url()) });
    let (status, error) = daemon.call("scrape_webpage", &json!({ "args": args })).error();
    assert!(status == 422 && error.contains("127.0.0.1"), "{status} {error}");
    assert!(server.server.requests().is_empty());
    let reply = daemon.call("web_search", &json!({ "args": { "query": "bees" } }));
    assert!(
        reply.body.contains("TAVILY_API_KEY") && reply.body.contains("BEEUNI_SEARXNG_URL"),
        "{}",
        reply.body
    );
}

#[test]
fn with_a_control_plane_tools_ask_that_one_with_the_session_token_and_there_is_no_router_here() {
    let (project, plane) = web();
    plane.server.on(
        "/v1/router/firecrawl/v2/scrape",
        Answer::json(
            200,
            &json!({
                "success": true, "data": { "markdown": "from the control plane", "metadata": {} },
            }),
        ),
    );
    let mut command = command(&project, &plane, &[]);
    command.env("BEEUNI_API_URL", plane.server.url());
    let daemon = Daemon::start(command);
    assert_eq!(scraped(&daemon, &plane, "lead")["content"], "from the control plane");
    let asked = &plane.server.requests()[0];
    assert_eq!(asked.header("authorization"), format!("Bearer {TOKEN}"));
    let (status, error) = daemon.ask("POST", "/v1/router/firecrawl/v2/scrape", "{}").error();
    assert!(status == 404 && error.contains("control plane"), "{status} {error}");
    let capabilities = daemon.ask("GET", "/beeuni/health", "").json()["capabilities"].to_string();
    assert!(!capabilities.contains("router"), "{capabilities}");
}

#[test]
fn a_daemon_on_a_unix_socket_has_the_router_where_tools_reach_it() {
    let (project, server) = web();
    let socket = project.beside("run/d.sock");
    let listen = format!("unix:{}", socket.display());
    let daemon = Daemon::start(command(&project, &server, &["--listen", &listen]));
    let body = json!({ "args": { "urls": format!("{}/page", server.server.url()) } }).to_string();
    let mut connection = Connection::unix(&socket).unwrap();
    let reply = connection.ask(&request("POST", "/beeuni/tools/scrape_webpage", &signed(), &body));
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert!(reply.body.contains("carry pollen"), "{}", reply.body);
    drop(daemon);
}

#[test]
fn webfetch_reads_through_the_same_reader() {
    let (project, server) = web();
    let mut command = command(&project, &server, &["--harness", "experimental", "--session", "s-1"]);
    command
        .env("BEEUNI_LLM_BASE_URL", server.server.base_url())
        .env("BEEUNI_MODEL", "custom/scripted");
    let talk = Talk {
        daemon: Daemon::start(command),
        project,
        model: server,
    };
    let address = talk.model.server.url();
    talk.model
        .server
        .on("/missing", Answer::new(404, "text/html", "<title>Nothing here</title>"));
    talk.model.calls(&[
        ("c1", "webfetch", json!({ "url": format!("{address}/page") })),
        (
            "c2",
            "webfetch",
            json!({ "url": format!("{address}/page"), "format": "html" }),
        ),
        ("c3", "webfetch", json!({ "url": format!("{address}/missing") })),
    ]);
    talk.model.says("done");
    talk.prompt(&json!({ "text": "read", "on_ask": "allow" }));
    talk.until_idle();
    let calls = talk.tool_calls();
    let output = |at: usize| calls[at]["output"].as_str().unwrap_or_else(|| panic!("{}", calls[at]));
    assert!(
        output(0).contains("carry pollen") && !output(0).contains("<p>"),
        "{}",
        output(0)
    );
    assert!(output(1).contains("<p>"), "{}", output(1));
    assert!(calls[2]["error"].as_str().unwrap().contains("404"), "{}", calls[2]);
}
