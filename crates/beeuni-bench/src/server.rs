//! The servers that serve a project: a bare one, a daemon, and what they take of the machine.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::project::TOKEN;
use crate::{Outcome, Programs, http};

/// A running server; it ends with this value.
pub(crate) struct Server {
    child: Child,
    /// `127.0.0.1:PORT`.
    pub(crate) address: String,
    /// The session's id; a bare server has none.
    pub(crate) session: String,
}

impl Server {
    pub(crate) async fn bare(programs: &Programs, folder: &Path) -> Outcome<Self> {
        let mut command = Command::new(&programs.bun);
        command.arg("bare.js").current_dir(folder);
        Self::start(command).await
    }

    /// A daemon that only hosts tools.
    pub(crate) async fn daemon(programs: &Programs, folder: &Path, state: &Path) -> Outcome<Self> {
        Self::start(daemon(programs, folder, state, "none")).await
    }

    /// A daemon with a harness and with the model at `model`. Always the same session.
    pub(crate) async fn session(
        programs: &Programs,
        folder: &Path,
        state: &Path,
        harness: &str,
        model: &str,
    ) -> Outcome<Self> {
        let mut command = daemon(programs, folder, state, harness);
        command
            .args(["--session", "bench"])
            .env("BEEUNI_LLM_BASE_URL", format!("http://{model}/v1"))
            .env("BEEUNI_MODEL", "custom/m1");
        if let Some(opencode) = &programs.opencode {
            command.env("BEEUNI_OPENCODE", opencode);
        }
        Self::start(command).await
    }

    async fn start(mut command: Command) -> Outcome<Self> {
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let out = child.stdout.take().ok_or("no standard output")?;
        // What is started may need this thread: the model answers on it.
        let line = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            BufReader::new(out).read_line(&mut line).map(|_| line)
        });
        let line = line.await??;
        let ready: serde_json::Value =
            serde_json::from_str(&line).map_err(|error| format!("not ready: {line:?}: {error}"))?;
        let url = ready["url"].as_str().ok_or("no url in the ready line")?;
        let address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let session = ready["session"].as_str().unwrap_or_default().to_owned();
        Ok(Self {
            child,
            address,
            session,
        })
    }

    /// Waits until a prompt would be taken.
    pub(crate) async fn until_ready(&self) -> Outcome<()> {
        let request = http::request("GET", &self.address, "/beeuni/health", "");
        let begin = Instant::now();
        let mut client = http::Client::connect(&self.address).await?;
        loop {
            let health: serde_json::Value = serde_json::from_slice(client.exchange(&request).await?)?;
            if health["harness"]["ready"] == true {
                return Ok(());
            }
            if begin.elapsed() > Duration::from_secs(120) {
                return Err(format!("the session does not become ready: {health}").into());
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Memory of the process itself that is in RAM, in bytes.
    pub(crate) fn resident(&self) -> Outcome<u64> {
        resident(self.child.id())
    }

    /// Memory of the process and of everything below it.
    pub(crate) fn resident_of_all(&self) -> Outcome<Memory> {
        let own = self.resident()?;
        let mut memory = Memory {
            own,
            opencode: 0,
            all: own,
        };
        let mut parents = vec![self.child.id()];
        while let Some(parent) = parents.pop() {
            // One that has just ended has neither memory nor children.
            for entry in fs::read_dir(format!("/proc/{parent}/task"))
                .into_iter()
                .flatten()
                .flatten()
            {
                let children = fs::read_to_string(entry.path().join("children")).unwrap_or_default();
                for child in children.split_whitespace().filter_map(|child| child.parse().ok()) {
                    let resident = resident(child).unwrap_or(0);
                    memory.all += resident;
                    let program = fs::read_link(format!("/proc/{child}/exe")).unwrap_or_default();
                    if program.file_name().is_some_and(|name| name == "opencode") {
                        memory.opencode += resident;
                    }
                    parents.push(child);
                }
            }
        }
        Ok(memory)
    }

    /// Ends it as its operator would, so that everything is written and nothing of it is left.
    pub(crate) async fn stop(mut self) -> Outcome<()> {
        Command::new("kill").arg(self.child.id().to_string()).status()?;
        let begin = Instant::now();
        while self.child.try_wait()?.is_none() {
            if begin.elapsed() > Duration::from_secs(30) {
                return Err("a daemon does not end".into());
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        Ok(())
    }
}

/// Memory that is in RAM, in bytes. What processes share is counted for each of them.
pub(crate) struct Memory {
    /// Of the daemon itself.
    pub(crate) own: u64,
    /// Of OpenCode's processes.
    pub(crate) opencode: u64,
    /// Of all of them.
    pub(crate) all: u64,
}

fn daemon(programs: &Programs, folder: &Path, state: &Path, harness: &str) -> Command {
    let mut command = Command::new(&programs.beeuni);
    command
        .args(["daemon", "--harness", harness, "--project"])
        .arg(folder)
        .arg("--state")
        .arg(state);
    command
        .env("BEEUNI_TOKEN", TOKEN)
        .env("BEEUNI_BUN", &programs.bun)
        .env("BEEUNI_LOG", "error");
    command
}

fn resident(process: u32) -> Outcome<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .ok_or("no VmRSS")?;
    let kib: u64 = line.trim().trim_end_matches(" kB").trim().parse()?;
    Ok(kib * 1024)
}

impl Drop for Server {
    fn drop(&mut self) {
        // SIGKILL: the daemon's guards must cope with that too.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
