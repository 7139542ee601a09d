//! `beeuni tools call`: runs a tool here and now as a session would.
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use beeuni_daemon::DaemonError;
use beeuni_daemon::local::{ControlPlane, RouterServer};
use beeuni_manifest::{Manifest, SelectedTool};
use beeuni_tools::{AgentSecrets, Call, CallError, Limits, LogLine, LogStream, ToolHost};
use serde::Serialize;

use super::call_input::{self, Secrets};
use super::{Context, access, host, no_such_tool};
use crate::commands::daemon;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{DIM, Look, Output, duration, visible};
use crate::project::Project;
use crate::runtime::{Interrupts, block_on};

/// Run a tool here and now as a session would: same host, same worker, no server, no model
///
/// The output goes to stdout. What the tool prints, and how long it took, goes to stderr. Exit code 1
/// with the tool's error, 2 when there is no such tool, 124 when it ran out of time.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A secret's value on the command line can be seen by every user of the machine while the tool runs:
`--env NAME` takes it from your environment instead.

The web tools ask the control plane that BEEUNI_API_URL and BEEUNI_TOKEN name. Without one this process
asks for them: with the agent's provider keys, else with those in your environment, else, to read pages,
with none.

Examples:
  beeuni tools call lookup_order --args '{\"text\":\"one two\"}'
  beeuni tools call web_search --args '{\"query\":\"bees\"}' --env TAVILY_API_KEY
  beeuni tools call scrape_webpage --args '{\"urls\":\"https://example.com\"}'
  beeuni tools call show --args @show.json
  jq -n '{query: \"bees\"}' | beeuni tools call web_search --args -")]
pub(crate) struct Args {
    /// The tool's name
    name: String,
    /// The arguments: a JSON object, @FILE, or - for standard input
    #[arg(long, value_name = "JSON", default_value = "{}", allow_hyphen_values = true)]
    args: String,
    /// The calling agent: whether it may use the tool is checked [default: the default agent]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// A secret of the agent: NAME takes its value from your environment
    #[arg(long = "env", value_name = "NAME[=VALUE]")]
    secrets: Vec<String>,
    /// The longest time that the call may take
    #[arg(long, value_name = "SECONDS", value_parser = call_input::seconds)]
    timeout: Option<Duration>,
    /// Print JSON: { tool, agent, ok, output or error, duration_ms, logs }
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    tool: &'a str,
    agent: &'a str,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    duration_ms: u128,
    logs: Vec<Logged>,
}

#[derive(Serialize)]
struct Logged {
    stream: &'static str,
    text: String,
}

/// A call that can be made.
struct Plan<'a> {
    tool: &'a SelectedTool,
    agent: &'a str,
    args: &'a str,
    secrets: Secrets,
    limits: Limits,
}

/// How a call ended.
enum Ended {
    Outcome {
        outcome: Result<String, CallError>,
        took: Duration,
    },
    Interrupted(Exit),
}

pub(crate) fn run(context: &mut Context, args: &Args) -> Result<Exit, Failure> {
    let input = call_input::arguments(&args.args)?;
    let secrets = Secrets::read(&args.secrets)?;
    let project = context.project()?;
    let (manifest, issues) = project.usable(&context.output)?;
    let selection = manifest.selection();
    let Some(tool) = selection.tools.iter().find(|tool| tool.name == args.name) else {
        return Err(
            match issues.iter().find(|issue| super::declare::concerns(issue, &args.name)) {
                Some(issue) => {
                    Failure::manifest(format!("{} cannot be loaded", args.name)).because(&project.finding(issue))
                }
                None => no_such_tool(&args.name, &selection),
            },
        );
    };
    let agent = access::agent(&manifest, args.agent.as_deref())?;
    access::check(agent, &tool.name)?;
    warn_of_missing_grants(&context.output, &manifest, &agent.name, &secrets);
    let mut limits = Limits::default();
    limits.call = args.timeout.unwrap_or(limits.call);
    let plan = Plan {
        tool,
        agent: &agent.name,
        args: &input,
        secrets,
        limits,
    };

    let logs = Arc::new(Mutex::new(Vec::new()));
    let log = log_sink(args.json, context.output.err, Arc::clone(&logs));
    let (tool, agent) = (plan.tool, plan.agent);
    let ended = block_on(perform(&project, plan, log))?;
    let logs = std::mem::take(&mut *logs.lock().unwrap_or_else(PoisonError::into_inner));
    match ended {
        Ended::Interrupted(exit) => {
            context.output.note(&format!("{} was stopped", tool.name));
            Ok(exit)
        }
        Ended::Outcome { outcome, took } => {
            let exit = exit_of(&outcome);
            if args.json {
                let (output, error) = match &outcome {
                    Ok(output) => (Some(output.as_str()), None),
                    Err(error) => (None, Some(error.to_string())),
                };
                context.output.json(&Report {
                    tool: &tool.name,
                    agent,
                    ok: outcome.is_ok(),
                    output,
                    error: error.as_deref(),
                    duration_ms: took.as_millis(),
                    logs,
                });
                return Ok(exit);
            }
            finish(&mut context.output, &tool.name, outcome, took, exit)
        }
    }
}

