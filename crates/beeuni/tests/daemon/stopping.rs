//! Stopping a call: the client goes away, or the call runs out of time.
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Project, descendants, request, signed, until, until_gone};

const CAREFUL: (&str, &str) = (
    "patient",
    "const fs = require('fs'); fs.writeFileSync('started', '');
     return new Promise((done, fail) => {
       const timer = setTimeout(() => { fs.writeFileSync('too-late', ''); done('done') }, 2000);
       context.signal.addEventListener('abort', () => { clearTimeout(timer); fs.writeFileSync('aborted', ''); fail(context.signal.reason) }, { once: true })
     })",
);

#[test]
fn run_02_a_client_that_leaves_stops_its_call_at_once() {
    let project = Project::new(&[CAREFUL]);
    let daemon = project.daemon(&[]);
    let mut connection = daemon.connect();
    connection.send(request("POST", "/beeuni/tools/patient", &signed(), "{}").as_bytes());
    until("the tool to start", || project.read("started"));
    let begin = Instant::now();
    connection.leave();
    until("the tool to see the signal", || project.read("aborted"));
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
    daemon.wait_for_log(&["INFO", "patient", "lead", "499"]);
    // Two seconds after its start the tool would have written the file.
    until("the time of the tool's timer", || {
        (begin.elapsed() > Duration::from_millis(2200)).then_some(())
    });
    assert_eq!(project.read("too-late"), None);
    daemon.output("echo", json!({}));
}

#[test]
fn run_01_a_spinning_tool_whose_client_left_is_replaced() {
    let project = Project::new(&[(
        "spin",
        "if (args.quick) return 'quick'; require('fs').writeFileSync('started', ''); for (;;) {}",
    )]);
    let daemon = project.daemon(&[]);
    assert_eq!(daemon.output("spin", json!({ "quick": true })), "quick");
    let before = descendants(daemon.pid());
    let mut connection = daemon.connect();
    connection.send(request("POST", "/beeuni/tools/spin", &signed(), "{}").as_bytes());
    until("the tool to start", || project.read("started"));
    connection.leave();
    until_gone(&before);
    assert_eq!(daemon.output("spin", json!({ "quick": true })), "quick");
}

#[test]
fn run_01_a_call_has_a_deadline_and_says_so() {
    let project = Project::new(&[("never", "return new Promise(() => {})"), ("spin", "for (;;) {}")]);
    let daemon = project.daemon(&["--call-timeout", "1"]);
    for tool in ["never", "spin"] {
        let begin = Instant::now();
        assert_eq!(
            daemon.call(tool, &json!({})).error(),
            (422, "timed out after 1 s".to_owned()),
            "{tool}"
        );
        assert!(
            begin.elapsed() < Duration::from_secs(8),
            "{tool}: {:?}",
            begin.elapsed()
        );
        daemon.output("echo", json!({}));
    }
}

#[test]
fn a_client_that_leaves_before_its_call_began_starts_nothing() {
    let project = Project::new(&[(
        "mark",
        "const fs = require('fs'); fs.writeFileSync('marked-' + args.n, ''); while (!fs.existsSync('go')) await Bun.sleep(5); return 'ok'",
    )]);
    let daemon = project.daemon(&[]);
    let call = |n: u32| {
        let mut connection = daemon.connect();
        let body = json!({ "args": { "n": n } }).to_string();
        connection.send(request("POST", "/beeuni/tools/mark", &signed(), &body).as_bytes());
        connection
    };
    // Every place of the tool, and one more call that waits for a place.
    let running: Vec<_> = (0..64).map(call).collect();
    until("the places to be taken", || {
        (0..64)
            .all(|n| project.read(&format!("marked-{n}")).is_some())
            .then_some(())
    });
    let waiting = call(64);
    assert_eq!(daemon.ask("GET", "/beeuni/health", "").status, 200);
    waiting.leave();
    daemon.wait_for_log(&["mark", "499"]);
    project.write("go", "");
    for mut connection in running {
        assert_eq!(connection.reply(false).status, 200);
    }
    daemon.output("mark", json!({ "n": 65 }));
    assert_eq!(
        (project.read("marked-64"), project.read("marked-65").is_some()),
        (None, true)
    );
}
