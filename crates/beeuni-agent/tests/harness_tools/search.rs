//! `glob` and `grep` on a real checkout.
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, Instant, SystemTime};

use crate::desk::{Desk, desk, desk_with};
use beeuni_agent::permission::Action;
use serde_json::json;

/// A checkout with a bit of everything; newer files come later in the list.
fn project() -> Desk {
    let desk = desk();
    let now = SystemTime::now();
    for (age, path, content) in [
        (60, "src/main.rs", "fn main() {\n    println!(\"Needle\");\n}\n"),
        (50, "src/lib/deep.rs", "// needle one\nfn deep() {}\n// needle two\n"),
        (40, "README.md", "# Title\nneedle\n"),
        (30, "target/out.rs", "needle\n"),
        (20, ".github/ci.yml", "needle: yes\n"),
        (10, "notes.txt", "nothing\n"),
        (5, ".gitignore", "target/\n*.log\n"),
        (4, "debug.log", "needle\n"),
        (3, ".git/config", "needle\n"),
        (2, "data.bin", "needle\0\n"),
    ] {
        let path = desk.write(path, content);
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.set_modified(now - Duration::from_secs(age)).unwrap();
    }
    symlink("README.md", desk.checkout.join("link.md")).unwrap();
    symlink("..", desk.checkout.join("src/up")).unwrap();
    desk
}

#[tokio::test]
async fn glob_finds_files_newest_first_and_leaves_out_what_is_ignored() {
    let desk = project();
    assert_eq!(
        desk.text("glob", json!({"pattern": "**/*.rs"})).await,
        "src/lib/deep.rs\nsrc/main.rs"
    );
    assert_eq!(
        desk.text("glob", json!({"pattern": "*.rs", "path": "src"})).await,
        "src/lib/deep.rs\nsrc/main.rs"
    );
    assert_eq!(desk.text("glob", json!({"pattern": "src/*.rs"})).await, "src/main.rs");
    assert_eq!(
        desk.text("glob", json!({"pattern": "*.md"})).await,
        "link.md\nREADME.md"
    );
    assert_eq!(
        desk.text("glob", json!({"pattern": ".github/**"})).await,
        ".github/ci.yml"
    );
    assert_eq!(
        desk.text("glob", json!({"pattern": "**/*.rs", "limit": 1})).await,
        "src/lib/deep.rs\n[The newest 1 of 2 files. Narrow the pattern, or raise `limit`.]"
    );
    let absolute = format!("{}/src/**", desk.checkout.display());
    assert_eq!(
        desk.text("glob", json!({"pattern": absolute})).await,
        "src/up\nsrc/lib/deep.rs\nsrc/main.rs"
    );
}

#[tokio::test]
async fn glob_says_what_is_wrong() {
    let desk = project();
    let text = desk.text("glob", json!({"pattern": "*.zig"})).await;
    assert!(text.starts_with("No file matches *.zig in .. Ignored and hidden") || text.contains("No file matches"));
    assert!(
        desk.failure("glob", json!({"pattern": "a[", "path": "src"}))
            .await
            .contains("cannot be read")
    );
    assert!(
        desk.failure("glob", json!({"pattern": "*", "path": "scr"}))
            .await
            .contains("Did you mean src?")
    );
    assert!(
        desk.failure("glob", json!({"pattern": "*", "path": "README.md"}))
            .await
            .contains("is a file")
    );
    assert!(
        desk.failure("glob", json!({}))
            .await
            .contains("`pattern` of `glob` is missing")
    );
}

#[tokio::test]
async fn grep_finds_lines_by_file_and_leaves_out_what_is_ignored_hidden_or_binary() {
    let desk = project();
    assert_eq!(
        desk.text("grep", json!({"pattern": "needle"})).await,
        "README.md\n  2: needle\nsrc/lib/deep.rs\n  1: // needle one\n  3: // needle two"
    );
    assert_eq!(
        desk.text(
            "grep",
            json!({"pattern": "needle", "ignore_case": true, "include": "src/*.rs"})
        )
        .await,
        "src/main.rs\n  2:     println!(\"Needle\");"
    );
    assert_eq!(
        desk.text("grep", json!({"pattern": "^fn", "files_with_matches": "true"}))
            .await,
        "src/lib/deep.rs\nsrc/main.rs"
    );
    assert_eq!(
        desk.text("grep", json!({"pattern": "Needle", "context": 1})).await,
        "src/main.rs\n  1- fn main() {\n  2:     println!(\"Needle\");\n  3- }"
    );
    assert_eq!(
        desk.text("grep", json!({"pattern": "needle", "path": "debug.log"}))
            .await,
        "debug.log\n  1: needle"
    );
    assert_eq!(
        desk.text("grep", json!({"pattern": "needle", "include": ".github/*"}))
            .await,
        ".github/ci.yml\n  1: needle: yes"
    );
    let output = desk.call("grep", json!({"pattern": "absent"})).await.unwrap();
    assert_eq!(output.text, "No match for absent in `.`.");
    assert_eq!(
        output.metadata,
        json!({"path": ".", "matches": 0, "files": 0, "truncated": false})
    );
}

