//! `beeuni validate`, the tools part (tools.md V1 to V8), exit codes and shapes.
mod support;

use serde_json::json;
use support::{MANIFEST, Shell};

fn validate(manifest: &str) -> support::Ran {
    Shell::with_manifest(manifest).run(&["validate"])
}

#[test]
fn a_valid_manifest_says_so() {
    insta::assert_snapshot!(validate(MANIFEST), @"
    exit 0
    ----- stdout
      ✓  beeuni.yaml is valid
    ");
}

#[test]
fn v1_a_beeuni_value_must_name_the_tool_itself() {
    insta::assert_snapshot!(validate("beeuni_version: 2\ntools:\n  web_search: beeuni:image_search\n"), @"
    exit 1
    ----- stdout
    beeuni.yaml:3:15: error: tools.web_search: must be `beeuni:web_search` (the Beeuni tool) or a repo-relative path to a .ts or .js module (e.g. `tools/web_search.ts`) that replaces it.

    beeuni.yaml has 1 error
    ");
    insta::assert_snapshot!(validate("beeuni_version: 2\ntools:\n  search: beeuni:websearch\n  show: beeuni:show\n"), @"
    exit 1
    ----- stdout
    beeuni.yaml:3:11: error: tools.search: must be a repo-relative path to a .ts or .js module: there is no Beeuni tool `websearch`: did you mean `web_search`?

    beeuni.yaml has 1 error
    ");
}

#[test]
fn v2_a_key_without_any_beeuni_tool_is_a_warning() {
    let shell = Shell::with_manifest("beeuni_version: 2\ntools:\n  lookup_order: tools/lookup_order.ts\n");
    shell.write("tools/lookup_order.ts", "");
    insta::assert_snapshot!(shell.run(&["validate"]), @"
    exit 0
    ----- stdout
    beeuni.yaml:2:1: warning: tools: Sessions of this project get no Beeuni tool (web_search, image_search, scrape_webpage, memory, show). Add `<name>: beeuni:<name>` to keep one.

      ✓  beeuni.yaml is valid, with 1 warning
    ");
}

/// V3 and V7: names in an agent's list.
#[test]
fn v3_v7_names_in_an_agents_list_are_checked() {
    let shell = Shell::with_manifest(
        "beeuni_version: 2\ntools: { memory: 'beeuni:memory' }\nagents:\n  a: { tools: [read, show, memroy] }\n",
    );
    shell.write("agents/a.md", "---\ndescription: An agent.\n---\nYou help.\n");
    insta::assert_snapshot!(shell.run(&["validate"]), @r#"
    exit 0
    ----- stdout
    beeuni.yaml:4:22: warning: agents.a.tools[1]: "show" is a Beeuni tool this project does not load: add `show: beeuni:show` under the top-level `tools`, or remove it here.
    beeuni.yaml:4:28: warning: agents.a.tools[2]: `memroy` is no harness, Beeuni or project tool: did you mean `memory`?

      ✓  beeuni.yaml is valid, with 2 warnings
    "#);
}

#[test]
fn v4_v5_names_and_paths_have_rules() {
    let shell = Shell::with_manifest(
        "\
beeuni_version: 2
tools:
  memory: beeuni:memory
  Find Orders: tools/ok.ts
  bash: tools/ok.ts
  pty_open: tools/ok.ts
  absolute: /etc/x.ts
  above: ../x.ts
  back: tools\\x.ts
  text: tools/ok.txt
  gone: tools/gone.ts
",
    );
    shell.write("tools/ok.ts", "");
    insta::assert_snapshot!(shell.run(&["validate"]), @r#"
    exit 1
    ----- stdout
    beeuni.yaml:4:3: error: tools["Find Orders"]: is no legal name for a tool (`^[a-z][a-z0-9_]{0,63}$`): write e.g. `find_orders`
    beeuni.yaml:5:3: error: tools.bash: is a tool of the harness, and no project tool may take its name: rename it, e.g. `my_bash`
    beeuni.yaml:6:3: error: tools.pty_open: is a tool of the harness, and no project tool may take its name: rename it, e.g. `my_pty_open`
    beeuni.yaml:7:13: error: tools.absolute: must be repo-relative: an absolute path means nothing in a sandbox, so drop the leading `/`
    beeuni.yaml:8:10: error: tools.above: must not contain `..`: the file has to be inside the repository
    beeuni.yaml:9:9: error: tools.back: must not contain a backslash: write `tools/x.ts`
    beeuni.yaml:10:9: error: tools.text: must end in `.ts`, `.js`, `.mts`, `.mjs`, `.cts` or `.cjs`
    beeuni.yaml:11:9: error: tools.gone: names `tools/gone.ts`, which does not exist: create it, or correct the path

    beeuni.yaml has 8 errors
    "#);
}

#[test]
fn v6_a_name_declared_twice_names_both_files() {
    let shell = Shell::with_manifest("beeuni_version: 2\nimports: [team.yaml]\ntools:\n  memory: beeuni:memory\n");
    shell.write("team.yaml", "tools:\n  memory: beeuni:memory\n");
    insta::assert_snapshot!(shell.run(&["validate"]), @"
    exit 1
    ----- stdout
    team.yaml:2:3: error: tools.memory: is declared twice, in beeuni.yaml (line 4) and in team.yaml (line 2): remove one of the two

    beeuni.yaml has 1 error
    ");
}

#[test]
fn v8_json_has_every_field_of_every_finding() {
    let shell = Shell::with_manifest("beeuni_version: 2\ntools:\n  web_search: beeuni:image_search\n");
    let ran = shell.run(&["validate", "--json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    let json = ran.json();
    assert_eq!(json["manifest"], "[DIR]/project/beeuni.yaml");
    assert_eq!(json["valid"], false);
    assert_eq!(
        json["issues"][0],
        json!({
            "path": "tools.web_search",
            "message": "must be `beeuni:web_search` (the Beeuni tool) or a repo-relative path to a .ts or .js module (e.g. `tools/web_search.ts`) that replaces it.",
            "severity": "error",
            "file": "beeuni.yaml",
            "line": 3,
            "column": 15,
        })
    );
    let json = Shell::with_manifest(MANIFEST).run(&["validate", "--json"]).json();
    assert_eq!((&json["valid"], &json["issues"]), (&json!(true), &json!([])));
}

#[test]
fn v8_exit_codes_tell_warnings_errors_and_nothing_to_check_apart() {
    let code = |manifest: &str| validate(manifest).code;
    assert_eq!(code("beeuni_version: 2\ntools: {}\n"), 0, "a warning");
    assert_eq!(code("beeuni_version: 2\ntools: []\n"), 1, "an error");
    assert_eq!(code(""), 1, "an empty file");
    insta::assert_snapshot!(Shell::new().run(&["validate"]), @"
    exit 2
    ----- stderr
    error: no beeuni.yaml in [DIR]/project or a folder above it
      hint: `beeuni init` makes a new project, `-C DIR` works on one elsewhere
    ");
    insta::assert_snapshot!(Shell::new().run(&["validate", "nowhere"]), @"
    exit 2
    ----- stderr
    error: no such folder: nowhere
    ");
    insta::assert_snapshot!(Shell::new().run(&["validate", "--json"]), @"
    exit 2
    ----- stderr
    error: no beeuni.yaml in [DIR]/project or a folder above it
      hint: `beeuni init` makes a new project, `-C DIR` works on one elsewhere
    ");
}

/// CLI-01: all at once, in a file's order, each with its place.
#[test]
fn all_findings_are_shown_at_once() {
    let manifest =
        "beeuni_version: '2'\ntolos: {}\ntools:\n  web_search: beeuni:show\n  memory: 7\nagents:\n  a: { model: x }\n";
    insta::assert_snapshot!(validate(manifest), @"
    exit 1
    ----- stdout
    beeuni.yaml:1:17: error: beeuni_version: must be the number 2, not a text: drop the quotes
    beeuni.yaml:2:1: warning: tolos: is no key that Beeuni knows: did you mean `tools`?
    beeuni.yaml:4:15: error: tools.web_search: must be `beeuni:web_search` (the Beeuni tool) or a repo-relative path to a .ts or .js module (e.g. `tools/web_search.ts`) that replaces it.
    beeuni.yaml:5:11: error: tools.memory: must be `beeuni:memory` (the Beeuni tool) or a repo-relative path to a .ts or .js module (e.g. `tools/memory.ts`) that replaces it.
    beeuni.yaml:7:3: error: agents.a: names `agents/a.md`, which does not exist: create it, or correct the path. Its text is the agent's system prompt; `file:` names another
    beeuni.yaml:7:8: error: agents.a.model: belongs in the frontmatter of the agent's `agents/a.md`

    beeuni.yaml has 5 errors and 1 warning
    ");
}

#[test]
fn a_file_that_does_not_parse_has_a_place() {
    insta::assert_snapshot!(validate("beeuni_version: 2\ntools:\n\tmemory: beeuni:memory\n"), @"
    exit 1
    ----- stdout
    beeuni.yaml:3:1: error: a tab: YAML indents and separates with spaces, so put spaces in its place

    beeuni.yaml has 1 error
    ");
    insta::assert_snapshot!(validate("beeuni_version: 2\ntools: {memory: beeuni:memory\n"), @"
    exit 1
    ----- stdout
    beeuni.yaml:2:8: error: the `{` opened here is never closed: add `}`

    beeuni.yaml has 1 error
    ");
}

#[test]
fn a_person_sees_the_line_and_a_caret() {
    let shell = Shell::with_manifest("beeuni_version: 2\ntools:\n  web_search: beeuni:image_search\n");
    let ran = shell.run(&["validate", "--color", "always"]);
    insta::assert_snapshot!(ran.stdout.replace('\u{1b}', "^["), @"
    ^[[1mbeeuni.yaml:3:15:^[[0m ^[[1m^[[31merror:^[[0m tools.web_search: must be `beeuni:web_search` (the Beeuni tool) or a repo-relative path to a .ts or .js module (e.g. `tools/web_search.ts`) that replaces it.
    ^[[2m  3 |   web_search: beeuni:image_search
        |               ^^[[0m

    beeuni.yaml has ^[[1m^[[31m1 error^[[0m
    ");
}

#[test]
fn files_are_named_as_seen_from_the_current_folder() {
    let shell = Shell::with_manifest("beeuni_version: 2\ntools: {}\n");
    shell.write("docs/deep/page.md", "");
    let mut command = shell.command(["validate"]);
    let ran = shell.ran(command.current_dir(shell.path("docs/deep")));
    assert!(ran.stdout.starts_with("../../beeuni.yaml:2:"), "{ran}");
    let mut command = shell.command(["validate", "project"]);
    let ran = shell.ran(command.current_dir(shell.root()));
    assert!(ran.stdout.starts_with("project/beeuni.yaml:2:"), "{ran}");
    let mut command = shell.command(["validate", "-C"]);
    let ran = shell.ran(command.arg(shell.path("")).current_dir(shell.root().join("home")));
    assert!(ran.stdout.starts_with("[DIR]/project/beeuni.yaml:2:"), "{ran}");
}

/// What a project's files say must not change the terminal.
#[test]
fn control_characters_of_a_manifest_are_spelled_out() {
    let ran = validate("beeuni_version: 2\n\"to\\e]0;owned\\aols\": {}\n");
    assert!(!ran.stdout.contains('\u{1b}') && !ran.stdout.contains('\u{7}'), "{ran}");
}