/// Prints the outcome for a person: the output alone on stdout.
fn finish(
    output: &mut Output,
    tool: &str,
    outcome: Result<String, CallError>,
    took: Duration,
    exit: Exit,
) -> Result<Exit, Failure> {
    let verb = if outcome.is_ok() { "took" } else { "failed after" };
    output.note(&output.err.paint(DIM, &format!("{tool} {verb} {}", duration(took))));
    match outcome {
        Ok(text) => {
            output.print(&text);
            if !text.is_empty() && !text.ends_with('\n') {
                output.print("\n");
            }
            Ok(exit)
        }
        Err(error) => Err(Failure::user(error.to_string()).with_exit(exit)),
    }
}

/// Calls the tool, until it ends or the user ends it.
async fn perform(
    project: &Project,
    plan: Plan<'_>,
    log: Arc<dyn Fn(&LogLine) + Send + Sync>,
) -> Result<Ended, Failure> {
    let mut interrupts = Interrupts::listen()?;
    let secrets = AgentSecrets::from([(plan.agent.to_owned(), plan.secrets.of_agent.clone())]);
    // Lives until the call has ended.
    let (_server, router) = router(&plan, &secrets).await?;
    let setup = host::Setup {
        limits: plan.limits.clone(),
        router: Some(router),
        log,
    };
    let host = host::start(project, setup).await?;
    host.set_secrets(secrets);
    tokio::select! {
        ended = call(&host, &plan) => {
            if matches!(ended, Ended::Outcome { outcome: Err(CallError::TimedOut(_)), .. }) {
                tokio::time::sleep(TIDY_UP).await;
            }
            host.shutdown(Duration::ZERO).await;
            Ok(ended)
        }
        exit = interrupts.next() => {
            // Dropping the call has fired its signal. Whoever asks twice does not want to wait: workers
            // end with this process.
            tokio::select! {
                () = host.shutdown(plan.limits.stop_grace) => {}
                _ = interrupts.next() => {}
            }
            Ok(Ended::Interrupted(exit))
        }
    }
}

/// Where the web tools ask, as in a session: the control plane that is set, else a router of this process's own,
/// with which they work without a key.
async fn router(plan: &Plan<'_>, secrets: &AgentSecrets) -> Result<(Option<RouterServer>, ControlPlane), Failure> {
    if let Some(url) = plan.secrets.api_url.clone() {
        let token = plan.secrets.token.clone();
        return Ok((None, ControlPlane { url, token }));
    }
    let failure = |error: DaemonError| daemon::failure(&error);
    let server = RouterServer::start().await.map_err(failure)?;
    let router = server.admit(plan.agent, secrets).map_err(failure)?;
    Ok((Some(server), router))
}

/// How long a tool that ran out of time has to tidy up, once its signal fired: nobody waits for it any more.
const TIDY_UP: Duration = Duration::from_millis(300);

async fn call(host: &ToolHost, plan: &Plan<'_>) -> Ended {
    host.select(std::slice::from_ref(plan.tool));
    let started = Instant::now();
    let call = Call {
        tool: &plan.tool.name,
        args: plan.args,
        agent: plan.agent,
        directory: None,
    };
    let outcome = host.call(call).await;
    Ended::Outcome {
        outcome,
        took: started.elapsed(),
    }
}

fn exit_of(outcome: &Result<String, CallError>) -> Exit {
    match outcome {
        Ok(_) => Exit::DONE,
        Err(CallError::TimedOut(_)) => Exit::TIMED_OUT,
        Err(_) => Exit::FAILED,
    }
}

/// Where the tool's lines go: at once to stderr, or into the JSON.
fn log_sink(json: bool, look: Look, logs: Arc<Mutex<Vec<Logged>>>) -> Arc<dyn Fn(&LogLine) + Send + Sync> {
    use std::io::Write as _;
    Arc::new(move |line: &LogLine| {
        if json {
            let stream = match line.stream {
                LogStream::Stdout => "stdout",
                LogStream::Stderr => "stderr",
                LogStream::Host => "host",
            };
            let mut logs = logs.lock().unwrap_or_else(PoisonError::into_inner);
            logs.push(Logged {
                stream,
                text: line.text.clone(),
            });
        } else {
            let text = visible(&line.text);
            let text = if line.stream == LogStream::Host {
                look.paint(DIM, &text)
            } else {
                text.into_owned()
            };
            // Nobody is left to tell when stderr is closed.
            let _ = writeln!(std::io::stderr().lock(), "{text}");
        }
    })
}

/// In a session the agent would not receive these.
pub(crate) fn warn_of_missing_grants(output: &Output, manifest: &Manifest, agent: &str, secrets: &Secrets) {
    let Some(agent) = manifest.agent(agent) else { return };
    for name in secrets.of_agent.keys().filter(|name| !agent.secrets.allows(name)) {
        output.warn(&format!(
            "a session would not give {name} to the agent {}: add it to agents.{}.secrets",
            agent.name, agent.name
        ));
    }
}
