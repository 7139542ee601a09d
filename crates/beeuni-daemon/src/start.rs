//! What a daemon finds out before it listens: the session's id, its manifest and its agent.
use std::path::absolute;

use beeuni_manifest::{Folder, Found, Issue, Loaded, Manifest, Severity, find, load};

use crate::config::{DaemonConfig, HarnessChoice};
use crate::error::DaemonError;
use crate::identifier::{is_session_id, random_uuid};

/// A session that can be started.
pub(crate) struct Start {
    pub(crate) session: String,
    /// Whether the id was given, so that the session may be started again.
    pub(crate) comes_back: bool,
    pub(crate) found: Found,
    pub(crate) manifest: Manifest,
    /// The session's agent.
    pub(crate) agent: String,
}

/// Reads what `config` points at. Writes nothing and starts nothing.
pub(crate) fn prepare(config: &DaemonConfig) -> Result<Start, DaemonError> {
    if config.harness != HarnessChoice::None {
        return Err(DaemonError::NoHarness { asked: config.harness });
    }
    config.listen.check()?;
    let session = match &config.session {
        Some(id) if is_session_id(id) => id.clone(),
        Some(id) => return Err(DaemonError::SessionId(id.clone())),
        None => random_uuid()?,
    };
    let start = absolute(&config.project).map_err(|source| DaemonError::State {
        action: "find the project",
        path: config.project.clone(),
        source,
    })?;
    let found = find(&start)?;
    let Loaded { manifest, issues } = load(&Folder::new(&found.root), &found.file);
    let Some(manifest) = manifest else {
        return Err(DaemonError::Manifest { issues });
    };
    // One bad entry must not take unrelated tools or agents down (CLI-03): what is usable loads, and the
    // log says what is not.
    issues.iter().for_each(log);
    let agent = session_agent(config.agent.as_deref(), &manifest)?;
    Ok(Start {
        session,
        comes_back: config.session.is_some(),
        found,
        manifest,
        agent,
    })
}

fn log(issue: &Issue) {
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

/// The agent that calls when a call names none: `asked`, else the manifest's default.
fn session_agent(asked: Option<&str>, manifest: &Manifest) -> Result<String, DaemonError> {
    let declared = || {
        let enabled = manifest.agents.iter().filter(|agent| agent.enabled);
        enabled.map(|agent| agent.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let Some(name) = asked.or(manifest.default_agent.as_deref()) else {
        return Err(DaemonError::NoAgent {
            manifest: manifest.file.clone(),
            declared: declared(),
        });
    };
    let problem = match manifest.agent(name) {
        Some(agent) if agent.enabled => return Ok(name.to_owned()),
        Some(_) => "is disabled",
        None => "is not declared",
    };
    Err(DaemonError::Agent {
        agent: name.to_owned(),
        problem,
        declared: declared(),
    })
}
