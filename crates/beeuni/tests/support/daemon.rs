//! The real `beeuni daemon`, started, asked and stopped.
#[path = "daemon_events.rs"]
mod events;
#[path = "daemon_http.rs"]
mod http;
#[path = "daemon_model.rs"]
mod model;
#[path = "daemon_processes.rs"]
mod processes;
#[path = "daemon_project.rs"]
mod project;
#[path = "daemon_talk.rs"]
mod talk;

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

pub(crate) use events::Events;
pub(crate) use http::{Connection, Reply, request, signed};
pub(crate) use model::{KEY, Model, offered};
pub(crate) use processes::{descendants, until_gone};
pub(crate) use project::Project;
pub(crate) use talk::{SESSION, Talk, harness_command, parts};

/// The session token of every daemon here.
pub(crate) const TOKEN: &str = "session-token-0123456789abcdef";
/// How long a test waits for something that should happen at once.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Runs `command` to its end, which must come soon.
pub(crate) fn ended(mut command: Command) -> (i32, String, String) {
    let mut child = command.spawn().unwrap();
    let status = exit_of(&mut child);
    let (mut out, mut err) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    (status.code().unwrap(), out, err)
}

fn exit_of(child: &mut Child) -> ExitStatus {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if begin.elapsed() > PATIENCE {
            let _ = child.kill();
            panic!("the daemon did not end");
        }
        pause();
    }
}

/// Waits until `condition` gives something.
pub(crate) fn until<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(begin.elapsed() < PATIENCE, "waited in vain for {what}");
        pause();
    }
}

/// The beat of every wait on a condition.
fn pause() {
    thread::sleep(Duration::from_millis(5));
}

/// A running daemon. It is killed when the test drops it; its log shows when the test failed.
pub(crate) struct Daemon {
    child: Child,
    /// The line on stdout.
    pub(crate) ready: Value,
    out: Arc<Mutex<String>>,
    log: Arc<Mutex<String>>,
}

impl Daemon {
    /// Starts `command` and waits for its line.
    pub(crate) fn start(command: Command) -> Self {
        let mut daemon = Self::start_only(command);
        let line = until("the ready line", || {
            assert!(
                daemon.child.try_wait().unwrap().is_none(),
                "the daemon ended:\n{}",
                daemon.log()
            );
            daemon.stdout().split_once('\n').map(|(line, _)| line.to_owned())
        });
        daemon.ready = serde_json::from_str(&line).unwrap();
        daemon
    }

    /// Starts `command` and waits for nothing.
    pub(crate) fn start_only(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let out = gathered(child.stdout.take().unwrap());
        let log = gathered(child.stderr.take().unwrap());
        Self {
            child,
            ready: Value::Null,
            out,
            log,
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn stdout(&self) -> String {
        self.out.lock().unwrap().clone()
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Waits for a log line that has all of `parts`.
    pub(crate) fn wait_for_log(&self, parts: &[&str]) -> String {
        until(&format!("a log line with {parts:?}"), || {
            let log = self.log();
            log.lines()
                .find(|line| parts.iter().all(|part| line.contains(part)))
                .map(str::to_owned)
        })
    }

    pub(crate) fn address(&self) -> String {
        self.ready["url"]
            .as_str()
            .unwrap()
            .trim_start_matches("http://")
            .to_owned()
    }

    pub(crate) fn connect(&self) -> Connection<TcpStream> {
        Connection::tcp(&self.address())
    }

    /// One request with the session token on a connection of its own.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &str) -> Reply {
        self.ask_as(Some(TOKEN), method, path, body)
    }

    /// One request with `token`.
    pub(crate) fn ask_as(&self, token: Option<&str>, method: &str, path: &str, body: &str) -> Reply {
        let headers = token
            .map(|token| format!("authorization: Bearer {token}\r\n"))
            .unwrap_or_default();
        self.connect().ask(&request(method, path, &headers, body))
    }

    /// Calls `tool`; the reply.
    pub(crate) fn call(&self, tool: &str, body: &Value) -> Reply {
        self.ask("POST", &format!("/beeuni/tools/{tool}"), &body.to_string())
    }

    /// The output of a call with `args` that must succeed.
    pub(crate) fn output(&self, tool: &str, args: Value) -> String {
        let reply = self.call(tool, &serde_json::json!({ "args": args }));
        assert_eq!(reply.status, 200, "{tool}: {}", reply.body);
        reply.json()["output"].as_str().unwrap().to_owned()
    }

    /// Pushes `agents` as the secrets.
    pub(crate) fn push(&self, revision: &str, agents: Value) -> Reply {
        self.ask(
            "POST",
            "/beeuni/env",
            &serde_json::json!({ "revision": revision, "agents": agents }).to_string(),
        )
    }

    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill")
            .arg(format!("-{name}"))
            .arg(self.pid().to_string())
            .status()
            .unwrap();
        assert!(status.success());
    }

    /// Waits for the end; the exit code, or `None` when a signal ended it.
    pub(crate) fn exit_code(&mut self) -> Option<i32> {
        exit_of(&mut self.child).code()
    }

    /// SIGTERM, and a good end.
    pub(crate) fn stop(mut self) -> String {
        self.signal("TERM");
        assert_eq!(self.exit_code(), Some(0));
        self.log()
    }
}

impl Drop for Daemon {
    #[expect(clippy::print_stderr, reason = "the log of a failed test is what one needs to read")]
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            eprintln!("--- the daemon's log\n{}", self.log());
        }
    }
}

/// What `stream` gives, gathered in the background.
fn gathered(stream: impl Read + Send + 'static) -> Arc<Mutex<String>> {
    let text = Arc::new(Mutex::new(String::new()));
    let gathered = text.clone();
    thread::spawn(move || {
        let mut reader = BufReader::new(stream);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            gathered.lock().unwrap().push_str(&String::from_utf8_lossy(&line));
            line.clear();
        }
    });
    text
}
