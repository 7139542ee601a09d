//! The life of a daemon: bind, load the tools, take calls and prompts, drain.
use std::sync::Arc;
use std::time::{Duration, Instant};

use beeuni_gateway::Gateway;
use beeuni_protocol::Ready;
use beeuni_tools::{LogLine, LogStream};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use crate::access::Credentials;
use crate::bridge::{Bridge, BridgePort};
use crate::config::{DaemonConfig, HarnessChoice, Listen};
use crate::error::DaemonError;
use crate::harness::{self, HarnessError, HarnessPlace};
use crate::listen::Listener;
use crate::local::core::Core;
use crate::local::hosting::{Hosting, WebPlace};
use crate::local::{ControlPlane, LocalOptions, RouterServer};
use crate::reload::{self, Reloads, Requests};
use crate::server::Server;
use crate::session::Session;
use crate::signals::{Asked, Signals};
use crate::start::{Start, prepare};
use crate::state::State;
use crate::watch::Watch;
use crate::web::WebAccess;

/// How long running calls may go on once the daemon was told to stop.
const GRACE: Duration = Duration::from_secs(5);

/// Runs a session's daemon. `ready` is called once, when calls are taken; the future ends after SIGTERM or
/// SIGINT, when the running calls had 5 s and every worker is gone.
///
/// Needs a current-thread Tokio runtime with I/O and time (see [`ToolHost`](beeuni_tools::ToolHost)). Logs through `tracing`.
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
    let mut signals = Signals::listen()?;
    let state = State::open(&config.state)?;
    let listener = Listener::bind(&config.listen).await?;
    let url = listener.url().map_err(|source| DaemonError::Bind {
        listen: config.listen.to_string(),
        source,
    })?;
    let Assembled {
        session,
        requests,
        bridge,
        _router,
    } = assemble(&config, start, &state, &url).await?;
    let server = Server::start(listener, session.clone());
    let core = &session.core;
    // Only the standard harness has a folder of the project's own.
    let mut watch = Watch::new(core.hosting.found.clone(), bridge.is_some());
    let reading = core.reading();

    let starting = async {
        let content = watch.content(&reading).await;
        let loading = Box::pin(core.hosting.host.load(&reading.setup.tools));
        let report = core.harness.start(loading).await?;
        watch.loaded(content, &report);
        Ok::<_, HarnessError>(report)
    };
    let stopped_by = tokio::select! {
        started = starting => {
            let report = match started {
                Ok(report) => report,
                Err(error) => {
                    stop(&session, server, bridge, Duration::ZERO).await;
                    return Err(DaemonError::Harness(error));
                }
            };
            reload::log_failures(&report);
            reload::log_harness(&session);
            core.open();
            ready(&Ready { ready: true, url: url.clone(), session: core.id.clone() });
            tracing::info!(
                url,
                session = core.id,
                harness = core.harness.status().id,
                state = %config.state.display(),
                tools = report.tools.len(),
                "ready"
            );
            serve(&session, requests, watch, &mut signals).await
        }
        signal = signals.stop() => signal,
    };
    tracing::info!(
        "{stopped_by}: stopping, running calls and turns have {} s",
        GRACE.as_secs()
    );
    tokio::select! {
        biased;
        () = stop(&session, server, bridge, GRACE) => Ok(()),
        _ = signals.stop() => Err(DaemonError::Forced),
    }
}

/// Takes calls, prompts and reloads until a signal stops it; the signal's name.
async fn serve(session: &Arc<Session>, requests: Requests, watch: Watch, signals: &mut Signals) -> &'static str {
    // Some providers are slow to say which models they have: nothing waits for that.
    let learning = tokio::spawn({
        let session = Arc::clone(session);
        async move { reload::learn_model(&session).await }
    });
    let reloading = tokio::spawn(reload::run(Arc::clone(session), requests, watch));
    let stopped_by = loop {
        match signals.next().await {
            Asked::Stop(name) => break name,
            Asked::Reload => drop(session.reloads.ask("SIGHUP")),
        }
    };
    learning.abort();
    reloading.abort();
    stopped_by
}

