//! Paths: what asks first, and which name a rule holds for.
use std::os::unix::fs::symlink;

use crate::desk::{desk, desk_with, is_refused};
use beeuni_agent::permission::Action;
use serde_json::json;

#[tokio::test]
async fn what_is_outside_asks_first_and_a_link_that_leads_out_is_outside() {
    let desk = desk();
    std::fs::write(desk.outside.join("notes"), "outside").unwrap();
    symlink(&desk.outside, desk.checkout.join("out")).unwrap();
    let folder = desk.outside.display().to_string();
    for path in [
        format!("{folder}/notes"),
        "../outside/notes".to_owned(),
        "out/notes".to_owned(),
    ] {
        let result = desk.call("read", json!({"path": path})).await;
        assert!(is_refused(&result), "{path}: {result:?}");
        assert_eq!(desk.asked(), [format!("external_directory {folder}/*")], "{path}");
    }
    for (tool, args) in [
        ("write", json!({"path": "out/new", "content": "x"})),
        (
            "edit",
            json!({"path": "out/notes", "old_string": "outside", "new_string": "x"}),
        ),
        ("glob", json!({"pattern": "../outside/*"})),
        ("grep", json!({"pattern": "x", "path": "out"})),
        ("bash", json!({"command": "cat out/notes"})),
        ("bash", json!({"command": "ls", "workdir": folder})),
    ] {
        let result = desk.call(tool, args.clone()).await;
        assert!(is_refused(&result), "{tool} {args}: {result:?}");
        assert!(
            desk.asked().contains(&format!("external_directory {folder}/*")),
            "{tool} {args}"
        );
    }
    assert!(!desk.outside.join("new").exists());
    let desk = desk.allowing();
    assert_eq!(desk.text("read", json!({"path": "out/notes"})).await, "     1\toutside");
    desk.text("write", json!({"path": "out/new", "content": "x"})).await;
    assert_eq!(std::fs::read_to_string(desk.outside.join("new")).unwrap(), "x");
}

#[tokio::test]
async fn saved_outputs_can_be_read_and_free_folders_used_without_asking() {
    let other = tempfile::tempdir().unwrap();
    let free = other.path().canonicalize().unwrap();
    let desk = desk_with(|config| config.free_folders.push(free.clone()));
    std::fs::write(desk.folder.path().join("outputs/bash-1.txt"), "saved").unwrap();
    let saved = desk.folder.path().join("outputs/bash-1.txt");
    assert!(desk.text("read", json!({"path": saved})).await.contains("saved"));
    desk.text("write", json!({"path": free.join("x"), "content": "y"}))
        .await;
    let result = desk.call("write", json!({"path": saved, "content": "y"})).await;
    assert!(is_refused(&result), "reading only: {result:?}");
}

#[tokio::test]
async fn an_env_file_asks_and_a_link_to_it_too() {
    let desk = desk();
    desk.write(".env", "KEY=x\n");
    desk.write("config/.env.local", "KEY=x\n");
    desk.write(".env.example", "KEY=\n");
    symlink(".env", desk.checkout.join("settings")).unwrap();
    for path in [".env", "config/.env.local", "settings", "config/../.env"] {
        let result = desk.call("read", json!({"path": path})).await;
        assert!(is_refused(&result), "{path}");
    }
    assert!(is_refused(
        &desk.call("grep", json!({"pattern": "KEY", "path": ".env"})).await
    ));
    let edit = json!({"path": ".env", "old_string": "nothing like it", "new_string": ""});
    assert!(
        is_refused(&desk.call("edit", edit).await),
        "a failed edit would show its lines"
    );
    assert!(
        desk.text("read", json!({"path": ".env.example"}))
            .await
            .contains("KEY=")
    );
}

#[tokio::test]
async fn a_rule_holds_for_the_name_that_was_used_and_for_the_real_one() {
    let desk = desk().ruled(&[
        ("read", "*", Action::Deny),
        ("read", "public/*", Action::Allow),
        ("edit", "docs/*", Action::Deny),
    ]);
    desk.write("private/key", "x");
    desk.write("docs/a", "x");
    desk.write("public/a", "x");
    symlink("../private/key", desk.checkout.join("public/link")).unwrap();
    symlink("docs", desk.checkout.join("papers")).unwrap();
    assert!(desk.call("read", json!({"path": "public/a"})).await.is_ok());
    let failure = desk.failure("read", json!({"path": "public/link"})).await;
    assert!(
        failure.contains("private/key") && failure.contains("agents/a.md, line 4"),
        "{failure}"
    );
    assert!(is_refused(
        &desk.call("write", json!({"path": "papers/new", "content": ""})).await
    ));
    assert!(is_refused(
        &desk.call("write", json!({"path": "docs/new", "content": ""})).await
    ));
    assert!(
        desk.call("write", json!({"path": "docs2/new", "content": ""}))
            .await
            .is_ok()
    );
}
