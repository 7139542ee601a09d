//! `read`: lines, ranges, images, folders, and what is no text.
use std::os::unix::fs::symlink;

use crate::desk::desk;
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
