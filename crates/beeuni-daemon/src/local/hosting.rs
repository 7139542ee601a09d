//! The tools of a session: their host, what they see of the environment, and the secrets in force.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use beeuni_manifest::Found;
use beeuni_tools::{AgentSecrets, HostConfig, SecretValue, ToolHost, sandbox_env};

use super::LocalOptions;
use super::options::ControlPlane;
use super::project::Reading;
use crate::bridge_arguments::BridgeArguments;
use crate::error::DaemonError;
use crate::outputs::Outputs;
use crate::web::WebAccess;

/// The tools of a session.
pub(crate) struct Hosting {
    /// Where the project is.
    pub(crate) found: Found,
    /// The tool host.
    pub(crate) host: ToolHost,
    /// Folder for outputs over the bound.
    pub(crate) output_dir: PathBuf,
    /// What commands see of the environment.
    pub(crate) command_env: BTreeMap<String, String>,
    /// What models wrote as the arguments of calls that come over the bridge.
    pub(crate) arguments: Arc<BridgeArguments>,
    /// Goes with the session.
    _outputs: Option<Outputs>,
    /// This process's web router.
    pub(crate) web: Arc<WebAccess>,
    /// Whether tools use it: with a control plane they use that one's.
    own_web: bool,
    granted: Mutex<Granted>,
}

/// Whom secrets are for.
struct Granted {
    agents: Vec<String>,
    secrets: AgentSecrets,
}

/// The web router that tools are pointed at.
pub(crate) enum WebPlace {
    /// A control plane's.
    ControlPlane(ControlPlane),
    /// This process's own, at this address.
    Own(String),
}

impl Hosting {
    /// Prepares the host; it starts nothing yet. `comes_back` says that the session may be started again.
    pub(crate) async fn prepare(
        options: &LocalOptions,
        session: &str,
        comes_back: bool,
        found: Found,
        reading: &Reading,
        place: WebPlace,
        web: Arc<WebAccess>,
    ) -> Result<Self, DaemonError> {
        let (outputs, output_dir) = match &options.output_dir {
            Some(folder) => (None, from_here(folder)?),
            None => {
                let outputs = Outputs::prepare(session, comes_back)?;
                let folder = outputs.folder.clone();
                (Some(outputs), folder)
            }
        };
        let mut env = sandbox_env(&options.pass_env);
        // A token is never in a worker's own environment, whatever `pass_env` names.
        env.remove("BEEUNI_TOKEN");
        env.remove("BEEUNI_API_URL");
        let mut command_env = env.clone();
        let mut session_secrets = BTreeMap::new();
        let own_web = match place {
            WebPlace::ControlPlane(ControlPlane { url, token }) => {
                // Commands may use it too; this process's own router is for the web tools alone.
                command_env.insert("BEEUNI_API_URL".to_owned(), url.clone());
                env.insert("BEEUNI_API_URL".to_owned(), url);
                let token: Option<SecretValue> = token.filter(|token| !token.expose().is_empty());
                session_secrets.extend(token.map(|token| ("BEEUNI_TOKEN".to_owned(), token)));
                false
            }
            WebPlace::Own(url) => {
                env.insert("BEEUNI_API_URL".to_owned(), url);
                true
            }
        };
        let runtime_dir = options.runtime_dir.clone();
        let runtime_dir = runtime_dir.unwrap_or_else(|| options.state.join("runtime"));
        let host = ToolHost::new(HostConfig {
            bun: from_here(&options.bun)?,
            runtime_dir: from_here(&runtime_dir)?,
            project: found.root.clone(),
            output_dir: output_dir.clone(),
            session: session.to_owned(),
            env,
            session_secrets,
            limits: options.limits.clone(),
            guard: options.guard.clone(),
            log: Arc::clone(&options.log),
        })
        .await?;
        let hosting = Self {
            found,
            host,
            output_dir,
            command_env,
            arguments: Arc::default(),
            _outputs: outputs,
            web,
            own_web,
            granted: Mutex::new(Granted {
                agents: reading.agent_names(),
                secrets: options.secrets.clone(),
            }),
        };
        hosting.apply(&hosting.granted())?;
        Ok(hosting)
    }

    /// Replaces the secrets of all agents.
    pub(crate) fn set_secrets(&self, secrets: AgentSecrets) -> Result<(), DaemonError> {
        let mut granted = self.granted();
        granted.secrets = secrets;
        self.apply(&granted)
    }

    /// Says which agents there are now.
    pub(crate) fn set_agents(&self, agents: Vec<String>) -> Result<(), DaemonError> {
        let mut granted = self.granted();
        granted.agents = agents;
        self.apply(&granted)
    }

    fn apply(&self, granted: &Granted) -> Result<(), DaemonError> {
        let secrets = granted.secrets.clone();
        self.host.set_secrets(if self.own_web {
            self.web.admit(&granted.agents, secrets)?
        } else {
            secrets
        });
        Ok(())
    }

    fn granted(&self) -> MutexGuard<'_, Granted> {
        self.granted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A path as a worker finds it, whose working folder is the project.
fn from_here(path: &Path) -> Result<PathBuf, DaemonError> {
    std::path::absolute(path).map_err(|source| DaemonError::State {
        action: "find",
        path: path.to_owned(),
        source,
    })
}
