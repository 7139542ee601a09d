//! `read`, `write` and `edit` on a real checkout.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    dead_code,
    unreachable_pub,
    reason = "a test stops at the first surprise; each file of tests uses its part of the desk"
)]

mod desk;

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use beeuni_agent::permission::Action;
use desk::{SECRET, desk, desk_with, is_refused};
use serde_json::json;

#[tokio::test]
async fn read_shows_lines_with_their_numbers() {
    let desk = desk();
    desk.write("a.txt", "one\n\ttwo\n\nfour");
    let output = desk.call("read", json!({"path": "a.txt"})).await.unwrap();
    assert_eq!(output.text, "     1\tone\n     2\t\ttwo\n     3\t\n     4\tfour");
    assert_eq!(output.title, "a.txt");
    assert_eq!(
        output.metadata,
        json!({"path": "a.txt", "kind": "text", "first": 1, "last": 4, "total": 4})
    );
}

#[tokio::test]
async fn read_gives_a_range_and_says_how_to_go_on() {
    let desk = desk();
    let content: String = (1..=5000).map(|n| format!("line {n}\n")).collect();
    desk.write("a.txt", content);
    let text = desk
        .text("read", json!({"path": "a.txt", "offset": 4000, "limit": "2"}))
        .await;
    assert_eq!(
        text,
        "  4000\tline 4000\n  4001\tline 4001\n[Lines 4000 to 4001 of 5000. Go on with offset 4002.]"
    );
    let text = desk.text("read", json!({"path": "a.txt", "offset": 4999})).await;
    assert!(
        text.ends_with("[Lines 4999 to 5000 of 5000: the end of the file.]"),
        "{text}"
    );
    let text = desk.text("read", json!({"path": "a.txt"})).await;
    assert!(
        text.contains("[Lines 1 to 1992 of 5000. Go on with offset 1993.]"),
        "{}",
        &text[text.len() - 100..]
    );
    // Going on as it says reads every line once.
    let (mut offset, mut seen) = (1, 0);
    while offset <= 5000 {
        let output = desk
            .call("read", json!({"path": "a.txt", "offset": offset}))
            .await
            .unwrap();
        let last = output.metadata["last"].as_u64().unwrap();
        seen += last - offset + 1;
        offset = last + 1;
    }
    assert_eq!(seen, 5000);
    let failure = desk.failure("read", json!({"path": "a.txt", "offset": 5001})).await;
    assert_eq!(failure, "Line 5001 is beyond the end: a.txt has 5000 lines.");
}

#[tokio::test]
async fn read_keeps_the_bound_with_long_lines_and_many_bytes() {
    let desk = desk();
    desk.write("long.txt", format!("{}\nshort\n", "é".repeat(3000)));
    let text = desk.text("read", json!({"path": "long.txt"})).await;
    assert!(text.contains(&format!(
        "{}… [2000 more bytes in this line]\n     2\tshort",
        "é".repeat(2000)
    )));
    desk.write("wide.txt", format!("{}\n", "x".repeat(1500)).repeat(100));
    let text = desk.text("read", json!({"path": "wide.txt"})).await;
    assert!(
        text.contains("[Lines 1 to 33 of 100. Go on with offset 34.]"),
        "{}",
        &text[text.len() - 100..]
    );
    desk.write("one.txt", "y".repeat(80 << 20));
    let text = desk.text("read", json!({"path": "one.txt"})).await;
    assert!(
        text.contains(&format!("[{} more bytes in this line]", (80 << 20) - 2000)),
        "{}",
        &text[text.len() - 100..]
    );
}

