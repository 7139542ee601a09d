//! Calls of Beeuni and project tools.
use Action::{Allow, Ask, Deny};

use super::*;

#[test]
fn beeuni_tools_follow_their_capabilities_unless_a_rule_names_them() {
    let rules = [
        ("websearch", "*", Ask),
        ("webfetch", "*", Deny),
        ("edit", "*", Deny),
        ("image_search", "*", Allow),
    ];
    let permissions = permissions(&rules);
    assert_eq!(verdict(&permissions, &hosted("web_search", r#"{"query":"x"}"#)), Ask);
    assert_eq!(
        verdict(&permissions, &hosted("image_search", r#"{"query":"x"}"#)),
        Allow
    );
    assert_eq!(
        verdict(
            &permissions,
            &hosted("scrape_webpage", r#"{"urls":"https://a.example"}"#)
        ),
        Deny
    );
    assert_eq!(
        verdict(
            &permissions,
            &hosted("memory", r#"{"command":"view","path":"/memories"}"#)
        ),
        Allow
    );
    assert_eq!(
        verdict(
            &permissions,
            &hosted("memory", r#"{"command":"create","path":"/memories/a"}"#)
        ),
        Deny
    );
    assert_eq!(
        verdict(&permissions, &hosted("memory", "not json")),
        Deny,
        "what cannot be read may edit"
    );
    assert_eq!(verdict(&permissions, &hosted("show", r#"{"path":"x"}"#)), Allow);
}

#[test]
fn the_subjects_of_hosted_tools_are_what_the_call_is_about() {
    let subjects = |tool: &str, args: &str| -> Vec<String> {
        hosted(tool, args).into_iter().map(|access| access.subject).collect()
    };
    assert_eq!(subjects("web_search", r#"{"query":" a ||| b "}"#), ["a", "b"]);
    assert_eq!(subjects("web_search", r#"{"query":["a","b"]}"#), ["a", "b"]);
    assert_eq!(subjects("web_search", r#"{"query":"[\"a\",\"b\"]"}"#), ["a", "b"]);
    assert_eq!(subjects("web_search", "{}"), [""]);
    for (urls, expected) in [
        ("https://a.example/x?y=1,2", vec!["https://a.example/x?y=1,2"]),
        (
            "https://a.example,https://b.example/c",
            vec!["https://a.example/", "https://b.example/c"],
        ),
        (
            "https://a.example/q, b.example",
            vec!["https://a.example/q", "https://b.example/"],
        ),
        (
            "a.example,b.example/p?x=1,2",
            vec!["https://a.example/", "https://b.example/p?x=1,2"],
        ),
        (
            "https://a.example/\\nhttps://b.example/,",
            vec!["https://a.example/", "https://b.example/"],
        ),
        ("not an address", vec!["not an address"]),
    ] {
        assert_eq!(
            subjects("scrape_webpage", &format!(r#"{{"urls":"{urls}"}}"#)),
            expected,
            "{urls}"
        );
    }
    for path in [
        "/memories/a.md",
        "memory//a.md",
        "memories/a.md",
        "a.md",
        "/workspace/memory/a.md",
    ] {
        assert_eq!(
            subjects("memory", &format!(r#"{{"command":"view","path":"{path}"}}"#)),
            ["memory/a.md"],
            "{path}"
        );
    }
    assert_eq!(
        subjects(
            "memory",
            r#"{"command":"rename","old_path":"/memories/a","new_path":"/memories/b"}"#
        ),
        ["memory/a", "memory/b"]
    );
    assert_eq!(
        subjects("task", r#"{"subagent_type":"explore","prompt":"x"}"#),
        ["explore"]
    );
    // ARGS-05: the digits are those that the model wrote.
    assert_eq!(
        subjects("lookup", "{ \"id\": 7301444403212345679,\n \"note\": \"a \\\" b\" }"),
        [r#"{"id":7301444403212345679,"note":"a \" b"}"#]
    );
}

#[test]
fn perm_01_a_host_alone_matches_all_of_its_pages() {
    let permissions = permissions(&[("scrape_webpage", "*.internal", Deny)]);
    for url in [
        "http://x.internal",
        "http://x.internal./page",
        "x.internal/page#a",
        "http://X.INTERNAL:80/",
    ] {
        assert_eq!(
            verdict(
                &permissions,
                &hosted("scrape_webpage", &format!(r#"{{"urls":"{url}"}}"#))
            ),
            Deny,
            "{url}"
        );
    }
    let two = hosted("scrape_webpage", r#"{"urls":"https://example.com, http://x.internal"}"#);
    assert_eq!(verdict(&permissions, &two), Deny, "one of several is enough");
}
