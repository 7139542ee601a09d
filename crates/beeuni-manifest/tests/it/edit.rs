//! What an edit promises whatever the file looks like (E2, E3, E6).
use beeuni_manifest::{Edit, EditError, set_tool};

use crate::support::Files;

pub(crate) const COMMENT: &str = "ejected from beeuni:web_search";

const OTHERS: [(&str, &str); 4] = [
    ("image_search", "beeuni:image_search"),
    ("scrape_webpage", "beeuni:scrape_webpage"),
    ("memory", "beeuni:memory"),
    ("show", "beeuni:show"),
];

/// Ejects `web_search` in `files`.
pub(crate) fn eject(files: &Files) -> Result<Edit, EditError> {
    set_tool(
        files,
        "beeuni.yaml",
        "web_search",
        "tools/web_search.ts",
        Some(COMMENT),
        &OTHERS,
    )
}

/// The reason why ejecting is refused.
fn refusal(files: &Files) -> String {
    match eject(files) {
        Ok(edit) => panic!("edited: {}", edit.text),
        Err(error) => error.to_string(),
    }
}

#[test]
fn e2_the_file_that_declares_the_entry_is_changed() {
    let files = Files::new([
        (
            "beeuni.yaml",
            "beeuni_version: 2\nimports: [team/tools.yaml]\ntools: { show: beeuni:show }\n",
        ),
        (
            "team/tools.yaml",
            "tools:\n  memory: beeuni:memory\n  web_search: beeuni:web_search # ours\n",
        ),
    ]);
    let edit = eject(&files).unwrap();
    assert_eq!(edit.file, "team/tools.yaml");
    let expected =
        "tools:\n  memory: beeuni:memory\n  web_search: tools/web_search.ts # ours  # ejected from beeuni:web_search\n";
    assert_eq!(edit.text, expected);
}

#[test]
fn e2_a_new_entry_goes_to_the_root_file() {
    let files = Files::new([
        ("beeuni.yaml", "beeuni_version: 2\nimports: [team/tools.yaml]\n"),
        ("team/tools.yaml", "tools:\n  memory: beeuni:memory\n"),
    ]);
    let edit = eject(&files).unwrap();
    assert_eq!(edit.file, "beeuni.yaml");
    // A key exists already (S3): the other four are not written.
    let expected = "beeuni_version: 2\nimports: [team/tools.yaml]\ntools:\n  web_search: tools/web_search.ts  # ejected from \
                    beeuni:web_search\n";
    assert_eq!(edit.text, expected);
}

#[test]
fn e3_without_a_tools_key_the_others_are_written_first() {
    let before = "beeuni_version: 2\n";
    let edit = eject(&Files::with(before)).unwrap();
    let after = Files::with(&edit.text).load().manifest.unwrap();
    assert_eq!(after.selection().removed, Vec::<String>::new());
    let names: Vec<_> = after.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(
        names,
        ["image_search", "scrape_webpage", "memory", "show", "web_search"]
    );
}

#[test]
fn yaml_04_the_empty_forms_become_a_valid_file() {
    for before in [
        "",
        "# only a comment",
        "# only a comment\n",
        "---\n",
        "---\n# c\n...\n",
        "\u{feff}",
        "\n\n",
    ] {
        let edit = eject(&Files::with(before)).unwrap();
        let mut files = Files::with(&edit.text);
        files.0.insert("tools/web_search.ts".to_owned(), Vec::new());
        assert_eq!(files.findings(), "", "{before:?} became {:?}", edit.text);
    }
    for before in ["tools:", "tools: ~", "tools: {}", "tools: null # none\n"] {
        let edit = eject(&Files::with(&format!("beeuni_version: 2\n{before}"))).unwrap();
        let mut files = Files::with(&edit.text);
        files.0.insert("tools/web_search.ts".to_owned(), Vec::new());
        assert_eq!(files.findings(), "", "{before:?} became {:?}", edit.text);
    }
}

#[test]
fn yaml_01_eject_keeps_every_other_byte() {
    let before = "# owner: team blue – ask before changing\ntools:   # keep sorted\n\n    web_search: beeuni:web_search   # \
                  paid key, see wiki\n    # weather is off until Q3\n    #weather: tools/weather.ts\n    'notes':    \
                  \"tools/notes.ts\"\n\nagents: {}        # ← nothing yet\n# end\n";
    let edit = eject(&Files::with(before)).unwrap();
    let expected = before.replace(
        "    web_search: beeuni:web_search   # paid key, see wiki\n",
        "    web_search: tools/web_search.ts   # paid key, see wiki  # ejected from beeuni:web_search\n",
    );
    assert_eq!(edit.text, expected);
    assert_eq!(eject(&Files::with(&edit.text)).unwrap().text, expected);
}

