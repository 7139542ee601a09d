//! Where a manifest is found.
use std::fs;
use std::path::Path;

use beeuni_manifest::{FindError, find};

fn project(files: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    // Without it a manifest above the temporary folder could be found.
    fs::create_dir(folder.path().join(".git")).unwrap();
    for file in files {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    folder
}

fn root(folder: &Path) -> std::path::PathBuf {
    folder.canonicalize().unwrap()
}

#[test]
fn the_nearest_manifest_above_is_found() {
    let folder = project(&["beeuni.yaml", "a/beeuni.yml", "a/b/c/file", "d/file"]);
    for (start, expected, file) in [
        ("", "", "beeuni.yaml"),
        ("d", "", "beeuni.yaml"),
        ("a", "a", "beeuni.yml"),
        ("a/b/c", "a", "beeuni.yml"),
    ] {
        let found = find(&folder.path().join(start)).unwrap();
        assert_eq!(
            (found.root, found.file.as_str()),
            (root(&folder.path().join(expected)), file),
            "{start}"
        );
    }
}

#[test]
fn the_search_stops_at_the_repository_root() {
    let folder = project(&[
        "beeuni.yaml",
        "inner/.git/HEAD",
        "inner/a/file",
        "worktree/.git",
        "worktree/a/file",
    ]);
    for start in ["inner", "inner/a", "worktree/a"] {
        let error = find(&folder.path().join(start)).unwrap_err();
        assert!(matches!(error, FindError::None { .. }), "{start}: {error}");
    }
}

#[test]
fn both_names_in_one_folder_are_an_error() {
    let folder = project(&["beeuni.yaml", "beeuni.yml"]);
    let error = find(folder.path()).unwrap_err();
    assert!(matches!(error, FindError::Both { .. }), "{error}");
    assert!(error.to_string().contains("keep one of them"));
}

#[test]
fn cli_01_no_such_folder_is_another_error_than_no_manifest() {
    let folder = project(&["file"]);
    let none = find(folder.path()).unwrap_err();
    assert!(matches!(none, FindError::None { .. }), "{none}");
    for start in ["gone", "gone/deeper", "file", "file/deeper"] {
        let error = find(&folder.path().join(start)).unwrap_err();
        assert!(matches!(error, FindError::NoFolder { .. }), "{start}: {error}");
    }
}

#[test]
fn a_relative_start_gives_an_absolute_root() {
    let found = find(Path::new("."));
    if let Ok(found) = found {
        assert!(found.root.is_absolute());
    }
    let folder = project(&["beeuni.yaml", "a/file"]);
    let found = find(&folder.path().join("a/../a/.")).unwrap();
    assert_eq!(found.root, root(folder.path()));
}

#[cfg(unix)]
#[test]
fn a_link_to_nothing_is_a_manifest_that_cannot_be_read() {
    let folder = project(&["beeuni.yaml", "a/file"]);
    std::os::unix::fs::symlink("gone", folder.path().join("a/beeuni.yaml")).unwrap();
    let found = find(&folder.path().join("a")).unwrap();
    assert_eq!(found.root, root(&folder.path().join("a")));
    let loaded = beeuni_manifest::load(&beeuni_manifest::Folder::new(found.root), &found.file);
    assert!(loaded.manifest.is_none());
}
