//! The table of routes: who may use each, what other methods and paths get, and the two open lists.
use std::path::Path;

use beeuni_daemon::{Access, ROUTES, Route};
use serde_json::{Value, json};

use crate::support::{Daemon, Project, TOKEN};

/// A request to `route` as somebody sends it; its status. A body that a route needs more of is a 400 or 404 to
/// whoever may use it.
fn status(daemon: &Daemon, route: &Route, authorization: Option<&str>) -> u16 {
    let path = route
        .path
        .replace("{name}", "echo")
        .replace("{id}", "s-1")
        .replace("{request}", "r-1");
    let body = match route.path {
        "/beeuni/env" => r#"{"revision":"r","agents":{}}"#,
        _ if route.method == "POST" => "{}",
        _ => "",
    };
    let headers = authorization
        .map(|value| format!("authorization: {value}\r\n"))
        .unwrap_or_default();
    let mut connection = daemon.connect();
    let request = crate::support::request(route.method, &path, &headers, body);
    if route.path == "/beeuni/events" {
        connection.send(request.as_bytes());
        return connection.head().status;
    }
    let reply = connection.ask(&request);
    // The routes of models and of the web have the errors of the providers that they stand for.
    let own = reply.status == 401 || route.path.starts_with("/beeuni/") && !route.path.starts_with("/beeuni/llm/");
    let error = reply.json();
    let told = if own {
        error["error"].is_string()
    } else {
        error.is_object()
    };
    assert!(reply.status == 200 || told, "{}", reply.body);
    if reply.status == 401 {
        assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
    }
    reply.status
}

#[test]
fn every_route_of_the_table_takes_its_credentials_and_no_other() {
    let project = Project::new(&[(
        "token",
        "return { url: context.env.BEEUNI_API_URL, token: context.env.BEEUNI_TOKEN.split('').join(' ') }",
    )]);
    let daemon = project.daemon(&["--harness", "experimental", "--session", "s-1"]);
    let key = project.bridge_key();
    // What a tool has: written so that the daemon does not take it out of the output.
    let given: Value = serde_json::from_str(&daemon.output("token", json!({}))).unwrap();
    assert_eq!(given["url"], format!("http://{}", daemon.address()));
    let router = given["token"].as_str().unwrap().replace(' ', "");
    let strangers = [
        String::new(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        "Bearer wrong".to_owned(),
        format!("Bearer {}", &TOKEN[..TOKEN.len() - 1]),
        format!("Bearer {TOKEN}x"),
        format!("Bearer x{TOKEN}"),
        format!("Bearer {}", TOKEN.to_uppercase()),
        format!("Bearer {}", &key[..63]),
        format!("Bearer {key}0"),
        format!("Bearer {}", &router[..63]),
        format!("Basic {TOKEN}"),
        TOKEN.to_owned(),
        format!("Bearer {TOKEN} {key}"),
    ];
    for route in &ROUTES {
        let by = |authorization: &str| status(&daemon, route, Some(authorization));
        let open = route.access == Access::Open;
        let closed = if open { 200 } else { 401 };
        assert_eq!(
            status(&daemon, route, None),
            closed,
            "{} without a credential",
            route.path
        );
        for stranger in &strangers {
            assert_eq!(by(stranger), closed, "{} with {stranger:?}", route.path);
        }
        let passed = |status: u16| !matches!(status, 401 | 403);
        assert!(
            passed(by(&format!("Bearer {TOKEN}"))),
            "{} with the session token",
            route.path
        );
        let bridge = by(&format!("Bearer {key}"));
        match route.access {
            Access::Open | Access::Caller => assert!(passed(bridge), "{} with the bridge key", route.path),
            Access::SessionToken | Access::Web => assert_eq!(bridge, 403, "{} with the bridge key", route.path),
        }
        let router = by(&format!("Bearer {router}"));
        match route.access {
            Access::Open | Access::Web => assert!(passed(router), "{} with the router token", route.path),
            Access::Caller | Access::SessionToken => {
                assert_eq!(router, 401, "{} with the router token", route.path);
            }
        }
    }
}

#[test]
fn without_a_session_token_only_the_bridge_key_is_accepted() {
    let project = Project::new(&[]);
    let mut command = project.command(&[]);
    command.env("BEEUNI_TOKEN", "");
    let daemon = Daemon::start(command);
    let call = |token: &str| daemon.ask_as(Some(token), "POST", "/beeuni/tools/echo", "{}").status;
    assert_eq!((call(&project.bridge_key()), call(TOKEN), call("")), (200, 401, 401));
    let push = r#"{"revision":"r","agents":{}}"#;
    assert_eq!(
        daemon
            .ask_as(Some(&project.bridge_key()), "POST", "/beeuni/env", push)
            .status,
        403
    );
    daemon.wait_for_log(&["WARN", "BEEUNI_TOKEN"]);
}

#[test]
fn every_route_of_the_table_is_in_the_docs() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/daemon.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    for route in &ROUTES {
        let line = format!(
            "| `{} {}` |",
            route.method,
            route.path.replace('{', "<").replace('}', ">")
        );
        assert!(docs.contains(&line), "docs/daemon.md has no line {line}");
    }
}

