//! One worker process: its start, its channel, its calls, its log and its end.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, Command};
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::JoinHandle;

use crate::ending::Ending;
use crate::env_of_agent::AgentEnv;
use crate::frames::{self, Kind, Message, Reply, ReplyReader};
use crate::log_reader::{self, LogSink};
use crate::{Call, HostConfig, guard};

/// How long a guard may take to end its worker before it is killed itself.
const GUARD_PATIENCE: Duration = Duration::from_secs(2);
/// How long the rest of a dead worker's channel and log may take to arrive.
const DRAIN: Duration = Duration::from_millis(500);
/// How long a worker may take to answer a ping before it counts as blocked.
const PING: Duration = Duration::from_millis(150);
/// How often the host looks whether a waiting call has started.
const START_CHECK: Duration = Duration::from_millis(200);

/// Words for stopped calls in the shared page: the same number stands in `runtime/worker.ts`.
const STOPPED_WORDS: u32 = 1023;

/// How one call on one worker ended.
#[derive(Debug)]
pub(crate) enum CallEnd {
    Output(String),
    Error(String),
    /// The worker ended while the call ran: what happened to it.
    Lost(String),
    /// The worker ended before it began the call: it may safely run on another one.
    NeverStarted,
    TimedOut,
}

enum Answer {
    Reply(Reply),
    Ended { started: bool },
}

pub(crate) struct Worker {
    /// The tool's name, or `beeuni tools` for the shared worker: for logs and error texts.
    pub(crate) name: String,
    state: Mutex<State>,
    wake_writer: Notify,
    wake_supervisor: Notify,
    /// Nothing waits for this worker any more.
    idle: Notify,
    /// A page that both sides see even while the worker is stuck in a loop. Word 0: the id of the last call
    /// that it started. Word `1 + id % STOPPED_WORDS`: the id of a call that was stopped before it started.
    progress: File,
    memory_mib: u64,
    ended: watch::Receiver<bool>,
}

struct State {
    out: Vec<u8>,
    waiting: HashMap<u32, oneshot::Sender<Answer>>,
    next_id: u32,
    env: u64,
    /// Takes no new calls; ends when the last one has.
    retiring: bool,
    /// Set once: why the worker ends or ended.
    ending: Option<Ending>,
    guard: Option<Pid>,
    idle_since: Instant,
}

