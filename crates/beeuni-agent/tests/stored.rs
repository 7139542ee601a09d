//! Which sessions a state folder holds.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod support;

use beeuni_agent::{Session, SessionConfig, stored_sessions};
use beeuni_gateway::testing::Answer;
use support::{rig, say};

#[tokio::test]
async fn sessions_are_listed_with_their_titles_the_last_used_first() {
    let rig = rig().await;
    let state = rig.folder.path().join("state");
    assert_eq!(stored_sessions(&state).unwrap(), []);
    rig.server.push(Answer::text("ok"));
    rig.server.push(Answer::text("ok"));
    let first = rig.open();
    say(&first, "Count the bees").await;
    let config = SessionConfig {
        id: "s2".to_owned(),
        ..rig.config()
    };
    let second = Session::open(config, rig.setup.clone()).unwrap();
    std::fs::create_dir(state.join("sessions/no-session")).unwrap();
    // The order is that of the last change, which a coarse clock could make the same.
    let file = std::fs::File::open(state.join("sessions/s1/log.jsonl")).unwrap();
    file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(60))
        .unwrap();
    let listed = stored_sessions(&state).unwrap();
    let listed: Vec<(&str, Option<&str>, &str)> = listed
        .iter()
        .map(|one| (one.id.as_str(), one.title.as_deref(), one.agent.as_str()))
        .collect();
    assert_eq!(
        listed,
        [("s2", None, "beeuni"), ("s1", Some("Count the bees"), "beeuni")]
    );
    drop((first, second));
}

#[tokio::test]
async fn an_id_that_leads_out_of_the_folder_and_a_session_that_is_open_are_refused() {
    let rig = rig().await;
    for id in ["", "..", "a/b", ".hidden", "ä", &"x".repeat(129)] {
        let config = SessionConfig {
            id: id.to_owned(),
            ..rig.config()
        };
        let error = Session::open(config, rig.setup.clone()).err().unwrap().to_string();
        assert!(error.contains("cannot be a session's id"), "{error}");
    }
    let _open = rig.open();
    let error = Session::open(rig.config(), rig.setup.clone())
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("in use by another process"), "{error}");
}
