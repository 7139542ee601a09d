//! Signals: SIGTERM and SIGINT drain, a second one cuts, and SIGKILL leaves nothing behind.
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Connection, Daemon, Project, descendants, request, signed, until, until_gone};

const SLOW: (&str, &str) = (
    "slow",
    "require('fs').writeFileSync('started', ''); await Bun.sleep(args.ms); return 'done'",
);
const SPIN: (&str, &str) = (
    "spin",
    "Bun.spawn(['sleep', '600']); require('child_process').spawn('sh', ['-c', 'sleep 601'], { detached: true }); require('fs').writeFileSync('started', ''); for (;;) {}",
);

/// A call that has started, on a connection of its own.
fn started(daemon: &Daemon, project: &Project, tool: &str, body: &str) -> Connection<TcpStream> {
    let mut connection = daemon.connect();
    connection.send(request("POST", &format!("/beeuni/tools/{tool}"), &signed(), body).as_bytes());
    until("the tool to start", || project.read("started"));
    connection
}

#[test]
fn sigterm_and_sigint_end_an_idle_daemon_with_0_and_its_workers_with_it() {
    for signal in ["TERM", "INT"] {
        let project = Project::new(&[]);
        let mut daemon = project.daemon(&[]);
        daemon.output("echo", json!({}));
        let idle = daemon.connect();
        let workers = descendants(daemon.pid());
        assert!(!workers.is_empty());
        let begin = Instant::now();
        daemon.signal(signal);
        assert_eq!(daemon.exit_code(), Some(0), "SIG{signal}");
        assert!(
            begin.elapsed() < Duration::from_secs(3),
            "an idle daemon took {:?}",
            begin.elapsed()
        );
        until_gone(&workers);
        drop(idle);
    }
}

#[test]
fn a_running_call_gets_its_answer_and_new_ones_are_refused() {
    let project = Project::new(&[SLOW]);
    let mut daemon = project.daemon(&[]);
    let mut kept = daemon.connect();
    assert_eq!(kept.ask(&request("GET", "/beeuni/health", "", "")).status, 200);
    let mut running = started(&daemon, &project, "slow", r#"{"args":{"ms":1500}}"#);
    daemon.signal("TERM");
    until("new connections to be refused", || {
        TcpStream::connect(daemon.address()).err()
    });
    // What still comes in on an open connection is answered or closed, never run.
    if kept
        .try_send(request("POST", "/beeuni/tools/echo", &signed(), "{}").as_bytes())
        .is_ok()
    {
        let late = kept.try_reply(false).map(|reply| reply.status);
        assert!(matches!(late, None | Some(503)), "{late:?}");
    }
    let reply = running.reply(false);
    assert_eq!((reply.status, reply.body.as_str()), (200, r#"{"output":"done"}"#));
    assert_eq!(daemon.exit_code(), Some(0));
}

#[test]
fn a_call_that_does_not_end_is_cut_after_five_seconds() {
    let project = Project::new(&[SPIN]);
    let mut daemon = project.daemon(&[]);
    let mut running = started(&daemon, &project, "spin", "{}");
    let processes = descendants(daemon.pid());
    assert!(processes.len() >= 3, "{processes:?}");
    let begin = Instant::now();
    daemon.signal("TERM");
    assert_eq!(running.reply(false).error(), (503, "the daemon is stopping".to_owned()));
    assert_eq!(daemon.exit_code(), Some(0));
    let took = begin.elapsed();
    assert!(
        (Duration::from_secs(4)..Duration::from_secs(8)).contains(&took),
        "{took:?}"
    );
    until_gone(&processes);
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let project = Project::new(&[SPIN]);
    let mut daemon = project.daemon(&[]);
    let _running = started(&daemon, &project, "spin", "{}");
    let processes = descendants(daemon.pid());
    let begin = Instant::now();
    daemon.signal("TERM");
    daemon.wait_for_log(&["SIGTERM"]);
    daemon.signal("TERM");
    assert_eq!(daemon.exit_code(), Some(1));
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
    until_gone(&processes);
    assert!(daemon.log().contains("second signal"), "{}", daemon.log());
}

#[test]
fn sigkill_leaves_nothing_running() {
    let project = Project::new(&[SPIN]);
    let mut daemon = project.daemon(&[]);
    daemon.output("echo", json!({}));
    let _running = started(&daemon, &project, "spin", "{}");
    let processes = until("the tool's own processes", || {
        let processes = descendants(daemon.pid());
        (processes.len() >= 5).then_some(processes)
    });
    daemon.signal("KILL");
    assert_eq!(daemon.exit_code(), None);
    until_gone(&processes);
}

#[test]
fn a_signal_while_tools_load_ends_it_well() {
    let project = Project::new(&[("never", "")]);
    project.write("tools/never.ts", "for (;;) {}\n");
    let socket = project.beside("run/daemon.sock");
    let mut daemon = Daemon::start_only(project.command(&["--listen", &format!("unix:{}", socket.display())]));
    let processes = until("the loading process", || {
        let processes = descendants(daemon.pid());
        (socket.exists() && !processes.is_empty()).then_some(processes)
    });
    daemon.signal("TERM");
    assert_eq!(daemon.exit_code(), Some(0));
    assert_eq!(daemon.stdout(), "");
    until_gone(&processes);
}

#[test]
fn calls_from_many_clients_survive_a_drain() {
    let project = Project::new(&[("wait", "await Bun.sleep(400); return 'done'")]);
    let mut daemon = project.daemon(&[]);
    daemon.output("wait", json!({}));
    let calls: Vec<_> = (0..40)
        .map(|_| {
            let mut connection = daemon.connect();
            connection.send(request("POST", "/beeuni/tools/wait", &signed(), "{}").as_bytes());
            connection
        })
        .collect();
    // A health answer says that everything sent before it was read.
    assert_eq!(daemon.ask("GET", "/beeuni/health", "").status, 200);
    daemon.signal("TERM");
    let replies: Vec<_> = calls
        .into_iter()
        .map(|mut call| thread::spawn(move || call.reply(false).status))
        .collect();
    for reply in replies {
        assert_eq!(reply.join().unwrap(), 200);
    }
    assert_eq!(daemon.exit_code(), Some(0));
}
