//! Decides calls: an agent's rules, those of the agents above it, and what was said "always" to.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use beeuni_manifest::PermissionAction as Action;

use crate::harness_tools::ReadRule;

use super::access::{Access, Reach};
use super::memory::Remembered;
use super::pattern::Text;
use super::rules::{Decision, Rank, Rules, strictness, word};

/// The rules of one session and what its person said "always" to. Clones share what is remembered.
#[derive(Debug, Clone)]
pub struct Permissions {
    /// The agent's own rules first, then those of the agents above it.
    rules: Arc<Vec<Rules>>,
    memory: Arc<Mutex<Vec<Remembered>>>,
}

/// What was decided about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It runs.
    Allow,
    /// A person is asked once for all of these.
    Ask(Vec<Asked>),
    /// It is refused; the text is for the model.
    Deny(String),
}

/// One access that a person is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// What it is about.
    pub access: Access,
    /// Which rule asks.
    pub decision: Decision,
    /// What "always" would remember.
    pub always: Remembered,
}

/// What the rules say about a tool as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The same for every call.
    Every(Action),
    /// It depends on what the call is about.
    Depends,
}

impl Default for Permissions {
    /// Those of an agent without rules.
    fn default() -> Self {
        Self::new(Rules::default())
    }
}

impl Permissions {
    /// Rules with an empty memory.
    pub fn new(rules: Rules) -> Self {
        Self {
            rules: Arc::new(vec![rules]),
            memory: Arc::default(),
        }
    }

    /// The permissions of a subagent: the stricter of its own rules and of those above it. What is remembered is
    /// shared with the parent.
    #[must_use]
    pub fn subagent(&self, rules: Rules) -> Self {
        Self {
            rules: Arc::new(std::iter::once(rules).chain(self.rules.iter().cloned()).collect()),
            memory: Arc::clone(&self.memory),
        }
    }

    /// The same memory with other rules: for a session whose agent's file has changed.
    #[must_use]
    pub fn with_rules(&self, rules: Rules) -> Self {
        Self {
            rules: Arc::new(vec![rules]),
            memory: Arc::clone(&self.memory),
        }
    }

    /// Decides one access.
    pub fn decide(&self, access: &Access) -> Decision {
        self.strictest(access).0
    }

    /// Decides a call: denied if any access is, asked if any is, allowed if all are.
    pub fn check(&self, accesses: &[Access]) -> Verdict {
        let mut asked: Vec<Asked> = Vec::new();
        for access in accesses {
            let (decision, rank) = self.strictest(access);
            match decision.action {
                Action::Allow => {}
                Action::Deny => return Verdict::Deny(denial(access, &decision)),
                Action::Ask => {
                    let always = Remembered::of(access, rank);
                    let known = |one: &Asked| one.access.subject == access.subject && one.always == always;
                    if !asked.iter().any(known) {
                        asked.push(Asked {
                            access: access.clone(),
                            decision,
                            always,
                        });
                    }
                }
            }
        }
        if asked.is_empty() {
            Verdict::Allow
        } else {
            Verdict::Ask(asked)
        }
    }

    /// Remembers what a person said "always" to: the `always` of what was [`Asked`], or what was stored of it.
    pub fn remember(&self, always: impl IntoIterator<Item = Remembered>) {
        let mut memory = self.memory();
        for one in always {
            if !memory.contains(&one) {
                memory.push(one);
            }
        }
    }

    /// Everything remembered so far, in the order in which it was said.
    pub fn remembered(&self) -> Vec<Remembered> {
        self.memory().clone()
    }

    /// What the rules say about every call of `tool`, which stands under `capability`.
    pub fn scope(&self, capability: &str, tool: &str) -> Scope {
        let access = Access::new(capability, tool, "", "*").with_forms([Text::unknown()]);
        let mut strictest = Action::Allow;
        let mut depends = false;
        for decision in self.rules.iter().map(|rules| rules.decide(&access)) {
            if decision.mixed {
                depends = true;
            } else if decision.action == Action::Deny {
                return Scope::Every(Action::Deny);
            } else if strictness(decision.action) > strictness(strictest) {
                strictest = decision.action;
            }
        }
        if depends {
            Scope::Depends
        } else {
            Scope::Every(strictest)
        }
    }

    /// Whether an access is allowed without asking, for searches that come upon many files.
    pub fn read_rule(&self) -> ReadRule {
        let permissions = self.clone();
        Arc::new(move |access| permissions.decide(access).action == Action::Allow)
    }

    /// A dry run: for each access what would happen, which rule decides, and which rules it outweighs.
    pub fn explain(&self, accesses: &[Access]) -> String {
        let mut text = String::new();
        for access in accesses {
            let decision = self.decide(access);
            if access.reach != Reach::All && decision.action == Action::Allow {
                continue; // another view of a command that has its own line
            }
            let _ = writeln!(
                text,
                "{} `{}`: {}\n  decided by {}",
                access.capability,
                access.subject,
                word(decision.action),
                decision.by
            );
            for candidate in self.rules.iter().flat_map(|rules| rules.candidates(access)) {
                let rule = candidate.rule.to_string();
                if !decision.by.contains(&rule) {
                    let _ = writeln!(text, "  also matches {rule}");
                }
            }
        }
        text
    }

    fn memory(&self) -> MutexGuard<'_, Vec<Remembered>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The strictest decision of all levels of agents, and the strength of the strongest rule that asks.
    fn strictest(&self, access: &Access) -> (Decision, Rank) {
        let mut strictest: Option<Decision> = None;
        let mut asking: Option<Rank> = None;
        for (level, rules) in self.rules.iter().enumerate() {
            let mut decision = rules.decide(access);
            if decision.action == Action::Ask {
                if let Some(always) = self.memory().iter().find(|one| one.answers(access, decision.rank)) {
                    decision.action = Action::Allow;
                    decision.by = format!("\"always\" was said to `{}` in this session", always.pattern);
                } else {
                    asking = asking.max(Some(decision.rank));
                }
            }
            if level > 0 {
                decision.by.push_str(", for the agent that started this one");
            }
            if strictest
                .as_ref()
                .is_none_or(|other| strictness(decision.action) > strictness(other.action))
            {
                strictest = Some(decision);
            }
        }
        let decision = strictest.unwrap_or_else(|| Rules::default().decide(access));
        let rank = asking.unwrap_or(decision.rank);
        (decision, rank)
    }
}

fn denial(access: &Access, decision: &Decision) -> String {
    const SHOWN: usize = 300;
    let mut subject: String = access.subject.chars().take(SHOWN).collect();
    if subject.len() < access.subject.len() {
        subject.push('…');
    }
    format!(
        "Not allowed: {} `{subject}` is denied by {}. Do not try to reach the same in another way: go on without it, \
         or say what you need it for.",
        access.capability, decision.by
    )
}
