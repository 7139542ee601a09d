//! `bash`: one command, its surroundings, its end.
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::desk::{desk, desk_with, is_refused, runs, until};
use beeuni_agent::harness_tools::FailureKind;
use beeuni_agent::permission::Action;
use serde_json::json;

/// A number of seconds that marks the processes of one test.
pub(super) fn marked_sleep(test: u32) -> String {
    format!("sleep 86{}{test}", std::process::id())
}

#[tokio::test]
async fn a_command_runs_in_the_checkout_and_its_output_comes_in_order() {
    let desk = desk();
    desk.write("sub/x", "");
    let output = desk
        .call(
            "bash",
            json!({"command": "echo out; echo err >&2; echo out again; pwd", "description": "Say things"}),
        )
        .await
        .unwrap();
    assert_eq!(
        output.text,
        format!("out\nerr\nout again\n{}\n", desk.checkout.display())
    );
    assert_eq!(
        (output.title.as_str(), &output.metadata["exit"]),
        ("Say things", &json!(0))
    );
    let text = desk.text("bash", json!({"command": "pwd; ls", "workdir": "sub"})).await;
    assert_eq!(text, format!("{}/sub\nx\n", desk.checkout.display()));
    assert_eq!(
        desk.text("bash", json!({"command": "true"})).await,
        "[no output, exit code 0]"
    );
}

#[tokio::test]
async fn an_exit_code_is_shown() {
    let desk = desk();
    let output = desk.call("bash", json!({"command": "echo oh; exit 3"})).await.unwrap();
    assert_eq!(
        (output.text.as_str(), &output.metadata["exit"]),
        ("oh\n[exit code 3]", &json!(3))
    );
    let text = desk.text("bash", json!({"command": "no-such-program-here"})).await;
    assert!(
        text.contains("not found") && text.ends_with("[exit code 127: a program was not found]"),
        "{text}"
    );
    let output = desk.call("bash", json!({"command": "kill -9 $$"})).await.unwrap();
    assert_eq!(
        (output.text.as_str(), &output.metadata["signal"]),
        ("[ended by signal 9 (SIGKILL)]", &json!(9))
    );
    let text = desk
        .text("bash", json!({"command": "bash -c 'kill -SEGV $$'; exit $?"}))
        .await;
    assert!(text.contains("[exit code 139: crashed (SIGSEGV)]"), "{text}");
}

#[tokio::test]
async fn sec_03_a_command_sees_the_given_environment_and_nothing_of_this_process() {
    let desk = desk();
    let text = desk.text("bash", json!({"command": "env | sort"})).await;
    let names: Vec<&str> = text.lines().filter_map(|line| line.split('=').next()).collect();
    for name in ["CITY", "HOME", "PATH", "PAGER", "TERM"] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    // This process has many more (CARGO_MANIFEST_DIR and the like).
    assert!(
        !names
            .iter()
            .any(|name| name.starts_with("CARGO") || name.starts_with("NEXTEST")),
        "{names:?}"
    );
    assert!(text.contains("CITY=Oslo") && text.contains("GIT_TERMINAL_PROMPT=0"));
    // Neither does the guard above it, nor does a command get an open file of this process.
    let file = desk.write("kept-open", "");
    let _open = std::fs::File::open(&file).unwrap();
    let desk = desk.allowing();
    let above = "tr '\\0' '\\n' < /proc/$PPID/environ | grep -c CARGO; ls -l /proc/self/fd /proc/$PPID/fd";
    let text = desk.text("bash", json!({"command": above})).await;
    assert!(
        text.starts_with("0\n") && text.contains("/dev/null") && !text.contains("kept-open"),
        "{text}"
    );
}

#[tokio::test]
async fn nobody_can_type_and_there_is_no_terminal() {
    let desk = desk().allowing();
    let text = desk
        .text("bash", json!({"command": "read -r x; echo \"read ended with $?\"; (: < /dev/tty) 2>&1; test -t 1 || echo no terminal"}))
        .await;
    assert!(
        text.contains("read ended with 1") && text.contains("/dev/tty") && text.contains("no terminal"),
        "{text}"
    );
}

#[tokio::test]
async fn run_01_a_command_ends_at_its_deadline_with_everything_that_it_started() {
    let desk = desk();
    let sleep = marked_sleep(1);
    // One child that ignores SIGTERM, one in a session of its own, one in the background.
    let command = format!(
        "echo begun; ({sleep} &) ; setsid {sleep} & trap '' TERM; bash -c \"trap '' TERM; {sleep}; {sleep}\"; echo after"
    );
    let start = Instant::now();
    let failure = desk.failure("bash", json!({"command": command, "timeout": 300})).await;
    assert!(failure.starts_with("begun\n[timed out after 0.3 s"), "{failure}");
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert!(!runs(&sleep), "a process is left behind");
}

#[tokio::test]
async fn run_02_a_stopped_command_ends_within_a_second_and_shows_what_it_has() {
    let desk = desk();
    let sleep = marked_sleep(2);
    let stop = desk.stop.clone();
    let start = Mutex::new(Instant::now());
    let command = json!({"command": format!("trap '' TERM; echo begun; {sleep}; {sleep}; touch too-late")});
    let running = desk.call("bash", command);
    let stopping = async {
        until("the command", || runs(&sleep)).await;
        *start.lock().unwrap() = Instant::now();
        stop.cancel();
    };
    let (result, ()) = tokio::join!(running, stopping);
    assert!(
        start.lock().unwrap().elapsed() < Duration::from_millis(1500),
        "{start:?}"
    );
    let output = result.unwrap();
    assert_eq!(output.text, "begun\n[The call was stopped and the command ended]");
    assert_eq!(output.metadata["stopped"], true);
    assert!(!runs(&sleep) && !desk.checkout.join("too-late").exists());
}

