//! A project in a temp folder, with the folders of its user and the command that starts a daemon on it.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Daemon, TOKEN, ended};

/// A project, and the folders of one user around it.
pub(crate) struct Project {
    root: tempfile::TempDir,
}

/// A manifest with two tools and four agents; `$TOOLS` stands for further tool lines.
pub(crate) const MANIFEST: &str = "beeuni_version: 2
default_agent: lead
tools:
  memory: beeuni:memory
  echo: tools/echo.ts
  fail: tools/fail.ts
$TOOLS
agents:
  lead: { tools: all, file: agents/a.md }
  reader: { tools: [read, echo], file: agents/a.md }
  careful: { tools: { exclude: [echo] }, file: agents/a.md }
  greeter: { tools: none, file: agents/a.md }
  gone: { tools: all, enabled: false, file: agents/a.md }
";

impl Project {
    /// [`MANIFEST`] with `echo` (its arguments and context), `fail`, and `tools`: names with the body of
    /// their `execute`.
    pub(crate) fn new(tools: &[(&str, &str)]) -> Self {
        let project = Self {
            root: tempfile::tempdir().unwrap(),
        };
        let lines: Vec<String> = tools
            .iter()
            .map(|(name, _)| format!("  {name}: tools/{name}.ts"))
            .collect();
        project.write("beeuni.yaml", &MANIFEST.replace("$TOOLS", &lines.join("\n")));
        project.write("agents/a.md", "---\ndescription: An agent\n---\nBe kind.\n");
        project.tool(
            "echo",
            "return { args, agent: context.agent, session: context.sessionId, directory: context.directory }",
        );
        project.tool("fail", "throw new Error('no order ' + args.id)");
        for (name, body) in tools {
            project.tool(name, body);
        }
        fs::create_dir_all(project.home().join("tmp")).unwrap();
        project
    }

    /// An empty folder with `manifest`.
    pub(crate) fn with_manifest(manifest: &str) -> Self {
        let project = Self::new(&[]);
        project.write("beeuni.yaml", manifest);
        project
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.root.path().join("project")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.root.path().join("state")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// The user's temp folder, where long outputs go.
    pub(crate) fn temp(&self) -> PathBuf {
        self.home().join("tmp")
    }

    /// A path for a socket or a file, beside the project.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let file = self.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.path().join(path)).ok()
    }

    /// Writes `tools/<name>.ts`, whose `execute` is `body`.
    pub(crate) fn tool(&self, name: &str, body: &str) {
        let text = format!(
            "export default {{\n  description: 'The tool {name}',\n  parameters: {{ type: 'object', properties: {{}} }},\n  async execute(args, context) {{\n    {body}\n  }},\n}}\n"
        );
        self.write(&format!("tools/{name}.ts"), &text);
    }

    pub(crate) fn bridge_key(&self) -> String {
        fs::read_to_string(self.state().join("tool-bridge.key")).unwrap()
    }

    /// `beeuni daemon` on this project with `flags`, in an environment of its own.
    pub(crate) fn command(&self, flags: &[&str]) -> Command {
        self.command_in(&self.path(), flags)
    }

    /// The same for the folder `start`; with `--harness none` unless the flags say otherwise.
    pub(crate) fn command_in(&self, start: &Path, flags: &[&str]) -> Command {
        let mut command = self.bare_command(start, &self.state());
        if !flags.contains(&"--harness") {
            command.args(["--harness", "none"]);
        }
        command.args(flags);
        command
    }

    /// `beeuni daemon` with the harness that the project asks for.
    pub(crate) fn command_without_harness(&self) -> Command {
        self.bare_command(&self.path(), &self.state())
    }

    /// `beeuni daemon` with another state folder.
    pub(crate) fn command_with_state(&self, state: &Path) -> Command {
        let mut command = self.bare_command(&self.path(), state);
        command.args(["--harness", "none"]);
        command
    }

    fn bare_command(&self, start: &Path, state: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_beeuni"));
        command.env_clear();
        command
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.home())
            .env("TMPDIR", self.temp());
        command.env("BEEUNI_BUN", bun()).env("BEEUNI_TOKEN", TOKEN);
        command.env("BEEUNI_OLLAMA", "off").env("BEEUNI_RUNTIME_DIR", runtime());
        for name in ["BEEUNI_OPENCODE", "BEEUNI_RIPGREP"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command
            .arg("daemon")
            .arg("--project")
            .arg(start)
            .arg("--state")
            .arg(state);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// A daemon that takes calls.
    pub(crate) fn daemon(&self, flags: &[&str]) -> Daemon {
        Daemon::start(self.command(flags))
    }

    /// What a daemon that does not start says: exit code, stdout and stderr.
    pub(crate) fn refused(&self, flags: &[&str]) -> (i32, String, String) {
        ended(self.command(flags))
    }

    /// Every file below the state, home and temp folders with its bytes, to look for secrets in.
    pub(crate) fn kept_files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut folders = vec![self.state(), self.home()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.is_file() {
                    found.push((path.clone(), fs::read(&path).unwrap()));
                }
            }
        }
        found
    }
}

/// The folder that `make` installs Bun and OpenCode in.
fn runtime() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runtime")
}

/// The Bun that the tests run: BEEUNI_BUN, else the one that `make` installed.
fn bun() -> PathBuf {
    let setting = std::env::var_os("BEEUNI_BUN").map(PathBuf::from);
    beeuni_tools::find_bun(setting.as_deref(), &runtime())
        .unwrap_or_else(|error| panic!("{error}; `make test` installs it"))
}
