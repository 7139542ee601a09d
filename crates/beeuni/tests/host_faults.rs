//! A tool cannot hurt its neighbours: each fault fails its own call with a text that says what happened.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

#[path = "support/host.rs"]
mod host;

use std::time::{Duration, Instant};

use host::{module, plain_module, project, wait_until};

/// Faults, each with words that its caller must read.
const FAULTS: &[(&str, &str, &str)] = &[
    ("exit", "process.exit(3)", "exited (code 3)"),
    (
        "kill_itself",
        "process.kill(process.pid, 'SIGKILL'); return new Promise(() => {})",
        "was killed (SIGKILL)",
    ),
    (
        "kill_group",
        "process.kill(0, 'SIGKILL'); return new Promise(() => {})",
        "was killed (SIGKILL)",
    ),
    ("abort", "process.abort()", "crashed (SIGABRT)"),
    (
        "stack",
        "const deeper = (n) => 1 + deeper(n + 1); return deeper(0)",
        "Maximum call stack size exceeded",
    ),
    (
        "bytes",
        "for (;;) require('fs').writeSync(1, 'y'.repeat(1 << 20))",
        "printed more than 8 MiB",
    ),
    (
        "lines",
        "for (let i = 0; i < 1e6; i++) console.log(i); return new Promise(() => {})",
        "100,000 lines at once",
    ),
    (
        "stray",
        "Promise.reject(new Error('nobody waits')); return new Promise(() => {})",
        "unhandled rejection: nobody waits",
    ),
    (
        "timer",
        "setTimeout(() => { throw new Error('late') }, 5); return new Promise(() => {})",
        "uncaught exception: late",
    ),
    (
        "channel",
        "require('fs').writeSync(3, 'this is no frame, and it is long enough to look like one'); return new Promise(() => {})",
        "channel",
    ),
    (
        "kill_guard",
        "process.kill(process.ppid, 'SIGKILL'); return new Promise(() => {})",
        "the worker of kill_guard",
    ),
];

const MEMORY_FAULTS: &[(&str, &str, &str)] = &[
    (
        "memory",
        "const all = []; for (;;) all.push(new Uint8Array(5e7).fill(1))",
        "out of memory",
    ),
    (
        "objects",
        "const all = []; for (;;) all.push({ list: new Array(1000).fill(all.length) })",
        "out of memory",
    ),
];

#[tokio::test]
async fn crash_02_each_fault_is_named_at_once_and_hurts_no_neighbour() {
    faults(FAULTS).await;
}

#[tokio::test]
async fn crash_02_a_tool_that_fills_its_memory_hurts_no_neighbour() {
    faults(MEMORY_FAULTS).await;
}

