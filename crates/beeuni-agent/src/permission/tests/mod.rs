//! The rules as the manifest's page states them, case by case.
#![expect(clippy::panic, reason = "a test stops at the first surprise")]

mod commands;
mod hosted;
mod rules;

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
