//! A running session of this machine: its project, tools, models and conversation.
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use beeuni_agent::harness_tools::HarnessTools;
use beeuni_agent::{PromptError, PromptOptions, Session, TurnHandle};
use beeuni_gateway::Gateway;
use beeuni_manifest::Issue;
use beeuni_tools::{AgentSecrets, LoadReport, ToolHost};

use super::hosting::{Hosting, WebPlace};
use super::project::{self, Overrides, Reading};
use super::{LocalOptions, RouterServer, conversation};
use crate::error::DaemonError;
use crate::identifier::{is_session_id, random_uuid};
use crate::web::WebAccess;

/// A running session of this machine. Needs a current-thread Tokio runtime (see [`ToolHost`]).
pub struct LocalSession {
    session: Session,
    harness: HarnessTools,
    gateway: Gateway,
    hosting: Hosting,
    overrides: Overrides,
    reading: Mutex<Arc<Reading>>,
    /// Serves the web tools for as long as the session lives; `None` with a control plane.
    _router: Option<RouterServer>,
}

/// The model that answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelInUse {
    /// `provider/model`.
    pub id: String,
    /// Whether it is the built-in stand-in and no language model.
    pub rehearsal: bool,
    /// What a person should be told about it: that a stand-in answers, or that a provider was passed over.
    pub notice: Option<String>,
}

/// Why nothing was reloaded. What was loaded before stays in force.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// The manifest cannot be read.
    #[error(transparent)]
    Project(#[from] DaemonError),
    /// The session does not take it.
    #[error("the session cannot be reloaded")]
    Session(#[from] PromptError),
}

impl LocalSession {
    /// Reads the project, opens the session (a new one, or the one of `options.session`) and loads its tools.
    ///
    /// Findings in the project keep nothing from starting but a manifest that cannot be read at all, or an agent
    /// that is not there: see [`LocalSession::findings`].
    ///
    /// # Errors
    /// The project, its manifest, its agent, a folder or the transcript cannot be used.
    pub async fn start(options: LocalOptions) -> Result<Self, DaemonError> {
        let id = match &options.session {
            Some(id) if is_session_id(id) => id.clone(),
            Some(id) => return Err(DaemonError::SessionId(id.clone())),
            None => random_uuid()?,
        };
        let found = project::find_project(&options.project)?;
        let overrides = Overrides {
            agent: options.agent.clone(),
            model: options.model.clone(),
        };
        let reading = project::read(&found, &overrides)?;
        reading.agent()?;
        let web = Arc::new(WebAccess::new(options.web.clone()));
        let (place, router) = match &options.control_plane {
            Some(plane) => (WebPlace::ControlPlane(plane.clone()), None),
            None => {
                let router = RouterServer::serve(Arc::clone(&web)).await?;
                (WebPlace::Own(router.url().to_owned()), Some(router))
            }
        };
        // Whoever made the id can give it again.
        let hosting = Hosting::prepare(&options, &id, true, found, &reading, place, web).await?;
        let gateway = Gateway::new(options.gateway.clone());
        let (session, harness) = conversation::open(&options, &id, &hosting, &gateway, &reading)?;
        hosting.host.load(&reading.setup.tools).await;
        Ok(Self {
            session,
            harness,
            gateway,
            hosting,
            overrides,
            reading: Mutex::new(Arc::new(reading)),
            _router: router,
        })
    }

    /// The conversation: messages, events, permissions, questions. Prompt it with [`LocalSession::prompt`].
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Takes a prompt as [`Session::prompt`] does, without the secrets that may stand in it.
    ///
    /// # Errors
    /// See [`Session::prompt`].
    pub fn prompt(&self, text: &str, options: PromptOptions) -> Result<TurnHandle, PromptError> {
        self.session.prompt(&self.hosting.host.redact(text.to_owned()), options)
    }

    /// The Beeuni and project tools.
    #[must_use]
    pub fn host(&self) -> &ToolHost {
        &self.hosting.host
    }

    /// Access to models.
    #[must_use]
    pub fn gateway(&self) -> &Gateway {
        &self.gateway
    }

    /// The project's root folder, absolute.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.hosting.found.root
    }

    /// The agent of a prompt that names none.
    #[must_use]
    pub fn agent(&self) -> String {
        self.reading().setup.default_agent.clone().unwrap_or_default()
    }

    /// What is wrong in the project's files, as `beeuni validate` finds it, when they were last read.
    #[must_use]
    pub fn findings(&self) -> Vec<Issue> {
        self.reading().findings.clone()
    }

    /// Which tools loaded, and which did not and why.
    #[must_use]
    pub fn report(&self) -> Arc<LoadReport> {
        self.hosting.host.report()
    }

    /// The model that answers the next prompt to `agent` (`None`: the session's agent) that names none itself.
    /// May ask providers, for at most five seconds.
    pub async fn model(&self, agent: Option<&str>) -> ModelInUse {
        let reading = self.reading();
        ModelInUse::of(&self.gateway, &reading, agent).await
    }

    /// Replaces the secrets of all agents: calls that start from now on see them.
    ///
    /// # Errors
    /// There is no randomness for the token of a new agent.
    pub fn set_secrets(&self, secrets: AgentSecrets) -> Result<(), DaemonError> {
        self.hosting.set_secrets(secrets)
    }

    /// Reads the project again and exchanges agents, tools, skills and prompts between turns (C2).
    ///
    /// # Errors
    /// The manifest cannot be read, or the session is closed: everything stays as it was.
    pub async fn reload(&self) -> Result<Arc<LoadReport>, ReloadError> {
        let reading = project::read(&self.hosting.found, &self.overrides)?;
        self.hosting.set_agents(reading.agent_names())?;
        let report = self.session.reload(reading.setup.clone()).await?;
        *self.reading.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(reading);
        Ok(report)
    }

    /// Gives a running turn and running calls `grace`, then stops them, and ends every worker and command.
    pub async fn shutdown(&self, grace: Duration) {
        let begin = Instant::now();
        let _ = tokio::time::timeout(grace, self.session.idle()).await;
        self.session.close().await;
        self.harness.shutdown().await;
        self.hosting.host.shutdown(grace.saturating_sub(begin.elapsed())).await;
    }

    fn reading(&self) -> Arc<Reading> {
        Arc::clone(&self.reading.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ModelInUse {
    /// The model of `agent`, else of the session's agent.
    pub(crate) async fn of(gateway: &Gateway, reading: &Reading, agent: Option<&str>) -> Self {
        let setup = &reading.setup;
        let agent = agent
            .or(setup.default_agent.as_deref())
            .and_then(|name| setup.agent(name));
        let named = agent
            .and_then(|agent| agent.model.clone())
            .or_else(|| setup.model.clone());
        let (id, notice) = match named {
            Some(id) => (id, None),
            None => {
                let default = gateway.default_model().await;
                let notice = default.notice();
                (default.id, notice)
            }
        };
        Self {
            rehearsal: id == REHEARSAL,
            id,
            notice,
        }
    }
}

/// The id of the built-in stand-in.
pub(crate) const REHEARSAL: &str = "beeuni/rehearsal";
