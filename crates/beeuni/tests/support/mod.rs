//! A user at a shell: a home of their own, a project folder, and what the program prints there.
#![allow(dead_code, reason = "each test file uses its own part")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// How long a test waits for something that should happen soon.
pub(crate) const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

/// A manifest without a finding: the five tools and one agent.
pub(crate) const MANIFEST: &str = "\
beeuni_version: 2
tools:
  web_search: beeuni:web_search
  image_search: beeuni:image_search
  scrape_webpage: beeuni:scrape_webpage
  memory: beeuni:memory
  show: beeuni:show
";

/// Lets the program find the Bun of these tests: `BEEUNI_BUN`, else the one in `runtime`.
pub(crate) fn with_bun(command: &mut Command) -> &mut Command {
    command.env(
        "BEEUNI_RUNTIME_DIR",
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runtime"),
    );
    if let Some(bun) = std::env::var_os("BEEUNI_BUN") {
        command.env("BEEUNI_BUN", bun);
    }
    command
}

/// A temporary folder with a home, a folder for temporary files and an empty project.
pub(crate) struct Shell {
    folder: tempfile::TempDir,
}

impl Shell {
    /// An empty project folder.
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("beeuni-cli-").tempdir().unwrap();
        for name in ["home", "tmp", "project"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    /// A project with this manifest.
    pub(crate) fn with_manifest(text: &str) -> Self {
        let shell = Self::new();
        shell.write("beeuni.yaml", text);
        shell
    }

    /// The folder that holds everything.
    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    /// The project's folder, or something in it.
    pub(crate) fn path(&self, file: &str) -> PathBuf {
        if file.is_empty() {
            self.root().join("project")
        } else {
            self.root().join("project").join(file)
        }
    }

    /// Writes a file of the project.
    pub(crate) fn write(&self, file: &str, content: impl AsRef<[u8]>) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Reads a file of the project.
    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap_or_else(|error| panic!("cannot read {file}: {error}"))
    }

    /// Every file of the project, its path and bytes: what must not change is compared with it.
    pub(crate) fn snapshot(&self) -> Vec<(String, Vec<u8>)> {
        let mut files = Vec::new();
        collect(&self.path(""), &self.path(""), &mut files);
        files.sort();
        files
    }

    /// The names of every file and folder of the project, without those of git.
    pub(crate) fn names(&self) -> Vec<String> {
        self.snapshot()
            .into_iter()
            .map(|(name, _)| name)
            .filter(|name| !name.starts_with(".git/"))
            .collect()
    }

    /// The program in the project's folder, with nothing of the tester's environment.
    pub(crate) fn command<I: IntoIterator<Item: AsRef<OsStr>>>(&self, args: I) -> Command {
        let mut command = self.bare(env!("CARGO_BIN_EXE_beeuni"));
        command.args(args);
        command
    }

    /// Another program with the same environment.
    pub(crate) fn bare(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.path(""))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.root().join("home"))
            .env("TMPDIR", self.root().join("tmp"))
            .env("LC_ALL", "C.UTF-8")
            .env("COLUMNS", "100")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .stdin(Stdio::null());
        command
    }

    /// Runs the program in the project's folder.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.ran(&mut self.command(args))
    }

    /// Runs a line of `sh` there, with the program as `beeuni`.
    pub(crate) fn sh(&self, line: &str) -> Ran {
        let mut command = self.bare("sh");
        let folder = Path::new(env!("CARGO_BIN_EXE_beeuni")).parent().unwrap();
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
        self.ran(command.env("PATH", path).arg("-c").arg(line))
    }

    /// Runs a command.
    pub(crate) fn ran(&self, command: &mut Command) -> Ran {
        Ran::new(self, command.output().expect("the program starts"))
    }

    /// Runs a command with this on its standard input.
    pub(crate) fn ran_with_input(&self, command: &mut Command, input: &str) -> Ran {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        Ran::new(self, child.wait_with_output().unwrap())
    }
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().display().to_string();
        if path.is_symlink() {
            files.push((name, fs::read_link(&path).unwrap().display().to_string().into_bytes()));
        } else if path.is_dir() {
            files.push((format!("{name}/"), Vec::new()));
            collect(root, &path, files);
        } else {
            files.push((name, fs::read(&path).unwrap()));
        }
    }
}

/// What a command did, as a user sees it. Its text is what snapshots hold.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn new(shell: &Shell, output: Output) -> Self {
        let text = |bytes: Vec<u8>| {
            let text = String::from_utf8(bytes).expect("output is UTF-8");
            let real = shell.root().canonicalize().unwrap();
            text.replace(real.to_str().unwrap(), "[DIR]")
                .replace(shell.root().to_str().unwrap(), "[DIR]")
        };
        Self {
            code: output
                .status
                .code()
                .unwrap_or_else(|| panic!("ended by a signal: {}", output.status)),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// The JSON on standard output.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("no JSON on stdout ({error}):\n{self}"))
    }

    /// The same with every duration replaced.
    pub(crate) fn timeless(mut self) -> Self {
        self.stdout = without_times(&self.stdout);
        self.stderr = without_times(&self.stderr);
        self
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exit {}", self.code)?;
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !text.is_empty() {
                write!(
                    f,
                    "\n----- {name}\n{}",
                    text.strip_suffix('\n').unwrap_or("(no line end)")
                )?;
                if !text.ends_with('\n') {
                    write!(f, "\n{text}")?;
                }
            }
        }
        Ok(())
    }
}

/// `12 ms` and `1.24 s` become `[TIME]`.
fn without_times(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let mut shown: Vec<String> = Vec::new();
    for word in words {
        let unit = ["ms", "s"].iter().find(|unit| {
            word.strip_prefix(**unit)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['\n', ',', '.']))
        });
        let number = shown.last().is_some_and(|last| {
            let digits = last.rsplit('\n').next().unwrap_or_default();
            !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
        });
        match unit {
            Some(unit) if number => {
                let last = shown.pop().unwrap();
                let before = last.rfind('\n').map_or("", |end| &last[..=end]);
                shown.push(format!("{before}[TIME]{}", &word[unit.len()..]));
            }
            _ => shown.push(word.to_owned()),
        }
    }
    shown.join(" ")
}
