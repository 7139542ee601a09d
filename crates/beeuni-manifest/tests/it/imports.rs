//! Files that import others: order, limits, and what happens when one is broken.
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::support::Files;

#[test]
fn the_importing_file_comes_first_then_its_imports_as_listed() {
    let files = Files::new([
        (
            "beeuni.yaml",
            "imports: [c/, a.yaml]\nbeeuni_version: 2\ntools: { root: t.ts }\n",
        ),
        ("a.yaml", "tools: { a: t.ts, show: beeuni:show }\n"),
        ("c/z.yaml", "tools: { z: t.ts }\n"),
        ("c/b.yaml", "imports: [d.yml]\ntools: { b: t.ts }\n"),
        ("c/b/x.yaml", "tools: { x: t.ts }\n"),
        ("d.yml", "tools: { d: t.ts }\n"),
        ("t.ts", ""),
    ]);
    assert_eq!(files.findings(), "");
    let manifest = files.load().manifest.unwrap();
    assert_eq!(
        manifest.files,
        ["beeuni.yaml", "c/b.yaml", "d.yml", "c/b/x.yaml", "c/z.yaml", "a.yaml"]
    );
    let tools: Vec<_> = manifest.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(tools, ["root", "b", "d", "x", "z", "a", "show"]);
}

#[test]
fn a_broken_import_is_told_once_and_nothing_that_may_stand_in_it_is_called_unknown() {
    let files = Files::with(
        "beeuni_version: 2\ndefault_agent: elsewhere\nimports: [gone.yaml]\ntools: { mine: tools/a.ts }\n\
         agents:\n  a: { tools: [theirs, show], connectors: [shop], enabled: 1 }\n",
    );
    let paths: Vec<_> = files.load().issues.into_iter().map(|issue| issue.path).collect();
    assert_eq!(paths, ["imports[0]", "agents.a.enabled"]);
}

#[test]
fn eight_levels_are_read() {
    let mut files = BTreeMap::from([(
        "beeuni.yaml".to_owned(),
        b"beeuni_version: 2\nimports: [1.yaml]\n".to_vec(),
    )]);
    for level in 1..8 {
        files.insert(
            format!("{level}.yaml"),
            format!("imports: [{}.yaml]\n", level + 1).into_bytes(),
        );
    }
    files.insert("8.yaml".to_owned(), b"tools: { show: beeuni:show }\n".to_vec());
    let files = Files(files);
    assert_eq!(files.findings(), "");
    assert_eq!(files.load().manifest.unwrap().files.len(), 9);
}

fn many(count: usize) -> Files {
    let mut files = BTreeMap::from([
        (
            "beeuni.yaml".to_owned(),
            b"beeuni_version: 2\nimports: [config/]\ntools: { show: beeuni:show }\n".to_vec(),
        ),
        ("t.ts".to_owned(), Vec::new()),
    ]);
    for index in 0..count {
        let text = format!("tools:\n  tool_{index}: t.ts\n");
        files.insert(format!("config/{index:03}.yaml"), text.into_bytes());
    }
    Files(files)
}

#[test]
fn two_hundred_files_are_imported_and_one_more_is_an_error() {
    let start = Instant::now();
    let loaded = many(200).load();
    assert!(loaded.is_valid(), "{:?}", loaded.issues);
    assert_eq!(loaded.manifest.unwrap().tools.len(), 201);
    // A debug build on a busy machine: a release build takes a few milliseconds.
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    let loaded = many(201).load();
    assert_eq!(loaded.issues.len(), 1);
    assert!(loaded.issues[0].message.contains("more than 200 files are imported"));
}

#[test]
fn a_file_of_three_importers_is_merged_once_and_broken_once() {
    let files = Files::new([
        (
            "beeuni.yaml",
            "beeuni_version: 2\nimports: [a.yaml, b.yaml, bad.yaml]\n",
        ),
        ("a.yaml", "imports: [bad.yaml, c.yaml]\n"),
        ("b.yaml", "imports: [c.yaml, bad.yaml]\n"),
        ("c.yaml", "tools: { show: beeuni:show }\n"),
        ("bad.yaml", "tools: [\n"),
    ]);
    let expected = "a.yaml:1:11: error: imports[0]: cannot import `bad.yaml`: bad.yaml:1:8: the `[` opened here is never closed: add `]`\n";
    assert_eq!(files.findings(), expected);
}

#[cfg(unix)]
#[test]
fn a_file_reached_through_a_link_counts_once_and_a_circle_of_links_ends() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| std::fs::write(folder.path().join(path), text).unwrap();
    std::fs::create_dir(folder.path().join("config")).unwrap();
    write("beeuni.yaml", "beeuni_version: 2\nimports: [config/, link.yaml]\n");
    write("config/a.yaml", "tools: { show: beeuni:show }\n");
    std::os::unix::fs::symlink("config/a.yaml", folder.path().join("link.yaml")).unwrap();
    std::os::unix::fs::symlink("../config", folder.path().join("config/again")).unwrap();
    let loaded = beeuni_manifest::load(&beeuni_manifest::Folder::new(folder.path()), "beeuni.yaml");
    assert_eq!(loaded.issues, []);
    assert_eq!(loaded.manifest.unwrap().files, ["beeuni.yaml", "config/a.yaml"]);
}
