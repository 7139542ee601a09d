//! `write` and `edit` on a real checkout.
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::desk::{SECRET, desk};
use serde_json::json;

#[tokio::test]
async fn write_creates_a_file_with_its_folders() {
    let desk = desk();
    let output = desk
        .call("write", json!({"path": "a/b/c.txt", "content": "one\ntwo"}))
        .await
        .unwrap();
    assert_eq!(output.text, "Created a/b/c.txt (2 lines).");
    assert_eq!(
        output.metadata,
        json!({"path": "a/b/c.txt", "created": true, "lines": 2})
    );
    assert_eq!(desk.content("a/b/c.txt"), "one\ntwo");
    // What it wrote, it has seen.
    let text = desk.text("write", json!({"path": "a/b/c.txt", "content": ""})).await;
    assert_eq!(text, "Overwrote a/b/c.txt (0 lines, 2 before).");
    let mode = std::fs::metadata(desk.checkout.join("a/b/c.txt"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o400, 0o400);
    assert_ne!(
        mode & 0o777,
        0o600,
        "a new file is as private as the process's mask says"
    );
}

#[tokio::test]
async fn write_does_not_overwrite_what_was_not_read_or_has_changed() {
    let desk = desk();
    let path = desk.write("a.txt", "precious\n");
    let write = json!({"path": "a.txt", "content": "new\n"});
    let failure = desk.failure("write", write.clone()).await;
    assert!(failure.contains("exists and was not read in this session"), "{failure}");
    desk.text("read", json!({"path": "a.txt"})).await;
    std::fs::write(&path, "somebody else's\n").unwrap();
    let failure = desk.failure("write", write.clone()).await;
    assert!(failure.contains("has changed since it was last read"), "{failure}");
    assert_eq!(desk.content("a.txt"), "somebody else's\n");
    desk.text("read", json!({"path": "a.txt"})).await;
    desk.text("write", write).await;
    assert_eq!(desk.content("a.txt"), "new\n");
    // An edit of one's own is no change by somebody else.
    desk.text(
        "edit",
        json!({"path": "a.txt", "old_string": "new", "new_string": "newer"}),
    )
    .await;
    desk.text("write", json!({"path": "a.txt", "content": "newest\n"}))
        .await;
    // An empty file holds nothing to lose.
    desk.write("empty", "");
    desk.text("write", json!({"path": "empty", "content": "x"})).await;
}

#[tokio::test]
async fn write_keeps_the_mode_follows_links_and_leaves_nothing_behind() {
    let desk = desk();
    let script = desk.write("run.sh", "#!/bin/sh\n");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o751)).unwrap();
    symlink("run.sh", desk.checkout.join("link")).unwrap();
    desk.text("read", json!({"path": "link"})).await;
    desk.text("write", json!({"path": "link", "content": "#!/bin/bash\n"}))
        .await;
    assert_eq!(std::fs::metadata(&script).unwrap().permissions().mode() & 0o777, 0o751);
    assert!(desk.checkout.join("link").is_symlink() && desk.content("run.sh") == "#!/bin/bash\n");
    assert_eq!(std::fs::read_dir(&desk.checkout).unwrap().count(), 2);
}

#[tokio::test]
async fn write_says_why_it_cannot() {
    let desk = desk();
    desk.write("file", "x");
    std::fs::create_dir(desk.checkout.join("folder")).unwrap();
    let locked = desk.write("locked", "x");
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o444)).unwrap();
    for (path, expected) in [
        ("folder", "is a folder"),
        ("file/below", "a part of its path is a file"),
        ("locked", "read-only (mode 0444)"),
        (&"n".repeat(300), "too long"),
        ("a\0b", "NUL"),
        ("", "empty"),
    ] {
        let failure = desk.failure("write", json!({"path": path, "content": "y"})).await;
        assert!(failure.contains(expected), "{path:?}: {failure}");
    }
    assert!(
        desk.failure("write", json!({"path": "x"}))
            .await
            .contains("`content` of `write` is missing")
    );
}

