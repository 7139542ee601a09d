//! The tool host: loads a session's tools and calls them, each in a worker of its own.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{Notify, Semaphore};

use crate::ending::Ending;
use crate::env_of_agent::{AgentEnv, Environments};
use crate::log_reader::LogSink;
use crate::output;
use crate::runtime_files::RuntimeFiles;
use crate::secret::AgentSecrets;
use crate::slot::Slot;
use crate::worker::{CallEnd, Worker};
use crate::{Call, CallError, FailedTool, HostConfig, HostError, LoadReport, LoadedTool, SelectedTool, ToolSource};

/// How often a call that had not started is tried on a fresh worker.
const MAX_STARTS: usize = 3;
/// The name of the worker that the five Beeuni tools share in logs.
pub(crate) const BEEUNI_WORKER: &str = "the Beeuni tools";

/// Hosts the tools of one session. Cheap to clone. Needs a current-thread Tokio runtime on a thread that lives
/// as long as the host: the kernel ends a worker with the thread that started it.
#[derive(Clone)]
pub struct ToolHost {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) config: HostConfig,
    pub(crate) files: RuntimeFiles,
    pub(crate) sink: LogSink,
    environments: Arc<Mutex<Environments>>,
    set: Mutex<Arc<ToolSet>>,
    workers: Mutex<Vec<Weak<Worker>>>,
    running: AtomicUsize,
    closing: AtomicBool,
    all_done: Notify,
}

/// The tools of one load.
#[derive(Default)]
struct ToolSet {
    report: Arc<LoadReport>,
    slots: HashMap<String, Arc<Slot>>,
}

impl ToolHost {
    /// Prepares the folders and writes the worker's code; starts nothing.
    pub async fn new(config: HostConfig) -> Result<Self, HostError> {
        let files = RuntimeFiles::write(&config.runtime_dir)?;
        prepare_output_folder(&config.output_dir)?;
        let environments = Arc::new(Mutex::new(Environments::new(
            config.env.clone(),
            config.session_secrets.clone(),
        )));
        let sink = LogSink {
            receive: Arc::clone(&config.log),
            environments: Arc::clone(&environments),
        };
        Ok(Self {
            inner: Arc::new(Inner {
                config,
                files,
                sink,
                environments,
                set: Mutex::default(),
                workers: Mutex::default(),
                running: AtomicUsize::new(0),
                closing: AtomicBool::new(false),
                all_done: Notify::new(),
            }),
        })
    }

    /// Loads `selection` afresh, module by module, each in a process of its own, and makes what loaded the
    /// tools of the session. Workers of the previous set end when their calls have.
    pub async fn load(&self, selection: &[SelectedTool]) -> Arc<LoadReport> {
        let outcomes = self.inner.load_all(selection).await;
        let mut report = LoadReport::default();
        for (tool, outcome) in selection.iter().zip(outcomes) {
            match outcome {
                Ok((description, parameters)) => report.tools.push(LoadedTool {
                    tool: tool.clone(),
                    description,
                    parameters,
                }),
                Err(error) => report.failed.push(FailedTool {
                    tool: tool.clone(),
                    error: self.inner.redact(error),
                }),
            }
        }
        let loaded: Vec<SelectedTool> = report.tools.iter().map(|tool| tool.tool.clone()).collect();
        let report = Arc::new(report);
        self.inner.replace(ToolSet {
            report: Arc::clone(&report),
            slots: self.inner.slots(&loaded),
        });
        report
    }

    /// Makes `selection` the tools of the session without loading them first: each module is loaded at its
    /// tool's first call. For a program that makes one call and ends.
    pub fn select(&self, selection: &[SelectedTool]) {
        self.inner.replace(ToolSet {
            report: Arc::default(),
            slots: self.inner.slots(selection),
        });
    }

    /// The outcome of the last load (empty before the first).
    pub fn report(&self) -> Arc<LoadReport> {
        Arc::clone(&self.inner.set().report)
    }

    /// Whether a tool of that name can be called.
    pub fn has(&self, tool: &str) -> bool {
        self.inner.set().slots.contains_key(tool)
    }

    /// Replaces the secrets of all agents: calls that start from now on see them, running ones keep theirs.
    pub fn set_secrets(&self, secrets: AgentSecrets) {
        self.inner
            .environments
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .set_secrets(secrets);
    }

