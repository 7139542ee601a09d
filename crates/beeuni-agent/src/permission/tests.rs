//! The rules as the manifest's page states them, case by case.
#![expect(clippy::panic, reason = "a test stops at the first surprise")]

use std::path::Path;

use beeuni_manifest::Place;

use super::*;

fn rule(capability: &str, pattern: &str, action: Action, line: usize) -> PermissionRule {
    PermissionRule {
        capability: capability.to_owned(),
        pattern: pattern.to_owned(),
        action,
        place: Place {
            file: "agents/a.md".to_owned(),
            line,
            column: 3,
        },
    }
}

fn listed(rules: &[(&str, &str, Action)]) -> Vec<PermissionRule> {
    rules
        .iter()
        .enumerate()
        .map(|(index, (capability, pattern, action))| rule(capability, pattern, *action, index + 1))
        .collect()
}

fn permissions(rules: &[(&str, &str, Action)]) -> Permissions {
    Permissions::new(Rules::new(&listed(rules), Some("/home/ada")))
}

fn bash(command: &str) -> Vec<Access> {
    shell::accesses(command, &shell::parse(command))
}

fn hosted(tool: &str, args: &str) -> Vec<Access> {
    accesses_of(tool, args, Path::new("/workspace"))
}

/// The verdict in a word.
fn verdict(permissions: &Permissions, accesses: &[Access]) -> Action {
    match permissions.check(accesses) {
        Verdict::Allow => Action::Allow,
        Verdict::Ask(_) => Action::Ask,
        Verdict::Deny(_) => Action::Deny,
    }
}

/// What is asked; `None` where nothing is.
fn asked(permissions: &Permissions, accesses: &[Access]) -> Vec<Asked> {
    match permissions.check(accesses) {
        Verdict::Ask(asked) => asked,
        other => panic!("nothing is asked: {other:?}"),
    }
}

fn permutations<T: Clone>(items: &[T]) -> Vec<Vec<T>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for index in 0..items.len() {
        let mut rest = items.to_vec();
        let first = rest.remove(index);
        for mut tail in permutations(&rest) {
            tail.insert(0, first.clone());
            all.push(tail);
        }
    }
    all
}

use Action::{Allow, Ask, Deny};

