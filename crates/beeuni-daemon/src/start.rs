//! What a daemon finds out before it listens: the session's id, its project, its agent and its harness.
use std::sync::Arc;

use beeuni_manifest::Found;

use crate::config::{DaemonConfig, HarnessChoice};
use crate::error::DaemonError;
use crate::harness::{Programs, programs};
use crate::identifier::{is_session_id, random_uuid};
use crate::local::project::{Overrides, Reading, find_project, log_findings, read};

/// A session that can be started.
pub(crate) struct Start {
    pub(crate) session: String,
    /// Whether the id was given, so that the session may be started again.
    pub(crate) comes_back: bool,
    pub(crate) found: Found,
    pub(crate) overrides: Overrides,
    pub(crate) reading: Arc<Reading>,
    pub(crate) harness: HarnessChoice,
    pub(crate) programs: Option<Programs>,
}

/// Reads what `config` points at. Writes nothing and starts nothing.
pub(crate) fn prepare(config: &DaemonConfig) -> Result<Start, DaemonError> {
    config.listen.check()?;
    let session = match &config.session {
        Some(id) if is_session_id(id) => id.clone(),
        Some(id) => return Err(DaemonError::SessionId(id.clone())),
        None => random_uuid()?,
    };
    let found = find_project(&config.project)?;
    let overrides = Overrides {
        agent: config.agent.clone(),
        model: config.model.clone(),
        steps: None,
    };
    let reading = read(&found, &overrides)?;
    // What is usable loads, and the log says what is not.
    log_findings(&reading.findings, &[]);
    reading.agent()?;
    let harness = config.harness.unwrap_or_else(|| reading.harness().into());
    let programs = programs(harness, config.managed.as_deref())?;
    Ok(Start {
        session,
        comes_back: config.session.is_some(),
        found,
        overrides,
        reading: Arc::new(reading),
        harness,
        programs,
    })
}
