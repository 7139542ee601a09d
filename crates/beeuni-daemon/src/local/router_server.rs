//! The web router on a loopback port of its own: for programs that run tools without a daemon, and for a daemon
//! that listens on a Unix socket.
use std::path::PathBuf;
use std::sync::Arc;

use beeuni_gateway::web::{ReaderProgram, WebConfig};
use beeuni_tools::{AgentSecrets, SecretValue};
use hyper::body::Incoming;
use hyper::{Request, StatusCode};

use super::ControlPlane;
use crate::access::{names_this_machine, presented};
use crate::answer::{self, Answer};
use crate::body;
use crate::config::Listen;
use crate::error::DaemonError;
use crate::listen::Listener;
use crate::routes::{self, Endpoint, Found};
use crate::server::{Serve, Server};
use crate::web::{WebAccess, route_to};

/// The web router on a loopback port of its own, for as long as the value lives.
pub struct RouterServer {
    url: String,
    access: Arc<WebAccess>,
    _server: Server,
}

impl RouterServer {
    /// Takes a free port of 127.0.0.1, with the providers that this process's environment sets up. Needs a Tokio
    /// runtime with I/O and time. Pages are turned into text by this process's own program, called as
    /// `beeuni page-reader`.
    ///
    /// # Errors
    /// There is no port.
    pub async fn start() -> Result<Self, DaemonError> {
        let guard = std::env::current_exe().map_err(|source| DaemonError::State {
            action: "find this program's own file",
            path: "/proc/self/exe".into(),
            source,
        })?;
        Self::start_with(web_config(guard)).await
    }

    /// The same with these providers.
    ///
    /// # Errors
    /// There is no port.
    pub async fn start_with(config: WebConfig) -> Result<Self, DaemonError> {
        Self::serve(Arc::new(WebAccess::new(config))).await
    }

    /// The same for these callers.
    pub(crate) async fn serve(access: Arc<WebAccess>) -> Result<Self, DaemonError> {
        let listen = Listen::Tcp(([127, 0, 0, 1], 0).into());
        let listener = Listener::bind(&listen).await?;
        let url = listener.url().map_err(|source| DaemonError::Bind {
            listen: listen.to_string(),
            source,
        })?;
        let server = Server::start(listener, Arc::new(Routes(Arc::clone(&access))));
        Ok(Self {
            url,
            access,
            _server: server,
        })
    }

    /// Its address: `BEEUNI_API_URL` of the tools.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Admits one agent with its secrets, and nobody else. What comes back goes to the tool host: the address for
    /// its environment, and the token for the secrets of its session. The agent's own provider keys are used where
    /// there are any.
    ///
    /// # Errors
    /// There is no randomness for the token.
    pub fn admit(&self, agent: &str, secrets: &AgentSecrets) -> Result<ControlPlane, DaemonError> {
        let own = secrets.get(agent).cloned().unwrap_or_default();
        let admitted = self.access.admit(&[], [(agent.to_owned(), own)].into())?;
        let token = admitted.get(agent).and_then(|set| set.get("BEEUNI_TOKEN"));
        Ok(ControlPlane {
            url: self.url.clone(),
            token: token.map(|token| SecretValue::new(token.expose())),
        })
    }
}

/// The providers that this process's environment sets up, with a page reader in a process of its own. `program` is
/// this binary.
pub(crate) fn web_config(program: PathBuf) -> WebConfig {
    WebConfig {
        reader: Some(ReaderProgram {
            program,
            args: vec!["page-reader".to_owned()],
        }),
        ..WebConfig::from_env()
    }
}

/// The router's routes, and nothing else.
struct Routes(Arc<WebAccess>);

impl Serve for Routes {
    async fn serve(&self, _over_network: bool, request: Request<Incoming>) -> Answer {
        let (parts, body) = request.into_parts();
        let refuse = async |body, answer| body::refuse(&parts.headers, body, answer).await;
        if !names_this_machine(&parts) {
            let text = "the Host header must name 127.0.0.1, localhost or [::1]";
            return refuse(body, answer::error(StatusCode::FORBIDDEN, text)).await;
        }
        let route = match routes::find(&parts.method, parts.uri.path()) {
            Found::Route(route, _) => match route.endpoint {
                Endpoint::Web(route) => route,
                _ => return refuse(body, answer::error(StatusCode::NOT_FOUND, "there is no such route")).await,
            },
            Found::WrongMethod(_) | Found::Unknown => {
                return refuse(body, answer::error(StatusCode::NOT_FOUND, "there is no such route")).await;
            }
        };
        let Some(router) = presented(&parts.headers).and_then(|token| self.0.identify(token)) else {
            return refuse(body, answer::unauthorized()).await;
        };
        route_to(&router, route, &parts.headers, body).await
    }
}
