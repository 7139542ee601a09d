//! Limits: sizes, slow and many clients, and requests that are no HTTP.
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Project, TOKEN, request, signed};

const LIMIT: usize = 10 * 1024 * 1024;

const LENGTH: (&str, &str) = ("length", "return String(args.text.length)");

/// A body of exactly `size` bytes for [`LENGTH`].
fn body_of(size: usize) -> String {
    let frame = r#"{"args":{"text":""}}"#;
    format!(r#"{{"args":{{"text":"{}"}}}}"#, "x".repeat(size - frame.len()))
}

fn chunked(body: &[u8], sizes: &[usize]) -> Vec<u8> {
    let mut sent = format!(
        "POST /beeuni/tools/length HTTP/1.1\r\nhost: 127.0.0.1\r\n{}transfer-encoding: chunked\r\n\r\n",
        signed()
    )
    .into_bytes();
    let (mut rest, mut sizes) = (body, sizes.iter().cycle());
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(rest.len().min(*sizes.next().unwrap()));
        sent.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        sent.extend_from_slice(chunk);
        sent.extend_from_slice(b"\r\n");
        rest = after;
    }
    sent.extend_from_slice(b"0\r\n\r\n");
    sent
}

#[test]
fn a_body_of_ten_megabytes_passes_and_one_byte_more_is_413() {
    let project = Project::new(&[LENGTH]);
    let daemon = project.daemon(&[]);
    assert_eq!(daemon.ask("POST", "/beeuni/tools/length", &body_of(LIMIT)).status, 200);
    let over = daemon.ask("POST", "/beeuni/tools/length", &body_of(LIMIT + 1));
    assert_eq!(over.error(), (413, "the body is over 10 MiB".to_owned()));
    let far_over = daemon.ask("POST", "/beeuni/env", &body_of(2 * LIMIT));
    assert_eq!(far_over.error().0, 413);
}

