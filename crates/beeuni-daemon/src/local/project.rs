//! A project's files as they were read at one moment: manifest, agents, skills, and what is wrong with them.
use std::path::{Path, absolute};

use beeuni_agent::Setup;
use beeuni_manifest::{AgentMode, Folder, Found, HarnessKind, Issue, Loaded, Manifest, Severity, find, load};

use crate::error::DaemonError;

/// A project as it was read.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    pub(crate) manifest: Manifest,
    /// Agents, tools and skills. Its `default_agent` is the session's.
    pub(crate) setup: Setup,
    /// Every finding, in the order of `beeuni validate`.
    pub(crate) findings: Vec<Issue>,
}

/// What a session sets in place of what the project says.
#[derive(Debug, Clone, Default)]
pub(crate) struct Overrides {
    /// The session's agent.
    pub(crate) agent: Option<String>,
    /// The model of agents that name none.
    pub(crate) model: Option<String>,
    /// How many times the model is asked for one prompt.
    pub(crate) steps: Option<u32>,
}

/// Finds the project of `start`.
pub(crate) fn find_project(start: &Path) -> Result<Found, DaemonError> {
    let start = absolute(start).map_err(|source| DaemonError::State {
        action: "find the project",
        path: start.to_owned(),
        source,
    })?;
    Ok(find(&start)?)
}

/// Reads the project. Findings keep it from being used only when the manifest cannot be read at all: one bad
/// entry must not take unrelated tools or agents down (CLI-03).
pub(crate) fn read(found: &Found, overrides: &Overrides) -> Result<Reading, DaemonError> {
    let tree = Folder::new(&found.root);
    let Loaded { manifest, issues } = load(&tree, &found.file);
    let mut findings = issues;
    let Some(manifest) = manifest else {
        return Err(DaemonError::Manifest { issues: findings });
    };
    let (mut setup, more) = Setup::read(&manifest, &tree);
    // The manifest's own check has read the agents' files too.
    for issue in more {
        if !findings.contains(&issue) {
            findings.push(issue);
        }
    }
    if let Some(agent) = &overrides.agent {
        setup.default_agent = Some(agent.clone());
    }
    setup.model.clone_from(&overrides.model);
    if let Some(steps) = overrides.steps {
        for agent in &mut setup.agents {
            // What is meant is the turn of the person: a limit of those who only work for others stays.
            if agent.mode == AgentMode::Subagent {
                agent.steps.get_or_insert(steps);
            } else {
                agent.steps = Some(steps);
            }
        }
    }
    Ok(Reading {
        manifest,
        setup,
        findings,
    })
}

impl Reading {
    /// The session's agent, which must be declared and enabled.
    pub(crate) fn agent(&self) -> Result<&str, DaemonError> {
        let manifest = &self.manifest;
        let declared = || {
            let enabled = manifest.agents.iter().filter(|agent| agent.enabled);
            enabled.map(|agent| agent.name.as_str()).collect::<Vec<_>>().join(", ")
        };
        let Some(name) = self.setup.default_agent.as_deref() else {
            return Err(DaemonError::NoAgent {
                manifest: manifest.file.clone(),
                declared: declared(),
            });
        };
        let problem = match manifest.agent(name) {
            Some(agent) if agent.enabled => return Ok(name),
            Some(_) => "is disabled",
            None => "is not declared",
        };
        Err(DaemonError::Agent {
            agent: name.to_owned(),
            problem,
            declared: declared(),
        })
    }

    /// The harness that the manifest asks for.
    pub(crate) fn harness(&self) -> HarnessKind {
        self.manifest.harness
    }

    /// The names of its agents.
    pub(crate) fn agent_names(&self) -> Vec<String> {
        self.manifest.agents.iter().map(|agent| agent.name.clone()).collect()
    }
}

/// A finding on one line: `file:line:column: message`.
pub(crate) fn line_of(issue: &Issue) -> String {
    let place = &issue.place;
    format!("{}:{}:{}: {}", place.file, place.line, place.column, issue.message)
}

/// The first error, on one line.
pub(crate) fn first_error(issues: &[Issue]) -> Option<String> {
    issues
        .iter()
        .find(|issue| issue.severity == Severity::Error)
        .map(line_of)
}

/// Logs findings, exactly as `beeuni validate` finds them, but for those in `known`.
pub(crate) fn log_findings(issues: &[Issue], known: &[Issue]) {
    for issue in issues.iter().filter(|issue| !known.contains(issue)) {
        let Issue {
            path,
            message,
            severity,
            place,
        } = issue;
        let (file, line, column) = (&place.file, place.line, place.column);
        match severity {
            Severity::Error => tracing::error!("{file}:{line}:{column}: {path}: {message}"),
            Severity::Warning => tracing::warn!("{file}:{line}:{column}: {path}: {message}"),
        }
    }
}
