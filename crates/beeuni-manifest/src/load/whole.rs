//! What the parts of a manifest say about each other (V2, V3, V7, the default agent), and the manifest
//! that comes of them.
use std::collections::HashSet;

use crate::agent_file::{self, CAPABILITIES};
use crate::model::{HarnessKind, Manifest};
use crate::names::{BEEUNI_TOOLS, HARNESS_TOOLS, is_beeuni_tool, quote};
use crate::report::{At, Spot};
use crate::tree::EntryKind;

use super::agents::{self, IMPLIED};
use super::root::CONFIG_DIR;
use super::values::did_you_mean;
use super::{AgentDraft, Draft, FileLine, Mention, Reader, Source, is_known_tool, list};

impl Reader<'_> {
    /// The last checks, and the manifest.
    pub(super) fn finish(&mut self, root: &Source, files: &[String]) -> Manifest {
        let top = match &root.document.root {
            Some(node) => At::root(&root.file, node).spot,
            None => Spot::top(&root.file),
        };
        self.no_beeuni_tool();
        self.mentions();
        let default_agent = self.default_agent(&top);
        if self.draft.agent_names.is_empty() {
            self.draft.agents.push(agents::draft(IMPLIED, &top));
        }
        self.agent_files();
        let Draft {
            harness,
            config_dir,
            tools_keys,
            tools,
            agents,
            connectors,
            project,
            env_required,
            env_optional,
            ..
        } = std::mem::take(&mut self.draft);
        Manifest {
            file: root.file.to_string(),
            default_agent,
            harness: harness.unwrap_or(HarnessKind::Standard),
            harness_key: harness.is_some(),
            opencode_config_dir: config_dir.unwrap_or_else(|| CONFIG_DIR.to_owned()),
            tools_key: !tools_keys.is_empty(),
            tools,
            agents: agents.into_iter().map(|draft| draft.agent).collect(),
            connectors,
            project,
            files: files.to_vec(),
            env_required,
            env_optional,
        }
    }

    /// Whether sessions of this project load the Beeuni tool `name`; one with an error counts, its
    /// own finding says enough.
    fn keeps(&self, name: &str) -> bool {
        self.draft.tools_keys.is_empty() || self.draft.unclear_tools || self.draft.tool_names.contains_key(name)
    }

    /// V2.
    fn no_beeuni_tool(&mut self) {
        if self.broken_import || BEEUNI_TOOLS.iter().any(|name| self.keeps(name)) {
            return;
        }
        if let Some(spot) = self.draft.tools_keys.first() {
            let message = format!(
                "Sessions of this project get no Beeuni tool ({}). Add `<name>: beeuni:<name>` to keep one.",
                BEEUNI_TOOLS.join(", ")
            );
            self.findings.warn(spot, message);
        }
    }

    /// V3 and V7, and the connectors that agents name.
    fn mentions(&mut self) {
        if self.broken_import {
            return;
        }
        let drafts = std::mem::take(&mut self.draft.agents);
        let tools = known_tools(&self.draft);
        let mut slugs: Vec<String> = self.draft.slugs.keys().cloned().collect();
        slugs.sort_unstable();
        for draft in &drafts {
            for mention in &draft.tools {
                if let Some(message) = self.tool_mention(&mention.name, draft.excludes, &tools) {
                    self.findings.warn(&mention.spot, message);
                }
            }
            for Mention { name, spot } in &draft.connectors {
                if !self.draft.slugs.contains_key(name) {
                    let hint = did_you_mean(name, slugs.iter().map(String::as_str), &mut self.findings.hints);
                    let message = format!("{} is not declared under the top-level `connectors`{hint}", quote(name));
                    self.findings.warn(spot, message);
                }
            }
        }
        self.draft.agents = drafts;
    }

    /// The warning on the name of a tool in an agent's list.
    fn tool_mention(&mut self, name: &str, excludes: bool, known: &[String]) -> Option<String> {
        if is_beeuni_tool(name) {
            return (!self.keeps(name)).then(|| {
                format!(
                    "\"{name}\" is a Beeuni tool this project does not load: add `{name}: beeuni:{name}` under the \
                     top-level `tools`, or remove it here."
                )
            });
        }
        if name == "*" || is_known_tool(name, &self.draft.tool_names) {
            return None;
        }
        let effect = if excludes {
            ", so the tool that was meant stays on"
        } else {
            ""
        };
        if name.contains('*') {
            return Some(format!(
                "{} is no tool{effect}: patterns are not expanded, name each tool",
                quote(name)
            ));
        }
        let hint = did_you_mean(name, known.iter().map(String::as_str), &mut self.findings.hints);
        Some(format!(
            "{} is no harness, Beeuni or project tool{effect}{hint}",
            quote(name)
        ))
    }

    fn default_agent(&mut self, top: &Spot) -> Option<String> {
        let Draft {
            agents, agent_names, ..
        } = &self.draft;
        if let Some((name, spot)) = &self.draft.default_agent {
            let found = agents.iter().find(|draft| draft.agent.name == *name);
            match found {
                Some(draft) if !draft.agent.enabled => {
                    let message = format!(
                        "names an agent that is disabled: enable {}, or name another",
                        quote(name)
                    );
                    self.findings.error(spot, message);
                }
                Some(_) => {}
                // Declared with an error of its own, or perhaps in a file that could not be read.
                None if agent_names.contains_key(name) || self.broken_import => {}
                None if agent_names.is_empty() && name == IMPLIED => {}
                None if agent_names.is_empty() => {
                    let message = format!(
                        "names no declared agent: declare {} under `agents`; without that key there is one agent, \
                         `{IMPLIED}`",
                        quote(name)
                    );
                    self.findings.error(spot, message);
                }
                None => {
                    let mut known: Vec<&str> = agent_names.keys().map(String::as_str).collect();
                    known.sort_unstable();
                    let hint = match self.findings.hints.nearest(name, known.iter().copied()) {
                        Some(near) => format!("did you mean {}?", quote(near)),
                        None => format!("declared are {}", list(known.into_iter().take(10))),
                    };
                    self.findings.error(spot, format!("names no declared agent: {hint}"));
                }
            }
            return Some(name.clone());
        }
        match (agents.as_slice(), agent_names.len()) {
            (_, 0) => Some(IMPLIED.to_owned()),
            ([only], 1) => {
                if !only.agent.enabled && !self.broken_import {
                    let message = format!(
                        "disables the only agent: a session needs one, so enable {}",
                        quote(&only.agent.name)
                    );
                    self.findings.error(&only.enabled, message);
                }
                Some(only.agent.name.clone())
            }
            (_, 1) => None,
            (drafts, _) => {
                let first = drafts
                    .iter()
                    .find(|draft| draft.agent.enabled)
                    .map_or(IMPLIED, |draft| &draft.agent.name);
                let message =
                    format!("is required when there is more than one agent: add e.g. `default_agent: {first}`");
                let mark = self.draft.agents_key.as_ref().map_or(top.mark, |spot| spot.mark);
                self.findings.error(
                    &Spot {
                        mark,
                        ..top.key("default_agent")
                    },
                    message,
                );
                None
            }
        }
    }

    /// Reads every agent's `.md` once, and checks what its rules name against the project's tools.
    fn agent_files(&mut self) {
        let drafts = std::mem::take(&mut self.draft.agents);
        let mut known = known_tools(&self.draft);
        known.extend(CAPABILITIES.iter().map(|&name| name.to_owned()));
        let mut seen = HashSet::new();
        for AgentDraft { agent, file, .. } in &drafts {
            // A missing one was reported at its agent; the implied agent needs none.
            let there = matches!(self.lookup.tree.kind(&agent.file), Ok(Some(EntryKind::File)));
            if !there || matches!(file, FileLine::Broken) || !seen.insert(&agent.file) {
                continue;
            }
            for (name, spot) in agent_file::read(self.lookup.tree, &agent.file, &mut self.findings).capabilities {
                let tool = CAPABILITIES.contains(&name.as_str()) || is_known_tool(&name, &self.draft.tool_names);
                if !tool && !self.broken_import {
                    let hint = did_you_mean(&name, known.iter().map(String::as_str), &mut self.findings.hints);
                    let message = format!("is no capability and no tool, so the rule has no effect{hint}");
                    self.findings.warn(&spot, message);
                }
            }
        }
        self.draft.agents = drafts;
    }
}

/// Every name that a list may have.
fn known_tools(draft: &Draft) -> Vec<String> {
    let mut names: Vec<String> = draft.tool_names.keys().cloned().collect();
    names.sort_unstable();
    names.extend(BEEUNI_TOOLS.iter().chain(HARNESS_TOOLS).map(|&name| name.to_owned()));
    names
}