#[tokio::test]
async fn read_says_what_is_special_about_a_file() {
    let desk = desk();
    desk.write("empty", "");
    assert_eq!(desk.text("read", json!({"path": "empty"})).await, "[empty is empty]");
    desk.write("dos.txt", "a\r\nb\r\n");
    let text = desk.text("read", json!({"path": "dos.txt"})).await;
    assert!(text.starts_with("     1\ta\n     2\tb\n[Lines end in CR LF."), "{text}");
    desk.write("latin.txt", b"caf\xe9\n");
    let text = desk.text("read", json!({"path": "latin.txt"})).await;
    assert!(
        text.starts_with("     1\tcaf\u{fffd}\n[The file is not valid UTF-8"),
        "{text}"
    );
    desk.write("mark.txt", "\u{feff}a\n");
    assert_eq!(desk.text("read", json!({"path": "mark.txt"})).await, "     1\ta");
    desk.write("wide.txt", [0xff, 0xfe, b'h', 0, 0xe9, 0, b'\n', 0]);
    let text = desk.text("read", json!({"path": "wide.txt"})).await;
    assert!(text.starts_with("     1\thé\n[The file is in UTF-16"), "{text}");
    desk.write("late-nul.txt", format!("{}\0x\n", "a\n".repeat(10_000)));
    assert!(
        desk.text("read", json!({"path": "late-nul.txt", "offset": 10_001}))
            .await
            .contains("\u{fffd}x")
    );
}

#[tokio::test]
async fn read_refuses_what_is_no_text_and_says_what_it_is() {
    let desk = desk();
    desk.write("a.pdf", b"%PDF-1.7\n\0\x01\x02");
    let failure = desk.failure("read", json!({"path": "a.pdf"})).await;
    assert!(
        failure.starts_with("a.pdf is binary (PDF document, 12 bytes)"),
        "{failure}"
    );
    desk.write("data.bin", vec![0; 1_234_567]);
    assert!(
        desk.failure("read", json!({"path": "data.bin"}))
            .await
            .contains("(binary file, 1,234,567 bytes)")
    );
    let pipe = desk.checkout.join("pipe");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    assert!(
        desk.failure("read", json!({"path": "pipe"}))
            .await
            .contains("no regular file")
    );
    let big: Vec<u8> = b"\x89PNG\r\n\x1a\n"
        .iter()
        .copied()
        .chain(std::iter::repeat_n(7, 5 << 20))
        .collect();
    desk.write("big.png", big);
    assert!(
        desk.failure("read", json!({"path": "big.png"}))
            .await
            .contains("only images up to 5 MiB")
    );
}

#[tokio::test]
async fn read_shows_an_image() {
    let desk = desk();
    let bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    desk.write("img/logo.png", bytes);
    let output = desk.call("read", json!({"path": "img/logo.png"})).await.unwrap();
    assert_eq!(output.text, "[Image img/logo.png: image/png, 16 bytes]");
    assert_eq!(
        (output.attachments[0].mime, output.attachments[0].data.as_slice()),
        ("image/png", &bytes[..])
    );
}

#[tokio::test]
async fn read_lists_a_folder() {
    let desk = desk();
    for name in ["b.txt", "a/x", ".hidden"] {
        desk.write(name, "");
    }
    symlink("b.txt", desk.checkout.join("link")).unwrap();
    assert_eq!(
        desk.text("read", json!({"path": "."})).await,
        ".hidden\na/\nb.txt\nlink -> b.txt"
    );
    let text = desk.text("read", json!({"path": ".", "offset": 2, "limit": 2})).await;
    assert_eq!(text, "a/\nb.txt\n[Entries 2 to 3 of 4. Go on with offset 4.]");
    std::fs::create_dir(desk.checkout.join("void")).unwrap();
    assert_eq!(
        desk.text("read", json!({"path": "void"})).await,
        "[The folder void is empty]"
    );
}

#[tokio::test]
async fn a_missing_file_names_the_nearest_ones() {
    let desk = desk();
    desk.write("src/main.rs", "");
    let failure = desk.failure("read", json!({"path": "src/mian.rs"})).await;
    assert_eq!(failure, "src/mian.rs does not exist. Did you mean src/main.rs?");
    let edit = json!({"path": "src/mian.rs", "old_string": "a", "new_string": "b"});
    assert!(desk.failure("edit", edit).await.contains("Did you mean src/main.rs?"));
}

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
