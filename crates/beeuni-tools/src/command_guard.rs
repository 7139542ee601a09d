//! `beeuni tool-guard command`: the small process between the daemon and one shell command, which ends everything
//! that the command started.
//!
//! The command runs in a session of its own, without a terminal and without input. When it has ended, what it left
//! in the background is ended too and counted. When the guard gets SIGTERM, or the daemon dies (even by SIGKILL: the
//! kernel then signals the guard), every process of the command gets SIGTERM and, after a grace time or a second
//! SIGTERM, SIGKILL: also those that went into sessions of their own, because the guard is the subreaper of all.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, getpid, getppid, kill_process, kill_process_group, set_child_subreaper,
    set_parent_process_death_signal, setrlimit, setsid,
};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::guard::{Ended, children, end_of, kill_all};

/// The word in front of the arguments.
pub(crate) const WORD: &str = "command";
/// How long processes may take to end by themselves when the command has: the reader of a pipe, for one.
const SETTLE: Duration = Duration::from_millis(250);
/// How long what was left in the background may take to end after SIGTERM.
const LEFT_GRACE: Duration = Duration::from_millis(500);
/// How often the guard looks whether everything has ended, once it is about to.
const LOOK: Duration = Duration::from_millis(5);
/// Exit code when the command could not be started.
const CANNOT_START: i32 = 127;

/// The arguments of the guard's program (`beeuni`) for a command: `tool-guard command <pid> <ms> <program> …`.
///
/// `parent` is the process that starts the guard, on a thread that lives as long as the command may. Give the guard
/// no process group of its own, and as its standard input the writing end of a pipe: what it writes there is read
/// by [`left_behind`]. It ends as the command does.
pub fn arguments(parent: u32, grace: Duration, program: &Path, rest: &[OsString]) -> Vec<OsString> {
    let mut all: Vec<OsString> = vec![
        "tool-guard".into(),
        WORD.into(),
        parent.to_string().into(),
        grace.as_millis().to_string().into(),
        program.into(),
    ];
    all.extend(rest.iter().cloned());
    all
}

/// How many processes the command left in the background, as the guard reported.
pub fn left_behind(report: &str) -> usize {
    report
        .lines()
        .find_map(|line| line.strip_prefix("left ")?.trim().parse().ok())
        .unwrap_or(0)
}

/// How far the end is.
enum Stage {
    Running,
    /// The command has ended; others may still.
    Settling(Instant),
    /// Everything got SIGTERM.
    Ending(Instant),
}

/// Starts the command and stays with it.
pub(crate) fn run(args: &[OsString]) -> std::io::Result<Ended> {
    let usage = || std::io::Error::other("usage: tool-guard command PID MS PROGRAM [ARGS…] (started by beeuni itself)");
    let [parent, grace, program, rest @ ..] = args else {
        return Err(usage());
    };
    let number = |text: &OsString| text.to_str().and_then(|t| t.parse::<u64>().ok()).ok_or_else(usage);
    let (parent, grace) = (number(parent)?, Duration::from_millis(number(grace)?));

    // Away from the terminal: what asks for a password there fails at once instead of waiting for ever.
    setsid()?;
    set_child_subreaper(Some(getpid()))?;
    set_parent_process_death_signal(Some(Signal::TERM))?;
    let mut signals = Signals::new([SIGCHLD, SIGTERM, SIGINT, SIGHUP])?;
    // A parent that died before the line above sends no signal any more.
    if getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs().into()) != Some(parent) {
        return Ok(Ended::Code(0));
    }
    setrlimit(
        Resource::Core,
        Rlimit {
            current: Some(0),
            maximum: Some(0),
        },
    )?;
    let spawned = Command::new(program)
        .args(rest)
        .stdin(Stdio::null())
        .process_group(0)
        .spawn();
    let command = match spawned {
        Ok(child) => i32::try_from(child.id())
            .ok()
            .and_then(Pid::from_raw)
            .ok_or_else(usage)?,
        Err(error) => {
            let program = Path::new(program).display();
            let _ = writeln!(std::io::stderr(), "{program} could not be started: {error}");
            return Ok(Ended::Code(CANNOT_START));
        }
    };
    // Only the command and its descendants hold the output now: their end is the daemon's end of file.
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(stay_with(command, grace, &mut signals))
}

fn stay_with(command: Pid, grace: Duration, signals: &mut Signals) -> Ended {
    let mut stage = Stage::Running;
    let mut ended = None;
    loop {
        let asked = match stage {
            Stage::Running => signals.wait().any(|signal| signal != SIGCHLD),
            Stage::Settling(_) | Stage::Ending(_) => {
                std::thread::sleep(LOOK);
                signals.pending().any(|signal| signal != SIGCHLD)
            }
        };
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            if pid == command {
                ended = Some(end_of(status));
            }
        }
        let now = Instant::now();
        let all_gone = || children().is_empty();
        stage = match stage {
            _ if ended.is_some() && all_gone() => break,
            Stage::Ending(until) if asked || now >= until => {
                kill_all(command);
                break;
            }
            Stage::Ending(until) => Stage::Ending(until),
            Stage::Running | Stage::Settling(_) if asked => {
                terminate_all(command);
                Stage::Ending(now + grace)
            }
            Stage::Running if ended.is_some() => Stage::Settling(now + SETTLE),
            Stage::Running => Stage::Running,
            Stage::Settling(until) if now >= until => {
                report(&format!("left {}\n", descendants().len()));
                terminate_all(command);
                Stage::Ending(now + LEFT_GRACE.min(grace))
            }
            Stage::Settling(until) => Stage::Settling(until),
        };
    }
    ended.unwrap_or(Ended::Code(0))
}

/// Tells the daemon, which may not listen any more.
fn report(text: &str) {
    let _ = rustix::io::write(std::io::stdin().as_fd(), text.as_bytes());
}

/// SIGTERM to every process of the command; what was halted has to go on to receive it.
fn terminate_all(command: Pid) {
    for signal in [Signal::TERM, Signal::CONT] {
        let _ = kill_process_group(command, signal);
        for process in descendants() {
            let _ = kill_process(process, signal);
        }
    }
}

/// Every process below this one, from `/proc`, however deep.
fn descendants() -> Vec<Pid> {
    let mut below: HashMap<i32, Vec<i32>> = HashMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        if let Some(parent) = parent_of(&entry.path()) {
            below.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut next = vec![getpid().as_raw_nonzero().get()];
    while let Some(pid) = next.pop() {
        for child in below.remove(&pid).unwrap_or_default() {
            next.push(child);
            found.extend(Pid::from_raw(child));
        }
    }
    found
}

/// The parent of a process, from its folder in `/proc`; none for one that has ended and waits to be reaped.
fn parent_of(folder: &Path) -> Option<i32> {
    let stat = std::fs::read_to_string(folder.join("stat")).ok()?;
    // `pid (name) state ppid …`: the name may hold spaces and brackets, so count from its end.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    (state != "Z").then_some(parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_says_how_many_were_left() {
        assert_eq!(left_behind("left 3\n"), 3);
        assert_eq!(left_behind(""), 0);
        assert_eq!(left_behind("left x\n"), 0);
    }
}