impl Worker {
    /// Starts a process and tells it its session. Its modules are loaded by [`Worker::load`].
    pub(crate) fn start(
        name: &str,
        config: &HostConfig,
        worker_file: &Path,
        sink: &LogSink,
    ) -> std::io::Result<Arc<Self>> {
        let (ours, theirs) = UnixStream::pair()?;
        let progress = tempfile::Builder::new()
            .prefix("progress-")
            .tempfile_in(&config.runtime_dir)?;
        progress.as_file().set_len(4096)?;
        let (progress, progress_path) = progress.keep()?;

        let mut child = command(config, worker_file)
            .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs.into_std()?)))
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
            }),
            wake_writer: Notify::new(),
            wake_supervisor: Notify::new(),
            idle: Notify::new(),
            progress,
            memory_mib: config.limits.memory_mib,
            ended,
        });
        let directory = config.project.to_string_lossy();
        let progress_text = progress_path.to_string_lossy();
        worker.send(&Message::Init {
            session: &config.session,
            directory: &directory,
            progress: &progress_text,
        });

        let (read, write) = ours.into_split();
        let logs = [
            child
                .stdout
                .take()
                .map(|out| log_reader::spawn(out, crate::LogStream::Stdout, &worker, sink)),
            child
                .stderr
                .take()
                .map(|err| log_reader::spawn(err, crate::LogStream::Stderr, &worker, sink)),
        ];
        let reader = tokio::spawn(read_replies(Arc::clone(&worker), read, sink.clone()));
        let writer = tokio::spawn(write_frames(Arc::clone(&worker), write));
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
            let _ = std::fs::remove_file(&progress_path);
            let _ = ended_tx.send(true);
        });
        Ok(worker)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, message: &Message<'_>) {
        // Strings and numbers always serialise; a failure would leave a frame of length zero, which ends the worker.
        let _ = frames::push(&mut self.state().out, message);
        self.wake_writer.notify_one();
    }

    /// Whether new calls may go to this worker.
    pub(crate) fn is_open(&self) -> bool {
        let state = self.state();
        state.ending.is_none() && !state.retiring
    }

    /// Lets running calls end, then ends the worker.
    pub(crate) fn retire(&self) {
        self.state().retiring = true;
        self.wake_supervisor.notify_one();
    }

    /// Ends the worker now.
    pub(crate) fn kill(&self, ending: Ending) {
        let mut state = self.state();
        if state.ending.is_none() {
            state.ending = Some(ending);
        }
        if let Some(guard) = state.guard {
            let _ = kill_process(guard, Signal::TERM);
        }
        drop(state);
        self.wake_supervisor.notify_one();
    }

    /// Waits until no call runs in this worker, stopped ones included.
    pub(crate) async fn wait_idle(&self) {
        loop {
            let idle = self.idle.notified();
            if self.state().waiting.is_empty() {
                return;
            }
            idle.await;
        }
    }

    /// Waits until the process and everything that it started is gone.
    pub(crate) async fn wait_ended(&self) {
        let _ = self.ended.clone().wait_for(|ended| *ended).await;
    }

    /// What happened, as the end of a sentence about this worker.
    pub(crate) fn ending_text(&self) -> String {
        let state = self.state();
        state
            .ending
            .as_ref()
            .unwrap_or(&Ending::ChannelClosed)
            .text(&self.name, self.memory_mib)
    }

    fn expect_answer(&self, state: &mut State) -> (u32, oneshot::Receiver<Answer>) {
        let id = state.next_id;
        state.next_id += 1;
        // Ids must keep growing: a worker that served this many calls makes room for a fresh one.
        state.retiring |= id == u32::MAX / 2;
        let (sender, receiver) = oneshot::channel();
        state.waiting.insert(id, sender);
        (id, receiver)
    }

    /// Imports one module. The answer is its description and parameters as JSON, or the reason why not.
    pub(crate) async fn load(&self, tool: &str, path: &str, deadline: Duration) -> Result<String, String> {
        let receiver = {
            let mut state = self.state();
            if state.ending.is_some() {
                None
            } else {
                let (id, receiver) = self.expect_answer(&mut state);
                let _ = frames::push(
                    &mut state.out,
                    &Message::Load {
                        i: id,
                        n: tool,
                        p: path,
                    },
                );
                Some(receiver)
            }
        };
        let Some(receiver) = receiver else {
            self.wait_ended().await;
            return Err(self.load_ending_text());
        };
        self.wake_writer.notify_one();
        match tokio::time::timeout(deadline, receiver).await {
            Ok(Ok(Answer::Reply(reply))) if reply.kind == Kind::Loaded => Ok(reply.text),
            Ok(Ok(Answer::Reply(reply))) => Err(reply.text),
            Ok(Ok(Answer::Ended { .. }) | Err(_)) => Err(self.load_ending_text()),
            Err(_) => {
                let reason = format!("did not finish loading within {} s", seconds(deadline));
                self.kill(Ending::Killed(reason.clone()));
                Err(reason)
            }
        }
    }

    fn load_ending_text(&self) -> String {
        format!("while the module was loaded, {}", self.ending_text())
    }

    /// Runs one call. Dropping the future stops it.
    pub(crate) async fn call(self: &Arc<Self>, call: &Call<'_>, env: &AgentEnv, limits: &crate::Limits) -> CallEnd {
        let (id, mut receiver) = {
            let mut state = self.state();
            if state.ending.is_some() || state.retiring {
                return CallEnd::NeverStarted;
            }
            if state.env != env.id {
                state.env = env.id;
                state.out.extend_from_slice(&env.frame);
            }
            let (id, receiver) = self.expect_answer(&mut state);
            if let Err(error) = frames::push_call(&mut state.out, id, call) {
                state.waiting.remove(&id);
                return CallEnd::Error(format!("the call could not be sent: {error}"));
            }
            (id, receiver)
        };
        self.wake_writer.notify_one();
        let stop = StopOnDrop {
            worker: self,
            id,
            grace: limits.stop_grace,
            armed: true,
        };
        // The deadline counts from the start: a call behind one that blocks has not had its time yet.
        let first = START_CHECK.min(limits.call);
        let (mut wait, mut started) = (first, false);
        loop {
            if let Ok(answer) = tokio::time::timeout(wait, &mut receiver).await {
                stop.disarm();
                return self.call_end(answer);
            }
            if started {
                break;
            }
            started = self.started() >= id;
            // Seen at the first look: it started when it was sent.
            let passed = if wait == first { first } else { Duration::ZERO };
            wait = if started {
                limits.call.saturating_sub(passed)
            } else {
                START_CHECK + Duration::from_millis(1)
            };
        }
        stop.disarm();
        self.abandon(id, &format!("timed out after {} s", seconds(limits.call)));
        let this = Arc::clone(self);
        tokio::spawn(async move {
            this.replace_if_blocked("a call ran out of time and did not yield")
                .await
        });
        CallEnd::TimedOut
    }

    fn call_end(&self, answer: Result<Answer, oneshot::error::RecvError>) -> CallEnd {
        match answer {
            Ok(Answer::Reply(Reply {
                kind: Kind::Ok, text, ..
            })) => CallEnd::Output(text),
            Ok(Answer::Reply(reply)) => CallEnd::Error(reply.text),
            Ok(Answer::Ended { started: false }) => CallEnd::NeverStarted,
            Ok(Answer::Ended { started: true }) | Err(_) => CallEnd::Lost(self.ending_text()),
        }
    }

    /// The id of the last call that the worker has started.
    fn started(&self) -> u32 {
        let mut page = [0; 4];
        match self.progress.read_exact_at(&mut page, 0) {
            Ok(()) => u32::from_le_bytes(page),
            // Unknown: as if all had started, so that nothing ever runs twice.
            Err(_) => u32::MAX,
        }
    }

    /// Fires the call's signal and forgets the call.
    fn abandon(&self, id: u32, reason: &str) {
        let mut state = self.state();
        state.waiting.remove(&id);
        self.note_idle(&mut state);
        let _ = frames::push(&mut state.out, &Message::Abort { i: id, r: reason });
        drop(state);
        self.wake_writer.notify_one();
        self.wake_supervisor.notify_one();
    }

    /// Notes when nothing waits any more; whether that is so.
    fn note_idle(&self, state: &mut State) -> bool {
        let idle = state.waiting.is_empty();
        if idle {
            state.idle_since = Instant::now();
            self.idle.notify_one();
        }
        idle
    }

    /// Ends the worker when it does not answer: its event loop is blocked, and nothing else would end that.
    async fn replace_if_blocked(&self, why: &str) {
        let receiver = {
            let mut state = self.state();
            if state.ending.is_some() {
                return;
            }
            let (id, receiver) = self.expect_answer(&mut state);
            let _ = frames::push(&mut state.out, &Message::Ping { i: id });
            receiver
        };
        self.wake_writer.notify_one();
        if tokio::time::timeout(PING, receiver).await.is_err() {
            self.kill(Ending::Killed(why.to_owned()));
        }
    }

    /// Tells everybody who waits that the process is gone.
    fn finish(&self, status: Option<std::process::ExitStatus>) {
        let started = self.started();
        let mut state = self.state();
        state.guard = None;
        state.ending.get_or_insert_with(|| Ending::of(status));
        for (id, answer) in state.waiting.drain() {
            let _ = answer.send(Answer::Ended { started: id <= started });
        }
        self.idle.notify_one();
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

async fn write_frames(worker: Arc<Worker>, mut stream: OwnedWriteHalf) {
    let mut batch = Vec::new();
    loop {
        worker.wake_writer.notified().await;
        loop {
            std::mem::swap(&mut worker.state().out, &mut batch);
            if batch.is_empty() {
                break;
            }
            if stream.write_all(&batch).await.is_err() {
                return; // the reader sees the end and says why
            }
            batch.clear();
            if batch.capacity() > 1024 * 1024 {
                batch = Vec::new();
            }
        }
    }
}

async fn read_replies(worker: Arc<Worker>, mut stream: OwnedReadHalf, sink: LogSink) {
    let mut reader = ReplyReader::default();
    loop {
        let buffer = reader.buffer();
        buffer.reserve(16 * 1024);
        match stream.read_buf(buffer).await {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        loop {
            match reader.next() {
                Ok(Some(reply)) => handle(&worker, reply, &sink),
                Ok(None) => break,
                Err(error) => return worker.kill(Ending::Killed(error.to_string())),
            }
        }
    }
    // A worker that closed its channel can serve no call any more.
    let mut state = worker.state();
    state.retiring = true;
    drop(state);
    worker.wake_supervisor.notify_one();
}

fn handle(worker: &Worker, reply: Reply, sink: &LogSink) {
    match reply.kind {
        Kind::Log => sink.host(&worker.name, &reply.text),
        Kind::Retire => {
            sink.host(
                &worker.name,
                &format!("{}: the next call gets a fresh worker", reply.text),
            );
            worker.retire();
        }
        _ => {
            let mut state = worker.state();
            let answer = state.waiting.remove(&reply.id);
            let wake = worker.note_idle(&mut state) && state.retiring;
            drop(state);
            if let Some(answer) = answer {
                let _ = answer.send(Answer::Reply(reply));
            }
            if wake {
                worker.wake_supervisor.notify_one();
            }
        }
    }
}

/// Waits for the process to end; ends it when it is idle for long, retired and done, or asked to.
async fn supervise(worker: &Worker, child: &mut Child, idle: Duration) -> Option<std::process::ExitStatus> {
    let mut patience: Option<Instant> = None;
    loop {
        let (busy, ending, retiring, idle_at) = {
            let state = worker.state();
            (
                !state.waiting.is_empty(),
                state.ending.is_some(),
                state.retiring,
                state.idle_since + idle,
            )
        };
        let now = Instant::now();
        let wait = if ending {
            let until = *patience.get_or_insert(now + GUARD_PATIENCE);
            if until <= now {
                let _ = child.start_kill();
            }
            until.saturating_duration_since(now).max(Duration::from_millis(50))
        } else if !busy && (retiring || idle_at <= now) {
            worker.kill(Ending::Killed("it was not used any more".to_owned()));
            continue;
        } else if busy {
            idle.max(Duration::from_millis(10))
        } else {
            idle_at - now
        };
        tokio::select! {
            status = child.wait() => return status.ok(),
            () = worker.wake_supervisor.notified() => {}
            () = tokio::time::sleep(wait) => {}
        }
    }
}

/// Stops a call whose caller went away: the signal fires at once, and after the grace time the worker is
/// replaced when it does not answer.
struct StopOnDrop<'a> {
    worker: &'a Arc<Worker>,
    id: u32,
    grace: Duration,
    armed: bool,
}

impl StopOnDrop<'_> {
    fn disarm(mut self) {
        self.armed = false;
    }
}

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        if !self.armed {
            return;
        }
        let (worker, id, grace) = (Arc::clone(self.worker), self.id, self.grace);
        let _ = worker
            .progress
            .write_all_at(&id.to_le_bytes(), u64::from(1 + id % STOPPED_WORDS) * 4);
        {
            let mut state = worker.state();
            let _ = frames::push(
                &mut state.out,
                &Message::Abort {
                    i: id,
                    r: "the call was stopped",
                },
            );
        }
        worker.wake_writer.notify_one();
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        runtime.spawn(async move {
            // Still waiting for its answer means that it still runs: the worker is busy with it until then.
            let (sender, receiver) = oneshot::channel();
            match worker.state().waiting.get_mut(&id) {
                Some(waiting) => *waiting = sender,
                None => return,
            }
            if tokio::time::timeout(grace, receiver).await.is_err() {
                worker.abandon(id, "the call was stopped");
                worker.replace_if_blocked("a stopped call did not yield").await;
            }
        });
    }
}

/// Seconds as people write them: `10`, `0.5`.
pub(crate) fn seconds(duration: Duration) -> String {
    let text = format!("{:.3}", duration.as_secs_f64());
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
