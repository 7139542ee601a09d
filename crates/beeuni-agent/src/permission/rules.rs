//! An agent's rules, and which of them decides an access.

use std::fmt;

use beeuni_manifest::{PermissionAction as Action, PermissionRule, Place};

use super::access::{Access, Reach};
use super::pattern::{Fit, Pattern};

/// What holds where no rule of the agent matches: everything else is allowed.
const DEFAULTS: &[(&str, &str, Action)] = &[
    ("external_directory", "*", Action::Ask),
    ("read", "*.env", Action::Ask),
    ("read", "*.env.*", Action::Ask),
    ("read", "*.envrc", Action::Ask),
    ("read", "*.env.example", Action::Allow),
    ("read", "*.env.sample", Action::Allow),
    ("read", "*.env.template", Action::Allow),
];

/// How strong a rule is: what it names first, then the weight of its pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    pub(super) level: Level,
    pub(super) weight: usize,
}

/// What a rule names, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// Nothing: it holds where the agent's rules are silent.
    Default,
    /// `*`.
    Any,
    /// The capability.
    Capability,
    /// The tool itself.
    Tool,
}

/// An agent's rules.
#[derive(Debug, Clone)]
pub struct Rules {
    rules: Vec<Rule>,
}

impl Default for Rules {
    /// Those of an agent that has none.
    fn default() -> Self {
        Self::new(&[], None)
    }
}

#[derive(Debug, Clone)]
pub(super) struct Rule {
    capability: String,
    /// As it was written.
    text: String,
    pattern: Pattern,
    action: Action,
    place: Option<Place>,
}

/// What was decided about one access. `Display` says which rule did it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What happens.
    pub action: Action,
    /// Which rule decided, in words: ``the rule `bash: "git push *": deny` (agents/a.md, line 7)``.
    pub by: String,
    /// The strength of the rule that decided.
    pub(super) rank: Rank,
    /// It asks because the rules differ over what the unknown parts may be.
    pub(super) mixed: bool,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", word(self.action), self.by)
    }
}

/// The action's word in rules.
pub(super) fn word(action: Action) -> &'static str {
    match action {
        Action::Allow => "allow",
        Action::Ask => "ask",
        Action::Deny => "deny",
    }
}

/// Allow, ask, deny: of two, the greater is the stricter.
pub(super) fn strictness(action: Action) -> u8 {
    match action {
        Action::Allow => 0,
        Action::Ask => 1,
        Action::Deny => 2,
    }
}

/// A rule that has a say about an access.
pub(super) struct Candidate<'r> {
    pub(super) rank: Rank,
    pub(super) rule: &'r Rule,
    pub(super) fit: Fit,
}

impl Rules {
    /// Takes rules as [`read_agent_file`](beeuni_manifest::read_agent_file) gives them; those of several files may
    /// be put together in any order. `home` is what `~` and `$HOME` at the start of a pattern stand for.
    pub fn new(rules: &[PermissionRule], home: Option<&str>) -> Self {
        let rules = rules.iter().map(|rule| Rule {
            capability: rule.capability.clone(),
            text: rule.pattern.clone(),
            // What `~` means inside a command is the shell's affair: the command is compared as it is written.
            pattern: Pattern::new(&expand_home(&rule.pattern, home.filter(|_| rule.capability != "bash"))),
            action: rule.action,
            place: Some(rule.place.clone()),
        });
        let defaults = DEFAULTS.iter().map(|(capability, pattern, action)| Rule {
            capability: (*capability).to_owned(),
            text: (*pattern).to_owned(),
            pattern: Pattern::new(pattern),
            action: *action,
            place: None,
        });
        Self {
            rules: rules.chain(defaults).collect(),
        }
    }

    /// The same, asking about what none of them speaks of under this capability: for what a harness asks about by
    /// itself.
    #[must_use]
    pub fn asking(mut self, capability: &str) -> Self {
        self.rules.push(Rule {
            capability: capability.to_owned(),
            text: "*".to_owned(),
            pattern: Pattern::new("*"),
            action: Action::Ask,
            place: None,
        });
        self
    }

