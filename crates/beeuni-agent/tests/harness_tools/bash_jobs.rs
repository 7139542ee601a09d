//! `bash`: commands that go on in the background.

use super::bash_commands::marked_sleep;
use crate::desk::{desk, desk_with, runs, until};
use beeuni_agent::harness_tools::HarnessLimits;
use serde_json::json;

#[tokio::test]
async fn a_job_goes_on_is_read_piece_by_piece_and_is_ended() {
    let desk = desk();
    let sleep = marked_sleep(5);
    let command = format!("echo one; until test -e go; do sleep 0.01; done; echo two; setsid {sleep}; true");
    let output = desk
        .call("bash", json!({"command": command, "background": true}))
        .await
        .unwrap();
    assert!(
        output.text.starts_with("one\n[Runs in the background as job_1."),
        "{}",
        output.text
    );
    assert_eq!(
        (&output.metadata["job"], &output.metadata["running"]),
        (&json!("job_1"), &json!(true))
    );
    let text = desk.text("bash", json!({"job": "job_1"})).await;
    assert_eq!(text, "[job_1 still runs and has printed nothing new]");
    desk.write("go", "");
    until("the second part", || runs(&sleep)).await;
    let mut text = String::new();
    while text != "two\n[job_1 still runs]" {
        text = desk.text("bash", json!({"job": "1"})).await;
        assert!(text.contains("job_1 still runs"), "{text}");
        tokio::task::yield_now().await;
    }
    let output = desk.call("bash", json!({"job": "job_1", "kill": true})).await.unwrap();
    assert_eq!(output.text, "[job_1 has ended]\n[It was ended]");
    assert_eq!(output.metadata["running"], false);
    assert!(!runs(&sleep));
    assert_eq!(
        desk.text("bash", json!({"job": "job_1"})).await,
        "[job_1 has ended]\n[It was ended]"
    );
}

#[tokio::test]
async fn a_job_that_ends_at_once_says_so_at_once_and_waiting_for_one_works() {
    let desk = desk();
    let text = desk
        .text("bash", json!({"command": "echo oops; exit 4", "background": true}))
        .await;
    assert_eq!(text, "oops\n[job_1 has ended]\n[exit code 4]");
    desk.text(
        "bash",
        json!({"command": "until test -e go; do sleep 0.01; done; echo went", "background": true}),
    )
    .await;
    let waiting = desk.text("bash", json!({"job": "job_2", "timeout": 20_000}));
    let going = async {
        tokio::task::yield_now().await;
        desk.write("go", "");
    };
    let (text, ()) = tokio::join!(waiting, going);
    assert_eq!(text, "went\n[job_2 has ended]\n[exit code 0]");
    let failure = desk.failure("bash", json!({"job": "job_9"})).await;
    assert!(
        failure.contains("no background job job_9. The jobs are: job_1 (ended: echo oops; exit 4), job_2"),
        "{failure}"
    );
    let text = desk
        .text(
            "bash",
            json!({"command": "sleep 60", "background": true, "timeout": 50}),
        )
        .await;
    assert!(text.contains("[timed out after 0.05 s"), "{text}");
}

#[tokio::test]
async fn jobs_end_with_their_session_and_with_the_tools() {
    let desk = desk();
    let (one, two) = (marked_sleep(6), marked_sleep(7));
    desk.text(
        "bash",
        json!({"command": format!("setsid {one} & {one}"), "background": true}),
    )
    .await;
    until("the job", || runs(&one)).await;
    desk.tools.end_session("session").await;
    assert!(!runs(&one));
    assert!(
        desk.failure("bash", json!({"job": "job_1"}))
            .await
            .contains("This session has none")
    );
    desk.text("bash", json!({"command": two.clone(), "background": true}))
        .await;
    until("the job", || runs(&two)).await;
    let crate::desk::Desk { tools, folder, .. } = desk;
    drop(tools);
    until("the end of the job", || !runs(&two)).await;
    drop(folder);
}

#[tokio::test]
async fn after_a_shutdown_no_job_begins() {
    let desk = desk();
    let sleep = marked_sleep(8);
    desk.text("bash", json!({"command": sleep.clone(), "background": true}))
        .await;
    desk.tools.shutdown().await;
    assert!(!runs(&sleep));
    assert!(
        desk.failure("bash", json!({"command": "true", "background": true}))
            .await
            .contains("session is over")
    );
}

#[tokio::test]
async fn only_so_many_jobs_run_at_once() {
    let desk = desk_with(|config| {
        config.limits = HarnessLimits {
            jobs: 2,
            ..HarnessLimits::default()
        }
    });
    let sleep = marked_sleep(9);
    for _ in 0..2 {
        desk.text("bash", json!({"command": sleep.clone(), "background": true}))
            .await;
    }
    let failure = desk
        .failure("bash", json!({"command": sleep, "background": true}))
        .await;
    assert!(
        failure.contains("2 background jobs run already") && failure.contains("job_2 (running: sleep"),
        "{failure}"
    );
    desk.tools.shutdown().await;
}
