//! Which of OpenCode's keys an agent gets, and with which rules.

use std::collections::BTreeSet;

use beeuni_agent::AgentDefinition;
use beeuni_manifest::{AgentMode, Grant, PermissionAction as Action, ToolAccess};

use super::access::{Key, Scene};
use super::paths::Form;
use super::rules::{Subject, decide, ordered, word};

/// Tools of OpenCode that stand under a permission of their own name.
const PLAIN: &[(&str, Form)] = &[
    ("bash", Form::Text),
    ("read", Form::Path),
    ("glob", Form::Text),
    ("grep", Form::Text),
    (TASK, Form::Text),
    ("webfetch", Form::Text),
    ("todowrite", Form::Text),
    ("question", Form::Text),
];
/// The tools that share the permission `edit` (A6).
const EDITING: [&str; 3] = ["write", "edit", "apply_patch"];
const EDIT: &str = "edit";
const SKILL: &str = "skill";
const TASK: &str = "task";
/// `task` as a pattern. A subagent cannot start others, and OpenCode hides the tool from it unless a rule of its agent
/// has the very name.
const TASK_UNNAMED: &str = "tas?";
/// The tools of a terminal plugin, which `bash` covers (A6).
const TERMINAL: &str = "pty_*";
/// The skill about OpenCode's own configuration, which is not the project's to change.
const BUILT_IN_SKILL: &str = "customize-opencode";
/// Reading these asks where no rule speaks of them, as on the experimental harness.
const CAREFUL: &[(&str, Action)] = &[
    ("*", Action::Allow),
    ("*.env", Action::Ask),
    ("*.env.*", Action::Ask),
    ("*.envrc", Action::Ask),
    ("*.env.example", Action::Allow),
    ("*.env.sample", Action::Allow),
    ("*.env.template", Action::Allow),
];

/// An agent's permissions while they are put together.
pub(super) struct Making<'a> {
    pub(super) agent: &'a AgentDefinition,
    pub(super) scene: &'a Scene<'a>,
    pub(super) keys: Vec<Key>,
    pub(super) hidden: BTreeSet<String>,
}