#[test]
fn an_unknown_path_is_404_and_another_method_405_with_what_is_allowed() {
    let project = Project::new(&[]);
    let daemon = project.daemon(&[]);
    for path in [
        "/",
        "/beeuni",
        "/beeuni/",
        "/beeuni/nothing",
        "/beeuni/tools/",
        "/beeuni/tools/echo/",
        "/beeuni/tools/a/b",
        "/beeuni/health/",
    ] {
        for token in [None, Some(TOKEN)] {
            assert_eq!(
                daemon.ask_as(token, "GET", path, "").error(),
                (404, "there is no such route".to_owned()),
                "{path}"
            );
        }
    }
    for (method, path, allow) in [
        ("POST", "/beeuni/health", "GET, HEAD"),
        ("DELETE", "/beeuni/tools", "GET, HEAD"),
        ("GET", "/beeuni/tools/echo", "POST"),
        ("PUT", "/beeuni/env", "POST"),
        ("OPTIONS", "/beeuni/tools/echo", "POST"),
        ("HEAD", "/beeuni/env", "POST"),
    ] {
        let request = crate::support::request(method, path, "origin: http://evil.example.com\r\n", "");
        let reply = daemon.connect().ask(&request);
        assert_eq!(
            (reply.status, reply.header("allow")),
            (405, Some(allow)),
            "{method} {path}"
        );
        assert!(
            !reply.head.to_ascii_lowercase().contains("access-control"),
            "{}",
            reply.head
        );
    }
}

#[test]
fn head_answers_as_get_does_without_a_body() {
    let project = Project::new(&[]);
    let daemon = project.daemon(&[]);
    for path in ["/beeuni/health", "/beeuni/tools"] {
        let mut connection = daemon.connect();
        let head = connection.ask(&crate::support::request("HEAD", path, &crate::support::signed(), ""));
        let get = connection.ask(&crate::support::request("GET", path, &crate::support::signed(), ""));
        assert_eq!((head.status, get.status), (200, 200));
        assert_eq!(head.header("content-length"), get.header("content-length"), "{path}");
        assert_eq!(head.header("content-type"), Some("application/json"));
    }
}

#[test]
fn health_is_open_and_tells_no_path_and_no_secret() {
    let project = Project::new(&[("broken", "")]);
    project.write("tools/broken.ts", "export const tool = 1\n");
    let daemon = project.daemon(&["--session", "s-1"]);
    let health = || daemon.ask_as(None, "GET", "/beeuni/health", "").json();
    let mut expected = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "session": "s-1",
        "harness": { "id": "none", "state": "off", "ready": false },
        "model": null,
        "runtime": { "ready": true },
        "project": { "current": true, "errors": 0, "warnings": 0, "problem": null },
        "release": null,
        "tools": { "loaded": 3, "failed": 1, "failed_names": ["broken"] },
        "env": { "revision": null },
        "capabilities": ["tools", "env", "reload", "llm", "router"],
    });
    assert_eq!(health(), expected);
    daemon.push("r7", json!({ "lead": { "KEY": "planted-value" } }));
    expected["env"]["revision"] = json!("r7");
    assert_eq!(health(), expected);
}

#[test]
fn the_list_has_each_tool_in_order_with_its_parameters_as_written_and_why_others_failed() {
    let project = Project::new(&[]);
    let parameters = r#"{"type":"object","properties":{"zeta":{"type":"string"},"alpha":{"enum":["é","\u0000"],"default":1.5}},"required":["zeta"],"additionalProperties":false}"#;
    project.write("beeuni.yaml", "beeuni_version: 2\ntools:\n  ordered: tools/ordered.ts\n  show: beeuni:show\n  broken: tools/broken.ts\n  web_search: tools/search.ts\n  memory: beeuni:memory\n");
    for (file, description) in [("ordered", "Ordered."), ("search", "Searches.")] {
        let module =
            format!("export default {{ description: '{description}', parameters: {parameters}, execute() {{}} }}\n");
        project.write(&format!("tools/{file}.ts"), &module);
    }
    project.write("tools/broken.ts", "export const tool = {}\n");
    let daemon = project.daemon(&[]);
    let reply = daemon.ask("GET", "/beeuni/tools", "");
    let list = reply.json();
    let rows: Vec<[&str; 3]> = list["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| ["name", "kind", "source"].map(|key| tool[key].as_str().unwrap()))
        .collect();
    assert_eq!(
        rows,
        [
            ["web_search", "beeuni (overridden)", "tools/search.ts"],
            ["memory", "beeuni", "beeuni:memory"],
            ["show", "beeuni", "beeuni:show"],
            ["ordered", "project", "tools/ordered.ts"],
        ]
    );
    assert_eq!(list["tools"][3]["description"], "Ordered.");
    // SCH-06: the bytes of the author, not those of a parser that sorts or reformats.
    assert_eq!(reply.body.matches(parameters).count(), 2, "{}", reply.body);
    assert_eq!(list["failed"].as_array().unwrap().len(), 1);
    let failed = &list["failed"][0];
    assert_eq!(
        (&failed["name"], &failed["source"]),
        (&json!("broken"), &json!("tools/broken.ts"))
    );
    assert!(failed["error"].as_str().unwrap().contains("default export"), "{failed}");
    drop(daemon);
    let again = project.daemon(&[]).ask("GET", "/beeuni/tools", "");
    assert_eq!(again.body, reply.body, "SCH-06: the same bytes after a restart");
}

#[test]
fn a_stranger_cannot_tell_a_loaded_tool_from_another() {
    let project = Project::new(&[]);
    let daemon = project.daemon(&[]);
    let replies = ["echo", "nothing", "show"].map(|tool| {
        let reply = daemon.ask_as(None, "POST", &format!("/beeuni/tools/{tool}"), "not json");
        (reply.status, reply.body)
    });
    assert_eq!(replies[0].0, 401);
    assert!(replies.iter().all(|reply| *reply == replies[0]), "{replies:?}");
    assert!(
        serde_json::from_str::<Value>(&replies[0].1).unwrap()["error"]
            .as_str()
            .unwrap()
            .contains("Bearer")
    );
}
