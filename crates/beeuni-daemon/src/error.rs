//! Why a daemon did not start or did not end well.
use std::io;
use std::path::PathBuf;

use beeuni_manifest::{FindError, Issue, Severity};
use beeuni_tools::HostError;

use crate::config::ListenError;
use crate::harness::HarnessError;

/// Why a daemon did not start or did not end well.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The session id has characters that an id cannot have.
    #[error("{0:?} is no session id: use 1 to 128 of the characters A-Z a-z 0-9 . _ -")]
    SessionId(String),
    /// The listen address is reachable from elsewhere.
    #[error("cannot listen")]
    Listen(#[from] ListenError),
    /// The address or the socket could not be taken.
    #[error("cannot listen on {listen}")]
    Bind {
        /// Where.
        listen: String,
        /// Why.
        source: io::Error,
    },
    /// The socket's folder lets others in. No `chmod` is advised: the folder may be everybody's.
    #[error(
        "cannot listen on unix:{}: others can enter its folder; name a path in a folder that does not exist yet (it is made for this user alone) or that is closed to others (0700)",
        socket.display()
    )]
    SocketFolder {
        /// The socket.
        socket: PathBuf,
    },
    /// No manifest.
    #[error("cannot find the project")]
    Project(#[from] FindError),
    /// The manifest cannot be read at all.
    #[error("the manifest cannot be used:{}", list(issues))]
    Manifest {
        /// Every finding, the reason among them.
        issues: Vec<Issue>,
    },
    /// The session's agent is not declared, or is disabled.
    #[error("the session's agent {agent:?} {problem} (declared: {declared})")]
    Agent {
        /// The agent.
        agent: String,
        /// `is not declared` or `is disabled`.
        problem: &'static str,
        /// The names of the enabled agents.
        declared: String,
    },
    /// No agent was named and the manifest names none.
    #[error(
        "the project has several agents and no default_agent: add `default_agent: <name>` to {manifest} or pass --agent (declared: {declared})"
    )]
    NoAgent {
        /// The manifest's file name.
        manifest: String,
        /// The names of the enabled agents.
        declared: String,
    },
    /// The state folder or a file in it could not be made or read.
    #[error("cannot {action} {}", path.display())]
    State {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another daemon uses the state folder.
    #[error(
        "another daemon{} uses {}: stop it, or give this one a folder of its own with --state",
        pid.map(|pid| format!(" (process {pid})")).unwrap_or_default(), path.display()
    )]
    Locked {
        /// The state folder.
        path: PathBuf,
        /// Its process, when it could be read.
        pid: Option<u32>,
    },
    /// No randomness for the key or the session id.
    #[error("cannot get random bytes")]
    Random(#[source] getrandom::Error),
    /// The tool host could not start.
    #[error("cannot start the tool host")]
    Host(#[from] HostError),
    /// The folders of the harness tools could not be made.
    #[error("cannot start the harness tools")]
    HarnessTools(#[from] beeuni_agent::harness_tools::PrepareError),
    /// The session's transcript cannot be used.
    #[error("cannot open the session")]
    Open(#[from] beeuni_agent::OpenError),
    /// A program that the harness consists of is missing.
    #[error(transparent)]
    Program(beeuni_opencode::server::BinaryMissing),
    /// The harness does not start.
    #[error("cannot start the harness")]
    Harness(#[source] HarnessError),
    /// Signals cannot be received.
    #[error("cannot listen for signals")]
    Signals(#[source] io::Error),
    /// A second signal came while running calls were given time.
    #[error("stopped at once by a second signal: running calls were cut")]
    Forced,
}

impl DaemonError {
    /// The exit code of `beeuni daemon`: 2 for wrong usage or nothing to work on, else 1.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::SessionId(_) | Self::Listen(_) | Self::Project(_) => 2,
            _ => 1,
        }
    }
}

/// The findings, one a line, as `file:line:column: message`.
fn list(issues: &[Issue]) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    for issue in issues.iter().filter(|issue| issue.severity == Severity::Error) {
        let place = &issue.place;
        let _ = write!(
            text,
            "\n  {}:{}:{}: {}",
            place.file, place.line, place.column, issue.message
        );
    }
    text
}