#[tokio::test]
async fn grep_stops_at_its_limit_and_always_with_the_same_lines() {
    let desk = desk();
    for file in 0..200 {
        desk.write(&format!("f{file:03}.txt"), format!("hit {file}\nmiss\nhit {file}\n"));
    }
    let first = desk.text("grep", json!({"pattern": "hit", "limit": 5})).await;
    assert!(
        first
            .starts_with("f000.txt\n  1: hit 0\n  3: hit 0\nf001.txt\n  1: hit 1\n  3: hit 1\nf002.txt\n  1: hit 2\n["),
        "{first}"
    );
    for _ in 0..20 {
        assert_eq!(desk.text("grep", json!({"pattern": "hit", "limit": 5})).await, first);
    }
    let all = desk
        .call("grep", json!({"pattern": "hit", "limit": 1000}))
        .await
        .unwrap();
    assert_eq!(
        all.metadata,
        json!({"path": ".", "matches": 400, "files": 200, "truncated": false})
    );
    let exact = desk
        .call("grep", json!({"pattern": "hit", "limit": 400}))
        .await
        .unwrap();
    assert_eq!(exact.metadata["matches"], 400);
    let names = desk
        .text(
            "grep",
            json!({"pattern": "hit", "limit": 3, "files_with_matches": true}),
        )
        .await;
    assert!(names.starts_with("f000.txt\nf001.txt\nf002.txt\n["), "{names}");
}

#[tokio::test]
async fn grep_explains_an_expression_that_it_cannot_use() {
    let desk = project();
    for (pattern, expected) in [
        ("foo(", "unclosed group"),
        ("a{2", "repetition"),
        ("(?=x)", "Look-around"),
        (r"(a)\1", "back-references"),
        ("a\nb", "within single lines"),
        ("", "empty"),
        ("(a{1000}){1000}", "not valid"),
    ] {
        let failure = desk.failure("grep", json!({"pattern": pattern})).await;
        assert!(failure.contains(expected), "{pattern:?}: {failure}");
    }
    let failure = desk.failure("grep", json!({"pattern": "foo("})).await;
    assert!(failure.contains("foo(\n       ^"), "the place is shown: {failure}");
}

#[tokio::test]
async fn grep_does_not_show_what_the_rules_do_not_let_be_read() {
    let desk = project().ruled(&[("read", "src/lib/*", Action::Deny)]);
    desk.write("prod.env", "needle=1\n");
    let text = desk.text("grep", json!({"pattern": "needle"})).await;
    assert_eq!(
        text,
        "README.md\n  2: needle\n[2 more file(s) match but may not be shown without permission: `read` asks for it.]"
    );
}

#[tokio::test]
async fn a_search_goes_past_what_it_may_not_open_and_does_not_follow_links() {
    let desk = project();
    let locked = desk.checkout.join("locked");
    std::fs::create_dir(&locked).unwrap();
    std::fs::write(locked.join("x.rs"), "needle").unwrap();
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o000)).unwrap();
    let text = desk.text("grep", json!({"pattern": "needle one"})).await;
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(text, "src/lib/deep.rs\n  1: // needle one");
    std::fs::write(desk.outside.join("far"), "needle").unwrap();
    symlink(&desk.outside, desk.checkout.join("out")).unwrap();
    symlink(desk.outside.join("far"), desk.checkout.join("far")).unwrap();
    assert!(
        !desk
            .text("grep", json!({"pattern": "needle", "files_with_matches": true}))
            .await
            .contains("far")
    );
}

#[tokio::test]
async fn a_search_ends_at_its_deadline_and_when_it_is_stopped() {
    let desk = desk_with(|config| config.limits.search = Duration::ZERO);
    desk.write("a", "needle");
    let text = desk.text("glob", json!({"pattern": "*"})).await;
    assert!(text.contains("The search ended early"), "{text}");
    assert!(
        desk.text("grep", json!({"pattern": "needle"}))
            .await
            .contains("There may be more matches")
    );

    // A file that takes long, and in which nothing matches.
    let desk = self::desk().allowing();
    let stop = desk.stop.clone();
    desk.write("big.txt", "some line of text without it\n".repeat(8 << 20));
    let start = Instant::now();
    let searching = desk.call("grep", json!({"pattern": "(s|o|m|e| )+needle"}));
    let stopping = async move {
        tokio::time::sleep(Duration::from_millis(50)).await;
        stop.cancel();
    };
    let (result, ()) = tokio::join!(searching, stopping);
    assert_eq!(result.unwrap_err().message, "the call was stopped");
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_giant_line_is_shown_around_its_match() {
    let desk = desk();
    desk.write(
        "min.js",
        format!("{}needle{}", "x".repeat(1 << 20), "y".repeat(1 << 20)),
    );
    let text = desk.text("grep", json!({"pattern": "needle"})).await;
    assert!(text.contains("xneedley") && text.len() < 1000, "{} bytes", text.len());
}

#[tokio::test]
async fn a_checkout_of_many_files_is_searched_quickly() {
    let desk = desk();
    for folder in 0..100 {
        for file in 0..50 {
            desk.write(&format!("d{folder}/f{file}.txt"), "some text\nand more\n");
        }
    }
    desk.write("d99/last.txt", "needle\n");
    let start = Instant::now();
    assert_eq!(
        desk.text("grep", json!({"pattern": "needle"})).await,
        "d99/last.txt\n  1: needle"
    );
    assert!(
        desk.text("glob", json!({"pattern": "**/last.*"}))
            .await
            .ends_with("d99/last.txt")
    );
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}