impl Making<'_> {
    pub(super) fn hide(&mut self, name: &str) {
        self.hidden.insert(name.to_owned());
    }

    pub(super) fn fixed(&mut self, key: &str, rules: Vec<(String, &'static str)>) {
        self.keys.push(Key {
            key: key.to_owned(),
            written: None,
            before: Vec::new(),
            after: rules,
            fixed: true,
        });
    }

    /// A key with its defaults and the agent's rules.
    pub(super) fn ruled(&mut self, key: &str, defaults: &[(&str, Action)], subject: Subject<'_>) {
        let before = defaults
            .iter()
            .map(|(pattern, action)| ((*pattern).to_owned(), word(*action)));
        let after = ordered(&self.agent.permission, subject, self.scene.paths);
        self.keys.push(Key {
            key: key.to_owned(),
            written: (key == TASK).then_some(TASK_UNNAMED),
            before: before.collect(),
            after: after
                .into_iter()
                .map(|(pattern, action)| (pattern, word(action)))
                .collect(),
            fixed: false,
        });
    }

    pub(super) fn harness_tools(&mut self) {
        for (name, form) in PLAIN {
            // A subagent has nobody to ask and nobody to send.
            let alone = self.agent.mode == AgentMode::Subagent && ["question", TASK].contains(name);
            if alone || !self.agent.tools.allows(name) {
                self.hide(name);
                continue;
            }
            let defaults = if *name == "read" {
                CAREFUL
            } else {
                &[("*", Action::Allow)]
            };
            let subject = Subject {
                capability: name,
                tools: &[],
                form: *form,
            };
            self.ruled(name, defaults, subject);
        }
        if self.may_edit() {
            let subject = Subject {
                capability: EDIT,
                tools: &EDITING,
                form: Form::Path,
            };
            self.ruled(EDIT, &[("*", Action::Allow)], subject);
        } else {
            self.hide(EDIT);
        }
        self.terminal();
        self.skills();
    }

    /// Listing one of the three shows all, excluding one hides all (A6).
    fn may_edit(&self) -> bool {
        let mut allowed = EDITING.iter().map(|name| self.agent.tools.allows(name));
        match self.agent.tools {
            ToolAccess::Only(_) => allowed.any(|allowed| allowed),
            _ => allowed.all(|allowed| allowed),
        }
    }

    /// `bash` covers the terminal. Its calls ask for nothing, so where a rule restricts commands it is hidden.
    fn terminal(&mut self) {
        let subject = Subject {
            capability: "bash",
            tools: &[],
            form: Form::Text,
        };
        let rules = ordered(&self.agent.permission, subject, self.scene.paths);
        let free = rules.iter().all(|(_, action)| *action == Action::Allow);
        if free && self.agent.tools.allows("bash") {
            self.fixed(TERMINAL, vec![("*".to_owned(), "allow")]);
        } else {
            self.hide(TERMINAL);
        }
    }

    /// The skills that the agent is granted, and what its rules say about each. With none the tool is still there, as
    /// on the experimental harness: it follows the list of tools.
    fn skills(&mut self) {
        let subject = Subject {
            capability: SKILL,
            tools: &[],
            form: Form::Text,
        };
        if !self.agent.tools.allows(SKILL) {
            self.hide(SKILL);
            return;
        }
        let mut rules = Vec::new();
        if self.agent.skills == Grant::All {
            rules.push(("*".to_owned(), "allow"));
            let own = ordered(&self.agent.permission, subject, self.scene.paths);
            rules.extend(own.into_iter().map(|(pattern, action)| (pattern, word(action))));
        } else {
            rules.push(("*".to_owned(), "deny"));
            let granted = self
                .scene
                .skills
                .iter()
                .filter(|skill| self.agent.skills.allows(&skill.name));
            rules.extend(granted.map(|skill| {
                let action = decide(&self.agent.permission, subject, &skill.name, self.scene.paths);
                (skill.name.clone(), word(action))
            }));
        }
        rules.push((BUILT_IN_SKILL.to_owned(), "deny"));
        self.fixed(SKILL, rules);
    }

    /// What no tool is named after: leaving the checkout, and repeating oneself.
    pub(super) fn outside(&mut self) {
        let free = self.scene.outside.iter().map(|folder| (folder.as_str(), Action::Allow));
        let defaults: Vec<(&str, Action)> = std::iter::once(("*", Action::Ask)).chain(free).collect();
        for (key, form) in [("external_directory", Form::Outside), ("doom_loop", Form::Text)] {
            let defaults = if form == Form::Outside {
                &defaults[..]
            } else {
                &[("*", Action::Ask)]
            };
            let subject = Subject {
                capability: key,
                tools: &[],
                form,
            };
            self.ruled(key, defaults, subject);
        }
    }

    /// Names in the agent's list that are none of the above: tools of the project's plugins and servers.
    pub(super) fn others(&mut self) {
        let (names, listed) = match &self.agent.tools {
            ToolAccess::Only(names) => (names, true),
            ToolAccess::Except(names) => (names, false),
            ToolAccess::All | ToolAccess::None => return,
        };
        let covered = |making: &Self, name: &str| {
            EDITING.contains(&name)
                || making.hidden.contains(name)
                || making.keys.iter().any(|key| key.key == name)
                || name.contains(['*', '?'])
        };
        for name in names {
            if covered(self, name) {
                continue;
            }
            if listed {
                let subject = Subject {
                    capability: name,
                    tools: &[],
                    form: Form::Text,
                };
                self.ruled(name, &[("*", Action::Allow)], subject);
            } else {
                self.hide(name);
            }
        }
    }
}
