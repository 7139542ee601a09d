//! A process below the guard: started, listened to, ended with everything that it started.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use beeuni_tools::{SecretValue, command_guard};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::net::unix::pipe;
use tokio::process::Child;
use tokio::sync::watch;

use super::Ended;

/// Between SIGTERM and SIGKILL, when nobody insists.
const GRACE: Duration = Duration::from_secs(5);
/// How long the guard may take to end everything once it was told to insist.
const GUARD_PATIENCE: Duration = Duration::from_secs(3);
/// How long the rest of an ended process's output may take to arrive.
const DRAIN: Duration = Duration::from_millis(300);
/// How many of the last lines are kept for error texts, and how long each may be.
const KEPT_LINES: usize = 12;
const LONGEST_LINE: usize = 500;
/// How much of a line without an end is read at once, in bytes.
const MOST_AT_ONCE: u64 = 256 * 1024;
/// What OpenCode prints when it takes requests: one sent earlier is never answered.
const LISTENING: &str = "opencode server listening on ";

/// What to run.
pub(super) struct Command<'a> {
    /// The `beeuni` binary.
    pub(super) guard: &'a Path,
    pub(super) program: &'a Path,
    pub(super) args: Vec<OsString>,
    pub(super) folder: &'a Path,
    pub(super) env: &'a BTreeMap<String, String>,
}

/// A running process. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Process {
    ended: watch::Receiver<Option<Ended>>,
    listening: watch::Receiver<Option<String>>,
    lines: Lines,
    pid: Arc<Mutex<Option<Pid>>>,
}

/// The last lines that a process printed, without secrets.
#[derive(Debug, Clone)]
struct Lines(Arc<Mutex<VecDeque<String>>>);

impl Process {
    /// Starts it. On a thread that lives as long as the process may: the guard ends with it.
    pub(super) fn start(command: &Command<'_>, secrets: Vec<SecretValue>) -> std::io::Result<Self> {
        let (report, report_writer) = std::io::pipe()?;
        let arguments = command_guard::arguments(std::process::id(), GRACE, command.program, &command.args);
        let mut child = tokio::process::Command::new(command.guard)
            .args(arguments)
            .current_dir(command.folder)
            .env_clear()
            .envs(command.env)
            .stdin(Stdio::from(report_writer))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let pid = Arc::new(Mutex::new(pid));
        let lines = Lines(Arc::default());
        let (heard, listening) = watch::channel(None);
        let secrets = Arc::new(secrets);
        let readers = [
            child
                .stdout
                .take()
                .map(|out| tokio::spawn(listen(out, lines.clone(), Arc::clone(&secrets), Some(heard)))),
            child
                .stderr
                .take()
                .map(|err| tokio::spawn(listen(err, lines.clone(), secrets, None))),
        ];
        // Nobody reads the guard's report, but it has to have somewhere to write it.
        let report = pipe::Receiver::from_owned_fd(OwnedFd::from(report))?;
        let (tell, ended) = watch::channel(None);
        let (kept, of_process) = (lines.clone(), Arc::clone(&pid));
        tokio::spawn(async move {
            let status = wait(&mut child).await;
            *of_process.lock().unwrap_or_else(PoisonError::into_inner) = None;
            drop(report);
            for mut reader in readers.into_iter().flatten() {
                if tokio::time::timeout(DRAIN, &mut reader).await.is_err() {
                    reader.abort();
                }
            }
            tell.send_replace(Some(Ended {
                code: status.and_then(|status| status.code()),
                signal: status.and_then(|status| status.signal()),
                last_lines: kept.all(),
            }));
        });
        Ok(Self {
            ended,
            listening,
            lines,
            pid,
        })
    }

    /// Waits for its end.
    pub(super) async fn ended(&self) -> Ended {
        self.end().await
    }

    /// The same, without holding the process.
    pub(super) fn end(&self) -> impl Future<Output = Ended> + Send + use<> {
        let mut ended = self.ended.clone();
        async move {
            match ended.wait_for(Option::is_some).await {
                Ok(ended) => ended.clone().unwrap_or_default(),
                // The task that watches it is gone, and with it the runtime.
                Err(_) => Ended::default(),
            }
        }
    }

    /// Waits until it says that it takes requests. What it says where.
    pub(super) async fn listening(&self) -> Result<String, Ended> {
        let mut listening = self.listening.clone();
        let heard = listening
            .wait_for(Option::is_some)
            .await
            .ok()
            .and_then(|url| url.clone());
        match heard {
            Some(url) => Ok(url),
            None => Err(self.ended().await),
        }
    }

    /// The last lines that it printed.
    pub(super) fn last_lines(&self) -> Vec<String> {
        self.lines.all()
    }

    /// Ends it. What is left after `grace` is killed.
    pub(super) async fn stop(&self, grace: Duration) {
        self.signal(Signal::TERM);
        if tokio::time::timeout(grace, self.ended()).await.is_ok() {
            return;
        }
        self.signal(Signal::TERM);
        if tokio::time::timeout(GUARD_PATIENCE, self.ended()).await.is_err() {
            self.signal(Signal::KILL);
            self.ended().await;
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = *self.pid.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = kill_process(pid, signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The guard ends everything; the runtime reaps it.
        self.signal(Signal::TERM);
    }
}

/// Runs something to its end; `None` when it was still running after `longest`.
pub(super) async fn run(command: &Command<'_>, longest: Duration) -> std::io::Result<Option<Ended>> {
    let process = Process::start(command, Vec::new())?;
    match tokio::time::timeout(longest, process.ended()).await {
        Ok(ended) => Ok(Some(ended)),
        Err(_) => {
            process.stop(Duration::ZERO).await;
            Ok(None)
        }
    }
}

async fn wait(child: &mut Child) -> Option<std::process::ExitStatus> {
    child.wait().await.ok()
}

/// Reads lines to the end: into the log, into the last lines, and for the one that says that it listens.
async fn listen(
    stream: impl AsyncRead + Unpin,
    lines: Lines,
    secrets: Arc<Vec<SecretValue>>,
    heard: Option<watch::Sender<Option<String>>>,
) {
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    while let Ok(1..) = (&mut stream).take(MOST_AT_ONCE).read_until(b'\n', &mut line).await {
        let mut text = String::from_utf8_lossy(&line).trim_end().to_owned();
        line.clear();
        for secret in secrets.iter() {
            text = text.replace(secret.expose(), "[secret]");
        }
        if let Some((_, url)) = text.split_once(LISTENING)
            && let Some(heard) = &heard
        {
            heard.send_replace(Some(url.trim().to_owned()));
        }
        if !text.is_empty() {
            tracing::debug!(target: "opencode", "{text}");
            lines.push(text);
        }
    }
}

impl Lines {
    fn push(&self, mut line: String) {
        line.truncate(line.floor_char_boundary(LONGEST_LINE));
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() >= KEPT_LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    fn all(&self) -> Vec<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .cloned()
            .collect()
    }
}
