//! Permission rules of an agent: their shape, their order, and rules that can never decide anything.
use crate::issue::Place;
use crate::load::{choice, one_of};
use crate::names::quote;
use crate::report::{At, Field, Findings};
use crate::yaml::Kind;

use super::Read;

/// What a rule may name besides a project's own tools: `*`, what harness tools stand under, and what
/// the harness asks about by itself.
pub(crate) const CAPABILITIES: &[&str] = &[
    "*",
    "read",
    "edit",
    "glob",
    "grep",
    "list",
    "bash",
    "task",
    "skill",
    "lsp",
    "question",
    "webfetch",
    "websearch",
    "codesearch",
    "todoread",
    "todowrite",
    "external_directory",
    "doom_loop",
];

/// The actions by their names.
const ACTIONS: [(&str, PermissionAction); 3] = [
    ("allow", PermissionAction::Allow),
    ("ask", PermissionAction::Ask),
    ("deny", PermissionAction::Deny),
];

/// The pattern that every text matches.
const ANY: &str = "*";

/// How many patterns of one capability are compared with each other.
const MOST_COMPARED: usize = 100;

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionAction {
    /// It runs.
    Allow,
    /// A person is asked.
    Ask,
    /// It is refused.
    Deny,
}

/// One permission rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionRule {
    /// A capability (`bash`, `edit`, …), a tool's own name, or `*`.
    pub capability: String,
    /// The glob pattern that a call has to match; `*` where the rule has none.
    pub pattern: String,
    /// What then happens.
    pub action: PermissionAction,
    /// Where the rule's key stands.
    pub place: Place,
}

/// Reads the key `permission`.
pub(super) fn read(at: &At<'_>, read: &mut Read, findings: &mut Findings) {
    if let Some(fields) = at.fields() {
        for field in &fields {
            capability(field, read, findings);
        }
    } else if let Some(action) = action(at, findings) {
        read.file.permission.push(PermissionRule {
            capability: ANY.to_owned(),
            pattern: ANY.to_owned(),
            action,
            place: at.spot.place(),
        });
    }
}

fn capability(field: &Field<'_>, read: &mut Read, findings: &mut Findings) {
    let name = field.name;
    if name.is_empty() || name.contains(char::is_whitespace) || (name != ANY && name.contains(['*', '?'])) {
        let message = format!(
            "{} is no capability, tool name or `*`: patterns stand inside a capability, as `bash: {{ \"git *\": allow }}`",
            quote(name)
        );
        findings.error(&field.key, message);
        return;
    }
    read.capabilities.push((name.to_owned(), field.key.clone()));
    let mut push = |pattern: &str, action, key: &Field<'_>| {
        read.file.permission.push(PermissionRule {
            capability: name.to_owned(),
            pattern: pattern.to_owned(),
            action,
            place: key.key.place(),
        });
    };
    let Some(patterns) = field.value.fields() else {
        if let Some(action) = action(&field.value, findings) {
            push(ANY, action, field);
        }
        return;
    };
    for pattern in &patterns {
        if let Some(action) = action(&pattern.value, findings) {
            push(pattern.name, action, pattern);
        }
    }
    never_decide(&patterns, findings);
}

fn action(at: &At<'_>, findings: &mut Findings) -> Option<PermissionAction> {
    let words = ACTIONS.map(|(name, _)| name);
    match at.node.kind() {
        Kind::Bool(on) => {
            let meant = if on { "allow" } else { "deny" };
            findings.error(&at.spot, format!("must be {}: write `{meant}`", choice(&words)));
            None
        }
        Kind::List | Kind::Null => {
            let found = at.node.kind().describe();
            let message = format!("must be {}, or a map of patterns to these, not {found}", choice(&words));
            findings.error(&at.spot, message);
            None
        }
        _ => one_of(at, &words, findings).map(|index| ACTIONS[index].1),
    }
}

/// Warns about patterns that never decide: the longest matching one wins, so one whose every match
/// also matches a longer pattern has no effect.
fn never_decide(patterns: &[Field<'_>], findings: &mut Findings) {
    if patterns.len() > MOST_COMPARED {
        return;
    }
    let chars: Vec<Vec<char>> = patterns
        .iter()
        .map(|field| field.name.chars().take(1000).collect())
        .collect();
    for (index, field) in patterns.iter().enumerate() {
        let pattern = &chars[index];
        if pattern.is_empty() {
            findings.warn(&field.key, "matches nothing: an empty pattern has no effect");
            continue;
        }
        let stronger = chars
            .iter()
            .position(|other| other.len() > pattern.len() && covers(other, pattern));
        if let Some(other) = stronger {
            let message = format!(
                "never decides: all that {} matches also matches the longer {}, and the longest pattern wins",
                quote(field.name),
                quote(patterns[other].name)
            );
            findings.warn(&field.key, message);
        }
    }
}

/// Whether `wide` surely matches whatever `narrow` matches.
///
/// It reads `narrow` as text in which only a `*` of `wide` can stand for a `*`: what it says yes to
/// is right, and what it says no to may still be covered.
fn covers(wide: &[char], narrow: &[char]) -> bool {
    let mut reach = vec![false; narrow.len() + 1];
    reach[0] = true;
    for &w in wide {
        let mut next = vec![false; narrow.len() + 1];
        if w == '*' {
            let mut open = false;
            for (at, slot) in next.iter_mut().enumerate() {
                open |= reach[at];
                *slot = open;
            }
        } else {
            for (at, &n) in narrow.iter().enumerate() {
                next[at + 1] = reach[at] && n != '*' && (w == n || w == '?');
            }
        }
        reach = next;
    }
    reach[narrow.len()]
}

#[cfg(test)]
mod tests {
    use super::covers;

    #[test]
    fn a_pattern_covers_what_it_surely_matches() {
        let check =
            |wide: &str, narrow: &str| covers(&wide.chars().collect::<Vec<_>>(), &narrow.chars().collect::<Vec<_>>());
        assert!(check("git **", "git *"));
        assert!(check("git st*tus*", "git st*tus"));
        assert!(check("??t *", "git *"));
        assert!(check("*", ""));
        assert!(!check("git *", "*"));
        assert!(!check(
            "https://docs.example.com/private/*",
            "https://docs.example.com/*"
        ));
        assert!(!check("?", "*"));
    }
}
