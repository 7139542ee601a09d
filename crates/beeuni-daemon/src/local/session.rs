//! A running session of this machine: its project, tools, models and conversation.
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use beeuni_gateway::Gateway;
use beeuni_manifest::Issue;
use beeuni_protocol::session::{
    MessageList, PermissionAnswer, PermissionRequest, PromptAnswer, PromptRequest, QuestionAnswer, QuestionRequest,
    SessionState,
};
use beeuni_tools::{AgentSecrets, LoadReport, SecretValue, ToolHost};

use super::core::Core;
use super::hosting::{Hosting, WebPlace};
use super::project::{self, Overrides, Reading};
use super::{LocalOptions, RouterServer};
use crate::bridge::{Bridge, BridgePort};
use crate::config::HarnessChoice;
use crate::error::DaemonError;
use crate::harness::{self, EventSource, HarnessError, HarnessPlace};
use crate::identifier::{is_session_id, random_key, random_uuid};
use crate::web::WebAccess;

/// A running session of this machine. Needs a current-thread Tokio runtime (see [`ToolHost`]).
pub struct LocalSession {
    core: Arc<Core>,
    /// Serves a harness that is a process of its own.
    bridge: Mutex<Option<Bridge>>,
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
    /// The harness does not take it.
    #[error("the session cannot be reloaded")]
    Harness(#[from] HarnessError),
}

impl LocalSession {
    /// Reads the project, opens the session (a new one, or the one of `options.session`), loads its tools and starts
    /// its harness.
    ///
    /// Findings in the project keep nothing from starting but a manifest that cannot be read at all, or an agent
    /// that is not there: see [`LocalSession::findings`].
    ///
    /// # Errors
    /// The project, its manifest, its agent, a folder or the transcript cannot be used, or the harness does not start.
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
            steps: options.steps,
        };
        let reading = Arc::new(project::read(&found, &overrides)?);
        reading.agent()?;
        let programs = harness::programs(options.harness, options.managed.as_deref())?;
        let web = Arc::new(WebAccess::new(options.web.clone()));
        let (place, router) = match &options.control_plane {
            Some(plane) => (WebPlace::ControlPlane(plane.clone()), None),
            None => {
                let router = RouterServer::serve(Arc::clone(&web)).await?;
                (WebPlace::Own(router.url().to_owned()), Some(router))
            }
        };
        // Whoever made the id can give it again.
        let hosting = Arc::new(Hosting::prepare(&options, &id, true, found, &reading, place, web).await?);
        let gateway = Gateway::new(options.gateway.clone());
        let port = match options.harness {
            HarnessChoice::Standard => Some(BridgePort::take(SecretValue::new(random_key()?)).await?),
            HarnessChoice::Experimental | HarnessChoice::None => None,
        };
        let harness = harness::build(HarnessPlace {
            // Sessions of one checkout may run at the same time.
            folder: options.state.join("opencode").join(&id),
            options: &options,
            id: &id,
            hosting: &hosting,
            gateway: &gateway,
            reading: &reading,
            programs,
            port: port.as_ref(),
        })?;
        let core = Arc::new(Core::new(
            id,
            harness,
            hosting,
            gateway,
            overrides,
            Arc::clone(&reading),
        ));
        let bridge = port.map(|port| port.serve(Arc::clone(&core)));
        let local = Self {
            core,
            bridge: Mutex::new(bridge),
            _router: router,
        };
        let loading = Box::pin(local.core.hosting.host.load(&reading.setup.tools));
        match local.core.harness.start(loading).await {
            Ok(_) => {
                local.core.open();
                Ok(local)
            }
            Err(error) => {
                local.shutdown(Duration::ZERO).await;
                Err(DaemonError::Harness(error))
            }
        }
    }

    /// The session's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.core.id
    }

    /// Takes a prompt, without the secrets that may stand in it: it starts a turn, or the turn that runs reads it at
    /// its next step. It is stored when this returns.
    ///
    /// # Errors
    /// It is empty, the agent cannot take it, or another agent's turn runs.
    pub async fn prompt(&self, prompt: PromptRequest) -> Result<PromptAnswer, HarnessError> {
        self.core.harness.prompt(&self.core.id, prompt).await
    }

    /// Stops the turn that runs: the model's stream ends at once, running calls within a second. Says whether one ran.
    ///
    /// # Errors
    /// The harness fails.
    pub async fn abort(&self) -> Result<bool, HarnessError> {
        self.core.harness.abort(&self.core.id).await
    }

    /// The events after number `after`, with those of subagents; with `None` those from now on.
    ///
    /// # Errors
    /// There is no harness.
    pub async fn events(&self, after: Option<u64>) -> Result<Box<dyn EventSource>, HarnessError> {
        self.core.harness.events(after).await
    }

    /// At most `limit` messages after the message `after`, oldest first.
    ///
    /// # Errors
    /// There is no such message, or the transcript cannot be read.
    pub async fn messages(&self, after: Option<&str>, limit: usize) -> Result<MessageList, HarnessError> {
        self.core.harness.messages(&self.core.id, after, limit).await
    }

    /// How the conversation stands.
    ///
    /// # Errors
    /// The harness fails.
    pub async fn state(&self) -> Result<SessionState, HarnessError> {
        self.core.harness.state(&self.core.id).await
    }

    /// The permission requests that wait in the session and its subagents, oldest first.
    ///
    /// # Errors
    /// The harness fails.
    pub async fn permissions(&self) -> Result<Vec<PermissionRequest>, HarnessError> {
        self.core.harness.permissions(&self.core.id).await
    }

    /// Answers a permission request.
    ///
    /// # Errors
    /// It does not wait any more.
    pub async fn reply(&self, request: &str, answer: PermissionAnswer) -> Result<(), HarnessError> {
        self.core.harness.reply(&self.core.id, request, answer).await
    }

    /// The questions that wait, oldest first.
    ///
    /// # Errors
    /// The harness fails.
    pub async fn questions(&self) -> Result<Vec<QuestionRequest>, HarnessError> {
        self.core.harness.questions(&self.core.id).await
    }

    /// Answers questions; with `None` they are dismissed, and the turn stops.
    ///
    /// # Errors
    /// They do not wait any more, or the number of answers is wrong.
    pub async fn answer(&self, request: &str, answer: Option<QuestionAnswer>) -> Result<(), HarnessError> {
        self.core.harness.answer(&self.core.id, request, answer).await
    }

    /// Waits until no turn runs.
    pub async fn idle(&self) {
        self.core.harness.idle().await;
    }

    /// The Beeuni and project tools.
    #[must_use]
    pub fn host(&self) -> &ToolHost {
        &self.core.hosting.host
    }

    /// Access to models.
    #[must_use]
    pub fn gateway(&self) -> &Gateway {
        &self.core.gateway
    }

    /// The project's root folder, absolute.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.core.hosting.found.root
    }

    /// The agent of a prompt that names none.
    #[must_use]
    pub fn agent(&self) -> String {
        self.core.reading().setup.default_agent.clone().unwrap_or_default()
    }

    /// What is wrong in the project's files, as `beeuni validate` finds it, when they were last read.
    #[must_use]
    pub fn findings(&self) -> Vec<Issue> {
        self.core.reading().findings.clone()
    }

    /// Which tools loaded, and which did not and why.
    #[must_use]
    pub fn report(&self) -> Arc<LoadReport> {
        self.core.hosting.host.report()
    }

    /// What a person should know about the harness, one line each: which hosted tools the project replaces (O1), which
    /// files of its folder were left out and why.
    #[must_use]
    pub fn notices(&self) -> Vec<String> {
        self.core.harness.notices()
    }

    /// The model that answers the next prompt to `agent` (`None`: the session's agent) that names none itself.
    /// May ask providers, for at most five seconds.
    pub async fn model(&self, agent: Option<&str>) -> ModelInUse {
        ModelInUse::of(&self.core.gateway, &self.core.reading(), agent).await
    }

    /// Replaces the secrets of all agents: calls that start from now on see them.
    ///
    /// # Errors
    /// There is no randomness for the token of a new agent.
    pub fn set_secrets(&self, secrets: AgentSecrets) -> Result<(), DaemonError> {
        self.core.hosting.set_secrets(secrets)
    }

    /// Reads the project again and exchanges agents, tools, skills and prompts between turns (C2).
    ///
    /// # Errors
    /// The manifest cannot be read, or the session is closed: everything stays as it was.
    pub async fn reload(&self) -> Result<Arc<LoadReport>, ReloadError> {
        let core = &self.core;
        let reading = Arc::new(project::read(&core.hosting.found, &core.overrides)?);
        core.hosting.set_agents(reading.agent_names())?;
        let report = core.harness.reload(Arc::clone(&reading)).await?;
        core.set_reading(reading);
        Ok(report)
    }

    /// Gives a running turn and running calls `grace`, then stops them, and ends every worker and command.
    pub async fn shutdown(&self, grace: Duration) {
        let begin = Instant::now();
        self.core.close();
        self.core.harness.close(grace).await;
        let left = grace.saturating_sub(begin.elapsed());
        self.core.hosting.host.shutdown(left).await;
        let bridge = self.bridge.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(bridge) = bridge {
            bridge.end().await;
        }
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