    /// The rules that have a say about `access`, strongest first.
    pub(super) fn candidates(&self, access: &Access) -> Vec<Candidate<'_>> {
        let mut candidates: Vec<Candidate<'_>> = self
            .rules
            .iter()
            .filter_map(|rule| {
                let level = rule.level(access)?;
                let fit = access.fit(&rule.pattern);
                let weight = rule.pattern.weight();
                (fit > Fit::No && rule.has_a_say(access.reach)).then_some(Candidate {
                    rank: Rank { level, weight },
                    rule,
                    fit,
                })
            })
            .collect();
        candidates.sort_by(|a, b| {
            let order = |c: &Candidate<'_>| (c.rank, strictness(c.rule.action), c.fit);
            // The text comes last, so that even which of two equal rules is named does not depend on their order.
            order(b).cmp(&order(a)).then_with(|| a.rule.text.cmp(&b.rule.text))
        });
        candidates
    }

    /// Decides one access.
    pub(super) fn decide(&self, access: &Access) -> Decision {
        // What may match, down to the first that surely does.
        let mut possible: Vec<Candidate<'_>> = Vec::new();
        let mut sure = false;
        for candidate in self.candidates(access) {
            sure = candidate.fit == Fit::Yes;
            possible.push(candidate);
            if sure {
                break;
            }
        }
        let Some(strongest) = possible.first() else {
            return Decision {
                action: Action::Allow,
                by: "no rule speaks of it, so it is allowed".to_owned(),
                rank: Rank {
                    level: Level::Default,
                    weight: 0,
                },
                mixed: false,
            };
        };
        let action = strongest.rule.action;
        if possible.iter().all(|candidate| candidate.rule.action == action) && (sure || action == Action::Allow) {
            return Decision {
                action,
                by: strongest.rule.to_string(),
                rank: strongest.rank,
                mixed: false,
            };
        }
        let strictest = possible
            .iter()
            .max_by_key(|candidate| (strictness(candidate.rule.action), candidate.rank))
            .unwrap_or(strongest);
        Decision {
            action: Action::Ask,
            by: format!(
                "it cannot be read for certain ({}), and it may fall under {}",
                access.doubt.unwrap_or("a part of it is only known when it runs"),
                strictest.rule
            ),
            rank: strictest.rank,
            mixed: true,
        }
    }
}

impl Rule {
    fn level(&self, access: &Access) -> Option<Level> {
        if self.place.is_none() {
            return (self.capability == access.capability).then_some(Level::Default);
        }
        if self.capability == access.capability {
            Some(Level::Capability)
        } else if self.capability == access.tool {
            Some(Level::Tool)
        } else {
            (self.capability == "*").then_some(Level::Any)
        }
    }

    fn has_a_say(&self, reach: Reach) -> bool {
        match reach {
            Reach::All => true,
            Reach::Named => self.action != Action::Allow && self.pattern.has_plain_start(),
            Reach::Operators => self.action != Action::Allow && self.pattern.has_operator(),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (capability, action) = (&self.capability, word(self.action));
        match &self.place {
            Some(place) => write!(
                f,
                "the rule `{capability}: {{ \"{}\": {action} }}` ({}, line {})",
                self.text, place.file, place.line
            ),
            None => write!(f, "the default `{capability}: {{ \"{}\": {action} }}`", self.text),
        }
    }
}

/// `~` and `$HOME` at the start of a pattern.
fn expand_home(pattern: &str, home: Option<&str>) -> String {
    let Some(home) = home else { return pattern.to_owned() };
    for start in ["~", "$HOME"] {
        if let Some(rest) = pattern.strip_prefix(start)
            && (rest.is_empty() || rest.starts_with('/'))
        {
            return format!("{}{rest}", home.trim_end_matches('/'));
        }
    }
    pattern.to_owned()
}
