//! What the loop itself costs: time per turn, time to open a long transcript, memory.
//!
//! The bounds are those of a release build with room for a debug one on a busy machine; `--nocapture` prints what
//! was measured.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test stops at the first surprise and says what it measured"
)]

mod support;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use beeuni_agent::{Session, SessionConfig};
use beeuni_gateway::ChatRequest;
use beeuni_gateway::testing::{Answer, RecordedRequest};
use support::{Rig, gateway, messages, rig, say};

/// Set in the process that measures its memory.
const MEASURED: &str = "BEEUNI_MEASURED_PROCESS";

/// One call of `t`, then a text: two requests for a turn.
fn two_steps(rig: &Rig, output: usize) {
    rig.tools.add("t", move |_| async move { Ok("x".repeat(output)) });
    rig.server.respond_with(|request: &RecordedRequest| {
        if request.path() != "/v1/chat/completions" {
            return None;
        }
        let body = request.json();
        let last = body["messages"].as_array()?.last()?["role"].as_str()?.to_owned();
        Some(if last == "tool" {
            Answer::text("A short answer in a few words.")
        } else {
            Answer::tool_calls(&[("c1", "t", r#"{"id":"A-1042"}"#)])
        })
    });
}

#[tokio::test]
async fn a_turn_of_a_session_of_200_costs_at_most_5_ms() {
    let rig = rig().await;
    two_steps(&rig, 200);
    let session = rig.open();
    let mut turns = Vec::new();
    for round in 0..200 {
        let start = Instant::now();
        say(&session, &format!("prompt {round}")).await;
        turns.push(start.elapsed());
    }
    // The same requests without the loop: what server and gateway cost.
    let bodies: Vec<_> = rig.chats().into_iter().map(|request| request.body).collect();
    assert_eq!(bodies.len(), 400);
    let gateway = gateway(&rig.server.base_url());
    let mut model = Vec::new();
    for pair in bodies.chunks(2) {
        let start = Instant::now();
        for body in pair {
            let mut stream = gateway
                .chat(ChatRequest::new(support::MODEL, body.clone()))
                .await
                .unwrap();
            while let Some(event) = stream.next().await {
                event.unwrap();
            }
        }
        model.push(start.elapsed());
    }
    let mean = |times: &[Duration]| times.iter().sum::<Duration>() / u32::try_from(times.len()).unwrap();
    // The quiet moments: what others do on the machine is not the loop's cost.
    let quiet = |times: &[Duration]| {
        let mut times = times.to_vec();
        times.sort();
        times[times.len() / 5]
    };
    let cost = quiet(&turns).saturating_sub(quiet(&model));
    eprintln!(
        "a turn: {:?}, of it the model {:?}, the loop {cost:?}",
        quiet(&turns),
        quiet(&model)
    );
    eprintln!("first ten {:?}, last ten {:?}", mean(&turns[..10]), mean(&turns[190..]));
    let most = Duration::from_millis(if cfg!(debug_assertions) { 25 } else { 5 });
    assert!(cost < most, "{cost:?}");
    let before = session.state();
    let (mut session, mut opened) = (session, Duration::MAX);
    // The quickest of a few, for the same reason.
    for _ in 0..5 {
        session.close().await;
        drop(session);
        let start = Instant::now();
        session = rig.open();
        opened = opened.min(start.elapsed());
    }
    let start = Instant::now();
    assert_eq!(messages(&session).len(), 600);
    eprintln!("600 messages: opened in {opened:?}, read in {:?}", start.elapsed());
    let most = Duration::from_millis(if cfg!(debug_assertions) { 200 } else { 50 });
    assert!(opened < most, "{opened:?}");
    assert_eq!(session.state().usage, before.usage);
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// The process that is measured: 500 messages with large outputs. The model's server is in the other process.
#[tokio::test]
async fn process_that_is_measured() {
    let Ok(server) = std::env::var(MEASURED) else { return };
    let rig = rig().await;
    rig.tools
        .add("t", |_| async { Ok("An order with many lines.\n".repeat(800)) });
    let config = SessionConfig {
        gateway: gateway(&server),
        ..rig.config()
    };
    let session = Session::open(config, rig.setup.clone()).unwrap();
    say(&session, "hello").await;
    let start = resident_kib();
    while session.state().messages < 500 {
        say(&session, "go").await;
    }
    let end = resident_kib();
    let calls = support::calls(&session);
    assert!(
        calls.len() > 150 && calls.iter().all(|call| call.output.is_some()),
        "{} calls",
        calls.len()
    );
    drop(calls);
    eprintln!("\nresident: {start} {end} {}", resident_kib());
}

#[tokio::test]
async fn a_session_of_500_messages_stays_below_40_mib() {
    let rig = rig().await;
    two_steps(&rig, 0);
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "process_that_is_measured", "--nocapture"])
        .env(MEASURED, rig.server.base_url())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let output = tokio::task::spawn_blocking(move || output.wait_with_output())
        .await
        .unwrap()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    let line = text.lines().find_map(|line| line.strip_prefix("resident: ")).unwrap();
    let kib: Vec<u64> = line.split(' ').map(|word| word.parse().unwrap()).collect();
    eprintln!("resident KiB: {kib:?} after one turn, after 500 messages, after reading them all");
    assert!(kib[1] < 40 * 1024, "{kib:?}");
}
