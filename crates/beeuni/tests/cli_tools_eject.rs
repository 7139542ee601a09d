//! `beeuni tools eject` (tools.md E1 to E6).
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod support;

use support::{MANIFEST, Shell};

/// What differs between two texts: the lines of one that the other does not have.
fn changed_lines(before: &str, after: &str) -> (Vec<String>, Vec<String>) {
    let lines = |text: &str| text.split_inclusive('\n').map(str::to_owned).collect::<Vec<_>>();
    let (before, after) = (lines(before), lines(after));
    let same = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
    let rest = (before.len() - same).min(after.len() - same);
    let tail = before
        .iter()
        .rev()
        .zip(after.iter().rev())
        .take(rest)
        .take_while(|(a, b)| a == b)
        .count();
    (
        before[same..before.len() - tail].to_vec(),
        after[same..after.len() - tail].to_vec(),
    )
}

/// Ejects web_search from `before` and returns what its manifest became.
fn ejected(before: &str) -> String {
    let shell = Shell::with_manifest(before);
    let ran = shell.run(&["tools", "eject", "web_search"]);
    assert_eq!(ran.code, 0, "{ran}");
    let check = shell.run(&["validate", "--json"]);
    assert!(check.json()["valid"].as_bool().unwrap(), "{check}");
    shell.read("beeuni.yaml")
}

/// E2: the one line that changes, `before` and `after`.
fn assert_only_change(manifest: &str, before: &str, after: &str) {
    let edited = ejected(manifest);
    assert_eq!(
        changed_lines(manifest, &edited),
        (vec![before.to_owned()], vec![after.to_owned()]),
        "{edited:?}"
    );
}

