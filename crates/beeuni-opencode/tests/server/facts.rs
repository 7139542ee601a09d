//! What this crate builds on without OpenCode promising it: this fails when an upgrade changes one of them.
use std::time::Duration;

use serde_json::json;

use super::rig::Rig;

/// The version that `runtime/package.json` pins and these facts were found with.
const VERSION: &str = "1.18.33";

#[tokio::test]
async fn opencode_still_is_what_this_was_built_for() {
    let rig = Rig::new().await;
    let running = rig.start().await;
    // The line on standard output was understood, or there would be no server; the rest of its interface:
    assert_eq!(running.get("/global/health").await["version"], VERSION);
    let ids = running.get("/experimental/tool/ids").await;
    assert_eq!(
        ids,
        json!([
            "invalid",
            "question",
            "bash",
            "read",
            "glob",
            "grep",
            "edit",
            "write",
            "task",
            "webfetch",
            "todowrite",
            "websearch",
            "skill",
            "apply_patch",
            "lookup_order"
        ]),
        "a new tool needs a place in `access.rs`"
    );
    let agents = running.get("/agent").await;
    let names: Vec<&str> = agents
        .as_array()
        .unwrap()
        .iter()
        .map(|agent| agent["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["beeuni", "compaction", "explore", "general", "summary"],
        "a new agent of its own needs a look"
    );
    // A prompt without a title asks the model once: the agent for titles is off.
    let (_, session) = running.send("POST", "/session", Some(json!({}))).await;
    let session = session["id"].as_str().unwrap().to_owned();
    running.prompt_in(&session, "beeuni", &[]).await;
    assert_eq!(rig.asked().len(), 1);
    // It began with nobody else's catalogue, packages or settings.
    for unwanted in [
        "cache/opencode/models.json",
        "project/node_modules/@opencode-ai",
        "config/opencode/node_modules/@opencode-ai",
    ] {
        assert!(!rig.place.folder.join(unwanted).exists(), "{unwanted}");
    }
    running.server.stop(Duration::from_secs(5)).await;
}
