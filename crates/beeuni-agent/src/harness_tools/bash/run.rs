//! Runs a command in the foreground, starts one as a job, reads and ends jobs.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::Call;
use super::capture::Capture;
use super::ending::{metadata, notes};
use super::jobs::Job;
use super::process::{Order, Process, Why};
use crate::harness_tools::context::{CallContext, ToolFailure, ToolOutput};
use crate::harness_tools::{Inner, nearest};

/// How long a background job is watched before the call returns: what fails at once is told at once.
const FIRST_LOOK: Duration = Duration::from_millis(300);
/// How often progress is told at most.
const PROGRESS: Duration = Duration::from_millis(250);

/// Metadata: `{ exit, signal?, timed_out?, stopped?, left?, job?, running?, seconds }`; `exit` is null where there is none.
pub(in crate::harness_tools) async fn run(
    tools: &Inner,
    call: Call,
    context: CallContext<'_>,
) -> Result<ToolOutput, ToolFailure> {
    match call {
        Call::Job { id, kill, wait } => read_job(tools, &id, kill, wait, context).await,
        Call::Run {
            command,
            title,
            place,
            background,
            timeout,
        } => {
            if !place.real.is_dir() {
                let shown = &place.shown;
                return Err(ToolFailure::failed(if place.real.exists() {
                    format!("{shown} is a file: `workdir` names the folder to run in.")
                } else {
                    nearest::missing(&place.real, shown, |path| tools.paths.shown(path))
                }));
            }
            let start = || {
                let order = Order {
                    guard: &tools.guard,
                    command: &command,
                    folder: &place.real,
                    env: &tools.env,
                    grace: tools.limits.end_grace,
                };
                Process::start(&order)
                    .map_err(|error| ToolFailure::failed(format!("The command could not be started: {error}")))
            };
            let capture = Capture::new(tools.outputs.clone(), tools.limits.saved_output);
            if background {
                let jobs = tools.sessions.jobs(context.session);
                let (number, job) = jobs.start(&command, capture, tools.limits.jobs, timeout, start)?;
                let stopped = context.stop.cancelled();
                tokio::select! {
                    () = job.wait() => {}
                    () = tokio::time::sleep(FIRST_LOOK) => {}
                    () = stopped => {}
                }
                return Ok(job_output(number, &job, &title, true));
            }
            let timeout = timeout
                .unwrap_or(tools.limits.command)
                .min(tools.limits.longest_command);
            foreground(start()?, capture, timeout, title, context).await
        }
    }
}

async fn foreground(
    process: Process,
    capture: Capture,
    timeout: Duration,
    title: String,
    context: CallContext<'_>,
) -> Result<ToolOutput, ToolFailure> {
    let started = Instant::now();
    let capture = Mutex::new(capture);
    let end = async {
        tokio::select! {
            () = context.stop.cancelled() => Why::Stopped,
            () = tokio::time::sleep(timeout) => Why::TimedOut(timeout),
        }
    };
    let last_told = Mutex::new(Instant::now());
    let tell = || {
        let progress = context.progress?;
        let mut last = last_told.lock().unwrap_or_else(PoisonError::into_inner);
        let due = *last + PROGRESS;
        if Instant::now() < due {
            // What came last may be what the command then waits on: it is told without waiting for more.
            return Some(due);
        }
        *last = Instant::now();
        progress(&capture.lock().unwrap_or_else(PoisonError::into_inner).recent());
        None
    };
    let ending = process.run(&capture, &tell, end).await;
    let capture = capture.into_inner().unwrap_or_else(PoisonError::into_inner);
    let printed = !capture.is_empty();
    let text = capture.finish(&notes(ending, printed));
    match ending.why {
        Some(Why::Stopped) if !printed => Err(ToolFailure::stopped()),
        Some(Why::TimedOut(_)) => Err(ToolFailure::failed(text)),
        _ => Ok(ToolOutput {
            text,
            title,
            metadata: metadata(Some(ending), started.elapsed()),
            ..ToolOutput::default()
        }),
    }
}

/// Reads what is new of a job, waits for its end or ends it.
async fn read_job(
    tools: &Inner,
    id: &str,
    kill: bool,
    wait: Duration,
    context: CallContext<'_>,
) -> Result<ToolOutput, ToolFailure> {
    let (number, job) = tools.sessions.jobs(context.session).find(id)?;
    if kill && job.ending().is_none() {
        job.kill();
        tokio::select! {
            () = job.wait() => {}
            () = context.stop.cancelled() => {}
        }
    } else if !wait.is_zero() {
        tokio::select! {
            () = job.wait() => {}
            () = tokio::time::sleep(wait) => {}
            () = context.stop.cancelled() => {}
        }
    }
    let title = format!("job_{number}: {}", job.command.lines().next().unwrap_or_default());
    Ok(job_output(number, &job, &title, false))
}

fn job_output(number: u32, job: &Job, title: &str, begins: bool) -> ToolOutput {
    let (capture, ending) = job.take_output();
    let printed = !capture.is_empty();
    let mut lines = Vec::new();
    match ending {
        None if begins => lines.push(format!(
            "[Runs in the background as job_{number}. Read what is new with job: \"job_{number}\", end it with kill: true.]"
        )),
        None if printed => lines.push(format!("[job_{number} still runs]")),
        None => lines.push(format!("[job_{number} still runs and has printed nothing new]")),
        Some(ending) => {
            lines.push(format!("[job_{number} has ended]"));
            lines.extend(notes(ending, true));
            if ending.code == Some(0) && ending.why.is_none() {
                lines.push("[exit code 0]".to_owned());
            }
        }
    }
    let mut metadata = metadata(ending, job.age());
    metadata["job"] = json!(format!("job_{number}"));
    metadata["running"] = json!(ending.is_none());
    ToolOutput {
        text: capture.finish(&lines),
        title: title.to_owned(),
        metadata,
        ..ToolOutput::default()
    }
}
