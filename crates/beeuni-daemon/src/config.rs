//! What a daemon is told at its start, and the listen address as text.
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use beeuni_gateway::GatewayConfig;
use beeuni_manifest::HarnessKind;
use beeuni_tools::{Limits, SecretValue};

/// What `beeuni daemon` is told at its start.
#[derive(Debug, Clone)]
pub struct DaemonConfig {
    /// The checkout. The manifest is looked for here and in the folders above, as every command does;
    /// the folder that has it is `context.directory`.
    pub project: PathBuf,
    /// Where to listen: loopback or a Unix socket only.
    pub listen: Listen,
    /// The daemon's own folder (0700, made when it is missing): the bridge key and a lock.
    pub state: PathBuf,
    /// The session's id, 1 to 128 of `A-Z a-z 0-9 . _ -`; a fresh UUID when absent.
    pub session: Option<String>,
    /// The agent of calls that name none; the manifest's `default_agent` when absent.
    pub agent: Option<String>,
    /// What runs the session's turns; the manifest's `harness` when absent.
    pub harness: Option<HarnessChoice>,
    /// The model of agents that name none, as `provider/model`; the gateway's default when absent.
    pub model: Option<String>,
    /// Providers of models: see [`GatewayConfig::from_env`].
    pub gateway: GatewayConfig,
    /// The accepted session token (`BEEUNI_TOKEN`). Without one only the bridge key is accepted, and
    /// `POST /beeuni/env` by nobody. An empty value counts as absent.
    pub token: Option<SecretValue>,
    /// The control plane's address for the tools (`BEEUNI_API_URL`), which then also get the session token. Without
    /// one the daemon has a web router of its own, and they get a token for that alone.
    pub api_url: Option<String>,
    /// The Bun executable: see [`beeuni_tools::find_bun`].
    pub bun: PathBuf,
    /// The folder that `beeuni setup` fills, where the standard harness finds its programs; `None`: only `PATH` and the
    /// settings `BEEUNI_OPENCODE` and `BEEUNI_RIPGREP` count.
    pub managed: Option<PathBuf>,
    /// Folder for the worker's code: see [`beeuni_tools::HostConfig::runtime_dir`].
    pub runtime_dir: PathBuf,
    /// The program that starts workers: this binary.
    pub guard: PathBuf,
    /// Time and size limits of the tools.
    pub limits: Limits,
    /// Names of further variables of this process that tools may see: see [`beeuni_tools::sandbox_env`].
    pub pass_env: Vec<String>,
}

/// What runs the session's turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HarnessChoice {
    /// Nothing: the daemon only hosts tools.
    None,
    /// OpenCode.
    Standard,
    /// The agent loop inside the daemon.
    Experimental,
}

impl From<HarnessKind> for HarnessChoice {
    fn from(kind: HarnessKind) -> Self {
        match kind {
            HarnessKind::Standard => Self::Standard,
            HarnessKind::Experimental => Self::Experimental,
        }
    }
}

impl HarnessChoice {
    /// The name that `--harness` takes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Standard => "standard",
            Self::Experimental => "experimental",
        }
    }
}

/// Where the daemon listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// A loopback address; port 0 takes a free one.
    Tcp(SocketAddr),
    /// A Unix socket (0600) in a folder of the user's own (0700).
    Unix(PathBuf),
}

/// A listen address that is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListenError {
    /// Neither an address nor a socket path.
    #[error(
        "{0:?} is no listen address: use 127.0.0.1:PORT, [::1]:PORT (port 0 takes a free one) or unix:/path/to/socket"
    )]
    Malformed(String),
    /// Reachable from elsewhere.
    #[error(
        "{0} is not a loopback address: the daemon holds the session's secrets and listens on 127.0.0.1, [::1] or a Unix socket only"
    )]
    NotLoopback(SocketAddr),
}

impl FromStr for Listen {
    type Err = ListenError;

    /// Reads `127.0.0.1:0`, `[::1]:0`, `localhost:0` or `unix:/path`.
    fn from_str(text: &str) -> Result<Self, ListenError> {
        let malformed = || ListenError::Malformed(text.to_owned());
        if let Some(path) = text.strip_prefix("unix:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return if path.is_empty() {
                Err(malformed())
            } else {
                Ok(Self::Unix(path.into()))
            };
        }
        let address = match text.strip_prefix("localhost:") {
            Some(port) => format!("127.0.0.1:{port}"),
            None => text.to_owned(),
        };
        let listen = Self::Tcp(address.parse().map_err(|_| malformed())?);
        listen.check()?;
        Ok(listen)
    }
}

impl Listen {
    /// Refuses an address that other machines could reach.
    pub(crate) fn check(&self) -> Result<(), ListenError> {
        match self {
            Self::Tcp(address) if !address.ip().is_loopback() => Err(ListenError::NotLoopback(*address)),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}
