//! What `Files` promises, with failures that stop root too.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
use super::*;

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn all_files_are_written_and_folders_made() {
    let dir = tempfile::tempdir().unwrap();
    let old = dir.path().join("old");
    fs::write(&old, "before").unwrap();
    fs::set_permissions(&old, Permissions::from_mode(0o640)).unwrap();
    let mut files = Files::default();
    files.add(dir.path().join("a/b/new"), "new", Before::Nothing);
    files.add(old.clone(), "after", Before::Bytes(b"before".to_vec()));
    files.write().unwrap();
    assert_eq!(fs::read_to_string(dir.path().join("a/b/new")).unwrap(), "new");
    assert_eq!(fs::read_to_string(&old).unwrap(), "after");
    assert_eq!(fs::metadata(&old).unwrap().mode() & 0o777, 0o640);
    assert_eq!(names(dir.path()), ["a", "old"]);
}

#[test]
fn a_file_that_is_there_stops_everything() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("there"), "mine").unwrap();
    let mut files = Files::default();
    files.add(dir.path().join("folder/first"), "1", Before::Nothing);
    files.add(dir.path().join("there"), "2", Before::Nothing);
    assert!(matches!(files.write(), Err(WriteError::Exists { .. })));
    assert_eq!(names(dir.path()), ["there"]);
    assert_eq!(fs::read_to_string(dir.path().join("there")).unwrap(), "mine");
}

#[test]
fn a_file_that_changed_since_it_was_read_stops_everything() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("read"), "newer").unwrap();
    let mut files = Files::default();
    files.add(dir.path().join("first"), "1", Before::Nothing);
    files.add(dir.path().join("read"), "2", Before::Bytes(b"older".to_vec()));
    assert!(matches!(files.write(), Err(WriteError::Changed { .. })));
    assert_eq!(names(dir.path()), ["read"]);
    assert_eq!(fs::read_to_string(dir.path().join("read")).unwrap(), "newer");
}

/// E6 at its last moment: everything was prepared, the first file is in place, the second rename
/// fails.
#[test]
fn a_rename_that_fails_puts_the_earlier_files_back() {
    let dir = tempfile::tempdir().unwrap();
    let over = dir.path().join("over");
    fs::write(&over, "before").unwrap();
    let mut files = Files::default();
    files.add(over.clone(), "after", Before::Anything);
    files.add(dir.path().join("made/new"), "new", Before::Nothing);
    files.add(dir.path().join("blocked"), "blocked", Before::Nothing);
    let mut made = MadeFolders::default();
    let prepared = files.prepare(&mut made).unwrap();
    fs::create_dir(dir.path().join("blocked")).unwrap();
    let outcome = place(prepared);
    made.remove();
    assert!(matches!(outcome, Err(WriteError::Exists { .. })));
    assert_eq!(fs::read_to_string(&over).unwrap(), "before");
    assert_eq!(names(dir.path()), ["blocked", "over"]);
}

#[test]
fn a_link_stays_a_link() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("target"), "before").unwrap();
    std::os::unix::fs::symlink("target", dir.path().join("link")).unwrap();
    let mut files = Files::default();
    files.add(dir.path().join("link"), "after", Before::Bytes(b"before".to_vec()));
    files.write().unwrap();
    assert!(fs::symlink_metadata(dir.path().join("link")).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(dir.path().join("target")).unwrap(), "after");
}

#[test]
fn a_file_in_place_of_a_folder_stops_everything() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("tools"), "a file").unwrap();
    let mut files = Files::default();
    files.add(dir.path().join("first"), "1", Before::Nothing);
    files.add(dir.path().join("tools/new.ts"), "2", Before::Nothing);
    assert!(matches!(files.write(), Err(WriteError::Write { .. })));
    assert_eq!(names(dir.path()), ["tools"]);
}
