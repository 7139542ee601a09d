//! Calls side by side: each gets its own answer, and none waits for another tool.
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::Project;

#[test]
fn conc_01_every_call_gets_its_own_answer_and_they_run_side_by_side() {
    let project = Project::new(&[("n", "await Bun.sleep(args.ms); return 'n=' + args.n")]);
    let daemon = project.daemon(&[]);
    daemon.output("n", json!({ "n": 0, "ms": 0 }));
    let begin = Instant::now();
    thread::scope(|scope| {
        let calls: Vec<_> = (0..50_u64)
            .map(|n| {
                let daemon = &daemon;
                (
                    n,
                    scope.spawn(move || daemon.output("n", json!({ "n": n, "ms": 300 + n * 7919 % 200 }))),
                )
            })
            .collect();
        for (n, call) in calls {
            assert_eq!(call.join().unwrap(), format!("n={n}"));
        }
    });
    // One after the other they would take 20 s.
    assert!(begin.elapsed() < Duration::from_secs(4), "{:?}", begin.elapsed());
}

#[test]
fn conc_03_a_busy_tool_delays_no_other() {
    let project = Project::new(&[
        (
            "cpu",
            "const end = Date.now() + 1500; while (Date.now() < end); return 'cpu'",
        ),
        ("quick", "return 'quick'"),
    ]);
    let daemon = project.daemon(&[]);
    daemon.output("quick", json!({}));
    thread::scope(|scope| {
        let busy: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| daemon.output("cpu", json!({}))))
            .collect();
        for _ in 0..10 {
            let begin = Instant::now();
            assert_eq!(daemon.output("quick", json!({})), "quick");
            assert!(begin.elapsed() < Duration::from_millis(900), "{:?}", begin.elapsed());
        }
        assert!(
            busy.iter().any(|call| !call.is_finished()),
            "the busy calls ended before anything was measured"
        );
        for call in busy {
            assert_eq!(call.join().unwrap(), "cpu");
        }
    });
}

#[test]
fn a_tool_that_ends_its_process_hurts_no_call_of_another() {
    let project = Project::new(&[
        ("exit", "if (args.quick) return 'again'; process.exit(3)"),
        ("slow", "await Bun.sleep(600); return 'slow'"),
    ]);
    let daemon = project.daemon(&[]);
    thread::scope(|scope| {
        let slow = scope.spawn(|| daemon.output("slow", json!({})));
        let (status, text) = daemon.call("exit", &json!({})).error();
        assert!(status == 422 && text.contains("exited"), "{status} {text}");
        assert_eq!(daemon.output("exit", json!({ "quick": true })), "again");
        assert_eq!(slow.join().unwrap(), "slow");
    });
}
