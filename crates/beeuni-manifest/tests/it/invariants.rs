//! What this crate never does.
use std::fs;
use std::path::{Path, PathBuf};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
fn it_opens_no_socket_starts_no_process_and_waits_for_nothing() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    assert!(files.len() > 20);
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("//! "), "{} does not say what it owns", file.display());
        for word in [
            "std::net",
            "std::process",
            "async fn",
            "thread::",
            "fs::write",
            "SystemTime",
        ] {
            let used = text
                .lines()
                .any(|line| line.contains(word) && !line.trim_start().starts_with("//"));
            assert!(!used, "{} uses {word}", file.display());
        }
        let parser = text.contains("saphyr_parser") && !file.components().any(|part| part.as_os_str() == "yaml");
        assert!(!parser, "{} knows the YAML parser", file.display());
    }
}