#[test]
fn e1_the_output_is_the_one_of_the_page() {
    let shell = Shell::with_manifest(MANIFEST);
    insta::assert_snapshot!(shell.run(&["tools", "eject", "web_search"]), @r#"
    exit 0
    ----- stdout
      ✓  Ejected web_search
      wrote   tools/web_search.ts (the Beeuni source, now the project's to change)
      set     beeuni.yaml: tools.web_search: tools/web_search.ts

    Next:
      1. Edit tools/web_search.ts. Keep the default export: { description, parameters, execute(args, context) }.
      2. beeuni validate
      3. git add tools/web_search.ts beeuni.yaml && git commit -m "Own the web_search tool"
      4. Open a change request: git push origin HEAD && beeuni cr open --title "Own the web_search tool"
    Sessions load the copy after the change request merges.
    "#);
}

#[test]
fn e1_each_copy_has_the_bytes_that_a_sandbox_runs() {
    let shell = Shell::with_manifest(MANIFEST);
    for name in beeuni_manifest::BEEUNI_TOOLS {
        let ran = shell.run(&["tools", "eject", name]);
        assert_eq!(ran.code, 0, "{ran}");
        assert_eq!(
            Some(shell.read(&format!("tools/{name}.ts")).as_str()),
            beeuni_tools::beeuni_tool_source(name)
        );
    }
    let ran = shell.run(&["validate"]);
    assert_eq!(ran.code, 0, "{ran}");
    let ls = shell.run(&["tools", "ls"]).stdout;
    assert_eq!(ls.matches("beeuni (overridden)").count(), 5, "{ls}");
}

#[test]
fn e2_block_map_keeps_every_other_byte() {
    let manifest = "\
# owner: team blue – ask before changing
beeuni_version: 2
tools:   # keep sorted

    web_search: beeuni:web_search   # paid key, see wiki
    # weather is off until Q3
    #weather: tools/weather.ts
    'show':    \"beeuni:show\"

x-notes: {}        # ← nothing yet
# end
";
    let edited = ejected(manifest);
    let (before, after) = changed_lines(manifest, &edited);
    assert_eq!(before, ["    web_search: beeuni:web_search   # paid key, see wiki\n"]);
    assert_eq!(after.len(), 1);
    assert!(after[0].starts_with("    web_search: tools/web_search.ts"), "{after:?}");
    assert!(after[0].ends_with("# ejected from beeuni:web_search\n"), "{after:?}");
}

#[test]
fn e2_flow_map() {
    let edited = ejected("beeuni_version: 2\ntools: { web_search: beeuni:web_search, memory: beeuni:memory }\n");
    assert_eq!(
        edited,
        "beeuni_version: 2\ntools: { web_search: tools/web_search.ts, memory: beeuni:memory }  # ejected from beeuni:web_search\n"
    );
}

#[test]
fn e2_quoted_keys_and_values() {
    assert_only_change(
        "beeuni_version: 2\ntools:\n  \"web_search\": 'beeuni:web_search'\n  show: beeuni:show\n",
        "  \"web_search\": 'beeuni:web_search'\n",
        "  \"web_search\": 'tools/web_search.ts'  # ejected from beeuni:web_search\n",
    );
}

#[test]
fn e2_windows_line_ends_and_byte_order_mark() {
    assert_only_change(
        "\u{feff}---\r\nbeeuni_version: 2\r\ntools:\r\n  web_search: beeuni:web_search\r\n  show: beeuni:show\r\n...\r\n",
        "  web_search: beeuni:web_search\r\n",
        "  web_search: tools/web_search.ts  # ejected from beeuni:web_search\r\n",
    );
}

#[test]
fn e2_four_spaces_and_no_final_line_end() {
    assert_only_change(
        "beeuni_version: 2\ntools:\n    show: beeuni:show\n    web_search: beeuni:web_search",
        "    web_search: beeuni:web_search",
        "    web_search: tools/web_search.ts  # ejected from beeuni:web_search",
    );
}

#[test]
fn e2_anchored_map_and_value() {
    assert_only_change(
        "beeuni_version: 2\ntools: &tools\n  web_search: &w beeuni:web_search\n  show: beeuni:show\n",
        "  web_search: &w beeuni:web_search\n",
        "  web_search: &w tools/web_search.ts  # ejected from beeuni:web_search\n",
    );
}

#[test]
fn e2_value_on_the_next_line() {
    assert_only_change(
        "beeuni_version: 2\ntools:\n  web_search:\n    beeuni:web_search\n  show: beeuni:show\n",
        "    beeuni:web_search\n",
        "    tools/web_search.ts  # ejected from beeuni:web_search\n",
    );
}

/// A new entry goes to the root file; null and empty maps become maps with it (S3: nothing else comes back).
#[test]
fn e2_null_and_empty_maps_get_the_entry() {
    for (tools, after) in [
        (
            "tools:",
            "tools:\n  web_search: tools/web_search.ts  # ejected from beeuni:web_search",
        ),
        (
            "tools: {}",
            "tools: { web_search: tools/web_search.ts }  # ejected from beeuni:web_search",
        ),
        (
            "tools: ~",
            "tools:\n  web_search: tools/web_search.ts  # ejected from beeuni:web_search",
        ),
    ] {
        let manifest = format!("# top\nbeeuni_version: 2\n{tools}\n# end\n");
        let shell = Shell::with_manifest(&manifest);
        assert_eq!(shell.run(&["tools", "eject", "web_search"]).code, 0, "{tools}");
        let edited = shell.read("beeuni.yaml");
        assert!(
            edited.starts_with("# top\nbeeuni_version: 2\ntools:") && edited.ends_with("\n# end\n"),
            "{edited}"
        );
        assert!(edited.contains("# ejected from beeuni:web_search\n"), "{edited}");
        let json = shell.run(&["tools", "ls", "--json"]).json();
        assert_eq!(
            json["tools"].as_array().unwrap().len(),
            1,
            "{tools} became {edited}, not {after}"
        );
    }
}

/// A key that lists others: the tool that was removed comes back as the project's own.
#[test]
fn e2_a_removed_tool_comes_back_as_a_copy() {
    let manifest = "beeuni_version: 2\ntools:\n  memory: beeuni:memory\n\n# end\n";
    assert_only_new_line(
        manifest,
        "  web_search: tools/web_search.ts  # ejected from beeuni:web_search\n",
    );
}

fn assert_only_new_line(manifest: &str, line: &str) {
    assert_eq!(
        changed_lines(manifest, &ejected(manifest)),
        (vec![], vec![line.to_owned()])
    );
}

#[test]
fn e2_an_imported_entry_is_changed_in_its_own_file() {
    let shell = Shell::with_manifest("beeuni_version: 2\nimports: [team/tools.yaml]\n");
    shell.write(
        "team/tools.yaml",
        "# team\ntools:\n  show: beeuni:show\n  memory: beeuni:memory\n",
    );
    let root = shell.read("beeuni.yaml");
    insta::assert_snapshot!(shell.run(&["tools", "eject", "show"]), @r#"
    exit 0
    ----- stdout
      ✓  Ejected show
      wrote   tools/show.ts (the Beeuni source, now the project's to change)
      set     team/tools.yaml: tools.show: tools/show.ts

    Next:
      1. Edit tools/show.ts. Keep the default export: { description, parameters, execute(args, context) }.
      2. beeuni validate
      3. git add tools/show.ts team/tools.yaml && git commit -m "Own the show tool"
      4. Open a change request: git push origin HEAD && beeuni cr open --title "Own the show tool"
    Sessions load the copy after the change request merges.
    "#);
    assert_eq!(shell.read("beeuni.yaml"), root);
    assert_eq!(
        shell.read("team/tools.yaml"),
        "# team\ntools:\n  show: tools/show.ts  # ejected from beeuni:show\n  memory: beeuni:memory\n"
    );
    assert!(shell.path("tools/show.ts").is_file());
}

#[test]
fn e3_without_a_key_the_other_four_are_listed() {
    let shell = Shell::with_manifest("beeuni_version: 2\n\n# the end\n");
    assert_eq!(shell.run(&["tools", "eject", "memory"]).code, 0);
    insta::assert_snapshot!(shell.read("beeuni.yaml"), @"
    beeuni_version: 2
    tools:
      web_search: beeuni:web_search
      image_search: beeuni:image_search
      scrape_webpage: beeuni:scrape_webpage
      show: beeuni:show
      memory: tools/memory.ts  # ejected from beeuni:memory

    # the end
    ");
    let json = shell.run(&["tools", "ls", "--json"]).json();
    assert_eq!(
        (json["tools"].as_array().unwrap().len(), &json["removed"]),
        (5, &serde_json::json!([]))
    );
}

#[test]
fn e4_a_copy_that_exists_is_kept() {
    let shell = Shell::with_manifest(MANIFEST);
    shell.write("tools/show.ts", "// mine\n");
    let before = shell.snapshot();
    insta::assert_snapshot!(shell.run(&["tools", "eject", "show"]), @"
    exit 1
    ----- stderr
    error: tools/show.ts exists already
      note: nothing was written
      hint: `--force` overwrites it with the Beeuni source
    ");
    assert_eq!(shell.snapshot(), before);
    assert_eq!(shell.run(&["tools", "eject", "show", "--force"]).code, 0);
    assert_eq!(
        Some(shell.read("tools/show.ts").as_str()),
        beeuni_tools::beeuni_tool_source("show")
    );
}

/// YAML-01: a second eject changes nothing.
#[test]
fn e4_a_second_eject_changes_nothing() {
    let shell = Shell::with_manifest(MANIFEST);
    assert_eq!(shell.run(&["tools", "eject", "show"]).code, 0);
    shell.write("tools/show.ts", "// edited\n");
    let before = shell.snapshot();
    assert_eq!(shell.run(&["tools", "eject", "show"]).code, 1);
    assert_eq!(shell.snapshot(), before);
}

#[test]
fn e4_a_line_that_points_at_another_module_is_kept() {
    let shell = Shell::with_manifest("beeuni_version: 2\ntools:\n  show: integrations/show.ts # ours\n");
    shell.write("integrations/show.ts", "// mine\n");
    let before = shell.snapshot();
    insta::assert_snapshot!(shell.run(&["tools", "eject", "show"]), @"
    exit 1
    ----- stderr
    error: show points at integrations/show.ts already
      note: nothing was written
      hint: edit integrations/show.ts, or `--force` to point show at tools/show.ts instead
    ");
    assert_eq!(shell.snapshot(), before);
    assert_eq!(shell.run(&["tools", "eject", "show", "--force"]).code, 0);
    assert!(shell.read("beeuni.yaml").contains("  show: tools/show.ts"));
    assert_eq!(shell.read("integrations/show.ts"), "// mine\n");
}

#[test]
fn e4_a_line_with_an_error_is_the_users_to_mend() {
    let shell = Shell::with_manifest("beeuni_version: 2\ntools:\n  show: beeuni:memory\n");
    let before = shell.snapshot();
    insta::assert_snapshot!(shell.run(&["tools", "eject", "show"]), @"
    exit 1
    ----- stderr
    warning: beeuni.yaml has 1 error: `beeuni validate` shows what is wrong
    error: the line of show has an error
      caused by: beeuni.yaml:3:9: must be `beeuni:show` (the Beeuni tool) or a repo-relative path to a .ts or .js module (e.g. `tools/show.ts`) that replaces it.
      note: nothing was written
      hint: mend the line, or `--force` to replace it by tools/show.ts
    ");
    assert_eq!(shell.snapshot(), before);
}

#[test]
fn e4_only_beeuni_tools_can_be_ejected() {
    let shell = Shell::with_manifest("beeuni_version: 2\ntools:\n  lookup_order: tools/lookup_order.ts\n");
    shell.write("tools/lookup_order.ts", "// mine\n");
    let before = shell.snapshot();
    insta::assert_snapshot!(shell.run(&["tools", "eject", "web_serch"]), @"
    exit 1
    ----- stderr
    error: web_serch is not a Beeuni tool
      note: nothing was written
      hint: did you mean `web_search`?
      hint: the Beeuni tools are web_search, image_search, scrape_webpage, memory, show
    ");
    insta::assert_snapshot!(shell.run(&["tools", "eject", "lookup_order"]), @"
    exit 1
    ----- stderr
    error: lookup_order is not a Beeuni tool
      note: nothing was written
      hint: it is the project's own already: edit tools/lookup_order.ts
    ");
    assert_eq!(shell.run(&["tools", "eject", "../show"]).code, 1);
    assert_eq!(shell.snapshot(), before);
}

/// A file with duplicate keys cannot be edited safely (YAML-03).
#[test]
fn a_manifest_with_duplicate_keys_is_not_edited() {
    let shell =
        Shell::with_manifest("beeuni_version: 2\ntools:\n  show: beeuni:show\ntools:\n  memory: beeuni:memory\n");
    let before = shell.snapshot();
    let ran = shell.run(&["tools", "eject", "show"]);
    assert_eq!(ran.code, 1, "{ran}");
    assert_eq!(shell.snapshot(), before);
}

#[test]
fn e5_the_way_back_is_a_line_and_a_file() {
    let shell = Shell::with_manifest(MANIFEST);
    assert_eq!(shell.run(&["tools", "eject", "show"]).code, 0);
    let back = shell
        .read("beeuni.yaml")
        .replace("show: tools/show.ts  # ejected from beeuni:show", "show: beeuni:show");
    assert_eq!(back, MANIFEST);
    shell.write("beeuni.yaml", &back);
    std::fs::remove_file(shell.path("tools/show.ts")).unwrap();
    assert_eq!(shell.run(&["validate"]).code, 0);
}

/// E6: the module cannot be written, because `tools` is a file.
#[test]
fn e6_a_first_write_that_fails_changes_nothing() {
    let shell = Shell::with_manifest(MANIFEST);
    shell.write("tools", "a file");
    let before = shell.snapshot();
    insta::assert_snapshot!(shell.run(&["tools", "eject", "show"]), @"
    exit 1
    ----- stderr
    error: tools is a file, not a folder
      note: nothing was written
    ");
    assert_eq!(shell.snapshot(), before);
}

/// E6: the module is written, then the manifest cannot be: it is larger than a file may be, for root too.
#[test]
fn e6_a_second_write_that_fails_takes_the_first_back() {
    let padding = "# padding\n".repeat(40_000);
    let shell = Shell::with_manifest(&format!("{MANIFEST}{padding}"));
    let before = shell.snapshot();
    let ran = shell.sh("trap '' XFSZ; ulimit -f 400; beeuni tools eject show");
    assert_eq!(ran.code, 1, "{ran}");
    assert!(
        ran.stderr
            .starts_with("error: nothing was written\n  caused by: cannot write [DIR]/project/beeuni.yaml\n"),
        "{ran}"
    );
    assert!(ran.stderr.contains("File too large"), "{ran}");
    assert_eq!(shell.snapshot(), before);
}

/// A folder that leads out of the project is never written through.
#[test]
fn a_tools_folder_that_leaves_the_project_is_refused() {
    let shell = Shell::with_manifest(MANIFEST);
    let outside = shell.root().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, shell.path("tools")).unwrap();
    let before = shell.snapshot();
    let ran = shell.run(&["tools", "eject", "show", "--force"]);
    assert_eq!(ran.code, 1, "{ran}");
    assert_eq!(shell.snapshot(), before);
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn a_manifest_that_is_a_link_stays_one() {
    let shell = Shell::new();
    shell.write("config/real.yaml", MANIFEST);
    std::os::unix::fs::symlink("config/real.yaml", shell.path("beeuni.yaml")).unwrap();
    let ran = shell.run(&["tools", "eject", "show"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(shell.path("beeuni.yaml").is_symlink());
    assert!(shell.read("config/real.yaml").contains("show: tools/show.ts"));
}

#[test]
fn the_manifest_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt;
    let shell = Shell::with_manifest(MANIFEST);
    let mode = std::fs::Permissions::from_mode(0o640);
    std::fs::set_permissions(shell.path("beeuni.yaml"), mode).unwrap();
    assert_eq!(shell.run(&["tools", "eject", "show"]).code, 0);
    let now = std::fs::metadata(shell.path("beeuni.yaml"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(now & 0o777, 0o640);
}

/// From a folder inside the project the `git add` line works where it is read.
#[test]
fn the_next_steps_work_in_the_current_folder() {
    let shell = Shell::with_manifest(MANIFEST);
    shell.write("docs/page.md", "");
    let mut command = shell.command(["tools", "eject", "show"]);
    let ran = shell.ran(command.current_dir(shell.path("docs")));
    assert!(
        ran.stdout.contains("git add ../tools/show.ts ../beeuni.yaml &&"),
        "{ran}"
    );
    assert!(ran.stdout.contains("  wrote   tools/show.ts ("), "{ran}");
}