async fn faults(all: &[(&str, &str, &str)]) {
    for (name, body, expected) in all {
        let host = project()
            .file(
                &format!("tools/{name}.ts"),
                plain_module(&format!("if (args.well) return 'well'; {body}")),
            )
            .tool("slow", "await Bun.sleep(args.ms); return 'slow is done'")
            .limits(|limits| limits.memory_mib = 512)
            .load()
            .await;
        let slow = host.spawn("slow", r#"{"ms":400}"#);
        host.output(name, r#"{"well":true}"#).await;

        let begin = Instant::now();
        let error = host.error(name, "{}").await;
        assert!(error.contains(expected), "{name}: {error}");
        // Long before any deadline; a loaded machine takes a while to fill half a gigabyte or print a million lines.
        assert!(
            begin.elapsed() < Duration::from_secs(10),
            "{name} took {:?}",
            begin.elapsed()
        );

        assert_eq!(
            host.output(name, r#"{"well":true}"#).await,
            "well",
            "{name}: the next call finds a fresh worker"
        );
        assert_eq!(slow.await.unwrap().unwrap(), "slow is done", "{name}");
        host.host.shutdown(Duration::ZERO).await;
        wait_until(&format!("the processes of {name} to end"), || {
            host.processes().is_empty()
        })
        .await;
    }
}

#[tokio::test]
async fn run_01_a_call_that_never_ends_times_out_and_leaves_no_busy_process() {
    let forms = [
        "return new Promise(() => {})",
        "while (true) {}",
        "return (async () => { await 0; while (true) {} })()",
        "return Bun.spawnSync(['sleep', '600']).exitCode",
    ];
    for body in forms {
        let host = project()
            .file(
                "tools/endless.ts",
                plain_module(&format!("if (args.well) return 'well'; {body}")),
            )
            .tool("quick", "return 'quick'")
            .limits(|limits| limits.call = Duration::from_millis(700))
            .load()
            .await;
        host.output("quick", "{}").await;
        let endless = host.spawn("endless", "{}");
        let begin = Instant::now();
        assert_eq!(host.output("quick", "{}").await, "quick");
        assert!(
            begin.elapsed() < Duration::from_millis(500),
            "{body} delayed another tool by {:?}",
            begin.elapsed()
        );
        assert_eq!(
            endless.await.unwrap().unwrap_err().to_string(),
            "timed out after 0.7 s",
            "{body}"
        );
        assert_eq!(host.output("endless", r#"{"well":true}"#).await, "well", "{body}");
        assert_eq!(host.output("quick", "{}").await, "quick");
        host.host.shutdown(Duration::ZERO).await;
        wait_until(&format!("the processes of {body} to end"), || {
            host.processes().is_empty()
        })
        .await;
    }
}

#[tokio::test]
async fn conc_03_a_call_behind_a_blocking_one_has_its_whole_time_and_runs_once() {
    let host = project()
        .file(
            "tools/work.ts",
            plain_module("require('fs').appendFileSync('runs.txt', args.n + '\\n'); if (args.n === 1) while (true) {} return 'n=' + args.n"),
        )
        .limits(|limits| limits.call = Duration::from_millis(900))
        .load()
        .await;
    let blocking = host.spawn("work", r#"{"n":1}"#);
    host.wait_for_file("runs.txt").await;
    // It waits longer than its own deadline, and then runs on a fresh worker.
    assert_eq!(host.output("work", r#"{"n":2}"#).await, "n=2");
    assert_eq!(
        blocking.await.unwrap().unwrap_err().to_string(),
        "timed out after 0.9 s"
    );
    assert_eq!(
        std::fs::read_to_string(host.project().join("runs.txt")).unwrap(),
        "1\n2\n"
    );
}

#[tokio::test]
async fn crash_01_errors_after_a_call_returned_are_logged_and_hurt_nobody() {
    let host = project()
        .tool(
            "late",
            "setTimeout(() => Promise.reject(new Error('detached')), 20); setTimeout(() => { throw new Error('timer') }, 40); return 'ok'",
        )
        .tool("other", "return 'other'")
        .load()
        .await;
    assert_eq!(host.output("late", "{}").await, "ok");
    assert_eq!(host.output("other", "{}").await, "other");
    host.wait_for_log("[late] unhandled rejection: Error: detached").await;
    host.wait_for_log("[late] uncaught exception: Error: timer").await;
    assert_eq!(host.output("late", "{}").await, "ok");
    assert_eq!(host.output("other", "{}").await, "other");
}

#[tokio::test]
async fn changed_globals_break_neither_the_answer_nor_the_next_call_nor_another_tool() {
    let sabotage = "
        const whole = { ok: JSON.stringify({ a: [1] }), list: [1].map((x) => x) };
        JSON.stringify = () => 'broken'; JSON.parse = () => { throw 1 };
        Array.prototype.push = null; Promise.prototype.then = null; String.prototype.slice = null; Uint8Array.prototype.set = null;
        Object.prototype.polluted = 'yes'; globalThis.queueMicrotask = null; globalThis.Buffer = null; globalThis.fetch = null;
        return whole;";
    let host = project()
        .file("tools/sabotage.ts", plain_module(sabotage))
        .tool("other", "return typeof fetch + ({}).polluted")
        .load()
        .await;
    for _ in 0..3 {
        assert_eq!(
            host.output("sabotage", "{}").await,
            "{\n  \"ok\": \"{\\\"a\\\":[1]}\",\n  \"list\": [\n    1\n  ]\n}"
        );
        assert_eq!(host.output("other", "{}").await, "functionundefined");
    }
}

#[tokio::test]
async fn what_a_tool_left_running_ends_with_its_worker() {
    let leave = "
        Bun.serve({ port: 0, fetch: () => new Response('x') }); setInterval(() => {}, 1000);
        Bun.spawn(['sh', '-c', 'setsid sleep 600 & sleep 600'], { stdio: ['ignore', 'ignore', 'ignore'] });
        return 'left';";
    let host = project()
        .tool("leaver", leave)
        .limits(|limits| limits.idle = Duration::from_millis(300))
        .load()
        .await;
    assert_eq!(host.output("leaver", "{}").await, "left");
    wait_until("the background programs to start", || host.processes().len() >= 4).await;
    wait_until("everything to end with the idle worker", || host.processes().is_empty()).await;
    assert_eq!(
        host.output("leaver", "{}").await,
        "left",
        "a fresh worker serves the next call"
    );
}

#[tokio::test]
async fn idle_workers_end_and_busy_ones_do_not() {
    let host = project()
        .tool("quick", "return 'q'")
        .tool("slow", "await Bun.sleep(900); return 's'")
        .limits(|limits| limits.idle = Duration::from_millis(100))
        .load()
        .await;
    assert!(host.processes().is_empty(), "loading leaves no process behind");
    let slow = host.spawn("slow", "{}");
    host.output("quick", "{}").await;
    assert_eq!(slow.await.unwrap().unwrap(), "s");
    wait_until("idle workers to end", || host.processes().is_empty()).await;
}

#[tokio::test]
async fn a_shutdown_lets_calls_end_in_time_and_ends_the_others() {
    let host = project()
        .tool("waits", "await Bun.sleep(args.ms); return 'done'")
        .load()
        .await;
    let (short, long) = (
        host.spawn("waits", r#"{"ms":200}"#),
        host.spawn("waits", r#"{"ms":600000}"#),
    );
    host.output("waits", r#"{"ms":1}"#).await;
    host.host.shutdown(Duration::from_millis(800)).await;
    assert_eq!(short.await.unwrap().unwrap(), "done");
    assert_eq!(
        long.await.unwrap().unwrap_err().to_string(),
        "the tool host is shutting down"
    );
    assert_eq!(host.error("waits", "{}").await, "the tool host is shutting down");
    assert!(host.processes().is_empty());
}

#[tokio::test]
async fn proto_01_what_a_tool_prints_is_its_log_and_nothing_else() {
    let noisy = "console.log('{\"id\":1,\"ok\":true}'); console.error('warn'); process.stdout.write('no newline'); console.log('x'.repeat(200000)); return 'fine'";
    let host = project()
        .file(
            "tools/noisy.ts",
            format!("console.log('cache warm');\n{}", module(noisy)),
        )
        .load()
        .await;
    assert_eq!(host.output("noisy", "{}").await, "fine");
    for line in [
        "[noisy] cache warm\n",
        "[noisy] {\"id\":1,\"ok\":true}\n",
        "[noisy] warn\n",
        "more bytes]",
    ] {
        host.wait_for_log(line).await;
    }
    assert!(
        host.logs.lock().unwrap().iter().all(|line| line.text.len() < 8300),
        "a log line is cut"
    );
}
