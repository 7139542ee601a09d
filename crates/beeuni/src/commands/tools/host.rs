//! The tool host of `tools call` and `tools check`: the daemon's, for the project as it is here.
use std::collections::BTreeMap;
use std::env;
use std::sync::Arc;

use beeuni_daemon::local::ControlPlane;
use beeuni_tools::{HostConfig, Limits, LogLine, ToolHost};

use crate::failure::Failure;
use crate::project::Project;
use crate::{bun, dirs};

/// `context.sessionId` of a call outside a session.
const SESSION: &str = "local";

/// What a host gets beside the project.
pub(super) struct Setup {
    /// Time and size limits.
    pub(super) limits: Limits,
    /// Where the web tools ask: a control plane, or this process's own router.
    pub(super) router: Option<ControlPlane>,
    /// Receives what tools print.
    pub(super) log: Arc<dyn Fn(&LogLine) + Send + Sync>,
}

/// Prepares a host; it starts nothing yet.
pub(super) async fn start(project: &Project, setup: Setup) -> Result<ToolHost, Failure> {
    let folder = |error: &std::io::Error| Failure::user("cannot make a folder for the tools").caused_by(error);
    let guard = env::current_exe()
        .map_err(|error| Failure::internal("cannot find this program's own file").caused_by(&error))?;
    let mut session_secrets = BTreeMap::new();
    let mut sandbox = beeuni_tools::sandbox_env(&[]);
    sandbox.remove("BEEUNI_API_URL");
    if let Some(router) = setup.router {
        sandbox.insert("BEEUNI_API_URL".to_owned(), router.url);
        session_secrets.extend(router.token.map(|token| ("BEEUNI_TOKEN".to_owned(), token)));
    }
    let config = HostConfig {
        bun: bun::required()?,
        runtime_dir: dirs::usable_cache().map_err(|error| folder(&error))?,
        project: project.root.clone(),
        output_dir: dirs::output().map_err(|error| folder(&error))?,
        session: SESSION.to_owned(),
        env: sandbox,
        session_secrets,
        limits: setup.limits,
        guard,
        log: setup.log,
    };
    ToolHost::new(config)
        .await
        .map_err(|error| Failure::user("cannot start the tool host").caused_by(&error))
}