    /// Takes the secrets of every agent out of a text: values of [`MIN_REDACTED_BYTES`](crate::MIN_REDACTED_BYTES)
    /// or more become `[secret NAME]`. For whatever reaches a session by another way than through a tool.
    pub fn redact(&self, text: String) -> String {
        self.inner.redact(text)
    }

    /// Calls a tool. Dropping the future stops the call: its signal fires at once.
    ///
    /// The output is at most [`output::MAX_OUTPUT_BYTES`] and [`output::MAX_OUTPUT_LINES`] long; a longer one
    /// is saved whole and its head returned with the file's path.
    pub async fn call(&self, call: Call<'_>) -> Result<String, CallError> {
        let inner = &self.inner;
        let slot = inner
            .set()
            .slots
            .get(call.tool)
            .cloned()
            .ok_or_else(|| CallError::NotLoaded(call.tool.to_owned()))?;
        let _running = inner.running()?;
        let env = inner.env_of(call.agent)?;
        let _place = slot.places.acquire().await.map_err(|_| CallError::ShuttingDown)?;
        for _ in 0..MAX_STARTS {
            let worker = slot.worker(inner).await.map_err(|reason| inner.failed(&env, reason))?;
            if let Some(reason) = slot.load_failure(call.tool) {
                return Err(inner.failed(&env, format!("{} did not load: {reason}", call.tool)));
            }
            match worker.call(&call, &env, &inner.config.limits).await {
                CallEnd::Output(text) => return Ok(inner.output(text, &env, call.tool).await),
                CallEnd::Error(text) => return Err(inner.tool_error(text, &env, &worker)),
                CallEnd::TimedOut => {
                    return Err(CallError::TimedOut(inner.config.limits.call));
                }
                CallEnd::Lost(text) => return Err(inner.lost(text, &env)),
                CallEnd::NeverStarted if inner.closing.load(Ordering::Relaxed) => return Err(CallError::ShuttingDown),
                CallEnd::NeverStarted => {}
            }
        }
        Err(CallError::Failed(format!(
            "the worker of {} ended {MAX_STARTS} times before the call began",
            call.tool
        )))
    }

    /// Takes no new calls, gives running ones, also those that were stopped, `grace`, then ends every worker and waits until they are gone.
    pub async fn shutdown(&self, grace: Duration) {
        let inner = &self.inner;
        inner.closing.store(true, Ordering::Relaxed);
        let done = async {
            loop {
                let notified = inner.all_done.notified();
                if inner.running.load(Ordering::Relaxed) == 0 {
                    break;
                }
                notified.await;
            }
        };
        let workers: Vec<Arc<Worker>> = inner.live_workers();
        let idle = async {
            done.await;
            // A call whose caller went away still runs until it heeds its signal.
            for worker in &workers {
                worker.wait_idle().await;
            }
        };
        let _ = tokio::time::timeout(grace, idle).await;
        for worker in &workers {
            worker.kill(Ending::Killed("the tool host is shutting down".to_owned()));
        }
        for worker in &workers {
            worker.wait_ended().await;
        }
    }
}

