//! A project in a temp folder with a tool host on it, for tests that call tools without a daemon.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use beeuni_tools::{
    AgentSecrets, Call, CallError, HostConfig, Limits, LoadReport, LogLine, SecretValue, SelectedTool, ToolHost,
    ToolKind, ToolSource, sandbox_env,
};

/// How long a test waits for something that should happen at once.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The Bun that the tests run: BEEUNI_BUN, else the one that `make` installed.
pub(crate) fn bun() -> PathBuf {
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../runtime")
        .canonicalize()
        .unwrap();
    let setting = std::env::var_os("BEEUNI_BUN").map(PathBuf::from);
    beeuni_tools::find_bun(setting.as_deref(), &runtime).expect("`make test` installs Bun")
}

pub(crate) struct TestHost {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) host: ToolHost,
    pub(crate) logs: Arc<Mutex<Vec<LogLine>>>,
}

pub(crate) struct Builder {
    folder: tempfile::TempDir,
    pub(crate) limits: Limits,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) session_secrets: BTreeMap<String, SecretValue>,
}

pub(crate) fn project() -> Builder {
    let folder = tempfile::tempdir().unwrap();
    Builder {
        folder,
        limits: Limits::default(),
        env: sandbox_env(&[]),
        session_secrets: BTreeMap::new(),
    }
}

/// A module whose `execute` is `body`.
pub(crate) fn module(body: &str) -> String {
    format!(
        "export default {{\n  description: 'A test tool',\n  parameters: {{ type: 'object', properties: {{}} }},\n  async execute(args, context) {{\n    {body}\n  }},\n}}\n"
    )
}

/// The same, but `execute` is no async function.
pub(crate) fn plain_module(body: &str) -> String {
    module(body).replace("async execute", "execute")
}

pub(crate) fn project_tool(name: &str, path: &str) -> SelectedTool {
    SelectedTool {
        name: name.to_owned(),
        kind: ToolKind::Project,
        source: ToolSource::Module(path.to_owned()),
    }
}

impl Builder {
    /// Writes a file into the project.
    pub(crate) fn file(self, path: &str, text: impl AsRef<[u8]>) -> Self {
        write(&self.project(), path, text);
        self
    }

    /// Writes `tools/<name>.ts` with `body` as its `execute`.
    pub(crate) fn tool(self, name: &str, body: &str) -> Self {
        self.file(&format!("tools/{name}.ts"), module(body))
    }

    pub(crate) fn limits(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.limits);
        self
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    pub(crate) async fn start(self) -> TestHost {
        let logs: Arc<Mutex<Vec<LogLine>>> = Arc::default();
        let seen = Arc::clone(&logs);
        fs::create_dir_all(self.project()).unwrap();
        let host = ToolHost::new(HostConfig {
            bun: bun(),
            runtime_dir: self.folder.path().join("runtime"),
            project: self.project(),
            output_dir: self.folder.path().join("outputs"),
            session: "session-1".to_owned(),
            env: self.env,
            session_secrets: self.session_secrets,
            limits: self.limits,
            guard: PathBuf::from(env!("CARGO_BIN_EXE_beeuni")),
            log: Arc::new(move |line| seen.lock().unwrap().push(line.clone())),
        })
        .await
        .unwrap();
        TestHost {
            folder: self.folder,
            host,
            logs,
        }
    }

    /// Starts and loads every module under `tools/`; all must load.
    pub(crate) async fn load(self) -> TestHost {
        let host = self.start().await;
        let report = host.load_all().await;
        assert!(report.failed.is_empty(), "{:?}", report.failed);
        host
    }
}

pub(crate) fn write(project: &Path, path: &str, text: impl AsRef<[u8]>) {
    let file = project.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

impl TestHost {
    pub(crate) fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        write(&self.project(), path, text);
    }

    /// Loads every module under `tools/`, each under its file's name.
    pub(crate) async fn load_all(&self) -> Arc<LoadReport> {
        let mut selection: Vec<SelectedTool> = fs::read_dir(self.project().join("tools"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| {
                [".ts", ".js", ".mjs", ".cjs", ".mts", ".cts"]
                    .iter()
                    .any(|end| name.ends_with(end))
            })
            .map(|name| project_tool(name.split('.').next().unwrap(), &format!("tools/{name}")))
            .collect();
        selection.sort_by(|a, b| a.name.cmp(&b.name));
        self.host.load(&selection).await
    }

    pub(crate) async fn call(&self, tool: &str, args: &str) -> Result<String, CallError> {
        self.call_as("beeuni", tool, args).await
    }

    pub(crate) async fn call_as(&self, agent: &str, tool: &str, args: &str) -> Result<String, CallError> {
        let call = self.host.call(Call {
            tool,
            args,
            agent,
            directory: None,
        });
        tokio::time::timeout(PATIENCE, call)
            .await
            .unwrap_or_else(|_| panic!("{tool} gave no answer"))
    }

    /// The output of a call that must succeed.
    pub(crate) async fn output(&self, tool: &str, args: &str) -> String {
        self.call(tool, args)
            .await
            .unwrap_or_else(|error| panic!("{tool} failed: {error}"))
    }

    /// The error text of a call that must fail.
    pub(crate) async fn error(&self, tool: &str, args: &str) -> String {
        match self.call(tool, args).await {
            Ok(output) => panic!("{tool} succeeded: {output}"),
            Err(error) => error.to_string(),
        }
    }

    /// A call in the background.
    pub(crate) fn spawn(
        &self,
        tool: &'static str,
        args: &'static str,
    ) -> tokio::task::JoinHandle<Result<String, CallError>> {
        let host = self.host.clone();
        tokio::spawn(async move {
            host.call(Call {
                tool,
                args,
                agent: "beeuni",
                directory: None,
            })
            .await
        })
    }

    pub(crate) fn log_text(&self) -> String {
        self.logs
            .lock()
            .unwrap()
            .iter()
            .map(|line| format!("[{}] {}\n", line.tool, line.text))
            .collect()
    }

    pub(crate) async fn wait_for_log(&self, part: &str) {
        wait_until(&format!("a log line with {part:?}"), || self.log_text().contains(part)).await;
    }

    pub(crate) async fn wait_for_file(&self, path: &str) {
        let file = self.project().join(path);
        wait_until(&format!("the file {path}"), || file.exists()).await;
    }

    /// The running processes whose working folder is this project: workers and what they started.
    pub(crate) fn processes(&self) -> Vec<u32> {
        processes_in(&self.project())
    }
}

pub(crate) fn processes_in(folder: &Path) -> Vec<u32> {
    let folder = folder.canonicalize().unwrap();
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| {
            let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
            let zombie = fs::read_to_string(entry.path().join("stat"))
                .ok()?
                .rsplit_once(") ")?
                .1
                .starts_with('Z');
            (!zombie && fs::read_link(entry.path().join("cwd")).ok()? == folder).then_some(pid)
        })
        .collect()
}

pub(crate) async fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting)
        .await
        .unwrap_or_else(|_| panic!("waited in vain for {what}"));
}

pub(crate) fn secrets(entries: &[(&str, &str, &str)]) -> AgentSecrets {
    let mut all = AgentSecrets::new();
    for (agent, name, value) in entries {
        all.entry((*agent).to_owned())
            .or_default()
            .insert((*name).to_owned(), SecretValue::new(*value));
    }
    all
}
