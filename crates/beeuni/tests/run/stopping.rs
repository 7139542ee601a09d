//! Ctrl-C, the time limit, and what they leave behind.
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Child;
use std::time::{Duration, Instant};

use beeuni_gateway::testing::{Answer, Gate};
use serde_json::json;

use crate::model::{Run, signal, until};

/// A tool that says when it has begun and notes when it is told to stop.
const PATIENT: &str = "console.log('started'); await new Promise<void>((ok) => context.signal.addEventListener('abort', () => { require('fs').writeFileSync(context.directory + '/stopped', 'yes'); ok() })); return 'late'";
/// A tool that does not listen.
const DEAF: &str = "console.log('started'); while (true) {}";

/// Waits for a line on the run's standard error.
fn wait_for(child: &mut Child, text: &str) -> BufReader<std::process::ChildStderr> {
    let mut reader = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains(text) {
        line.clear();
        assert!(
            reader.read_line(&mut line).unwrap() > 0,
            "the run ended before it said {text:?}"
        );
    }
    reader
}

fn code(child: &mut Child) -> Option<i32> {
    until("the end of the run", || child.try_wait().unwrap()).code()
}

/// The transcript of the only session.
fn transcript(run: &Run) -> String {
    run.shell
        .sh("cat $HOME/.local/state/beeuni/projects/*/sessions/*/log.jsonl")
        .stdout
}

/// RUN-02: the tool hears its signal, the transcript says that the turn was stopped, the exit code is 130.
#[test]
fn the_first_interrupt_stops_the_turn() {
    let run = Run::new(PATIENT);
    run.calls("probe", &json!({}));
    let mut child = run.start(&["Work"]);
    let mut rest = wait_for(&mut child, "started");
    let begun = Instant::now();
    signal(&child, "-INT");
    assert_eq!(code(&mut child), Some(130));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    let mut said = String::new();
    rest.read_to_string(&mut said).unwrap();
    assert!(said.contains("Stopping the turn. Ctrl-C again ends at once."), "{said}");
    assert!(said.contains("■ probe"), "{said}");
    assert!(!said.contains("error:"), "who stops it knows: {said}");
    assert_eq!(run.shell.read("stopped"), "yes");
    assert!(transcript(&run).contains(r#""outcome":"aborted""#));
    // And it goes on from there.
    run.says("Where were we?");
    assert_eq!(run.run(&["--continue", "--prompt", "Go on"]).code, 0);
    let messages = run.messages(1);
    assert!(messages.iter().any(|message| message["role"] == "tool"), "{messages:?}");
}

#[test]
fn a_second_interrupt_ends_at_once() {
    let run = Run::new(
        "console.log('started'); context.signal.addEventListener('abort', () => { const until = Date.now() + 60000; while (Date.now() < until) {} }); await new Promise(() => setTimeout(() => {}, 1e9))",
    );
    run.calls("probe", &json!({}));
    let mut child = run.start(&["Work"]);
    let reader = wait_for(&mut child, "started");
    signal(&child, "-INT");
    let mut lines = reader.lines();
    assert!(lines.any(|line| line.unwrap().contains("Ctrl-C again")));
    let begun = Instant::now();
    signal(&child, "-INT");
    assert_eq!(code(&mut child), Some(130));
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[test]
fn an_interrupt_while_the_model_answers_ends_the_request() {
    let run = Run::new("return 'ok'");
    let gate = Gate::closed();
    run.answers(Answer::text("Never shown.").hold(&gate));
    let mut child = run.start(&["Work"]);
    run.until_asked(1);
    signal(&child, "-INT");
    assert_eq!(code(&mut child), Some(130));
    run.block_on(run.asked()[0].hung_up());
    assert!(transcript(&run).contains(r#""outcome":"aborted""#));
}

#[test]
fn a_termination_stops_the_turn_too() {
    let run = Run::new(PATIENT);
    run.calls("probe", &json!({}));
    let mut child = run.start(&["Work"]);
    let _rest = wait_for(&mut child, "started");
    signal(&child, "-TERM");
    assert_eq!(code(&mut child), Some(143));
    assert_eq!(run.shell.read("stopped"), "yes");
}

#[test]
fn a_turn_that_runs_out_of_time_is_exit_124() {
    let run = Run::new(PATIENT);
    run.calls("probe", &json!({}));
    let ran = run.run(&["--timeout", "2", "Work"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (124, ""), "{ran}");
    assert!(ran.stderr.contains("Timed out after 2 s: stopping the turn."), "{ran}");
    assert_eq!(run.shell.read("stopped"), "yes");
}

/// A provider that does not list its models holds the start up: the time counts from the beginning.
#[test]
fn the_time_counts_before_the_turn_too() {
    let run = Run::new("return 'ok'");
    run.lists(Answer::json(200, &json!({ "data": [] })).hold(&Gate::closed()));
    let mut command = run.command(&["--timeout", "1", "Work"]);
    let ran = run.shell.ran(command.env_remove("BEEUNI_MODEL"));
    assert_eq!((ran.code, ran.stdout.as_str()), (124, ""), "{ran}");
    assert!(
        ran.stderr.contains("Timed out after 1 s, before the turn began."),
        "{ran}"
    );
}

/// Nothing that a run starts outlives it.
#[test]
fn a_deaf_tool_ends_with_the_run() {
    let run = Run::new(&DEAF.replace("'started'", "'pid', process.pid, 'started'"));
    run.calls("probe", &json!({}));
    let mut child = run.start(&["--timeout", "60", "Work"]);
    let mut reader = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("started") {
        line.clear();
        assert!(reader.read_line(&mut line).unwrap() > 0, "the run ended early");
    }
    let pid: u32 = line.split_whitespace().find_map(|word| word.parse().ok()).unwrap();
    signal(&child, "-INT");
    signal(&child, "-INT");
    assert!(code(&mut child).is_some());
    until("the end of the worker", || {
        (!std::path::Path::new(&format!("/proc/{pid}")).exists()).then_some(())
    });
}
