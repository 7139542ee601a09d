//! `beeuni tools ls` (tools.md L1 to L6).
mod support;

use serde_json::json;
use support::{MANIFEST, Shell};

const CHANGED: &str = "\
beeuni_version: 2
tools:
  lookup_order: tools/lookup_order.ts
  show: beeuni:show
  memory: beeuni:memory
  scrape_webpage: beeuni:scrape_webpage
  web_search: tools/web_search.ts
";

fn changed() -> Shell {
    let shell = Shell::with_manifest(CHANGED);
    shell.write("tools/web_search.ts", "");
    shell.write("tools/lookup_order.ts", "");
    shell
}

/// The page's own example: L1 order, L2 kinds, L3 columns, the removed ones.
#[test]
fn l1_l2_l3_the_list_is_the_one_of_the_page() {
    insta::assert_snapshot!(changed().run(&["tools", "ls"]), @"
    exit 0
    ----- stdout
    NAME            KIND                 SOURCE
    web_search      beeuni (overridden)  tools/web_search.ts
    scrape_webpage  beeuni               beeuni:scrape_webpage
    memory          beeuni               beeuni:memory
    show            beeuni               beeuni:show
    lookup_order    project              tools/lookup_order.ts

    Removed Beeuni tools: image_search
    Add `<name>: beeuni:<name>` under `tools:` to get one back.
    ");
}

#[test]
fn l4_json_has_the_same_and_whether_there_is_a_key() {
    let shell = changed();
    let ran = shell.run(&["tools", "ls", "--json"]);
    assert_eq!(ran.code, 0);
    assert_eq!(
        ran.json(),
        json!({
            "manifest": "[DIR]/project/beeuni.yaml",
            "tools_key": true,
            "tools": [
                { "name": "web_search", "kind": "beeuni (overridden)", "source": "tools/web_search.ts" },
                { "name": "scrape_webpage", "kind": "beeuni", "source": "beeuni:scrape_webpage" },
                { "name": "memory", "kind": "beeuni", "source": "beeuni:memory" },
                { "name": "show", "kind": "beeuni", "source": "beeuni:show" },
                { "name": "lookup_order", "kind": "project", "source": "tools/lookup_order.ts" },
            ],
            "removed": ["image_search"],
        })
    );
    shell.write("beeuni.yaml", "beeuni_version: 2\n");
    let json = shell.run(&["tools", "ls", "--json"]).json();
    assert_eq!(
        (&json["tools_key"], json["tools"].as_array().map(Vec::len)),
        (&json!(false), Some(5))
    );
}

#[test]
fn l5_no_key_says_that_sessions_get_all_five() {
    insta::assert_snapshot!(Shell::with_manifest("beeuni_version: 2\n").run(&["tools", "ls"]), @"
    exit 0
    ----- stdout
    NAME            KIND    SOURCE
    web_search      beeuni  beeuni:web_search
    image_search    beeuni  beeuni:image_search
    scrape_webpage  beeuni  beeuni:scrape_webpage
    memory          beeuni  beeuni:memory
    show            beeuni  beeuni:show

    No `tools:` key in beeuni.yaml: sessions get all five Beeuni tools.
    ");
}

/// S3: the key alone, even with every line deleted, removes what it does not list.
#[test]
fn s3_an_empty_key_removes_all_five() {
    for tools in [
        "tools: {}",
        "tools:",
        "tools: ~",
        "tools:\n  # web_search: beeuni:web_search",
    ] {
        let ran = Shell::with_manifest(&format!("beeuni_version: 2\n{tools}\n")).run(&["tools", "ls"]);
        assert_eq!(ran.code, 0, "{tools}: {ran}");
        insta::allow_duplicates! { insta::assert_snapshot!(ran.stdout, @"
        Sessions of this project get no Beeuni tool and no tool of the project.

        Removed Beeuni tools: web_search, image_search, scrape_webpage, memory, show
        Add `<name>: beeuni:<name>` under `tools:` to get one back.
        "); }
    }
}

/// S4: a key in an imported file counts.
#[test]
fn s4_an_imported_key_counts() {
    let shell = Shell::with_manifest("beeuni_version: 2\nimports: [team.yaml]\n");
    shell.write("team.yaml", "tools:\n  memory: beeuni:memory\n");
    insta::assert_snapshot!(shell.run(&["tools", "ls"]), @"
    exit 0
    ----- stdout
    NAME    KIND    SOURCE
    memory  beeuni  beeuni:memory

    Removed Beeuni tools: web_search, image_search, scrape_webpage, show
    Add `<name>: beeuni:<name>` under `tools:` to get one back.
    ");
}

#[test]
fn l6_no_manifest_is_exit_2_and_names_the_folder() {
    insta::assert_snapshot!(Shell::new().run(&["tools", "ls"]), @"
    exit 2
    ----- stderr
    error: no beeuni.yaml in [DIR]/project or a folder above it
      hint: `beeuni init` makes a new project, `-C DIR` works on one elsewhere
    ");
    insta::assert_snapshot!(Shell::new().run(&["tools", "ls", "-C", "nowhere"]), @"
    exit 2
    ----- stderr
    error: no such folder: nowhere
    ");
}

#[test]
fn l6_a_manifest_that_cannot_be_read_is_exit_1() {
    insta::assert_snapshot!(Shell::with_manifest("tools: [\n").run(&["tools", "ls"]), @"
    exit 1
    ----- stderr
    error: cannot read beeuni.yaml
      caused by: beeuni.yaml:1:8: the `[` opened here is never closed: add `]`
      hint: `beeuni validate` shows every finding
    ");
    insta::assert_snapshot!(Shell::with_manifest("").run(&["tools", "ls", "--json"]), @"
    exit 1
    ----- stderr
    error: cannot read beeuni.yaml
      caused by: beeuni.yaml:1:1: the file is empty; a minimal manifest is one line: `beeuni_version: 2`
      hint: `beeuni validate` shows every finding
    ");
    let shell = Shell::with_manifest(MANIFEST);
    shell.write("beeuni.yml", MANIFEST);
    insta::assert_snapshot!(shell.run(&["tools", "ls"]), @"
    exit 1
    ----- stderr
    error: [DIR]/project has both beeuni.yaml and beeuni.yml: keep one of them
    ");
}

/// The list may lack what the manifest wants: that is said.
#[test]
fn errors_in_the_manifest_are_told() {
    let shell = Shell::with_manifest("beeuni_version: 2\ntools:\n  memory: beeuni:memory\n  gone: tools/gone.ts\n");
    insta::assert_snapshot!(shell.run(&["tools", "ls"]), @"
    exit 0
    ----- stdout
    NAME    KIND     SOURCE
    memory  beeuni   beeuni:memory
    gone    project  tools/gone.ts

    Removed Beeuni tools: web_search, image_search, scrape_webpage, show
    Add `<name>: beeuni:<name>` under `tools:` to get one back.
    ----- stderr
    warning: beeuni.yaml has 1 error: `beeuni validate` shows what is wrong
    ");
}

#[test]
fn the_manifest_is_found_in_a_parent_folder() {
    let shell = changed();
    shell.write("docs/deep/page.md", "");
    let mut command = shell.command(["tools", "ls"]);
    let ran = shell.ran(command.current_dir(shell.path("docs/deep")));
    assert_eq!((ran.code, ran.stdout), (0, shell.run(&["tools", "ls"]).stdout));
}

/// A repository's root ends the search: a manifest above it is another project's.
#[test]
fn the_search_stops_at_the_repository_root() {
    let shell = changed();
    shell.write("vendor/thing/.git/HEAD", "ref: refs/heads/main\n");
    let mut command = shell.command(["tools", "ls"]);
    let ran = shell.ran(command.current_dir(shell.path("vendor/thing")));
    assert_eq!(ran.code, 2, "{ran}");
}
