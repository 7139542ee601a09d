//! A checkout in a temporary folder, the harness tools on it, and a gate that writes down what it is asked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use beeuni_agent::harness_tools::{
    Asker, BoxFuture, CallContext, FailureKind, Gate, HarnessLimits, HarnessTools, HarnessToolsConfig, ReadRule,
    Refusal, ToolFailure, ToolOutput,
};
use beeuni_agent::permission::{Access, Action, PermissionRule, Permissions, Rules, Verdict};
use beeuni_manifest::Place;
use tokio_util::sync::CancellationToken;

/// A value that must never be seen.
pub const SECRET: &str = "hunter2-hunter2-hunter2";

pub struct Desk {
    pub folder: tempfile::TempDir,
    pub checkout: PathBuf,
    pub outside: PathBuf,
    pub tools: HarnessTools,
    pub gate: TestGate,
    pub stop: CancellationToken,
}

/// Decides by rules; what they ask about is refused, and written down.
pub struct TestGate {
    pub permissions: Permissions,
    pub allow: bool,
    pub asked: Mutex<Vec<String>>,
    pub seen: Mutex<Vec<String>>,
}

impl Gate for TestGate {
    fn permit<'a>(&'a self, accesses: &'a [Access]) -> BoxFuture<'a, Result<(), Refusal>> {
        Box::pin(async move {
            let words = |access: &Access| format!("{} {}", access.capability, access.subject);
            self.seen.lock().unwrap().extend(accesses.iter().map(words));
            match self.permissions.check(accesses) {
                Verdict::Allow => Ok(()),
                Verdict::Deny(text) => Err(Refusal(text)),
                Verdict::Ask(asked) => {
                    self.asked
                        .lock()
                        .unwrap()
                        .extend(asked.iter().map(|asked| words(&asked.access)));
                    if self.allow {
                        Ok(())
                    } else {
                        Err(Refusal("The user said no.".to_owned()))
                    }
                }
            }
        })
    }

    fn read_rule(&self) -> Option<ReadRule> {
        Some(self.permissions.read_rule())
    }
}

pub fn rules(rules: &[(&str, &str, Action)]) -> Rules {
    let rules: Vec<PermissionRule> = rules
        .iter()
        .map(|(capability, pattern, action)| PermissionRule {
            capability: (*capability).to_owned(),
            pattern: (*pattern).to_owned(),
            action: *action,
            place: Place {
                file: "agents/a.md".to_owned(),
                line: 4,
                column: 1,
            },
        })
        .collect();
    Rules::new(&rules, None)
}

pub fn desk() -> Desk {
    desk_with(|_| {})
}

/// A desk whose settings are changed first.
pub fn desk_with(change: impl FnOnce(&mut HarnessToolsConfig)) -> Desk {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let (checkout, outside) = (base.join("checkout"), base.join("outside"));
    for path in [&checkout, &outside, &base.join("home")] {
        std::fs::create_dir(path).unwrap();
    }
    let path = std::env::var("PATH").unwrap();
    let mut config = HarnessToolsConfig {
        checkout: checkout.clone(),
        output_dir: base.join("outputs"),
        free_folders: Vec::new(),
        env: BTreeMap::from([
            ("PATH".to_owned(), path),
            ("HOME".to_owned(), base.join("home").to_string_lossy().into_owned()),
            ("CITY".to_owned(), "Oslo".to_owned()),
        ]),
        guard: PathBuf::from(env!("CARGO_BIN_EXE_beeuni-agent-test-guard")),
        redact: Arc::new(|text| text.replace(SECRET, "[secret KEY]")),
        reader: None,
        skills: None,
        limits: HarnessLimits::default(),
    };
    change(&mut config);
    Desk {
        tools: HarnessTools::new(config).unwrap(),
        gate: TestGate {
            permissions: Permissions::default(),
            allow: false,
            asked: Mutex::default(),
            seen: Mutex::default(),
        },
        stop: CancellationToken::new(),
        folder,
        checkout,
        outside,
    }
}

impl Desk {
    /// The same with rules.
    #[must_use]
    pub fn ruled(mut self, list: &[(&str, &str, Action)]) -> Self {
        self.gate.permissions = Permissions::new(rules(list));
        self
    }

    /// The same with a person who allows everything.
    #[must_use]
    pub fn allowing(mut self) -> Self {
        self.gate.allow = true;
        self
    }

    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.checkout.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub fn content(&self, path: &str) -> String {
        std::fs::read_to_string(self.checkout.join(path)).unwrap()
    }

    pub async fn call(&self, tool: &str, args: serde_json::Value) -> Result<ToolOutput, ToolFailure> {
        self.call_text(tool, &args.to_string(), None).await
    }

    pub async fn call_text(
        &self,
        tool: &str,
        args: &str,
        asker: Option<&dyn Asker>,
    ) -> Result<ToolOutput, ToolFailure> {
        let context = CallContext {
            session: "session",
            agent: "beeuni",
            call: "call_1",
            stop: &self.stop,
            gate: &self.gate,
            asker,
            progress: None,
        };
        let result = self.tools.call(tool, args, context).await;
        // Whatever comes out of any call.
        let text = match &result {
            Ok(output) => format!("{} {} {}", output.text, output.title, output.metadata),
            Err(failure) => failure.message.clone(),
        };
        assert!(!text.contains(SECRET), "a secret shows: {text}");
        let bounded = match &result {
            Ok(output) => &output.text,
            Err(failure) => &failure.message,
        };
        assert!(beeuni_tools::output::fits(bounded), "{} bytes", bounded.len());
        assert!(!bounded.contains('\0'));
        result
    }

    /// The text of a call that works.
    pub async fn text(&self, tool: &str, args: serde_json::Value) -> String {
        match self.call(tool, args).await {
            Ok(output) => output.text,
            Err(failure) => panic!("{tool} failed: {failure}"),
        }
    }

    /// The text of a call that fails.
    pub async fn failure(&self, tool: &str, args: serde_json::Value) -> String {
        match self.call(tool, args).await {
            Ok(output) => panic!("{tool} gave {}", output.text),
            Err(failure) => failure.message,
        }
    }

    pub fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.gate.asked.lock().unwrap())
    }

    pub fn outputs(&self) -> Vec<PathBuf> {
        let folder = self.folder.path().join("outputs");
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }
}

/// Waits for something to become true.
pub async fn until(what: &str, mut check: impl FnMut() -> bool) {
    let start = Instant::now();
    while !check() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what} does not come true");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub fn is_refused(result: &Result<ToolOutput, ToolFailure>) -> bool {
    matches!(result, Err(failure) if failure.kind == FailureKind::Refused)
}

/// Whether a process with exactly these words as its command line runs.
pub fn runs(words: &str) -> bool {
    let wanted = format!("{}\0", words.replace(' ', "\0")).into_bytes();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok())
        .any(|entry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            line == wanted && !is_zombie(&entry.path())
        })
}

fn is_zombie(process: &Path) -> bool {
    let stat = std::fs::read_to_string(process.join("stat")).unwrap_or_default();
    stat.rsplit_once(')')
        .is_none_or(|(_, rest)| rest.trim_start().starts_with('Z'))
}