#[test]
fn a_chunked_body_is_read_whole_and_counted_too() {
    let project = Project::new(&[LENGTH]);
    let daemon = project.daemon(&[]);
    let mut connection = daemon.connect();
    connection.send(&chunked(body_of(100_000).as_bytes(), &[1, 7, 4096, 3, 65_537]));
    let reply = connection.reply(false);
    assert_eq!((reply.status, reply.body.as_str()), (200, r#"{"output":"99980"}"#));
    connection.send(&chunked(body_of(LIMIT + 1).as_bytes(), &[64 * 1024]));
    assert_eq!(connection.reply(false).error().0, 413);
    assert_eq!(daemon.output("length", json!({ "text": "ab" })), "2");
}

#[test]
fn a_client_that_asks_before_it_sends_is_told_at_once() {
    let project = Project::new(&[LENGTH]);
    let daemon = project.daemon(&[]);
    let expecting = |length: usize, token: &str| {
        format!(
            "POST /beeuni/tools/length HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\nexpect: 100-continue\r\ncontent-length: {length}\r\n\r\n"
        )
    };
    assert_eq!(daemon.connect().ask(&expecting(LIMIT + 1, TOKEN)).status, 413);
    assert_eq!(daemon.connect().ask(&expecting(100, "wrong")).status, 401);
    let mut connection = daemon.connect();
    let body = body_of(1000);
    assert_eq!(connection.ask(&expecting(body.len(), TOKEN)).status, 100);
    connection.send(body.as_bytes());
    assert_eq!(connection.reply(false).body, r#"{"output":"980"}"#);
}

#[test]
fn a_refused_body_does_not_hide_the_answer() {
    let project = Project::new(&[]);
    let daemon = project.daemon(&[]);
    for (path, token, status) in [
        ("/beeuni/tools/echo", "wrong", 401),
        ("/beeuni/tools/nothing", TOKEN, 404),
        ("/nothing", TOKEN, 404),
        ("/beeuni/health", TOKEN, 405),
    ] {
        let reply = daemon.ask_as(Some(token), "POST", path, &body_of(3 * 1024 * 1024));
        assert_eq!(reply.error().0, status, "{path}");
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let project = Project::new(&[("wait", "await Bun.sleep(args.ms); return String(args.ms)")]);
    let daemon = project.daemon(&[]);
    let call = |ms: u32| {
        request(
            "POST",
            "/beeuni/tools/wait",
            &signed(),
            &format!(r#"{{"args":{{"ms":{ms}}}}}"#),
        )
    };
    let mut connection = daemon.connect();
    connection.send(
        [call(150), call(1), request("GET", "/beeuni/health", "", "")]
            .concat()
            .as_bytes(),
    );
    assert_eq!(connection.reply(false).body, r#"{"output":"150"}"#);
    assert_eq!(connection.reply(false).body, r#"{"output":"1"}"#);
    assert_eq!(connection.reply(false).json()["runtime"]["ready"], true);
}

#[test]
fn what_is_no_http_ends_its_connection_and_nothing_else() {
    let project = Project::new(&[]);
    let daemon = project.daemon(&[]);
    let head = format!("POST /beeuni/tools/echo HTTP/1.1\r\nhost: localhost\r\n{}", signed());
    for broken in [
        "\0\0\0\0\r\n\r\n".to_owned(),
        "hello\r\n\r\n".to_owned(),
        "GET / HTTP/9.9\r\n\r\n".to_owned(),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
        format!("{head}content-length: ten\r\n\r\n"),
        format!("{head}content-length: -1\r\n\r\n"),
        format!("{head}content-length: 2\r\ncontent-length: 3\r\n\r\n{{}}"),
        format!("{head}transfer-encoding: chunked\r\n\r\nnot-hex\r\n"),
        format!("{head}transfer-encoding: gzip\r\n\r\n{{}}"),
        format!("{head}x: {}\r\n\r\n", "y".repeat(100_000)),
        format!("{head}{}\r\n", "a: b\r\n".repeat(500)),
    ] {
        let mut connection = daemon.connect();
        // The daemon may close before all of it is sent.
        let _ = connection.try_send(broken.as_bytes());
        let shown = &broken[..broken.len().min(60)];
        if let Some(reply) = connection.try_reply(false) {
            assert!(
                (400..500).contains(&reply.status) || reply.status == 505,
                "{shown:?}: {}",
                reply.status
            );
        }
        connection.rest();
    }
    // A length together with chunks is how one request hides in another: never two answers.
    let mut connection = daemon.connect();
    let hidden = request("GET", "/beeuni/health", "", "");
    connection
        .send(format!("{head}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{hidden}").as_bytes());
    let first = connection.try_reply(false).map(|reply| reply.status);
    assert!(first != Some(200), "{first:?}");
    daemon.output("echo", json!({}));
}

#[test]
fn a_body_that_ends_early_runs_nothing() {
    let project = Project::new(&[("mark", "require('fs').writeFileSync('marked', ''); return 'done'")]);
    let daemon = project.daemon(&[]);
    let mut connection = daemon.connect();
    connection.send(
        format!(
            "POST /beeuni/tools/mark HTTP/1.1\r\nhost: localhost\r\n{}content-length: 100\r\n\r\n{{}}",
            signed()
        )
        .as_bytes(),
    );
    connection.leave();
    daemon.output("echo", json!({}));
    assert_eq!(project.read("marked"), None);
}

#[test]
fn slow_clients_are_cut_and_an_idle_connection_is_not() {
    let project = Project::new(&[]);
    let daemon = project.daemon(&[]);
    let mut idle = daemon.connect();
    assert_eq!(idle.ask(&request("GET", "/beeuni/health", "", "")).status, 200);
    let (mut silent, mut slow_head, mut slow_body) = (daemon.connect(), daemon.connect(), daemon.connect());
    slow_head.send(b"GET /beeuni/health HTTP/1.1\r\n");
    slow_body.send(
        format!(
            "POST /beeuni/tools/echo HTTP/1.1\r\nhost: localhost\r\n{}content-length: 100\r\n\r\n{{",
            signed()
        )
        .as_bytes(),
    );

    let begin = Instant::now();
    assert_eq!(slow_body.reply(false).error().0, 408);
    assert_eq!((slow_head.rest(), silent.rest()), (String::new(), String::new()));
    let took = begin.elapsed();
    assert!(
        (Duration::from_secs(8)..Duration::from_secs(15)).contains(&took),
        "{took:?}"
    );
    assert_eq!(
        idle.ask(&request("GET", "/beeuni/health", "", "")).status,
        200,
        "an idle connection was cut"
    );
}

#[test]
fn more_connections_than_there_is_room_for_keep_nobody_out_for_long() {
    let project = Project::new(&[("wait", "await Bun.sleep(300); return String(args.n)")]);
    let daemon = project.daemon(&[]);
    // Connections that say nothing, more than the daemon holds.
    let silent: Vec<_> = (0..300).map(|_| daemon.connect()).collect();
    let begin = Instant::now();
    assert_eq!(daemon.ask("GET", "/beeuni/tools", "").status, 200);
    assert!(begin.elapsed() < Duration::from_secs(8), "{:?}", begin.elapsed());
    drop(silent);
    // As many calls at once: none is refused, each gets its own answer. Twice, because a place that is not
    // given back is missed the second time.
    for _ in 0..2 {
        let calls: Vec<_> = (0..300)
            .map(|n| {
                let mut connection = daemon.connect();
                let body = json!({ "args": { "n": n } }).to_string();
                connection.send(request("POST", "/beeuni/tools/wait", &signed(), &body).as_bytes());
                (n, connection)
            })
            .collect();
        for (n, mut connection) in calls {
            let reply = connection.reply(false);
            assert_eq!((reply.status, reply.body), (200, format!(r#"{{"output":"{n}"}}"#)));
        }
    }
}