#[test]
fn yaml_06_byte_order_mark_line_ends_and_marks_stay() {
    let before = "\u{feff}%YAML 1.2\r\n---\r\ntools:\r\n  web_search: beeuni:web_search\r\n...";
    let edit = eject(&Files::with(before)).unwrap();
    let expected = before.replace(
        "beeuni:web_search",
        "tools/web_search.ts  # ejected from beeuni:web_search",
    );
    assert_eq!(edit.text, expected);
}

#[test]
fn yaml_03_a_file_with_a_duplicate_is_refused_with_its_place() {
    let reason = refusal(&Files::with("tools:\n  web_search: a.ts\n  \"web_search\": b.ts\n"));
    assert!(reason.starts_with("beeuni.yaml cannot be edited: line 3, column 3: `web_search` stands here on line 3"));
    assert!(
        reason.contains("write `web_search: tools/web_search.ts  # ejected from beeuni:web_search` under `tools:`")
    );
}

#[test]
fn what_cannot_be_changed_alone_is_refused_with_a_place() {
    for (before, words) in [
        ("tools:\n\tweb_search: a.ts\n", "line 2, column 1: a tab"),
        ("tools: [\n", "line 1, column 8: the `[` opened here is never closed"),
        ("tools: [web_search]\n", "line 1, column 8: `tools` is not a map"),
        ("- a\n", "it is not a map of keys"),
        (
            "tools:\n  web_search: { path: a.ts }\n",
            "line 2, column 3: its value is a list or a map",
        ),
        (
            "x: &a\n  tools: { show: beeuni:show }\n<<: *a\n",
            "line 2, column 3: `tools` comes from a merge key",
        ),
        (
            "tools:\n  web_search: &w beeuni:web_search\nx: *w\n",
            "line 2, column 3: this is written in a way",
        ),
        ("tools: &t\nx: *t\n", "line 1, column 1: this is written in a way"),
        ("a: 1\n---\nb: 1\n", "line 2, column 1: a second document"),
        (
            "imports: [gone.yaml]\n",
            "an import cannot be read, and `web_search` may be declared there",
        ),
    ] {
        let reason = refusal(&Files::with(before));
        assert!(reason.contains(words), "{before:?}: {reason}");
    }
    let two = Files::new([
        (
            "beeuni.yaml",
            "imports: [a.yaml]\ntools: { web_search: beeuni:web_search }\n",
        ),
        ("a.yaml", "tools: { web_search: beeuni:web_search }\n"),
    ]);
    assert!(refusal(&two).contains("`web_search` is declared in a.yaml too"));
    assert!(refusal(&Files::default()).contains("the file does not exist"));
}

#[test]
fn a_broken_import_does_not_keep_an_entry_of_the_root_from_being_changed() {
    let files = Files::with("imports: [gone.yaml]\ntools: { web_search: beeuni:web_search }\n");
    assert!(eject(&files).unwrap().text.contains("web_search: tools/web_search.ts"));
}

#[test]
fn an_entry_without_a_comment_is_written_plainly() {
    let files = Files::with("tools:\n  show: beeuni:show # c\n");
    let edit = set_tool(
        &files,
        "beeuni.yaml",
        "lookup_order",
        "tools/lookup_order.ts",
        None,
        &OTHERS,
    )
    .unwrap();
    assert_eq!(
        edit.text,
        "tools:\n  show: beeuni:show # c\n  lookup_order: tools/lookup_order.ts\n"
    );
}

#[test]
fn names_and_values_that_are_no_plain_text_are_quoted() {
    let set = |before: &str, name: &str, value: &str| {
        let edit = set_tool(&Files::with(before), "beeuni.yaml", name, value, None, &[]).unwrap();
        edit.text
    };
    assert_eq!(
        set("tools:\n  a: b.ts\n", "on", "tools/on.ts"),
        "tools:\n  a: b.ts\n  \"on\": tools/on.ts\n"
    );
    assert_eq!(
        set("tools:\n  a: b.ts\n", "c", "x: y.ts"),
        "tools:\n  a: b.ts\n  c: \"x: y.ts\"\n"
    );
    assert_eq!(
        set("tools: {a: b.ts}\n", "c", "x,y.ts"),
        "tools: {a: b.ts, c: \"x,y.ts\"}\n"
    );
    assert_eq!(
        set("tools:\n  a: 'b.ts'\n", "a", "it's.ts"),
        "tools:\n  a: 'it''s.ts'\n"
    );
    assert_eq!(
        set("tools:\n  a: b.ts\n", "c", "größe.ts"),
        "tools:\n  a: b.ts\n  c: größe.ts\n"
    );
    assert_eq!(
        set("tools:\n  a: b.ts\n", "c", "#x.ts"),
        "tools:\n  a: b.ts\n  c: \"#x.ts\"\n"
    );
}

#[test]
fn a_comment_of_several_lines_becomes_one_line() {
    let files = Files::with("tools:\n  a: b.ts\n");
    let edit = set_tool(&files, "beeuni.yaml", "a", "c.ts", Some("one\ntwo: three"), &[]).unwrap();
    assert_eq!(edit.text, "tools:\n  a: c.ts  # one two: three\n");
}