/// What a daemon is put together from.
struct Assembled {
    session: Arc<Session>,
    requests: Requests,
    /// Where the standard harness finds tools and models.
    bridge: Option<Bridge>,
    /// The web router of a daemon whose own listener tools cannot reach.
    _router: Option<RouterServer>,
}

/// Builds the session with its tool host and harness, which start nothing yet.
async fn assemble(config: &DaemonConfig, start: Start, state: &State, url: &str) -> Result<Assembled, DaemonError> {
    let credentials = Credentials::new(config.token.clone(), state.key.clone());
    if !credentials.has_token() {
        tracing::warn!(
            "no session token (BEEUNI_TOKEN): only the bridge key is accepted, which can neither prompt nor push secrets"
        );
    }
    let options = LocalOptions {
        runtime_dir: Some(config.runtime_dir.clone()),
        limits: config.limits.clone(),
        pass_env: config.pass_env.clone(),
        harness: start.harness,
        managed: config.managed.clone(),
        gateway: config.gateway.clone(),
        log: Arc::new(log_tool_line),
        ..LocalOptions::new(&config.project, &config.state, &config.bun, &config.guard)
    };
    let access = Arc::new(WebAccess::new(options.web.clone()));
    let (place, router) = web_place(config, url, &access).await?;
    let web = matches!(place, WebPlace::Own(_)).then(|| Arc::clone(&access));
    let Start {
        session: id,
        comes_back,
        found,
        overrides,
        reading,
        harness,
        programs,
    } = start;
    let hosting = Arc::new(Hosting::prepare(&options, &id, comes_back, found, &reading, place, access).await?);
    let gateway = Gateway::new(config.gateway.clone());
    let port = match harness {
        HarnessChoice::Standard => Some(BridgePort::take(state.key.clone()).await?),
        HarnessChoice::Experimental | HarnessChoice::None => None,
    };
    let harness = harness::build(HarnessPlace {
        folder: options.state.join("opencode"),
        options: &options,
        id: &id,
        hosting: &hosting,
        gateway: &gateway,
        reading: &reading,
        programs,
        port: port.as_ref(),
    })?;
    let (reloads, requests) = Reloads::new();
    let core = Arc::new(Core::new(id, harness, hosting, gateway, overrides, reading));
    let bridge = port.map(|port| port.serve(Arc::clone(&core)));
    Ok(Assembled {
        session: Arc::new(Session::new(core, credentials, web, reloads)),
        requests,
        bridge,
        _router: router,
    })
}

/// Which web router the tools use: the control plane's, or our own, on our listener where tools can reach that.
async fn web_place(
    config: &DaemonConfig,
    url: &str,
    access: &Arc<WebAccess>,
) -> Result<(WebPlace, Option<RouterServer>), DaemonError> {
    if let Some(api_url) = &config.api_url {
        let plane = ControlPlane {
            url: api_url.clone(),
            token: config.token.clone(),
        };
        return Ok((WebPlace::ControlPlane(plane), None));
    }
    Ok(match &config.listen {
        Listen::Tcp(_) => (WebPlace::Own(url.to_owned()), None),
        Listen::Unix(_) => {
            let router = RouterServer::serve(Arc::clone(access)).await?;
            (WebPlace::Own(router.url().to_owned()), Some(router))
        }
    })
}

/// Refuses new calls and prompts, gives running ones `grace`, ends harness and workers, and writes the last answers.
async fn stop(session: &Session, server: Server, bridge: Option<Bridge>, grace: Duration) {
    let begin = Instant::now();
    let core = &session.core;
    core.close();
    server.stop();
    core.harness.close(grace).await;
    core.hosting.host.shutdown(grace.saturating_sub(begin.elapsed())).await;
    // Last: until its end the harness may still ask it for tools and models.
    if let Some(bridge) = bridge {
        bridge.end().await;
    }
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
