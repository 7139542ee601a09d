//! What a session of this machine is made from.
use std::path::PathBuf;
use std::sync::Arc;

use beeuni_agent::Settings;
use beeuni_gateway::GatewayConfig;
use beeuni_gateway::web::WebConfig;
use beeuni_tools::{AgentSecrets, Limits, LogLine, SecretValue};

use super::router_server::web_config;
use crate::config::HarnessChoice;

/// What a session of this machine is made from. [`LocalOptions::new`] fills in what is usual.
#[derive(Clone)]
pub struct LocalOptions {
    /// Where the search for the manifest begins: the project's root folder or one below it.
    pub project: PathBuf,
    /// The state folder: the transcript is in `sessions/<id>/` below it (0700).
    pub state: PathBuf,
    /// The session's id, 1 to 128 of `A-Z a-z 0-9 . _ -`. One whose transcript is in the state folder goes on;
    /// `None` makes a new one with a UUID.
    pub session: Option<String>,
    /// The agent of a prompt that names none; `None`: the manifest's `default_agent`.
    pub agent: Option<String>,
    /// The model of agents that name none, as `provider/model`; `None`: the gateway's default.
    pub model: Option<String>,
    /// What runs the turns. [`LocalOptions::new`]: the agent loop in this process.
    pub harness: HarnessChoice,
    /// How many times the model is asked for one prompt at most, whatever an agent's file says; that of an agent which
    /// can only be a subagent counts nevertheless. `None`: the agents' own `steps`, else [`Settings::steps`].
    pub steps: Option<u32>,
    /// The Bun executable: see [`beeuni_tools::find_bun`].
    pub bun: PathBuf,
    /// The folder that `beeuni setup` fills, where the standard harness finds its programs; `None`: only `PATH` and
    /// the settings `BEEUNI_OPENCODE` and `BEEUNI_RIPGREP` count.
    pub managed: Option<PathBuf>,
    /// The program that starts workers and commands: this binary (`beeuni`).
    pub guard: PathBuf,
    /// Folder for the worker's code; `None`: `runtime` in the state folder.
    pub runtime_dir: Option<PathBuf>,
    /// Folder for outputs over the bound; `None`: `beeuni-outputs-<session>` in the temp folder.
    pub output_dir: Option<PathBuf>,
    /// Time and size limits of Beeuni and project tools.
    pub limits: Limits,
    /// Settings of the loop.
    pub settings: Settings,
    /// Names of further variables of this process that tools may see: see [`beeuni_tools::sandbox_env`].
    pub pass_env: Vec<String>,
    /// The control plane, whose web router the tools then use. `None`: this process has a web router of its own.
    pub control_plane: Option<ControlPlane>,
    /// Providers of models: [`GatewayConfig::from_env`].
    pub gateway: GatewayConfig,
    /// The web: providers of searches and pages, and the reader. With a control plane only `webfetch` uses it.
    pub web: WebConfig,
    /// The secrets of each agent; [`LocalSession::set_secrets`](super::LocalSession::set_secrets) changes them.
    pub secrets: AgentSecrets,
    /// Receives what tools print.
    pub log: Arc<dyn Fn(&LogLine) + Send + Sync>,
}

/// A control plane.
#[derive(Debug, Clone)]
pub struct ControlPlane {
    /// Its address (`BEEUNI_API_URL`).
    pub url: String,
    /// The session's token for it (`BEEUNI_TOKEN`).
    pub token: Option<SecretValue>,
}

impl LocalOptions {
    /// A new session of the project at `project`, with providers from this process's environment, no secrets, and
    /// nobody who reads what tools print.
    pub fn new(
        project: impl Into<PathBuf>,
        state: impl Into<PathBuf>,
        bun: impl Into<PathBuf>,
        guard: impl Into<PathBuf>,
    ) -> Self {
        let guard = guard.into();
        Self {
            project: project.into(),
            state: state.into(),
            session: None,
            agent: None,
            model: None,
            steps: None,
            harness: HarnessChoice::Experimental,
            bun: bun.into(),
            managed: None,
            web: web_config(guard.clone()),
            guard,
            runtime_dir: None,
            output_dir: None,
            limits: Limits::default(),
            settings: Settings::default(),
            pass_env: Vec::new(),
            control_plane: None,
            gateway: GatewayConfig::from_env(),
            secrets: AgentSecrets::new(),
            log: Arc::new(|_| {}),
        }
    }
}
