//! Conversion in a process of its own: whatever a page does to the parsers happens there.

use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use bytes::Bytes;
use rustix::process::{Resource, Rlimit, Signal, setrlimit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::sync::{Semaphore, oneshot};

use super::{PageText, Task, convert};

/// The memory that a conversion may take: the largest pages need a third of it.
const MAX_MEMORY: u64 = 1536 * 1024 * 1024;
/// The most processor time that a conversion may take.
pub(crate) const LONGEST: Duration = Duration::from_secs(20);
/// More than any page makes.
const MAX_REPLY: u64 = 64 * 1024 * 1024;
/// Deep pages need a deep stack; untouched memory costs nothing.
const STACK: usize = 256 * 1024 * 1024;

/// The program that runs [`page_reader_main`]: this one, called with an argument that says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReaderProgram {
    /// Its path.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
}

/// Turns pages into text, a few at a time.
#[derive(Debug)]
pub(crate) struct Converter {
    program: Option<ReaderProgram>,
    turns: Semaphore,
}

impl Converter {
    /// Without a program the conversion runs in this process, where a hostile page can end it.
    pub(crate) fn new(program: Option<ReaderProgram>) -> Self {
        Self {
            program,
            turns: Semaphore::new(4),
        }
    }

    /// Converts a page, or says why it cannot be read.
    pub(crate) async fn convert(&self, task: Task, body: Bytes) -> Result<PageText, String> {
        let time = Duration::from_secs(task.seconds);
        let Ok(_turn) = self.turns.acquire().await else {
            return Err("the reader is closed".to_owned());
        };
        match &self.program {
            Some(program) => in_process(program, &task, &body).await,
            None => {
                let (done, converted) = oneshot::channel();
                let work = move || {
                    let outcome = catch_unwind(AssertUnwindSafe(|| convert(&task, &body)));
                    // Whoever asked may have given up.
                    let _ = done.send(outcome);
                };
                let spawned = std::thread::Builder::new().stack_size(STACK).spawn(work);
                match (spawned, tokio::time::timeout(time, converted).await) {
                    (Ok(_), Ok(Ok(Ok(converted)))) => converted,
                    // Too slow (the thread goes on, nothing can stop it), or it panicked.
                    _ => Err(broke()),
                }
            }
        }
    }
}

async fn in_process(program: &ReaderProgram, task: &Task, body: &[u8]) -> Result<PageText, String> {
    let cannot = |error: &dyn std::fmt::Display| format!("the reader's process cannot be used: {error}");
    let mut child = Command::new(&program.program)
        .args(&program.args)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| cannot(&error))?;
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(cannot(&"it has no pipes"));
    };
    let mut head = serde_json::to_vec(task).map_err(|error| cannot(&error))?;
    head.push(b'\n');
    let talk = async {
        // A child that dies early does not read: its silence is reported below.
        let sent = async { stdin.write_all(&head).await.and(stdin.write_all(body).await) }.await;
        drop(stdin);
        let mut reply = Vec::new();
        stdout
            .take(MAX_REPLY)
            .read_to_end(&mut reply)
            .await
            .and(sent)
            .map(|()| reply)
    };
    // Processor time is limited inside; this is for a machine that is too busy to give it any.
    let reply = tokio::time::timeout(Duration::from_secs(2 * task.seconds), talk).await;
    let Ok(Ok(reply)) = reply else { return Err(broke()) };
    // Libraries may print: the reply is the last line.
    let line = reply
        .trim_ascii_end()
        .rsplit(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    serde_json::from_slice(line).unwrap_or_else(|_| Err(broke()))
}

fn broke() -> String {
    "its content is too large, too deep or too broken to be turned into text".to_owned()
}

/// The whole program of the page reader: reads one page from stdin, writes its text to stdout.
///
/// For the binary to call, before anything else, when it was started as [`ReaderProgram`] says. Returns
/// the exit code.
pub fn page_reader_main() -> i32 {
    match answer_once() {
        Ok(()) => 0,
        Err(_) => 1,
    }
}

fn answer_once() -> std::io::Result<()> {
    // A parent that is gone wants nothing any more.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    for (resource, most) in [(Resource::As, MAX_MEMORY), (Resource::Core, 0), (Resource::Fsize, 0)] {
        limit(resource, most)?;
    }
    let mut input = Vec::new();
    std::io::stdin().lock().read_to_end(&mut input)?;
    let head_end = memchr::memchr(b'\n', &input).unwrap_or(input.len());
    let task: Task = serde_json::from_slice(input.get(..head_end).unwrap_or_default())?;
    limit(Resource::Cpu, task.seconds)?;
    let work = move || convert(&task, input.get(head_end + 1..).unwrap_or_default());
    let worker = std::thread::Builder::new().stack_size(STACK).spawn(work)?;
    let converted = worker
        .join()
        .map_err(|_| std::io::Error::other("the conversion panicked"))?;
    let mut reply = b"\n".to_vec();
    serde_json::to_writer(&mut reply, &converted)?;
    reply.push(b'\n');
    std::io::stdout().lock().write_all(&reply)
}

fn limit(resource: Resource, most: u64) -> std::io::Result<()> {
    let limit = Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    Ok(setrlimit(resource, limit)?)
}
