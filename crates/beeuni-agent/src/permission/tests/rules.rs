//! Which rule decides.
use Action::{Allow, Ask, Deny};

use super::*;

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
