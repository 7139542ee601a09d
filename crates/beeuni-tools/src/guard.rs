//! `beeuni tool-guard`: the small process between the daemon and one worker, which leaves nothing behind.
//!
//! A tool may start programs of its own, in the background and in sessions of their own. The guard is the
//! subreaper of all of them: whoever loses its parent becomes the guard's child. When the worker ends, or the
//! daemon does (even by SIGKILL: the kernel then signals the guard), it kills what is left and ends exactly as
//! the worker ended, so that the daemon reads the worker's fate from the guard's exit status.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use command_fds::{CommandFdExt, FdMapping};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_process, kill_process_group,
    set_child_subreaper, set_parent_process_death_signal, setrlimit,
};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::command_guard;

/// Exit code when the worker could not be started; its reason is on stderr then.
const CANNOT_START: i32 = 127;

/// What the daemon passes: `<its pid> <memory in MiB> <program> <arguments…>`.
pub(crate) fn arguments(parent: u32, memory_mib: u64, program: &Path, rest: &[OsString]) -> Vec<OsString> {
    let mut all = vec![
        "tool-guard".into(),
        parent.to_string().into(),
        memory_mib.to_string().into(),
        program.into(),
    ];
    all.extend(rest.iter().cloned());
    all
}

/// Runs `beeuni tool-guard` with the arguments after that word: starts one worker whose channel is this
/// process's stdin, ends it and all its descendants with the parent. Returns the exit code; a worker that died
/// by a signal makes this process die by the same one.
///
/// With the word `command` first it guards a command of a shell instead: see [`command_guard`](crate::command_guard).
pub fn guard_main(args: &[OsString]) -> i32 {
    let outcome = match args {
        [first, rest @ ..] if first == command_guard::WORD => command_guard::run(rest),
        args => run(args),
    };
    match outcome {
        Ok(Ended::Code(code)) => code,
        Ok(Ended::Signal(signal)) => die_by(signal),
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "the worker could not be started: {error}");
            CANNOT_START
        }
    }
}

/// How the guarded process ended.
pub(crate) enum Ended {
    Code(i32),
    Signal(i32),
}

fn run(args: &[OsString]) -> std::io::Result<Ended> {
    let usage = || std::io::Error::other("usage: tool-guard PID MIB PROGRAM [ARGS…] (started by beeuni itself)");
    let [parent, memory, program, rest @ ..] = args else {
        return Err(usage());
    };
    let number = |text: &OsString| text.to_str().and_then(|t| t.parse::<u64>().ok()).ok_or_else(usage);
    let (parent, memory) = (number(parent)?, number(memory)?);

    set_child_subreaper(Some(getpid()))?;
    set_parent_process_death_signal(Some(Signal::TERM))?;
    let mut signals = Signals::new([SIGCHLD, SIGTERM, SIGINT, SIGHUP])?;
    // A parent that died before the line above sends no signal any more.
    if getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs().into()) != Some(parent) {
        return Ok(Ended::Code(0));
    }
    // Counts what a process may write to, not what it reserves: the runtime reserves far more than it uses.
    let bytes = memory.saturating_mul(1024 * 1024);
    setrlimit(
        Resource::Data,
        Rlimit {
            current: Some(bytes),
            maximum: Some(bytes),
        },
    )?;
    setrlimit(
        Resource::Core,
        Rlimit {
            current: Some(0),
            maximum: Some(0),
        },
    )?;

    let channel = std::io::stdin().as_fd().try_clone_to_owned()?;
    let mut command = Command::new(program);
    command.args(rest).stdin(Stdio::null()).process_group(0);
    command
        .fd_mappings(vec![FdMapping {
            parent_fd: channel,
            child_fd: 3,
        }])
        .map_err(std::io::Error::other)?;
    let worker = command.spawn()?;
    let worker = i32::try_from(worker.id())
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(usage)?;
    drop(command);
    // Only the worker and its descendants hold the channel and the log now: their end is the daemon's EOF.
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;

    let mut ended = None;
    for signal in signals.forever() {
        if signal != SIGCHLD {
            ended = Some(Ended::Code(0));
        }
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            if pid == worker {
                ended = Some(end_of(status));
            }
        }
        if let Some(ended) = ended {
            kill_all(worker);
            return Ok(ended);
        }
    }
    Ok(Ended::Code(0))
}

pub(crate) fn end_of(status: WaitStatus) -> Ended {
    match status.terminating_signal() {
        Some(signal) => Ended::Signal(signal),
        None => Ended::Code(status.exit_status().unwrap_or(0)),
    }
}

/// Kills until no child is left: a killed child's own children become ours and are next.
pub(crate) fn kill_all(worker: Pid) {
    let _ = kill_process_group(worker, Signal::KILL);
    loop {
        let children = children();
        for child in &children {
            let _ = kill_process(*child, Signal::KILL);
        }
        match rustix::process::wait(if children.is_empty() {
            WaitOptions::NOHANG
        } else {
            WaitOptions::empty()
        }) {
            Ok(Some(_)) => {}
            Ok(None) | Err(_) if children.is_empty() => return,
            Ok(None) => {}
            Err(_) => return,
        }
    }
}

/// This process's children, from `/proc`: not every kernel offers a list of them.
pub(crate) fn children() -> Vec<Pid> {
    let me = getpid().as_raw_nonzero().get().to_string();
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse::<i32>().ok()?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            // `pid (name) state ppid …`: the name may hold spaces and brackets, so count from its end.
            let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?;
            (parent == me).then(|| Pid::from_raw(pid)).flatten()
        })
        .collect()
}

fn die_by(signal: i32) -> i32 {
    let _ = signal_hook::low_level::emulate_default_handler(signal);
    if let Some(signal) = Signal::from_named_raw(signal) {
        let _ = kill_process(getpid(), signal);
    }
    128 + signal
}
