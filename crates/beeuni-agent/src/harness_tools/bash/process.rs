//! One command as a process: started through the guard, read to its end, ended with everything that it started.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use beeuni_tools::command_guard;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::time::Instant;

use super::capture::Capture;

/// How long the rest of an ended command's output may take to arrive.
const DRAIN: Duration = Duration::from_millis(500);
/// How much longer than its grace time the guard may take to end everything before it is killed itself.
const GUARD_PATIENCE: Duration = Duration::from_secs(3);

/// What to run, and how.
pub(super) struct Order<'a> {
    pub(super) guard: &'a Path,
    pub(super) command: &'a str,
    pub(super) folder: &'a Path,
    pub(super) env: &'a BTreeMap<String, String>,
    /// Between SIGTERM and SIGKILL.
    pub(super) grace: Duration,
}

/// Why a command was ended before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// The call was stopped.
    Stopped,
    /// It ran longer than this.
    TimedOut(Duration),
    /// The model asked for it, or the session ended.
    Killed,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ending {
    pub(super) why: Option<Why>,
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
    /// Processes that it had left in the background.
    pub(super) left: usize,
}

/// A running command. Dropping it ends it.
pub(super) struct Process {
    child: Child,
    pid: Option<Pid>,
    output: pipe::Receiver,
    report: pipe::Receiver,
    grace: Duration,
}

/// Set for every command, whatever the environment says: nobody is there to page, answer or colour for.
const OWN_VARIABLES: &[(&str, &str)] = &[
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_EDITOR", "true"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("NO_COLOR", "1"),
];

/// The shell: bash where there is one.
pub(super) fn shell() -> &'static Path {
    ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"]
        .into_iter()
        .map(Path::new)
        .find(|path| path.exists())
        .unwrap_or(Path::new("/bin/sh"))
}

impl Process {
    /// Starts a command. On the thread of the runtime: the guard ends with the thread that started it.
    pub(super) fn start(order: &Order<'_>) -> std::io::Result<Self> {
        let (output, writer) = std::io::pipe()?;
        let (report, report_writer) = std::io::pipe()?;
        let shell = PathBuf::from(shell());
        let rest = [OsString::from("-c"), OsString::from(order.command)];
        let arguments = command_guard::arguments(std::process::id(), order.grace, &shell, &rest);
        let child = Command::new(order.guard)
            .args(arguments)
            .current_dir(order.folder)
            .env_clear()
            .envs(order.env)
            .envs(OWN_VARIABLES.iter().copied())
            // One pipe for both: what is printed comes in the order in which it was printed.
            .stdout(Stdio::from(writer.try_clone()?))
            .stderr(Stdio::from(writer))
            .stdin(Stdio::from(report_writer))
            .spawn()?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Ok(Self {
            child,
            pid,
            output: pipe::Receiver::from_owned_fd(OwnedFd::from(output))?,
            report: pipe::Receiver::from_owned_fd(OwnedFd::from(report))?,
            grace: order.grace,
        })
    }

    /// Reads what the command prints into `capture` until it and all that it started have ended. When `end` comes
    /// first, they are ended. `tell` is called after each piece; where it gives a moment, once more then.
    pub(super) async fn run(
        mut self,
        capture: &Mutex<Capture>,
        tell: &(dyn Fn() -> Option<Instant> + Send + Sync),
        end: impl Future<Output = Why> + Send,
    ) -> Ending {
        let mut end = std::pin::pin!(end);
        let mut chunk = vec![0; 64 * 1024];
        let (mut status, mut at_end, mut why) = (None, false, None);
        let (mut insist_at, mut kill_at): (Option<Instant>, Option<Instant>) = (None, None);
        let (mut drained_at, mut tell_at): (Option<Instant>, Option<Instant>) = (None, None);
        while status.is_none() || !at_end {
            tokio::select! {
                biased;
                reason = &mut end, if why.is_none() && status.is_none() => {
                    why = Some(reason);
                    self.signal(Signal::TERM);
                    let now = Instant::now();
                    // Who stops a call does not want to wait.
                    if reason == Why::Stopped {
                        insist_at = Some(now + STOP_GRACE.min(self.grace));
                    }
                    kill_at = Some(now + self.grace + GUARD_PATIENCE);
                }
                ended = self.child.wait(), if status.is_none() => {
                    status = Some(ended.ok());
                    self.pid = None;
                    drained_at = Some(Instant::now() + DRAIN);
                }
                read = self.output.read(&mut chunk), if !at_end => match read {
                    Ok(0) | Err(_) => at_end = true,
                    Ok(read) => {
                        capture.lock().unwrap_or_else(PoisonError::into_inner).push(&chunk[..read]);
                        tell_at = tell();
                    }
                },
                () = sleep_until(insist_at) => {
                    insist_at = None;
                    self.signal(Signal::TERM);
                }
                () = sleep_until(kill_at) => {
                    kill_at = None;
                    let _ = self.child.start_kill();
                }
                () = sleep_until(drained_at) => break,
                () = sleep_until(tell_at) => tell_at = tell(),
            }
        }
        let mut report = String::new();
        if why.is_none() {
            let _ = tokio::time::timeout(DRAIN, self.report.read_to_string(&mut report)).await;
        }
        let status: Option<ExitStatus> = status.flatten();
        Ending {
            why,
            code: status.and_then(|status| status.code()),
            signal: status.and_then(|status| status.signal()),
            left: command_guard::left_behind(&report),
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid {
            let _ = kill_process(pid, signal);
        }
    }
}

/// How long a stopped command may take to end after SIGTERM.
const STOP_GRACE: Duration = Duration::from_millis(500);

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The guard ends everything; the runtime reaps it.
        self.signal(Signal::TERM);
    }
}
