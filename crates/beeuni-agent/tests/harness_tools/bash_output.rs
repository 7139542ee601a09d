//! `bash`: what a command prints, while it runs and afterwards.
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::desk::{SECRET, desk, desk_with, is_refused};
use beeuni_agent::harness_tools::CallContext;
use serde_json::json;

#[tokio::test]
async fn out_06_a_long_output_keeps_its_beginning_and_end_and_is_saved() {
    let desk = desk();
    let text = desk.text("bash", json!({"command": "seq 1 100000; exit 1"})).await;
    assert!(
        text.starts_with("1\n2\n3\n") && text.contains("\n99999\n100000\n[exit code 1]\n[Output cut"),
        "{text}"
    );
    assert!(
        text.contains("588895 bytes in 100000 lines"),
        "{}",
        &text[text.len() - 300..]
    );
    let files = desk.outputs();
    let saved = std::fs::read_to_string(&files[0]).unwrap();
    assert_eq!(
        (files.len(), saved.lines().count(), saved.lines().last()),
        (1, 100_000, Some("100000"))
    );
    assert!(text.ends_with(&format!("is in {}]", files[0].display())), "{text}");
}

#[tokio::test]
async fn a_flood_neither_fills_the_disk_nor_holds_the_command_up() {
    let desk = desk_with(|config| config.limits.saved_output = 1024 * 1024);
    let text = desk
        .text("bash", json!({"command": "yes flood | head -c 30000000; echo end"}))
        .await;
    assert!(
        text.contains("\nend\n[The file holds the first 1 MiB.]\n[Output cut: the whole output has 30000004 bytes")
    );
    assert_eq!(std::fs::metadata(&desk.outputs()[0]).unwrap().len(), 1024 * 1024);
}

#[tokio::test]
async fn out_07_escape_codes_progress_and_binary_output_do_no_harm() {
    let desk = desk();
    let command = r"printf '\033[31mred\033[0m\n1%%\r50%%\r100%%\na\0b\n'";
    assert_eq!(
        desk.text("bash", json!({"command": command})).await,
        "red\n1%100%\nab\n"
    );
    let text = desk
        .text("bash", json!({"command": "head -c 5000 /dev/urandom; exit 2"}))
        .await;
    assert!(is_short_note(&text), "{text}");
    assert!(is_refused(
        &desk.call("bash", json!({"command": "head -c 5000 ../outside/x"})).await
    ));
}

fn is_short_note(text: &str) -> bool {
    text.starts_with("[The output is binary") && text.ends_with("[exit code 2]")
}

#[tokio::test]
async fn sec_01_a_secret_in_an_output_is_taken_out_everywhere() {
    let desk = desk();
    let command = format!("echo one {SECRET}; echo x{SECRET}; seq 1 30000; echo last {SECRET}");
    let output = desk.call("bash", json!({"command": command})).await.unwrap();
    assert!(
        output.text.starts_with("one [secret KEY]\nx[secret KEY]\n"),
        "{}",
        &output.text[..100]
    );
    let saved = std::fs::read_to_string(&desk.outputs()[0]).unwrap();
    assert!(!saved.contains(SECRET) && saved.ends_with("last [secret KEY]\n"));
    let failure = desk
        .failure(
            "bash",
            json!({"command": format!("echo {SECRET}; sleep 60"), "timeout": 100}),
        )
        .await;
    assert!(failure.starts_with("[secret KEY]"), "{failure}");
}

/// What is told while a command runs: the text, and when.
async fn progress_of(desk: &crate::desk::Desk, command: &str) -> (Vec<(String, Duration)>, String) {
    let (told, start) = (Mutex::new(Vec::new()), Instant::now());
    let progress = |text: &str| told.lock().unwrap().push((text.to_owned(), start.elapsed()));
    let context = CallContext {
        session: "session",
        agent: "beeuni",
        call: "call_1",
        stop: &desk.stop,
        gate: &desk.gate,
        asker: None,
        progress: Some(&progress),
    };
    let arguments = json!({ "command": command }).to_string();
    let output = desk.tools.call("bash", &arguments, context).await.unwrap();
    (told.into_inner().unwrap(), output.text)
}

#[tokio::test]
async fn a_long_command_tells_its_progress_a_few_times_a_second() {
    let (told, text) = progress_of(&desk(), "for i in 1 2 3 4 5 6 7 8; do echo step $i; sleep 0.1; done").await;
    assert!(text.ends_with("step 8\n"));
    assert!((1..=5).contains(&told.len()) && told[0].0.contains("step"), "{told:?}");
}

#[tokio::test]
async fn what_a_command_prints_before_it_falls_silent_is_told_once_and_nothing_without_new_output() {
    let (told, _) = progress_of(&desk(), "echo Waiting; sleep 1.5; echo Done").await;
    let (text, when) = &told[0];
    assert!(text == "Waiting" && *when < Duration::from_millis(1400), "{told:?}");
    assert!(told.len() <= 2, "silence is no progress: {told:?}");
    let (told, _) = progress_of(&desk(), "sleep 0.8").await;
    assert!(told.is_empty(), "{told:?}");
}
