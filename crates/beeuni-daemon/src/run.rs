//! The life of a daemon: bind, load the tools, take calls, drain.
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use beeuni_protocol::Ready;
use beeuni_tools::{
    HostConfig, LoadReport, LogLine, LogStream, SecretValue, SelectedTool, ToolHost, ToolKind, sandbox_env,
};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use crate::access::Credentials;
use crate::config::DaemonConfig;
use crate::error::DaemonError;
use crate::listen::Listener;
use crate::outputs::Outputs;
use crate::server::Server;
use crate::session::{Agents, Project, Session};
use crate::signals::StopSignals;
use crate::start::{Start, prepare};
use crate::state::State;

/// How long running calls may go on once the daemon was told to stop.
const GRACE: Duration = Duration::from_secs(5);

/// Runs a session's daemon. `ready` is called once, when calls are taken; the future ends after SIGTERM or
/// SIGINT, when the running calls had 5 s and every worker is gone.
///
/// Needs a current-thread Tokio runtime with I/O and time (see [`ToolHost`]). Logs through `tracing`.
///
/// # Errors
///
/// Everything that keeps the daemon from starting, and [`DaemonError::Forced`] when a second signal cut
/// the drain short. [`DaemonError::exit_code`] is the process's exit code.
pub async fn run(config: DaemonConfig, ready: impl FnOnce(&Ready)) -> Result<(), DaemonError> {
    // Tools run as the same user: this keeps them from reading the secrets of other agents out of this
    // process's memory and its token out of /proc. Where the kernel refuses, everything else still holds.
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        tracing::debug!(%error, "this process's memory stays readable for its user");
    }
    let start = prepare(&config)?;
    let mut signals = StopSignals::listen()?;
    let state = State::open(&config.state)?;
    let outputs = Outputs::prepare(&start.session, start.comes_back)?;
    let listener = Listener::bind(&config.listen).await?;
    let url = listener.url().map_err(|source| DaemonError::Bind {
        listen: config.listen.to_string(),
        source,
    })?;
    let selection = start.manifest.selection();
    let session = Arc::new(session(&config, start, &state, &outputs).await?);
    let server = Server::start(listener, session.clone());

    let stopped_by = tokio::select! {
        report = session.host.load(&selection.tools) => {
            log_failures(&report);
            session.open(&report);
            ready(&Ready { ready: true, url: url.clone(), session: session.id.clone() });
            tracing::info!(url, session = session.id, state = %config.state.display(), tools = report.tools.len(), "ready");
            signals.next().await
        }
        signal = signals.next() => signal,
    };
    tracing::info!("{stopped_by}: stopping, running calls have {} s", GRACE.as_secs());
    tokio::select! {
        biased;
        () = drain(&session, server) => Ok(()),
        _ = signals.next() => Err(DaemonError::Forced),
    }
}

/// Builds the session with its tool host, which starts nothing yet.
async fn session(
    config: &DaemonConfig,
    start: Start,
    state: &State,
    outputs: &Outputs,
) -> Result<Session, DaemonError> {
    let credentials = Credentials::new(config.token.clone(), state.key.clone());
    if !credentials.has_token() {
        tracing::warn!(
            "no session token (BEEUNI_TOKEN): only the bridge key is accepted, and secrets cannot be pushed"
        );
    }
    let mut env = sandbox_env(&config.pass_env);
    // The token is of the session, never of a worker's own environment, whatever `pass_env` names.
    env.remove("BEEUNI_TOKEN");
    if let Some(api_url) = &config.api_url {
        env.insert("BEEUNI_API_URL".to_owned(), api_url.clone());
    }
    let token = config.token.as_ref().filter(|token| !token.expose().is_empty());
    let session_secrets: BTreeMap<String, SecretValue> = token
        .map(|token| ("BEEUNI_TOKEN".to_owned(), token.clone()))
        .into_iter()
        .collect();
    let project = Project::new(start.found.root);
    let host = ToolHost::new(HostConfig {
        bun: config.bun.clone(),
        runtime_dir: config.runtime_dir.clone(),
        project: project.root.clone(),
        output_dir: outputs.folder.clone(),
        session: start.session.clone(),
        env,
        session_secrets,
        limits: config.limits.clone(),
        guard: config.guard.clone(),
        log: Arc::new(log_tool_line),
    })
    .await?;
    let agents = Agents::new(&start.manifest.agents, start.agent);
    Ok(Session::new(
        start.session,
        config.harness,
        credentials,
        host,
        project,
        agents,
    ))
}

/// Refuses new calls, gives running ones their time, ends the workers, and writes the last answers.
async fn drain(session: &Session, server: Server) {
    session.close();
    server.stop();
    session.host.shutdown(GRACE).await;
    server.ended().await;
}

/// What a tool printed. At the default level a person sees it; it is never protocol.
fn log_tool_line(line: &LogLine) {
    let LogLine { tool, stream, text } = line;
    match stream {
        LogStream::Stdout => tracing::info!("[tool {tool}] {text}"),
        LogStream::Stderr | LogStream::Host => tracing::warn!("[tool {tool}] {text}"),
    }
}

/// M7: one line for each tool that was left out, with the reason.
fn log_failures(report: &LoadReport) {
    for failed in &report.failed {
        let SelectedTool { name, kind, .. } = &failed.tool;
        let kind = if *kind == ToolKind::Beeuni { "Beeuni" } else { "project" };
        let reason = failed.error.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        tracing::error!(
            "[tools] {kind} tools that did not load: {name} ({}): {reason}",
            failed.tool.source_text()
        );
    }
}