impl Inner {
    fn set(&self) -> Arc<ToolSet> {
        Arc::clone(&self.set.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn replace(&self, set: ToolSet) {
        let old = std::mem::replace(
            &mut *self.set.lock().unwrap_or_else(PoisonError::into_inner),
            Arc::new(set),
        );
        for slot in old.slots.values() {
            slot.retire();
        }
    }

    /// One slot per project tool, one for all Beeuni tools.
    fn slots(&self, tools: &[SelectedTool]) -> HashMap<String, Arc<Slot>> {
        let places = self.config.limits.concurrent_calls;
        let mut slots = HashMap::new();
        let beeuni: Vec<(String, PathBuf)> = tools
            .iter()
            .filter(|tool| tool.source == ToolSource::Beeuni)
            .map(|tool| (tool.name.clone(), self.path_of(tool)))
            .collect();
        let shared = Arc::new(Slot::new(BEEUNI_WORKER, beeuni, Semaphore::new(places)));
        for tool in tools {
            let slot = match tool.source {
                ToolSource::Beeuni => Arc::clone(&shared),
                ToolSource::Module(_) => Arc::new(Slot::new(
                    &tool.name,
                    vec![(tool.name.clone(), self.path_of(tool))],
                    Semaphore::new(places),
                )),
            };
            slots.insert(tool.name.clone(), slot);
        }
        slots
    }

    pub(crate) fn path_of(&self, tool: &SelectedTool) -> PathBuf {
        match &tool.source {
            ToolSource::Beeuni => self.files.beeuni_tool(&tool.name),
            ToolSource::Module(path) => self.config.project.join(path),
        }
    }

    pub(crate) fn start_worker(&self, name: &str) -> Result<Arc<Worker>, String> {
        if self.closing.load(Ordering::Relaxed) {
            return Err("the tool host is shutting down".to_owned());
        }
        let worker = Worker::start(name, &self.config, &self.files.worker, &self.sink).map_err(|error| {
            format!(
                "the worker of {name} could not be started with {}: {error}",
                self.config.bun.display()
            )
        })?;
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        workers.retain(|worker| worker.strong_count() > 0);
        workers.push(Arc::downgrade(&worker));
        Ok(worker)
    }

    fn live_workers(&self) -> Vec<Arc<Worker>> {
        self.workers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .filter_map(Weak::upgrade)
            .collect()
    }

    fn running(&self) -> Result<RunningCall<'_>, CallError> {
        if self.closing.load(Ordering::Relaxed) {
            return Err(CallError::ShuttingDown);
        }
        self.running.fetch_add(1, Ordering::Relaxed);
        Ok(RunningCall(self))
    }

    fn env_of(&self, agent: &str) -> Result<Arc<AgentEnv>, CallError> {
        let mut environments = self.environments.lock().unwrap_or_else(PoisonError::into_inner);
        environments
            .of(agent)
            .map_err(|error| CallError::Failed(format!("the environment of agent {agent} cannot be sent: {error}")))
    }

    fn redact(&self, text: String) -> String {
        let redactor = Arc::clone(
            &self
                .environments
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .log_redactor,
        );
        redactor.apply_owned(text)
    }

    /// What the caller gets of an output: redacted, readable, bounded.
    async fn output(&self, text: String, env: &AgentEnv, tool: &str) -> String {
        let text = env.redactor.apply_owned(text);
        let shown = match output::readable(&text) {
            std::borrow::Cow::Borrowed(_) => None,
            std::borrow::Cow::Owned(shown) => Some(shown),
        };
        if output::fits(shown.as_deref().unwrap_or(&text)) {
            return shown.unwrap_or(text);
        }
        let (folder, tool) = (self.config.output_dir.clone(), tool.to_owned());
        let bound = move || output::bound(shown.as_deref().unwrap_or(&text), &text, &folder, &tool);
        tokio::task::spawn_blocking(bound)
            .await
            .unwrap_or_else(|_| "[Output cut: it could not be saved]".to_owned())
    }

    fn failed(&self, env: &AgentEnv, text: String) -> CallError {
        let text = env.redactor.apply_owned(text);
        CallError::Failed(output::bound_error(output::readable(&text).into_owned()))
    }

    fn tool_error(&self, text: String, env: &AgentEnv, worker: &Worker) -> CallError {
        // The runtime's own text when an allocation fails: the user needs the limit, the worker a fresh start.
        if text.ends_with("Out of memory") {
            worker.retire();
            return CallError::Failed(format!(
                "out of memory: the worker of {} may use {} MiB",
                worker.name, self.config.limits.memory_mib
            ));
        }
        self.failed(env, text)
    }

    fn lost(&self, text: String, env: &AgentEnv) -> CallError {
        if self.closing.load(Ordering::Relaxed) {
            CallError::ShuttingDown
        } else {
            self.failed(env, text)
        }
    }
}

/// Counts a call for the shutdown.
struct RunningCall<'a>(&'a Inner);

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        if self.0.running.fetch_sub(1, Ordering::Relaxed) == 1 && self.0.closing.load(Ordering::Relaxed) {
            self.0.all_done.notify_one();
        }
    }
}

fn prepare_output_folder(folder: &std::path::Path) -> Result<(), HostError> {
    crate::runtime_files::private_folder(folder)?;
    output::remove_old(folder);
    Ok(())
}
