//! Which tools an agent sees and what it is granted (A1–A3, PERM-03).
use beeuni_manifest::{Grant, Severity, ToolAccess};

use crate::support::Files;

fn access(tools: &str) -> ToolAccess {
    let manifest =
        format!("beeuni_version: 2\ntools: {{ show: beeuni:show, deploy: tools/a.ts }}\nagents:\n  a:\n{tools}");
    let loaded = Files::with(&manifest).load();
    loaded.manifest.unwrap().agent("a").unwrap().tools.clone()
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn a1_every_form_of_tools_means_what_the_page_says() {
    for (written, expected) in [
        ("", ToolAccess::All),
        ("    tools: all\n", ToolAccess::All),
        ("    tools: none\n", ToolAccess::None),
        ("    tools: []\n", ToolAccess::None),
        ("    tools: [read, show]\n", ToolAccess::Only(names(&["read", "show"]))),
        ("    tools: [show, show]\n", ToolAccess::Only(names(&["show"]))),
        ("    tools: [show, \"*\"]\n", ToolAccess::All),
        (
            "    tools: { exclude: [bash, deploy] }\n",
            ToolAccess::Except(names(&["bash", "deploy"])),
        ),
        ("    tools: { exclude: [] }\n", ToolAccess::All),
        ("    tools: { exclude: [\"*\"] }\n", ToolAccess::None),
        (
            "    tools: { bash: false, read: true, edit: false }\n",
            ToolAccess::Except(names(&["bash", "edit"])),
        ),
        ("    tools: { read: true }\n", ToolAccess::All),
        (
            "    tools: { \"*\": true, show: false }\n",
            ToolAccess::Except(names(&["show"])),
        ),
        (
            "    tools: { \"*\": false, show: true }\n",
            ToolAccess::Only(names(&["show"])),
        ),
        ("    tools: { \"*\": false }\n", ToolAccess::None),
    ] {
        assert_eq!(access(written), expected, "{written}");
    }
}

#[test]
fn perm_03_what_is_wrong_hides_every_tool() {
    for written in [
        "tools:",
        "tools: memory",
        "tools: ~",
        "tools: true",
        "tools: { exclude: bash }",
        "tools: { bash: 1 }",
    ] {
        assert_eq!(access(&format!("    {written}\n")), ToolAccess::None, "{written}");
    }
}

#[test]
fn a1_access_decides_by_the_name_alone() {
    let only = ToolAccess::Only(names(&["read", "show"]));
    assert!(only.allows("read") && only.allows("show") && !only.allows("bash") && !only.allows("*"));
    let except = ToolAccess::Except(names(&["bash"]));
    assert!(!except.allows("bash") && except.allows("deploy") && except.allows("memory"));
    assert!(ToolAccess::All.allows("anything") && !ToolAccess::None.allows("anything"));
}

#[test]
fn a3_a_list_cannot_add_a_beeuni_tool_that_the_project_does_not_load() {
    let files =
        Files::with("beeuni_version: 2\ntools: { show: beeuni:show }\nagents:\n  a: { tools: [memory, show] }\n");
    let loaded = files.load();
    let manifest = loaded.manifest.as_ref().unwrap();
    let selection = manifest.selection();
    assert!(selection.tools.iter().all(|tool| tool.name != "memory"));
    assert_eq!(loaded.issues.len(), 1);
    assert_eq!(loaded.issues[0].severity, Severity::Warning);
}

#[test]
fn grants_are_denied_unless_given() {
    let files = Files::with(
        "beeuni_version: 2\ndefault_agent: a\nconnectors: [{ slug: shop, provider: example }]\nagents:\n  a:\n  b:\n    secrets: [SHOP_TOKEN]\n    \
         skills: all\n    connectors: [shop]\n",
    );
    let manifest = files.load().manifest.unwrap();
    let a = manifest.agent("a").unwrap();
    assert_eq!(
        (&a.secrets, &a.skills, &a.connectors),
        (&Grant::None, &Grant::None, &Grant::None)
    );
    let b = manifest.agent("b").unwrap();
    assert!(b.secrets.allows("SHOP_TOKEN") && !b.secrets.allows("OTHER"));
    assert!(b.skills.allows("anything"));
    assert_eq!(b.connectors, Grant::Only(names(&["shop"])));
}

#[test]
fn a_broken_grant_grants_nothing() {
    for grant in ["secrets: ~", "secrets: { A: true }", "secrets: A", "secrets: [\"*\"]"] {
        let files = Files::with(&format!("beeuni_version: 2\nagents:\n  a: {{ {grant} }}\n"));
        let loaded = files.load();
        assert!(!loaded.is_valid(), "{grant}");
        assert_eq!(
            loaded.manifest.unwrap().agent("a").unwrap().secrets,
            Grant::None,
            "{grant}"
        );
    }
}

#[test]
fn yaml_07_a_name_and_its_mention_are_read_the_same_way() {
    let files = Files::with(
        "beeuni_version: 2\ndefault_agent: no\ntools: { show: beeuni:show, on: tools/a.ts, no: tools/a.ts, null: tools/a.ts }\n\
         agents:\n  no: { file: agents/a.md, tools: [on, no, null] }\n  1e3: { file: agents/b.md }\n",
    );
    let loaded = files.load();
    assert_eq!(files.findings(), "");
    let manifest = loaded.manifest.unwrap();
    assert_eq!(manifest.default_agent.as_deref(), Some("no"));
    assert_eq!(
        manifest.agent("no").unwrap().tools,
        ToolAccess::Only(names(&["on", "no", "null"]))
    );
    assert!(manifest.agent("1e3").is_some());
    let tools: Vec<_> = manifest.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(tools, ["show", "on", "no", "null"]);
}
