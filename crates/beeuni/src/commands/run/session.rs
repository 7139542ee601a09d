//! A session from its start to its end, with one turn in between.
use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use beeuni_daemon::local::{LocalOptions, LocalSession, ModelInUse};
use beeuni_manifest::Manifest;
use beeuni_protocol::session::{OnAsk, PromptRequest};
use beeuni_tools::{AgentSecrets, Limits, LogLine};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::ask::Asker;
use super::drive::{Drive, End, TICK};
use super::follow::Follow;
use super::outcome;
use super::view::{Json, Person, Starting, Summary, View};
use super::watch::Watch;
use crate::commands::daemon;
use crate::commands::tools::call;
use crate::commands::tools::call_input::Secrets;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

/// What is to be run.
pub(super) struct Plan<'a> {
    pub(super) manifest: &'a Manifest,
    pub(super) prompt: String,
    /// `--agent`.
    pub(super) agent: Option<String>,
    /// `--model`.
    pub(super) model: Option<String>,
    pub(super) secrets: Secrets,
    pub(super) on_ask: OnAsk,
    pub(super) timeout: Option<Duration>,
    pub(super) json: bool,
    /// The command that goes on with the session, up to its id.
    pub(super) again: String,
}

/// What a turn left to do.
enum Left {
    /// To end the session.
    Ending(Exit),
    /// Nothing: somebody does not want to wait, and all ends with this process.
    Nothing(Exit),
}

/// Starts the session, runs the turn, ends everything.
pub(super) async fn run(mut options: LocalOptions, plan: Plan<'_>, output: &mut Output) -> Result<Exit, Failure> {
    let mut watch = Watch::begin(plan.timeout)?;
    let (sender, logs) = unbounded_channel();
    options.log = Arc::new(move |line: &LogLine| {
        // At the very end nobody listens any more.
        let _ = sender.send(line.clone());
    });
    let mut starting = Starting::new(output, options.harness);
    let mut ticks = tokio::time::interval(TICK);
    let local = {
        let mut start = std::pin::pin!(LocalSession::start(options));
        loop {
            tokio::select! {
                local = &mut start => {
                    starting.end();
                    break local.map_err(|error| daemon::failure(&error))?;
                }
                stop = watch.next() => {
                    starting.end();
                    output.note(&stop.before_the_turn());
                    return Ok(stop.exit());
                }
                _ = ticks.tick() => starting.tick(),
            }
        }
    };
    for notice in local.notices() {
        output.warn(&notice);
    }
    let outcome = with(&local, &plan, output, &mut watch, logs).await;
    if let Ok(Left::Nothing(exit)) = outcome {
        return Ok(exit);
    }
    // A tool that was stopped may tidy up; who asks twice does not wait.
    let grace = if watch.stopped.is_some() {
        Limits::default().stop_grace
    } else {
        Duration::ZERO
    };
    tokio::select! {
        () = local.shutdown(grace) => {}
        _ = watch.next() => {}
    }
    outcome.map(|(Left::Ending(exit) | Left::Nothing(exit))| exit)
}

/// Prepares the turn and runs it.
async fn with(
    local: &LocalSession,
    plan: &Plan<'_>,
    output: &mut Output,
    watch: &mut Watch,
    logs: UnboundedReceiver<LogLine>,
) -> Result<Left, Failure> {
    // A session that goes on keeps its agent, unless that is gone.
    let last = local.state().await.map(|state| state.agent).ok();
    let last = last.filter(|agent| plan.manifest.agent(agent).is_some());
    let agent = plan.agent.clone().or(last).unwrap_or_else(|| local.agent());
    local
        .set_secrets(of_agents(plan.manifest, &agent, &plan.secrets))
        .map_err(|error| daemon::failure(&error))?;
    call::warn_of_missing_grants(output, plan.manifest, &agent, &plan.secrets);
    for failed in &local.report().failed {
        let reason = failed.error.lines().next().unwrap_or_default();
        output.warn(&format!("{} did not load: {reason}", failed.tool.name));
    }
    let model = match plan.model {
        Some(_) => None,
        None => tokio::select! {
            model = local.model(Some(&agent)) => Some(model),
            stop = watch.next() => {
                output.note(&stop.before_the_turn());
                return Ok(Left::Ending(stop.exit()));
            }
        },
    };
    turn(local, plan, model, output, watch, logs).await
}

/// Runs the turn and tells how it ended.
async fn turn(
    local: &LocalSession,
    plan: &Plan<'_>,
    model: Option<ModelInUse>,
    output: &mut Output,
    watch: &mut Watch,
    logs: UnboundedReceiver<LogLine>,
) -> Result<Left, Failure> {
    let mut view: Box<dyn View> = if plan.json {
        Box::new(Json)
    } else {
        Box::new(Person::new(output, std::io::stdout().is_terminal()))
    };
    let session = local.id();
    let mut follow = Follow::new(session);
    let started = Instant::now();
    let drive = Drive {
        local,
        model,
        output: &mut *output,
        view: view.as_mut(),
        follow: &mut follow,
        watch: &mut *watch,
        asker: (plan.on_ask == OnAsk::Wait).then(Asker::default),
        logs,
    };
    let prompt = PromptRequest {
        text: plan.prompt.clone(),
        agent: plan.agent.clone(),
        model: plan.model.clone(),
        on_ask: Some(plan.on_ask),
        files: Vec::new(),
    };
    let end = drive.run(prompt).await?;
    let took = started.elapsed();
    let exit = match &end {
        End::Ended(ended) => outcome::exit(ended, watch.stopped),
        End::Cut(stop) => stop.exit(),
    };
    if plan.json {
        output.json_line(&summary(session, &follow, &follow.answer(), exit, took));
    }
    let End::Ended(ended) = end else {
        view.make_room(output);
        return Ok(Left::Nothing(exit));
    };
    view.end(output, &follow);
    if plan.json {
        return Ok(Left::Ending(exit));
    }
    outcome::tell(output, &follow, &ended, &format!("{} {session}", plan.again), took);
    match outcome::failure(&ended, watch.stopped, plan.on_ask == OnAsk::Wait) {
        Some(failure) => Err(failure),
        None => Ok(Left::Ending(exit)),
    }
}

/// What the turn's agent is given, and each other agent of what the manifest grants it: subagents are those.
fn of_agents(manifest: &Manifest, agent: &str, secrets: &Secrets) -> AgentSecrets {
    let granted = manifest.agents.iter().map(|other| {
        let granted = secrets.of_agent.iter().filter(|(name, _)| other.secrets.allows(name));
        (
            other.name.clone(),
            granted.map(|(name, value)| (name.clone(), value.clone())).collect(),
        )
    });
    let mut all: BTreeMap<_, _> = granted.collect();
    all.insert(agent.to_owned(), secrets.of_agent.clone());
    all
}

fn summary<'a>(session: &'a str, follow: &'a Follow, answer: &'a str, exit: Exit, took: Duration) -> Summary<'a> {
    let (started, ended) = (follow.started.as_ref(), follow.ended.as_ref());
    Summary {
        kind: "run.ended",
        session,
        outcome: ended.map(|ended| ended.outcome),
        exit_code: exit.number(),
        agent: started.map(|started| started.agent.as_str()),
        model: started.map(|started| started.model.as_str()),
        answer,
        steps: ended.map_or(0, |ended| ended.steps),
        usage: ended.map(|ended| ended.usage).unwrap_or_default(),
        error: ended.and_then(|ended| ended.error.as_ref()),
        duration_ms: took.as_millis(),
    }
}
