//! How findings are ordered and written, and what a manifest is when they are bad.
use std::time::{Duration, Instant};

use beeuni_manifest::{AgentMode, PermissionAction, Severity, read_agent_file};

use crate::support::Files;

#[test]
fn v8_a_finding_is_written_flat() {
    let files = Files::with("beeuni_version: 2\ntols: 1\n");
    let json = serde_json::to_string(&files.load().issues).unwrap();
    let expected = concat!(
        r#"[{"path":"tols","message":"is no key that Beeuni knows: did you mean `tools`?","severity":"warning","#,
        r#""file":"beeuni.yaml","line":2,"column":1}]"#
    );
    assert_eq!(json, expected);
}

#[test]
fn cli_01_all_findings_come_at_once_by_file_line_and_column() {
    let files = Files::new([
        (
            "beeuni.yaml",
            "beeuni_version: 1\nimports: [b.yaml, a.yaml]\nharness: x\nagents: { q: { tools: x, secrets: x } }\n",
        ),
        ("a.yaml", "harness: standard\n"),
        ("b.yaml", "tools:\n  Q: /x.ts\n"),
    ]);
    let issues = files.load().issues;
    let order: Vec<_> = issues
        .iter()
        .map(|issue| (issue.place.file.as_str(), issue.place.line, issue.place.column))
        .collect();
    let expected = [
        ("beeuni.yaml", 1, 17),
        ("beeuni.yaml", 3, 10),
        ("beeuni.yaml", 4, 11),
        ("beeuni.yaml", 4, 23),
        ("beeuni.yaml", 4, 35),
        ("b.yaml", 1, 1),
        ("b.yaml", 2, 3),
        ("b.yaml", 2, 6),
        ("a.yaml", 1, 1),
    ];
    assert_eq!(order, expected, "{}", files.findings());
}

#[test]
fn columns_count_characters() {
    let files = Files::with(
        "beeuni_version: 2\nproject: { name: Größe } \nx: { \"ü\": 1 }\nagents: { beeuni: { tools: [ä, read] } }\n",
    );
    let places: Vec<_> = files
        .load()
        .issues
        .iter()
        .map(|issue| (issue.place.line, issue.place.column))
        .collect();
    assert_eq!(places, [(3, 1), (4, 29)]);
}

#[test]
fn a_manifest_that_cannot_be_read_is_none() {
    for text in ["", "# c\n", "- a\n", "a: [\n", "\t"] {
        let loaded = Files::with(text).load();
        assert!(loaded.manifest.is_none() && !loaded.is_valid(), "{text:?}");
        assert_eq!(loaded.issues.len(), 1, "{text:?}");
        assert_eq!(loaded.issues[0].severity, Severity::Error);
    }
    let gone = Files::default().load();
    assert_eq!(gone.issues[0].message, "the file does not exist");
}

#[test]
fn cli_03_a_broken_agent_leaves_the_others_as_they_are() {
    let files = Files::with(
        "beeuni_version: 2\ndefault_agent: a\ntools: { show: beeuni:show, x: tools/x.md }\nagents:\n  a: { tools: [show] }\n  night: {}\n",
    );
    let loaded = files.load();
    assert!(!loaded.is_valid());
    let paths: Vec<_> = loaded.issues.iter().map(|issue| issue.path.as_str()).collect();
    assert_eq!(paths, ["tools.x", "agents.night"]);
    let manifest = loaded.manifest.unwrap();
    assert!(manifest.agent("a").unwrap().tools.allows("show"));
    assert_eq!(manifest.default_agent.as_deref(), Some("a"));
}

#[test]
fn an_agent_file_is_read_with_its_rules_in_order() {
    let files = Files::new([(
        "agents/a.md",
        "---\ndescription: Does it.\nmodel: acme/models/large\nmode: subagent\ntemperature: 0.2\ntop_p: 1\nsteps: 40\npermission:\n  \
         \"*\": ask\n  bash:\n    \"git *\": allow\n    \"*\": deny\n  read: allow\n---\n\nYou do it.\n\n---\nmore\n",
    )]);
    let (agent, issues) = read_agent_file(&files, "agents/a.md");
    assert_eq!(issues, []);
    assert_eq!(agent.description.as_deref(), Some("Does it."));
    assert_eq!(agent.model.as_deref(), Some("acme/models/large"));
    assert_eq!(
        (agent.mode, agent.temperature, agent.top_p, agent.steps),
        (Some(AgentMode::Subagent), Some(0.2), Some(1.0), Some(40))
    );
    assert_eq!(agent.prompt, "You do it.\n\n---\nmore");
    let rules: Vec<_> = agent
        .permission
        .iter()
        .map(|rule| {
            (
                rule.capability.as_str(),
                rule.pattern.as_str(),
                rule.action,
                rule.place.line,
            )
        })
        .collect();
    let expected = [
        ("*", "*", PermissionAction::Ask, 9),
        ("bash", "git *", PermissionAction::Allow, 11),
        ("bash", "*", PermissionAction::Deny, 12),
        ("read", "*", PermissionAction::Allow, 13),
    ];
    assert_eq!(rules, expected);
}

