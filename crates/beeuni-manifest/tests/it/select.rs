//! Which tools a session gets (S1–S5) and how they are listed (L1, L2).
use beeuni_manifest::{BEEUNI_TOOLS, Folder, Selection, load};

use crate::support::Files;

fn selection(manifest: &str) -> Selection {
    Files::with(manifest).load().manifest.unwrap().selection()
}

fn lines(selection: &Selection) -> Vec<String> {
    let line =
        |tool: &beeuni_manifest::SelectedTool| format!("{} {} {}", tool.name, tool.kind.as_str(), tool.source_text());
    selection.tools.iter().map(line).collect()
}

#[test]
fn s2_without_a_tools_key_a_session_gets_all_five() {
    let selection = selection("beeuni_version: 2\n");
    let names: Vec<_> = selection.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, BEEUNI_TOOLS);
    assert_eq!(selection.removed, Vec::<String>::new());
    assert!(!Files::with("beeuni_version: 2\n").load().manifest.unwrap().tools_key);
}

#[test]
fn s3_with_a_tools_key_a_session_gets_what_it_lists() {
    for empty in ["tools:", "tools: {}", "tools: ~", "tools: null"] {
        let manifest = Files::with(&format!("beeuni_version: 2\n{empty}\n"))
            .load()
            .manifest
            .unwrap();
        assert!(manifest.tools_key, "{empty}");
        let selection = manifest.selection();
        assert_eq!((selection.tools.len(), selection.removed.len()), (0, 5), "{empty}");
    }
    let selection = selection("beeuni_version: 2\ntools: { show: beeuni:show, memory: beeuni:memory }\n");
    assert_eq!(
        lines(&selection),
        ["memory beeuni beeuni:memory", "show beeuni beeuni:show"]
    );
    assert_eq!(selection.removed, ["web_search", "image_search", "scrape_webpage"]);
}

#[test]
fn l1_beeuni_tools_come_in_fixed_order_and_project_tools_as_declared() {
    let selection = selection(
        "beeuni_version: 2\ntools:\n  zebra: tools/a.ts\n  show: beeuni:show\n  ant: ./tools//a.ts\n  web_search: tools/a.ts\n",
    );
    let expected = [
        "web_search beeuni (overridden) tools/a.ts",
        "show beeuni beeuni:show",
        "zebra project tools/a.ts",
        "ant project tools/a.ts",
    ];
    assert_eq!(lines(&selection), expected);
    assert_eq!(selection.removed, ["image_search", "scrape_webpage", "memory"]);
}

#[test]
fn s4_a_key_in_an_imported_file_counts() {
    let files = Files::new([
        ("beeuni.yaml", "beeuni_version: 2\nimports: [more.yaml]\n"),
        ("more.yaml", "tools: { memory: beeuni:memory, mine: a.ts }\n"),
        ("a.ts", ""),
    ]);
    let manifest = files.load().manifest.unwrap();
    assert!(manifest.tools_key);
    assert_eq!(
        lines(&manifest.selection()),
        ["memory beeuni beeuni:memory", "mine project a.ts"]
    );
    assert_eq!(manifest.tools[1].place.file, "more.yaml");
}

#[test]
fn an_entry_without_its_file_is_listed_and_one_with_an_illegal_name_is_not() {
    let files = Files::with(
        "beeuni_version: 2\ntools:\n  show: beeuni:memory\n  gone: tools/gone.ts\n  Bad: tools/a.ts\n  bash: tools/a.ts\n  worse: /a.ts\n",
    );
    let loaded = files.load();
    assert!(!loaded.is_valid());
    assert_eq!(
        lines(&loaded.manifest.unwrap().selection()),
        ["gone project tools/gone.ts"]
    );
}

#[test]
fn names_with_an_error_of_their_own_are_not_called_unknown_as_well() {
    let files = Files::with(
        "beeuni_version: 2\ntools: { show: beeuni:shw, Bad: tools/a.ts }\nagents:\n  a: { tools: [Bad, show] }\n",
    );
    let issues = files.load().issues;
    assert_eq!(issues.len(), 2, "{}", files.findings());
    assert!(issues.iter().all(|issue| issue.path.starts_with("tools.")));
}

#[test]
fn a_project_on_disk_loads_as_one_in_memory_does() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("beeuni.yaml"), "beeuni_version: 2\n").unwrap();
    let loaded = load(&Folder::new(folder.path()), "beeuni.yaml");
    assert!(loaded.is_valid());
    let manifest = loaded.manifest.unwrap();
    assert_eq!(
        (manifest.file.as_str(), manifest.default_agent.as_deref()),
        ("beeuni.yaml", Some("beeuni"))
    );
    assert_eq!(manifest.agents[0].file, "agents/beeuni.md");
    assert_eq!(manifest.opencode_config_dir, "harnesses/opencode");
}
