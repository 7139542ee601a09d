//! Starts a worker's process and watches over it until it is gone.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::Pid;
use tokio::process::{Child, Command};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use super::deadline::LOOK;
use super::page::SharedPage;
use super::{State, Worker, channel};
use crate::ending::Ending;
use crate::frames::Message;
use crate::log_reader::{self, LogSink};
use crate::{HostConfig, LogStream, guard};

/// How long a guard may take to end its worker before it is killed itself.
const GUARD_PATIENCE: Duration = Duration::from_secs(2);
/// How long after its last call a worker is looked at as often as a busy one.
const AWAKE: Duration = Duration::from_secs(1);
/// How long the rest of a dead worker's channel and log may take to arrive.
const DRAIN: Duration = Duration::from_millis(500);

impl Worker {
    /// Starts a process and tells it its session. Its modules are loaded by [`Worker::load`].
    pub(crate) fn start(
        name: &str,
        config: &HostConfig,
        worker_file: &Path,
        sink: &LogSink,
    ) -> std::io::Result<Arc<Self>> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let ours = Arc::new(ours);
        let (page, page_path) = SharedPage::new(&config.runtime_dir)?;

        let mut child = command(config, worker_file)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .spawn()?;
        let guard = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let (ended_tx, ended) = watch::channel(false);
        let worker = Arc::new(Self {
            name: name.to_owned(),
            state: Mutex::new(State {
                out: Vec::new(),
                waiting: HashMap::new(),
                next_id: 1,
                env: 0,
                retiring: false,
                ending: None,
                guard,
                idle_since: Instant::now(),
                dozing: false,
            }),
            wake_writer: Notify::new(),
            wake_supervisor: Notify::new(),
            idle: Notify::new(),
            page,
            memory_mib: config.limits.memory_mib,
            call_limit: config.limits.call,
            ended,
        });
        let directory = config.project.to_string_lossy();
        let page_text = page_path.to_string_lossy();
        worker.send(&Message::Init {
            session: &config.session,
            directory: &directory,
            progress: &page_text,
        });

        let logs = [
            child
                .stdout
                .take()
                .map(|out| log_reader::spawn(out, LogStream::Stdout, &worker, sink)),
            child
                .stderr
                .take()
                .map(|err| log_reader::spawn(err, LogStream::Stderr, &worker, sink)),
        ];
        let reader = tokio::spawn(channel::read_replies(
            Arc::clone(&worker),
            Arc::clone(&ours),
            sink.clone(),
        ));
        let writer = tokio::spawn(channel::write_frames(Arc::clone(&worker), ours));
        let idle = config.limits.idle;
        let this = Arc::clone(&worker);
        tokio::spawn(async move {
            let status = supervise(&this, &mut child, idle).await;
            // What it sent and printed before its end still counts. The descriptors are closed by its end, unless
            // the guard was killed and left it behind: then closing ours tells it to end.
            let mut tasks: Vec<_> = logs.into_iter().flatten().chain([reader]).collect();
            let drained = async {
                for task in &mut tasks {
                    let _ = task.await;
                }
            };
            let _ = tokio::time::timeout(DRAIN, drained).await;
            tasks.iter().for_each(JoinHandle::abort);
            writer.abort();
            this.finish(status);
            let _ = std::fs::remove_file(&page_path);
            let _ = ended_tx.send(true);
        });
        Ok(worker)
    }
}

fn command(config: &HostConfig, worker_file: &Path) -> Command {
    let flags = ["--no-install", "--no-env-file", "--config=/dev/null"];
    let mut rest: Vec<std::ffi::OsString> = flags.iter().map(Into::into).collect();
    rest.push(worker_file.into());
    let mut command = Command::new(&config.guard);
    command
        .args(guard::arguments(
            std::process::id(),
            config.limits.memory_mib,
            &config.bun,
            &rest,
        ))
        .current_dir(&config.project)
        .env_clear()
        .envs(&config.env)
        // Its cache lies outside the project and is shared between sessions.
        .env("BUN_RUNTIME_TRANSPILER_CACHE_PATH", "0")
        .env("DO_NOT_TRACK", "1")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    command
}

/// Waits for the process to end; ends it when it is idle for long, retired and done, or asked to; keeps the
/// deadlines of its calls.
async fn supervise(worker: &Arc<Worker>, child: &mut Child, idle: Duration) -> Option<std::process::ExitStatus> {
    let mut patience: Option<Instant> = None;
    loop {
        let (busy, ending, retiring, idle_since) = {
            let state = worker.state();
            (
                !state.waiting.is_empty(),
                state.ending.is_some(),
                state.retiring,
                state.idle_since,
            )
        };
        let now = Instant::now();
        let wait = if ending {
            let until = *patience.get_or_insert(now + GUARD_PATIENCE);
            if until <= now {
                let _ = child.start_kill();
            }
            until.saturating_duration_since(now).max(Duration::from_millis(50))
        } else if busy {
            worker.look_at_deadlines()
        } else if retiring || idle_since + idle <= now {
            worker.kill(Ending::Killed("it was not used any more".to_owned()));
            continue;
        } else if idle_since + AWAKE > now {
            // Calls come and go: being woken for each would cost more than looking now and then.
            LOOK.min(worker.call_limit).min(idle_since + idle - now)
        } else {
            worker.state().dozing = true;
            idle_since + idle - now
        };
        tokio::select! {
            status = child.wait() => return status.ok(),
            () = worker.wake_supervisor.notified() => {}
            () = tokio::time::sleep(wait) => {}
        }
    }
}