#[test]
fn an_agent_file_that_is_missing_is_a_finding() {
    let (agent, issues) = read_agent_file(&Files::default(), "agents/a.md");
    assert_eq!(agent, beeuni_manifest::AgentFile::default());
    assert_eq!((issues.len(), issues[0].severity), (1, Severity::Error));
}

#[test]
fn perm_04_the_order_of_rules_is_that_of_the_file() {
    let rules = [
        "\"*\": deny",
        "\"https://docs.example.com/*\": allow",
        "\"https://docs.example.com/private/*\": deny",
    ];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let written: Vec<&str> = order.iter().map(|&index| rules[index]).collect();
        let text = format!(
            "---\npermission: {{ scrape_webpage: {{ {} }} }}\n---\n",
            written.join(", ")
        );
        let (agent, issues) = read_agent_file(&Files::new([("a.md", text.as_str())]), "a.md");
        assert_eq!(issues, [], "{text}");
        let found: Vec<&str> = agent.permission.iter().map(|rule| rule.pattern.as_str()).collect();
        let expected: Vec<&str> = written.iter().map(|rule| rule.split('"').nth(1).unwrap()).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn thousands_of_findings_cost_no_more_than_their_number() {
    let names: Vec<String> = (0..8000).map(|index| format!("unknown_{index}")).collect();
    let tools: String = (0..8000).map(|index| format!("  tool_{index}: tools/a.ts\n")).collect();
    let manifest = format!(
        "beeuni_version: 2\ntools:\n{tools}agents:\n  a: {{ tools: [{}] }}\n",
        names.join(", ")
    );
    let start = Instant::now();
    let loaded = Files::with(&manifest).load();
    assert_eq!(loaded.issues.len(), 8001);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn hostile_manifests_are_read_quickly_and_in_little_memory() {
    use std::fmt::Write;
    let many = |count: usize, unit: &dyn Fn(usize) -> String| {
        let mut text = String::new();
        for index in 0..count {
            write!(text, "{}", unit(index)).unwrap();
        }
        text
    };
    let word = "w".repeat(400_000);
    for (name, text) in [
        (
            "aliases of a long text",
            format!(
                "x: &w {word}\nagents:\n  a: {{ tools: [{}] }}\n",
                "*w, ".repeat(100_000)
            ),
        ),
        (
            "aliases as keys",
            format!("x: &w {word}\nagents:\n  a:\n{}", "    *w : 1\n".repeat(25_000)),
        ),
        (
            "unknown keys of an agent",
            format!("agents:\n  a:\n{}", many(25_000, &|n| format!("    k{n}: 1\n"))),
        ),
        ("unknown keys at the top", many(25_000, &|n| format!("k{n}: 1\n"))),
        (
            "duplicates in a long key",
            format!("{word}:\n{}", "  a: 1\n".repeat(25_000)),
        ),
        (
            "secret names",
            format!(
                "env:\n  required: [{0}]\n  optional: [{0}]\n",
                many(20_000, &|n| format!("S{n}, "))
            ),
        ),
        (
            "connectors",
            format!("connectors:\n{}", "- { slug: a, provider: b }\n".repeat(15_000)),
        ),
        (
            "agents",
            format!(
                "agents:\n{}",
                many(20_000, &|n| format!("  a{n}: {{ tools: [b{n}] }}\n"))
            ),
        ),
        (
            "modules that are missing",
            format!("tools:\n{}", many(15_000, &|n| format!("  t{n}: tools/t{n}.ts\n"))),
        ),
        (
            "imports that are missing",
            format!("imports:\n{}", many(25_000, &|n| format!("- i{n}.yaml\n"))),
        ),
        (
            "permission in the wrong place",
            format!("agents:\n  a: {{ {} }}\n", "permission: x, ".repeat(20_000)),
        ),
    ] {
        let start = Instant::now();
        let loaded = Files::with(&text).load();
        assert!(!loaded.issues.is_empty(), "{name}");
        let written: usize = loaded
            .issues
            .iter()
            .map(|issue| issue.message.len() + issue.path.len())
            .sum();
        assert!(written < 60_000_000, "{name}: {written} bytes of findings");
        // A debug build on a busy machine: the square of any of these numbers would take minutes.
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "{name} took {:?}",
            start.elapsed()
        );
    }
    let rules = many(20_000, &|n| format!("    \"p{n} *\": ask\n"));
    let file = format!("---\npermission:\n  bash:\n{rules}---\n");
    let start = Instant::now();
    assert_eq!(read_agent_file(&Files::new([("a.md", file.as_str())]), "a.md").1, []);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}
