//! An agent's permission rules in OpenCode's form: of the rules of one key the last that matches decides.
//!
//! Beeuni's own order does not depend on lines: a rule that names the tool comes before one that names the capability,
//! that before one for `*`; then the longest pattern, then the stricter. Written weakest first, OpenCode decides the
//! same.

use beeuni_manifest::{PermissionAction as Action, PermissionRule};

use super::paths::{Form, Paths};

/// What a key of OpenCode's stands for in Beeuni's rules.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) capability: &'a str,
    /// The tools under it, by which rules may name it too.
    pub(super) tools: &'a [&'a str],
    pub(super) form: Form,
}

/// The rules that have a say about `subject`, weakest first.
pub(super) fn ordered(rules: &[PermissionRule], subject: Subject<'_>, paths: &Paths) -> Vec<(String, Action)> {
    let level = |rule: &PermissionRule| {
        if rule.capability == subject.capability {
            Some(1)
        } else if subject.tools.contains(&rule.capability.as_str()) {
            Some(2)
        } else {
            (rule.capability == "*").then_some(0)
        }
    };
    let weight = |pattern: &str| if pattern == "*" { 0 } else { pattern.chars().count() };
    let mut found: Vec<_> = rules
        .iter()
        .filter_map(|rule| {
            Some((
                level(rule)?,
                weight(&paths.expand_home(&rule.pattern)),
                strictness(rule.action),
                rule,
            ))
        })
        .collect();
    found.sort_by_key(|(level, weight, strictness, _)| (*level, *weight, *strictness));
    found
        .into_iter()
        .flat_map(|(.., rule)| {
            let forms = paths.forms(&rule.pattern, subject.form);
            forms.into_iter().map(|form| (form, rule.action))
        })
        .collect()
}

/// What the rules say about one text, where nothing else is said `allow`.
pub(super) fn decide(rules: &[PermissionRule], subject: Subject<'_>, text: &str, paths: &Paths) -> Action {
    ordered(rules, subject, paths)
        .into_iter()
        .rev()
        .find(|(pattern, _)| matches(pattern, text))
        .map_or(Action::Allow, |(_, action)| action)
}

fn strictness(action: Action) -> u8 {
    match action {
        Action::Allow => 0,
        Action::Ask => 1,
        Action::Deny => 2,
    }
}

/// An action's word.
pub(super) fn word(action: Action) -> &'static str {
    match action {
        Action::Allow => "allow",
        Action::Ask => "ask",
        Action::Deny => "deny",
    }
}

/// Whether a glob pattern (`*` any characters, `?` one) matches.
fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    // Reached places of the pattern, one text character after the other.
    let mut reached = vec![false; pattern.len() + 1];
    reached[0] = true;
    let pass_stars = |reached: &mut Vec<bool>| {
        for (at, c) in pattern.iter().enumerate() {
            if *c == '*' && reached[at] {
                reached[at + 1] = true;
            }
        }
    };
    pass_stars(&mut reached);
    for c in text {
        let mut next = vec![false; pattern.len() + 1];
        for (at, p) in pattern.iter().enumerate().filter(|(at, _)| reached[*at]) {
            match p {
                '*' => next[at] = true,
                '?' => next[at + 1] = true,
                p if *p == c => next[at + 1] = true,
                _ => {}
            }
        }
        pass_stars(&mut next);
        reached = next;
    }
    reached[pattern.len()]
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;
    use beeuni_manifest::Place;

    fn rules(lines: &[(&str, &str, Action)]) -> Vec<PermissionRule> {
        let rule = |(capability, pattern, action): &(&str, &str, Action)| PermissionRule {
            capability: (*capability).to_owned(),
            pattern: (*pattern).to_owned(),
            action: *action,
            place: Place {
                file: "agents/a.md".to_owned(),
                line: 1,
                column: 1,
            },
        };
        lines.iter().map(rule).collect()
    }

    const BASH: Subject<'_> = Subject {
        capability: "bash",
        tools: &[],
        form: Form::Text,
    };

    #[test]
    fn the_weakest_rule_comes_first_whatever_the_order_of_lines() {
        use Action::{Allow, Ask, Deny};
        let lines = [
            ("bash", "git push *", Deny),
            ("*", "*", Ask),
            ("bash", "git *", Allow),
            ("edit", "*", Deny),
            ("bash", "*", Ask),
            ("bash", "git ?ush *", Allow),
        ];
        let mut backwards = lines;
        backwards.reverse();
        for lines in [lines, backwards] {
            let found = ordered(&rules(&lines), BASH, &Paths::of("/w", "/w", "/home/me"));
            let texts: Vec<&str> = found.iter().map(|(pattern, _)| pattern.as_str()).collect();
            assert_eq!(texts, ["*", "*", "git *", "git ?ush *", "git push *"], "{found:?}");
            assert_eq!(found[1].1, Ask);
            assert_eq!(
                decide(
                    &rules(&lines),
                    BASH,
                    "git push origin",
                    &Paths::of("/w", "/w", "/home/me")
                ),
                Deny
            );
            assert_eq!(
                decide(&rules(&lines), BASH, "git log", &Paths::of("/w", "/w", "/home/me")),
                Allow
            );
            assert_eq!(
                decide(&rules(&lines), BASH, "ls", &Paths::of("/w", "/w", "/home/me")),
                Ask
            );
        }
    }

    #[test]
    fn a_rule_for_the_tool_comes_before_one_for_its_capability() {
        let subject = Subject {
            capability: "edit",
            tools: &["write", "apply_patch"],
            form: Form::Path,
        };
        let found = ordered(
            &rules(&[
                ("write", "*", Action::Deny),
                ("edit", "docs/a/long/pattern/*", Action::Allow),
            ]),
            subject,
            &Paths::of("/w", "/w", "/home/me"),
        );
        assert_eq!(found.last().unwrap(), &("*".to_owned(), Action::Deny));
    }

    #[test]
    fn globs_match() {
        assert!(matches("*", "") && matches("a*c", "abbc") && matches("a?c", "abc") && matches("abc", "abc"));
        assert!(!matches("a*c", "abcd") && !matches("a?c", "ac") && !matches("abc", "ab"));
    }
}
