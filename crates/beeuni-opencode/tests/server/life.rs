//! OpenCode's start and end.
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use beeuni_opencode::server::{Server, StartError};
use serde_json::json;

use super::rig::{KEY, Rig, Running, call, script, until};

/// A program that stands in for OpenCode.
fn stand_in(rig: &mut Rig, text: &str) {
    let path = rig.place.folder.with_file_name("stand-in");
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    rig.place.program = path;
}

fn is_there(pid: &str) -> bool {
    // One that has ended and waits for its parent is gone.
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap().starts_with(" Z"))
}

#[tokio::test]
async fn a_stop_ends_all_that_opencode_started_and_says_how_it_ended() {
    let rig = Rig::new().await;
    let running = rig.start().await;
    let session = running.session().await;
    let command =
        json!({"command": "setsid sleep 600 & echo $! > child; echo $PPID > parent; sleep 600", "description": "x"});
    let body = Running::body("beeuni", &script(&[call("bash", &command)]));
    running
        .send("POST", &format!("/session/{session}/prompt_async"), Some(body))
        .await;
    let pid = |name: &str| {
        std::fs::read_to_string(rig.place.checkout.join(name))
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    let written = || !pid("child").is_empty() && !pid("parent").is_empty();
    running
        .until("the command has written its processes", || async { written() })
        .await;
    let (child, opencode) = (pid("child"), pid("parent"));
    assert!(is_there(&child) && is_there(&opencode));
    let begun = Instant::now();
    running.server.stop(Duration::from_secs(5)).await;
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    assert!(!is_there(&child) && !is_there(&opencode));
    let (first, second) = (running.server.ended().await, running.server.ended().await);
    assert_eq!(first, second);
}

#[tokio::test]
async fn a_killed_opencode_is_noticed_and_a_new_one_has_the_session() {
    let rig = Rig::new().await;
    let running = rig.start().await;
    let session = running.session().await;
    running
        .prompt_in(
            &session,
            "beeuni",
            &[call(
                "bash",
                &json!({"command": "echo $PPID > parent", "description": "x"}),
            )],
        )
        .await;
    let pid = std::fs::read_to_string(rig.place.checkout.join("parent")).unwrap();
    let killed = std::process::Command::new("kill")
        .args(["-9", pid.trim()])
        .status()
        .unwrap();
    assert!(killed.success());
    let ended = tokio::time::timeout(Duration::from_secs(10), running.server.ended())
        .await
        .unwrap();
    assert_eq!((ended.code, ended.signal), (None, Some(9)));
    assert!(ended.to_string().starts_with("it was ended by signal 9"), "{ended}");
    let again = rig.start().await;
    again.prompt_in(&session, "beeuni", &[]).await;
    let asked = rig.asked();
    let users = |message: &&serde_json::Value| message["role"] == "user";
    let messages = asked.last().unwrap()["messages"].as_array().unwrap();
    assert_eq!(messages.iter().filter(users).count(), 2, "the conversation goes on");
    again.server.stop(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn what_is_written_is_private_and_the_key_is_in_one_file() {
    fn look(folder: &Path, with_key: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let metadata = entry.metadata().unwrap();
            let name = entry.path().display().to_string();
            if metadata.is_dir() {
                look(&entry.path(), with_key);
            } else if metadata.is_file() && String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()).contains(KEY)
            {
                assert_eq!(metadata.permissions().mode() & 0o777, 0o600, "{name}");
                with_key.push(name);
            }
        }
    }
    let rig = Rig::new().await;
    let running = rig.start().await;
    running.prompt("beeuni", &[call("lookup_order", &json!({}))]).await;
    let folder = &rig.place.folder;
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    let mut with_key = Vec::new();
    look(folder, &mut with_key);
    assert_eq!(with_key, [folder.join("plugin/session.json").display().to_string()]);
    assert!(!rig.place.checkout.join(".opencode").exists());
    running.server.stop(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn a_start_that_fails_says_why_without_the_key() {
    let mut rig = Rig::new().await;
    stand_in(&mut rig, &format!("echo 'no library x, key {KEY}' >&2; exit 7"));
    let error = Server::start(&rig.place, &rig.given).await.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, StartError::Ended(_)), "{error:?}");
    assert!(
        text.contains("exit code 7") && text.contains("no library x, key [secret]"),
        "{text}"
    );

    stand_in(&mut rig, "echo waiting; exec sleep 600");
    rig.place.start = Duration::from_millis(300);
    let text = Server::start(&rig.place, &rig.given).await.unwrap_err().to_string();
    assert!(text.contains("not ready after") && text.contains("waiting"), "{text}");

    rig.place.program = "/nonexistent/opencode".into();
    let text = Server::start(&rig.place, &rig.given).await.unwrap_err().to_string();
    assert!(text.contains("could not be started"), "{text}");
}

#[tokio::test]
async fn a_port_that_was_taken_meanwhile_is_not_the_end() {
    let mut rig = Rig::new().await;
    let count = rig.place.folder.with_file_name("starts");
    let real = rig.place.program.display().to_string();
    stand_in(
        &mut rig,
        &format!(
            "echo x >> {0}\n[ $(wc -l < {0}) -lt 3 ] && {{ echo ServeError >&2; exit 1; }}\nexec {real} \"$@\"",
            count.display()
        ),
    );
    let running = rig.start().await;
    assert_eq!(std::fs::read_to_string(&count).unwrap().lines().count(), 3);
    running.get("/global/health").await;
    let url = running.server.url().to_owned();
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");
    // Dropping it ends it.
    let client = running.client.clone();
    drop(running);
    until("nothing listens any more", &mut || async {
        client.get(&url).send().await.is_err()
    })
    .await;
}