#[tokio::test]
async fn a_dropped_call_ends_its_command() {
    let desk = desk();
    let sleep = marked_sleep(3);
    let command = json!({"command": format!("({sleep} & {sleep}) & {sleep}")});
    tokio::select! {
        result = desk.call("bash", command) => panic!("it ended: {result:?}"),
        () = until("the command", || runs(&sleep)) => {}
    }
    until("the end of the command", || !runs(&sleep)).await;
}

#[tokio::test]
async fn a_killed_daemon_takes_its_commands_along() {
    let sleep = marked_sleep(0);
    // A shell in the daemon's place: it starts the guard, and is killed without a chance to say so.
    let guard = env!("CARGO_BIN_EXE_beeuni-agent-test-guard");
    let script =
        format!("\"$0\" tool-guard command $$ 200 /bin/sh -c \"trap '' TERM; setsid {sleep} & {sleep}\" & wait");
    let mut daemon = std::process::Command::new("/bin/sh")
        .args(["-c", &script, guard])
        .stdin(std::process::Stdio::null())
        .spawn()
        .unwrap();
    until("the command", || runs(&sleep)).await;
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    until("the end of the command", || !runs(&sleep)).await;
}

#[tokio::test]
async fn what_is_left_in_the_background_ends_with_the_command_and_is_told() {
    let desk = desk();
    let sleep = marked_sleep(4);
    let start = Instant::now();
    let output = desk
        .call(
            "bash",
            json!({"command": format!("{sleep} & setsid {sleep} & echo done")}),
        )
        .await
        .unwrap();
    assert!(
        output
            .text
            .starts_with("done\n[2 processes that the command had left in the background"),
        "{}",
        output.text
    );
    assert_eq!(
        (&output.metadata["exit"], &output.metadata["left"]),
        (&json!(0), &json!(2))
    );
    assert!(start.elapsed() < Duration::from_secs(5) && !runs(&sleep));
    // What is about to end by itself is waited for.
    let text = desk
        .text("bash", json!({"command": "(sleep 0.05; echo late) & echo early"}))
        .await;
    assert_eq!(text, "early\nlate\n");
}

#[tokio::test]
async fn rules_decide_part_by_part_and_redirections_are_edits() {
    let desk = desk().ruled(&[
        ("bash", "*", Action::Ask),
        ("bash", "echo *", Action::Allow),
        ("bash", "rm *", Action::Deny),
        ("edit", "src/*", Action::Deny),
    ]);
    desk.write("src/a", "keep");
    assert_eq!(
        desk.text("bash", json!({"command": "echo hi > out.txt; echo there"}))
            .await,
        "there\n"
    );
    let failure = desk.failure("bash", json!({"command": "echo x > src/a"})).await;
    assert!(
        failure.contains("edit `src/a` is denied by the rule `edit: { \"src/*\": deny }`"),
        "{failure}"
    );
    let failure = desk.failure("bash", json!({"command": "echo $(rm src/a)"})).await;
    assert!(failure.contains("bash `rm src/a` is denied"), "{failure}");
    assert!(is_refused(
        &desk.call("bash", json!({"command": "echo a && touch b"})).await
    ));
    assert_eq!(desk.asked(), ["bash touch b"]);
    assert_eq!(desk.content("src/a"), "keep");
}

#[tokio::test]
async fn what_cannot_be_run_says_why() {
    let desk = desk();
    for (args, expected) in [
        (json!({}), "`command` of `bash` is missing"),
        (json!({"command": "  "}), "is missing"),
        (json!({"command": "ls", "job": "job_1"}), "Give either"),
        (
            json!({"command": "ls", "timeout": "soon"}),
            "`timeout` of `bash` must be a whole number",
        ),
        (json!({"command": "ls", "workdir": "nowhere"}), "nowhere does not exist"),
        (json!({"command": "a\u{0}b"}), "NUL"),
        (
            json!({"command": format!("echo {}", "x".repeat(140_000))}),
            "write a script",
        ),
        (json!({"job": "job_1"}), "This session has none"),
    ] {
        let failure = desk.failure("bash", args.clone()).await;
        assert!(failure.contains(expected), "{args}: {failure}");
    }
    let desk = desk_with(|config| config.guard = PathBuf::from("/nonexistent/beeuni"));
    assert!(
        desk.failure("bash", json!({"command": "ls"}))
            .await
            .contains("could not be started")
    );
}

#[tokio::test]
async fn commands_run_at_once_and_each_has_its_own_output() {
    let desk = desk();
    let start = Instant::now();
    let calls = (0..10).map(|n| {
        let command = format!("sleep 0.2; seq {n}000 {n}999");
        desk.call("bash", json!({"command": command}))
    });
    for (n, result) in futures_util::future::join_all(calls).await.into_iter().enumerate() {
        let text = result.unwrap().text;
        let expected: String = (n * 1000..=n * 1000 + 999).map(|line| format!("{line}\n")).collect();
        // `seq 0000 0999` pads nothing.
        assert_eq!(text, expected);
    }
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_call_that_is_refused_starts_nothing() {
    let desk = desk().ruled(&[("bash", "*", Action::Deny)]);
    let result = desk
        .call("bash", json!({"command": "touch x", "background": true}))
        .await;
    assert!(matches!(result, Err(failure) if failure.kind == FailureKind::Refused));
    assert!(!desk.checkout.join("x").exists());
}
