//! `beeuni daemon`: one session's daemon, from its arguments to its exit code.
use std::env;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use beeuni_daemon::{DaemonConfig, DaemonError, HarnessChoice, Listen};
use beeuni_gateway::GatewayConfig;
use beeuni_tools::{Limits, SecretValue};
use tracing_subscriber::EnvFilter;

use super::Context;
use super::tools::call_input;
use crate::bun;
use crate::dirs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::runtime::block_on;

/// Host the tools of one session and run its harness
///
/// Prints one line of JSON when it is ready: { "ready": true, "url": "…", "session": "…" }. Logs go to
/// stderr. SIGTERM gives running calls and turns 5 seconds and exits 0, SIGHUP reads the project again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Environment:
  BEEUNI_TOKEN     the session token that requests must present
  BEEUNI_API_URL   the control plane's address, for the tools
  BEEUNI_LOG       what is logged: error, warn, info (default), debug, trace, or a filter such as
                   `warn,beeuni_tools=debug`
  BEEUNI_BUN       the Bun executable
  BEEUNI_OPENCODE  the OpenCode executable, for the standard harness (BEEUNI_RIPGREP: its ripgrep)

Examples:
  BEEUNI_TOKEN=$(openssl rand -hex 32) beeuni daemon --project . --harness none
  beeuni daemon --project /workspace --listen unix:/run/beeuni/daemon.sock --state /var/lib/beeuni")]
pub(crate) struct Args {
    /// 127.0.0.1:PORT, [::1]:PORT (port 0 takes a free one) or unix:/path/to/socket
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: Listen,
    /// The daemon's own folder: the bridge key and the workers' code [default: a new temporary folder]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// The session's id [default: a new UUID]
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// The agent of calls that name none [default: the project's default agent]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The model of agents that name none, as provider/model [default: the first provider that is set up]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// What runs the session's turns [default: the project's `harness`]
    #[arg(long, value_enum)]
    harness: Option<Harness>,
    /// A variable of this process that tools may see; may be repeated
    #[arg(long = "pass-env", value_name = "NAME")]
    pass_env: Vec<String>,
    /// The longest time of one call [default: 600]
    #[arg(long, value_name = "SECONDS", value_parser = call_input::seconds)]
    call_timeout: Option<Duration>,
    /// The longest time of loading one module [default: 10]
    #[arg(long, value_name = "SECONDS", value_parser = call_input::seconds)]
    load_timeout: Option<Duration>,
    /// How long an unused worker lives [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = call_input::seconds)]
    idle_timeout: Option<Duration>,
    /// Memory of one worker, in MiB [default: 1024]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(64..=1_048_576))]
    memory: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Harness {
    /// Nothing: only the tools are hosted
    None,
    /// OpenCode
    Standard,
    /// The agent loop inside the daemon
    Experimental,
}

pub(crate) fn run(context: &mut Context, args: Args) -> Result<Exit, Failure> {
    start_log(context.output.err.colored())?;
    let guard = env::current_exe()
        .map_err(|error| Failure::internal("cannot find this program's own file").caused_by(&error))?;
    // A folder that was not asked for goes with the daemon.
    let (state, temporary) = match args.state {
        Some(state) => (state, None),
        None => {
            let folder = tempfile::Builder::new()
                .prefix("beeuni-daemon-")
                .permissions(std::fs::Permissions::from_mode(0o700))
                .tempdir()
                .map_err(|error| {
                    Failure::user("cannot make a state folder")
                        .caused_by(&error)
                        .hint("name one with --state")
                })?;
            (folder.path().to_owned(), Some(folder))
        }
    };
    let config = DaemonConfig {
        project: context.start.clone().unwrap_or_else(|| PathBuf::from(".")),
        listen: args.listen,
        runtime_dir: state.join("runtime"),
        state,
        session: args.session,
        agent: args.agent,
        harness: args.harness.map(|harness| match harness {
            Harness::None => HarnessChoice::None,
            Harness::Standard => HarnessChoice::Standard,
            Harness::Experimental => HarnessChoice::Experimental,
        }),
        model: args.model,
        gateway: GatewayConfig::from_env(),
        token: variable("BEEUNI_TOKEN")?.map(SecretValue::new),
        api_url: variable("BEEUNI_API_URL")?,
        bun: bun::required()?,
        guard,
        managed: dirs::managed(),
        limits: limits(
            &Limits::default(),
            args.call_timeout,
            args.load_timeout,
            args.idle_timeout,
            args.memory,
        ),
        pass_env: args.pass_env,
    };
    let output = &mut context.output;
    let outcome = block_on(async {
        let ready = |ready: &beeuni_daemon::Ready| {
            if let Ok(line) = serde_json::to_string(ready) {
                output.println(&line);
            }
            // Who started the daemon waits for this line; a failure shows at the end.
            output.flush();
        };
        beeuni_daemon::run(config, ready).await.map_err(|error| failure(&error))
    });
    drop(temporary);
    outcome.map(|()| Exit::DONE)
}

fn limits(
    default: &Limits,
    call: Option<Duration>,
    load: Option<Duration>,
    idle: Option<Duration>,
    memory: Option<u64>,
) -> Limits {
    Limits {
        call: call.unwrap_or(default.call),
        load: load.unwrap_or(default.load),
        idle: idle.unwrap_or(default.idle),
        memory_mib: memory.unwrap_or(default.memory_mib),
        ..default.clone()
    }
}

/// A variable's value. One that is not UTF-8 is never repeated: it may be a secret.
fn variable(name: &str) -> Result<Option<String>, Failure> {
    match env::var(name) {
        Ok(value) => Ok(Some(value).filter(|value| !value.is_empty())),
        Err(env::VarError::NotPresent) => Ok(None),
        Err(env::VarError::NotUnicode(_)) => Err(Failure::usage(format!("{name} is not UTF-8"))),
    }
}

pub(crate) fn start_log(color: bool) -> Result<(), Failure> {
    let filter = variable("BEEUNI_LOG")?.unwrap_or_else(|| "info".to_owned());
    let filter = EnvFilter::try_new(&filter).map_err(|error| {
        Failure::usage("BEEUNI_LOG is no log filter")
            .caused_by(&error)
            .hint("e.g. BEEUNI_LOG=debug")
    })?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(color)
        .with_writer(std::io::stderr)
        .init();
    Ok(())
}

pub(crate) fn failure(error: &DaemonError) -> Failure {
    let message = error.to_string();
    let failure = match error {
        DaemonError::Program(_) => Failure::user(message).hint("`beeuni doctor` shows what else is missing"),
        DaemonError::Manifest { .. } | DaemonError::Agent { .. } | DaemonError::NoAgent { .. } => {
            Failure::manifest(message)
        }
        _ => Failure::server(message),
    };
    failure.with_exit(Exit::code(error.exit_code())).with_causes_of(error)
}