#[tokio::test]
async fn edit_changes_the_one_place_that_is_meant() {
    let desk = desk();
    let path = desk.write("a.rs", "fn a() {}\nfn b() {}\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let edit = |old: &str, new: &str| json!({"path": "a.rs", "old_string": old, "new_string": new});
    let output = desk.call("edit", edit("fn b() {}", "fn b() { $& \\1 }")).await.unwrap();
    assert_eq!(output.text, "Edited a.rs: 1 replacement at line 2.");
    assert_eq!(desk.content("a.rs"), "fn a() {}\nfn b() { $& \\1 }\n");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    let failure = desk.failure("edit", edit("fn ", "pub fn ")).await;
    assert!(
        failure.contains("occurs 2 times in a.rs, at lines 1 and 2: nothing was changed"),
        "{failure}"
    );
    let all = json!({"path": "a.rs", "old_string": "fn ", "new_string": "pub fn ", "replace_all": "true"});
    assert_eq!(
        desk.text("edit", all).await,
        "Edited a.rs: 2 replacements at lines 1 and 2."
    );
    let failure = desk.failure("edit", edit("fn c() {}", "x")).await;
    assert!(
        failure.contains("`old_string` is not in a.rs: nothing was changed. What resembles it most"),
        "{failure}"
    );
    assert!(desk.failure("edit", edit("x", "x")).await.contains("are the same"));
    assert!(desk.failure("edit", edit("", "x")).await.contains("use `write`"));
}

#[tokio::test]
async fn edit_keeps_line_ends_and_bytes_that_are_no_text() {
    let desk = desk();
    let path = desk.write("dos.txt", b"a\r\nb\xff\r\nc\r\n");
    let edit = json!({"path": "dos.txt", "old_string": "a\nb", "new_string": "x\ny\nz"});
    // The old text ends within the line that holds the byte.
    desk.text("edit", edit).await;
    assert_eq!(std::fs::read(path).unwrap(), b"x\r\ny\r\nz\xff\r\nc\r\n");
}

#[tokio::test]
async fn edits_of_one_file_at_once_do_not_undo_each_other() {
    let desk = desk();
    let content: String = (0..40).map(|n| format!("<{n}>\n")).collect();
    desk.write("a.txt", content);
    let edits = (0..40).map(|n| {
        let args = json!({"path": "a.txt", "old_string": format!("<{n}>"), "new_string": format!("[{n}]")});
        desk.call("edit", args)
    });
    for result in futures_util::future::join_all(edits).await {
        result.unwrap();
    }
    let expected: String = (0..40).map(|n| format!("[{n}]\n")).collect();
    assert_eq!(desk.content("a.txt"), expected);
}

#[tokio::test]
async fn sec_01_a_secret_in_a_file_is_not_shown_and_not_destroyed() {
    let desk = desk();
    desk.write("config", format!("name = x\nkey = {SECRET}\n"));
    assert_eq!(
        desk.text("read", json!({"path": "config"})).await,
        "     1\tname = x\n     2\tkey = [secret KEY]"
    );
    assert!(
        desk.text("grep", json!({"pattern": "key"}))
            .await
            .contains("[secret KEY]")
    );
    let failure = desk
        .failure(
            "edit",
            json!({"path": "config", "old_string": "key = [secret KEY]", "new_string": "key = y"}),
        )
        .await;
    assert!(failure.contains("leave that part out"), "{failure}");
    let failure = desk
        .failure(
            "write",
            json!({"path": "config", "content": "name = y\nkey = [secret KEY]\n"}),
        )
        .await;
    assert!(failure.contains("would destroy it"), "{failure}");
    desk.text(
        "edit",
        json!({"path": "config", "old_string": "name = x", "new_string": "name = y"}),
    )
    .await;
    assert_eq!(desk.content("config"), format!("name = y\nkey = {SECRET}\n"));
}

#[tokio::test]
async fn a_stopped_call_does_nothing() {
    let desk = desk();
    desk.write("a.txt", "x");
    desk.stop.cancel();
    for (tool, args) in [
        ("read", json!({"path": "a.txt"})),
        ("write", json!({"path": "b.txt", "content": "x"})),
        ("bash", json!({"command": "touch c.txt"})),
        ("grep", json!({"pattern": "x"})),
    ] {
        assert_eq!(desk.failure(tool, args).await, "the call was stopped");
    }
    assert_eq!(std::fs::read_dir(&desk.checkout).unwrap().count(), 1);
}

#[tokio::test]
async fn other_names_of_arguments_are_understood() {
    let desk = desk();
    desk.text("write", json!({"filePath": "a", "content": "x y"})).await;
    desk.text(
        "edit",
        json!({"file_path": "a", "oldString": "x", "newString": "z", "unknown": 1}),
    )
    .await;
    assert!(
        desk.text("read", json!({"file": "./a", "limit": null}))
            .await
            .ends_with("z y")
    );
    assert!(Path::new(&desk.checkout.join("a")).exists());
}
