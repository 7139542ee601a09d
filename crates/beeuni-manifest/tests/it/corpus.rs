//! The samples: each file or folder is named after the one thing that it shows.
//!
//! A sample that is one file finds the files of `samples/base` beside it. What is expected of it stands
//! in `<name>.expected`, or in a folder's `expected.txt`, to the letter. After a change of a text run the
//! tests with `UPDATE_SAMPLES=1` and read the difference.
use std::fs;
use std::path::{Path, PathBuf};

use beeuni_manifest::{Folder, Loaded, Severity, load};

use crate::support::{Files, shown};

fn samples(kind: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples").join(kind);
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.retain(|path| path.extension().is_none_or(|ending| ending != "expected"));
    paths.sort();
    paths
}

fn load_sample(path: &Path) -> Loaded {
    if path.is_dir() {
        return load(&Folder::new(path), "beeuni.yaml");
    }
    let mut files = Files::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/base"));
    files.0.insert("beeuni.yaml".to_owned(), fs::read(path).unwrap());
    files.load()
}

fn name(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

/// Checks every sample of `kind` against what is expected of it.
fn check(kind: &str, worst: Severity) {
    let update = std::env::var_os("UPDATE_SAMPLES").is_some();
    let mut wrong = Vec::new();
    for path in samples(kind) {
        let loaded = load_sample(&path);
        let found = shown(&loaded.issues);
        let file = if path.is_dir() {
            path.join("expected.txt")
        } else {
            path.with_extension("expected")
        };
        if update {
            fs::write(&file, &found).unwrap();
        }
        let expected = fs::read_to_string(&file).unwrap_or_default();
        if found != expected {
            wrong.push(format!("{}\nexpected:\n{expected}found:\n{found}", path.display()));
        }
        let several = name(&path).starts_with("several-");
        if several != (loaded.issues.len() != 1) {
            wrong.push(format!("{} is no sample of one fault:\n{found}", path.display()));
        }
        if loaded.issues.iter().map(|issue| issue.severity).max() != Some(worst) {
            wrong.push(format!(
                "{} should have the severity {worst:?}:\n{found}",
                path.display()
            ));
        }
        if loaded.is_valid() != (worst == Severity::Warning) {
            wrong.push(format!("{} is counted wrongly", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn valid_samples_have_no_finding() {
    let found: Vec<String> = samples("valid")
        .iter()
        .map(|path| (path, load_sample(path)))
        .filter(|(_, loaded)| !loaded.issues.is_empty() || !loaded.is_valid())
        .map(|(path, loaded)| format!("{}\n{}", path.display(), shown(&loaded.issues)))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn warned_samples_have_their_one_warning() {
    check("warned", Severity::Warning);
}

#[test]
fn invalid_samples_have_their_one_error() {
    check("invalid", Severity::Error);
}

#[test]
fn the_corpus_is_large_enough_to_trust() {
    assert!(samples("valid").len() >= 20);
    assert!(samples("invalid").len() >= 70);
}

#[test]
fn no_finding_repeats_what_may_be_a_secret() {
    for path in samples("invalid").into_iter().chain(samples("warned")) {
        let found = shown(&load_sample(&path).issues);
        assert!(!found.contains("sk-planted"), "{}: {found}", path.display());
    }
}