#[test]
fn perm_04_the_longest_pattern_wins_in_every_order_of_the_lines() {
    let rules = listed(&[
        ("scrape_webpage", "*", Deny),
        ("scrape_webpage", "https://docs.example.com/*", Allow),
        ("scrape_webpage", "https://docs.example.com/private/*", Deny),
    ]);
    for order in permutations(&rules) {
        let permissions = Permissions::new(Rules::new(&order, None));
        for (url, expected) in [
            ("https://docs.example.com/guide", Allow),
            ("https://docs.example.com/private/x", Deny),
            ("https://docs.example.com/%70rivate/x", Deny),
            ("HTTPS://DOCS.example.com:443/a/../private/x", Deny),
            ("https://user:pw@docs.example.com/private/x", Deny),
            ("https://example.com/", Deny),
        ] {
            let accesses = hosted("scrape_webpage", &format!(r#"{{"urls":"{url}"}}"#));
            assert_eq!(verdict(&permissions, &accesses), expected, "{url}");
        }
    }
}

/// The rule of the manifest's page again, written as plainly as possible: it has to agree in every order.
fn by_definition(rules: &[PermissionRule], capability: &str, tool: &str, subject: &str) -> Action {
    let weight = |rule: &PermissionRule| if rule.pattern == "*" { 0 } else { rule.pattern.len() };
    for name in [tool, capability, "*"] {
        let matching: Vec<&PermissionRule> = rules
            .iter()
            .filter(|rule| rule.capability == name)
            .filter(|rule| pattern::Pattern::new(&rule.pattern).fit(&Text::from(subject)) == pattern::Fit::Yes)
            .collect();
        if let Some(longest) = matching.iter().map(|rule| weight(rule)).max() {
            let actions: Vec<Action> = matching
                .iter()
                .filter(|r| weight(r) == longest)
                .map(|r| r.action)
                .collect();
            return [Deny, Ask, Allow]
                .into_iter()
                .find(|action| actions.contains(action))
                .unwrap_or(Allow);
        }
    }
    Allow
}

#[test]
fn perm_04_every_set_of_three_rules_decides_the_same_in_all_six_orders_and_as_defined() {
    let mut all = Vec::new();
    for capability in ["*", "edit", "write"] {
        for pattern in ["*", "src/*", "src/a?", "src/ab"] {
            for action in [Allow, Ask, Deny] {
                all.push(rule(capability, pattern, action, all.len() + 1));
            }
        }
    }
    let mut sets = 0;
    for (i, one) in all.iter().enumerate() {
        for (j, two) in all.iter().enumerate().skip(i + 1) {
            // Every third set is enough of the 7,140.
            for three in all.iter().skip(j + 1).step_by(3) {
                let set = [one.clone(), two.clone(), three.clone()];
                let orders: Vec<Permissions> = permutations(&set)
                    .iter()
                    .map(|order| Permissions::new(Rules::new(order, None)))
                    .collect();
                for (tool, subject) in [("write", "src/ab"), ("edit", "src/ax"), ("write", "docs/x")] {
                    let access = Access::new("edit", tool, subject, "*");
                    let first = orders[0].decide(&access);
                    assert_eq!(
                        first.action,
                        by_definition(&set, "edit", tool, subject),
                        "{set:?} {subject}"
                    );
                    for other in &orders[1..] {
                        assert_eq!(other.decide(&access), first, "{set:?} {subject}");
                    }
                }
                sets += 1;
            }
        }
    }
    assert!(sets > 2000);
}

#[test]
fn a_rule_for_the_tool_comes_before_its_capability_and_that_before_the_star() {
    let permissions = permissions(&[("*", "*", Deny), ("edit", "*", Ask), ("write", "docs/*", Allow)]);
    let access = |tool: &str, path: &str| [Access::new("edit", tool, path, "*")];
    assert_eq!(verdict(&permissions, &access("write", "docs/a")), Allow);
    assert_eq!(
        verdict(&permissions, &access("write", "src/a")),
        Ask,
        "no rule for the tool matches"
    );
    assert_eq!(verdict(&permissions, &access("edit", "docs/a")), Ask);
    assert_eq!(verdict(&permissions, &hosted("deploy", "{}")), Deny);
}

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

#[test]
fn without_rules_everything_is_allowed_but_other_folders_and_env_files() {
    let none = Permissions::default();
    let read = |path: &str| [Access::new("read", "read", path, "*")];
    assert_eq!(verdict(&none, &bash("rm -rf build && echo $X | sh")), Allow);
    assert_eq!(verdict(&none, &bash("echo 'never closed")), Allow);
    assert_eq!(verdict(&none, &read("src/main.rs")), Allow);
    for path in [".env", "a/.env", "a/.env.local", "prod.env", ".envrc"] {
        assert_eq!(verdict(&none, &read(path)), Ask, "{path}");
    }
    for path in [".env.example", "a/.env.sample", "environment.ts", ".environment"] {
        assert_eq!(verdict(&none, &read(path)), Allow, "{path}");
    }
    assert_eq!(
        verdict(
            &none,
            &[Access::new(
                "external_directory",
                "external_directory",
                "/etc/*",
                "/etc/*"
            )]
        ),
        Ask
    );
    // A rule of one's own outweighs what holds in its absence.
    assert_eq!(verdict(&permissions(&[("*", "*", Allow)]), &read(".env")), Allow);
    assert_eq!(verdict(&permissions(&[("read", "*", Allow)]), &read(".env")), Allow);
    assert_eq!(verdict(&permissions(&[("read", "*.md", Allow)]), &read(".env")), Ask);
}

#[test]
fn home_in_a_pattern_is_expanded_for_paths() {
    let permissions = permissions(&[
        ("external_directory", "~/notes/*", Allow),
        ("external_directory", "$HOME/keys/*", Deny),
        ("bash", "~/bin/x *", Deny),
    ]);
    let folder = |path: &str| [Access::new("external_directory", "external_directory", path, "*")];
    assert_eq!(verdict(&permissions, &folder("/home/ada/notes/*")), Allow);
    assert_eq!(verdict(&permissions, &folder("/home/ada/keys/*")), Deny);
    assert_eq!(verdict(&permissions, &folder("/home/ada/*")), Ask);
    assert_eq!(verdict(&permissions, &bash("~/bin/x y")), Deny);
}

#[test]
fn a_compound_command_is_allowed_only_if_each_part_is() {
    let permissions = permissions(&[
        ("bash", "*", Ask),
        ("bash", "git *", Allow),
        ("bash", "ls *", Allow),
        ("bash", "echo *", Allow),
        ("bash", "git push *", Deny),
        ("bash", "rm *", Deny),
        ("bash", "curl * | *", Deny),
    ]);
    for (command, expected) in [
        ("git status", Allow),
        ("git status && ls -la | ls", Allow),
        ("cd src && git status", Allow),
        ("git status; npm test", Ask),
        ("git status; git push", Deny),
        ("ls $(rm -rf x)", Deny),
        ("ls `rm x`", Deny),
        ("ls \"$(git push)\"", Deny),
        ("(ls; (rm x))", Deny),
        ("if ls; then rm x; fi", Deny),
        ("for f in *; do rm $f; done", Deny),
        ("sudo rm x", Deny),
        ("xargs rm", Deny),
        ("find . -exec rm {} +", Deny),
        ("bash -c 'ls; rm x'", Deny),
        ("/bin/rm x", Deny),
        ("\"r\"m x", Deny),
        ("FOO=1 rm x", Deny),
        ("echo 'rm x; git push'", Allow),
        ("echo hi # rm x", Allow),
        ("git log --grep 'a && b'", Allow),
        ("GIT_SSH_COMMAND=x git fetch", Ask),
        ("/tmp/git status", Ask),
        // What is only known when it runs.
        ("git $SUB", Ask),
        ("git $EMPTY push", Ask),
        ("$X rm y", Ask),
        ("ls $DIR", Allow),
        ("echo \"$x\" $y ${z} $(git status)", Allow),
        // What cannot be read.
        ("ls 'x", Ask),
        ("ls | bash", Ask),
        // What the whole line is.
        ("curl https://example.com | ls", Deny),
    ] {
        assert_eq!(verdict(&permissions, &bash(command)), expected, "{command}");
    }
}

#[test]
fn a_denied_shell_denies_whatever_is_run() {
    let permissions = permissions(&[("bash", "*", Deny)]);
    for command in ["ls", "cd x", "X=1", "", "# x", "'", "$X", "> f", "[[ a ]]", "(( 1 ))"] {
        assert_eq!(verdict(&permissions, &bash(command)), Deny, "{command:?}");
    }
    assert_eq!(permissions.scope("bash", "bash"), Scope::Every(Deny));
}

#[test]
fn always_remembers_the_pattern_and_not_the_tool() {
    let permissions = permissions(&[("bash", "*", Ask)]);
    let question = asked(&permissions, &bash("git status --short && npm test"));
    let patterns: Vec<&str> = question.iter().map(|asked| asked.always.pattern.as_str()).collect();
    assert_eq!(patterns, ["git status *", "npm test *"]);
    permissions.remember(question.into_iter().map(|asked| asked.always));
    assert_eq!(verdict(&permissions, &bash("git status")), Allow);
    assert_eq!(
        verdict(&permissions, &bash("npm test -- --watch; git status -b")),
        Allow
    );
    assert_eq!(verdict(&permissions, &bash("git push")), Ask);
    assert_eq!(verdict(&permissions, &bash("git status; git push")), Ask);
    assert_eq!(
        asked(&permissions, &bash("git status; git push")).len(),
        1,
        "only what is not allowed yet"
    );
    // A command that runs anything is remembered to the letter.
    let question = asked(&permissions, &bash("bash build.sh *"));
    assert!(question[0].always.exact);
    permissions.remember(question.into_iter().map(|asked| asked.always));
    assert_eq!(verdict(&permissions, &bash("bash build.sh *")), Allow);
    assert_eq!(verdict(&permissions, &bash("bash build.sh other")), Ask);
}

#[test]
fn a_deny_outranks_an_earlier_always_and_so_does_a_stronger_rule_that_asks() {
    let before = permissions(&[("edit", "*", Ask)]);
    let edit = |path: &str| [Access::new("edit", "edit", path, "src/*")];
    before.remember(asked(&before, &edit("src/a")).into_iter().map(|asked| asked.always));
    assert_eq!(verdict(&before, &edit("src/b")), Allow);
    let after = before.with_rules(Rules::new(
        &listed(&[
            ("edit", "*", Ask),
            ("edit", "src/keys/*", Deny),
            ("edit", "src/ask/*", Ask),
        ]),
        None,
    ));
    assert_eq!(verdict(&after, &edit("src/b")), Allow);
    assert_eq!(verdict(&after, &edit("src/keys/a")), Deny);
    assert_eq!(
        verdict(&after, &edit("src/ask/a")),
        Ask,
        "it asks about this folder in particular"
    );
    after.remember(asked(&after, &edit("src/ask/a")).into_iter().map(|asked| asked.always));
    assert_eq!(verdict(&after, &edit("src/ask/b")), Allow);
    assert_eq!(verdict(&after, &edit("src/keys/a")), Deny);
}

#[test]
fn what_is_remembered_survives_being_stored() {
    let one = permissions(&[("bash", "*", Ask)]);
    one.remember(asked(&one, &bash("git status")).into_iter().map(|asked| asked.always));
    let stored = serde_json::to_string(&one.remembered()).unwrap_or_default();
    let two = permissions(&[("bash", "*", Ask)]);
    two.remember(serde_json::from_str::<Vec<Remembered>>(&stored).unwrap_or_default());
    assert_eq!(verdict(&two, &bash("git status -b")), Allow);
    two.remember(one.remembered());
    assert_eq!(two.remembered().len(), 1, "the same is not remembered twice");
}

#[test]
fn perm_01_a_subagent_gets_the_stricter_of_its_own_rules_and_those_above_it() {
    let parent = permissions(&[
        ("scrape_webpage", "*.internal", Deny),
        ("bash", "*", Ask),
        ("edit", "*", Deny),
    ]);
    let child = parent.subagent(Rules::new(
        &listed(&[("*", "*", Deny), ("websearch", "*", Allow)]),
        None,
    ));
    let open = parent.subagent(Rules::new(&listed(&[("*", "*", Allow)]), None));
    let below = child.subagent(Rules::new(&listed(&[("*", "*", Allow)]), None));
    let internal = hosted("scrape_webpage", r#"{"urls":"http://x.internal"}"#);
    let search = hosted("web_search", r#"{"query":"x"}"#);
    let deploy = hosted("deploy", "{}");
    for (name, permissions, expected) in [
        ("parent", &parent, [Deny, Allow, Allow, Ask]),
        ("child", &child, [Deny, Allow, Deny, Deny]),
        ("open", &open, [Deny, Allow, Allow, Ask]),
        ("two levels down", &below, [Deny, Allow, Deny, Deny]),
    ] {
        let found = [&internal, &search, &deploy, &bash("ls")].map(|accesses| verdict(permissions, accesses));
        assert_eq!(found, expected, "{name}");
    }
    // What a person said "always" to holds for the whole session.
    open.remember(asked(&open, &bash("ls")).into_iter().map(|asked| asked.always));
    assert_eq!(verdict(&parent, &bash("ls -l")), Allow);
    assert_eq!(open.scope("edit", "write"), Scope::Every(Deny));
}

#[test]
fn perm_04_a_dry_run_says_which_rule_decided() {
    let permissions = permissions(&[("bash", "*", Ask), ("bash", "git push *", Deny)]);
    assert_eq!(
        permissions.explain(&bash("git push origin && $X")),
        "bash `git push origin`: deny\n  \
           decided by the rule `bash: { \"git push *\": deny }` (agents/a.md, line 2)\n  \
           also matches the rule `bash: { \"*\": ask }` (agents/a.md, line 1)\n\
         bash `$X`: ask\n  \
           decided by it cannot be read for certain (a part of it is only known when it runs), and it may fall under \
           the rule `bash: { \"git push *\": deny }` (agents/a.md, line 2)\n  \
           also matches the rule `bash: { \"*\": ask }` (agents/a.md, line 1)\n\
         bash `git push origin && $X`: ask\n  \
           decided by it cannot be read for certain (which program runs is only known when it runs), and it may fall \
           under the rule `bash: { \"git push *\": deny }` (agents/a.md, line 2)\n  \
           also matches the rule `bash: { \"*\": ask }` (agents/a.md, line 1)\n"
    );
    let Verdict::Deny(text) = permissions.check(&bash("ls; git push")) else {
        panic!("it is denied")
    };
    assert!(
        text.contains("`git push`") && text.contains("agents/a.md, line 2"),
        "{text}"
    );
}

#[test]
fn a_scope_says_whether_it_depends_on_the_call() {
    let permissions = permissions(&[("bash", "*", Deny), ("bash", "git *", Allow), ("websearch", "*", Ask)]);
    assert_eq!(permissions.scope("bash", "bash"), Scope::Depends);
    assert_eq!(permissions.scope("websearch", "web_search"), Scope::Every(Ask));
    assert_eq!(permissions.scope("edit", "write"), Scope::Every(Allow));
    assert_eq!(permissions.scope("read", "read"), Scope::Depends, "of the .env files");
}
