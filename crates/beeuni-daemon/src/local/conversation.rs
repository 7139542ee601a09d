//! Opens the conversation of a session: the loop with its harness tools, skills and models.
use std::sync::Arc;

use beeuni_agent::harness_tools::{HarnessLimits, HarnessTools, HarnessToolsConfig};
use beeuni_agent::{Session, SessionConfig, SkillShelf};
use beeuni_gateway::Gateway;

use super::LocalOptions;
use super::hosting::Hosting;
use super::pages::PageReader;
use super::project::Reading;
use crate::error::DaemonError;

/// Opens the session `id`: a new one, or one whose transcript is in the state folder.
pub(crate) fn open(
    options: &LocalOptions,
    id: &str,
    hosting: &Hosting,
    gateway: &Gateway,
    reading: &Reading,
) -> Result<(Session, HarnessTools), DaemonError> {
    let root = &hosting.found.root;
    let skills = SkillShelf::new(root);
    let host = hosting.host.clone();
    let harness = HarnessTools::new(HarnessToolsConfig {
        checkout: root.clone(),
        output_dir: hosting.output_dir.clone(),
        free_folders: Vec::new(),
        env: hosting.command_env.clone(),
        guard: options.guard.clone(),
        redact: Arc::new(move |text| host.redact(text)),
        reader: Some(Arc::new(PageReader(hosting.web.shared()))),
        skills: Some(Arc::new(skills.clone())),
        limits: HarnessLimits::default(),
    })?;
    let config = SessionConfig {
        id: id.to_owned(),
        state: options.state.clone(),
        checkout: root.clone(),
        gateway: gateway.clone(),
        hosted: Arc::new(hosting.host.clone()),
        harness: harness.clone(),
        skills,
        home: hosting.command_env.get("HOME").cloned(),
        settings: options.settings.clone(),
    };
    Ok((Session::open(config, reading.setup.clone())?, harness))
}
