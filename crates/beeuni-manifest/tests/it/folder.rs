//! A project folder on disk: what stands in it, and what links may do.
use std::fs;
use std::io::ErrorKind;

use beeuni_manifest::{EntryKind, Folder, Tree};

fn project() -> (tempfile::TempDir, Folder) {
    let outer = tempfile::tempdir().unwrap();
    let root = outer.path().join("project");
    fs::create_dir_all(root.join("a/b")).unwrap();
    fs::write(root.join("a/file.ts"), "text").unwrap();
    fs::write(outer.path().join("outside.ts"), "secret").unwrap();
    let folder = Folder::new(&root);
    (outer, folder)
}

#[test]
fn files_and_folders_are_told_apart() {
    let (_outer, folder) = project();
    assert_eq!(folder.kind("").unwrap(), Some(EntryKind::Folder));
    assert_eq!(folder.kind("a").unwrap(), Some(EntryKind::Folder));
    assert_eq!(folder.kind("a/file.ts").unwrap(), Some(EntryKind::File));
    assert_eq!(folder.kind("a/gone.ts").unwrap(), None);
    assert_eq!(folder.kind("a/file.ts/deeper").unwrap(), None);
    assert_eq!(folder.list("a").unwrap(), ["b", "file.ts"]);
    assert_eq!(folder.read("a/file.ts").unwrap(), b"text");
    assert_eq!(folder.canonical("a/./b/").unwrap(), "a/b");
}

#[test]
fn paths_that_leave_the_project_are_refused() {
    let (outer, folder) = project();
    let absolute = outer.path().join("outside.ts");
    for path in [
        "../outside.ts",
        "a/../../outside.ts",
        absolute.to_str().unwrap(),
        "a/../a/file.ts",
    ] {
        assert_eq!(folder.kind(path).unwrap_err().kind(), ErrorKind::InvalidInput, "{path}");
        assert!(folder.read(path).is_err(), "{path}");
    }
}

#[test]
fn a_file_over_four_mebibytes_is_not_read() {
    let (_outer, folder) = project();
    fs::write(folder.root.join("big"), vec![b'a'; 4 * 1024 * 1024 + 1]).unwrap();
    assert_eq!(folder.read("big").unwrap_err().kind(), ErrorKind::FileTooLarge);
    fs::write(folder.root.join("large"), vec![b'a'; 4 * 1024 * 1024]).unwrap();
    assert_eq!(folder.read("large").unwrap().len(), 4 * 1024 * 1024);
}

#[cfg(unix)]
mod links {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::support::shown;

    #[test]
    fn a_link_inside_the_project_is_followed() {
        let (_outer, folder) = project();
        symlink("a/file.ts", folder.root.join("link.ts")).unwrap();
        symlink("../a", folder.root.join("a/loop")).unwrap();
        assert_eq!(folder.kind("link.ts").unwrap(), Some(EntryKind::File));
        assert_eq!(folder.read("a/loop/loop/file.ts").unwrap(), b"text");
        assert_eq!(folder.canonical("a/loop/loop/file.ts").unwrap(), "a/file.ts");
    }

    #[test]
    fn a_link_that_leaves_the_project_is_refused() {
        let (outer, folder) = project();
        symlink(outer.path().join("outside.ts"), folder.root.join("out.ts")).unwrap();
        symlink("../..", folder.root.join("a/up")).unwrap();
        for path in ["out.ts", "a/up", "a/up/outside.ts"] {
            assert_eq!(
                folder.kind(path).unwrap_err().kind(),
                ErrorKind::PermissionDenied,
                "{path}"
            );
            assert_eq!(
                folder.read(path).unwrap_err().kind(),
                ErrorKind::PermissionDenied,
                "{path}"
            );
        }
        let manifest = "beeuni_version: 2\nimports: [up/]\ntools: { show: beeuni:show, a: out.ts, b: dead.ts }\n";
        symlink("..", folder.root.join("up")).unwrap();
        symlink("gone.ts", folder.root.join("dead.ts")).unwrap();
        fs::write(folder.root.join("beeuni.yaml"), manifest).unwrap();
        let loaded = beeuni_manifest::load(&folder, "beeuni.yaml");
        let expected = "\
beeuni.yaml:2:11: error: imports[0]: cannot be used: `up`: a link on this path leaves the repository
beeuni.yaml:3:32: error: tools.a: cannot be used: `out.ts`: a link on this path leaves the repository
beeuni.yaml:3:43: error: tools.b: names `dead.ts`, which is a link to nothing
";
        assert_eq!(shown(&loaded.issues), expected);
    }

    #[test]
    fn a_root_that_is_itself_a_link_is_fine() {
        let (outer, folder) = project();
        let link = outer.path().join("link");
        symlink(&folder.root, &link).unwrap();
        assert_eq!(Folder::new(link).read("a/file.ts").unwrap(), b"text");
    }

    #[test]
    fn a_pipe_is_neither_opened_nor_waited_for() {
        let (_outer, folder) = project();
        let made = std::process::Command::new("mkfifo")
            .arg(folder.root.join("pipe"))
            .status();
        if made.is_ok_and(|status| status.success()) {
            assert!(folder.kind("pipe").is_err());
            assert_eq!(folder.read("pipe").unwrap_err().kind(), ErrorKind::InvalidInput);
        }
    }
}
