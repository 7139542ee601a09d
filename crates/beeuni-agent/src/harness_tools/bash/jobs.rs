//! Commands that go on in the background: what they have printed, whether they still run, and their end.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::capture::Capture;
use super::process::{Ending, Process, Why};
use crate::harness_tools::context::ToolFailure;

/// How many ended jobs are remembered.
const MOST_ENDED: usize = 32;

/// The background jobs of one session. Dropping it ends them.
pub(in crate::harness_tools) struct Jobs {
    table: Mutex<Table>,
    /// Ends all of them.
    end: CancellationToken,
}

#[derive(Default)]
struct Table {
    last: u32,
    jobs: BTreeMap<u32, Arc<Job>>,
    /// The session is over: no job begins any more.
    closed: bool,
}

/// One background job.
pub(super) struct Job {
    pub(super) command: String,
    capture: Arc<Mutex<Capture>>,
    ended: watch::Receiver<Option<Ending>>,
    kill: CancellationToken,
    started: Instant,
}

impl Default for Jobs {
    fn default() -> Self {
        Self {
            table: Mutex::default(),
            end: CancellationToken::new(),
        }
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        self.end.cancel();
    }
}

impl Jobs {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a job; its number and the job itself.
    pub(super) fn start(
        &self,
        command: &str,
        capture: Capture,
        most: usize,
        limit: Option<Duration>,
        start: impl FnOnce() -> Result<Process, ToolFailure>,
    ) -> Result<(u32, Arc<Job>), ToolFailure> {
        let mut table = self.table();
        if table.closed {
            return Err(ToolFailure::failed("The session is over: no command starts any more."));
        }
        let running = table.jobs.values().filter(|job| job.ending().is_none()).count();
        if running >= most {
            return Err(ToolFailure::failed(format!(
                "{running} background jobs run already, which is the limit: end one with `job` and `kill: true`. {}",
                table.list()
            )));
        }
        let process = start()?;
        let capture = Arc::new(Mutex::new(capture));
        let (tell, ended) = watch::channel(None);
        let job = Arc::new(Job {
            command: command.to_owned(),
            capture: Arc::clone(&capture),
            ended,
            kill: self.end.child_token(),
            started: Instant::now(),
        });
        let kill = job.kill.clone();
        tokio::spawn(async move {
            let end = async {
                match limit {
                    Some(limit) => tokio::select! {
                        () = kill.cancelled() => Why::Killed,
                        () = tokio::time::sleep(limit) => Why::TimedOut(limit),
                    },
                    None => {
                        kill.cancelled().await;
                        Why::Killed
                    }
                }
            };
            let ending = process.run(&capture, &|| None, end).await;
            let _ = tell.send(Some(ending));
        });
        table.last += 1;
        let number = table.last;
        table.jobs.insert(number, Arc::clone(&job));
        table.forget_ended();
        Ok((number, job))
    }

    /// The job that `id` names: `job_3`, `3`.
    pub(super) fn find(&self, id: &str) -> Result<(u32, Arc<Job>), ToolFailure> {
        let table = self.table();
        let id = id.trim();
        let number = id.strip_prefix("job_").unwrap_or(id).parse::<u32>().ok();
        let found = number.and_then(|number| table.jobs.get(&number).map(|job| (number, Arc::clone(job))));
        found.ok_or_else(|| ToolFailure::arguments(format!("There is no background job {id}. {}", table.list())))
    }

    /// Ends all jobs, for good, and waits until they are gone.
    pub(in crate::harness_tools) async fn end(&self) {
        let jobs: Vec<Arc<Job>> = {
            let mut table = self.table();
            table.closed = true;
            table.jobs.values().cloned().collect()
        };
        self.end.cancel();
        for job in jobs {
            job.wait().await;
        }
    }
}

impl Table {
    fn list(&self) -> String {
        if self.jobs.is_empty() {
            return "This session has none: `background: true` starts one.".to_owned();
        }
        let jobs: Vec<String> = self
            .jobs
            .iter()
            .map(|(number, job)| {
                let state = if job.ending().is_none() { "running" } else { "ended" };
                let command: String = job.command.chars().take(60).collect();
                format!("job_{number} ({state}: {command})")
            })
            .collect();
        format!("The jobs are: {}.", jobs.join(", "))
    }

    fn forget_ended(&mut self) {
        let ended: Vec<u32> = self
            .jobs
            .iter()
            .filter(|(_, job)| job.ending().is_some())
            .map(|(number, _)| *number)
            .collect();
        for number in ended.iter().take(ended.len().saturating_sub(MOST_ENDED)) {
            self.jobs.remove(number);
        }
    }
}

impl Job {
    /// How it ended; none while it runs.
    pub(super) fn ending(&self) -> Option<Ending> {
        *self.ended.borrow()
    }

    /// Waits for its end.
    pub(super) async fn wait(&self) {
        let _ = self.ended.clone().wait_for(Option::is_some).await;
    }

    /// Ends it.
    pub(super) fn kill(&self) {
        self.kill.cancel();
    }

    /// For how long it has run.
    pub(super) fn age(&self) -> Duration {
        self.started.elapsed()
    }

    /// Takes what it has printed since the last time: all of it when it has ended, else whole lines.
    pub(super) fn take_output(&self) -> (Capture, Option<Ending>) {
        // The end first: what was printed before it is there then.
        let ending = self.ending();
        let mut capture = self.capture.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = if ending.is_some() {
            capture.take_all()
        } else {
            capture.take_lines()
        };
        (taken, ending)
    }
}
