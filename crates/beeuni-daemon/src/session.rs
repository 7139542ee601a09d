//! What a running session consists of, and which agent may call which tool in it.
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};

use beeuni_manifest::{Agent, ToolAccess};
use beeuni_tools::{LoadReport, ToolHost};

use crate::access::Credentials;
use crate::config::HarnessChoice;

/// A running session. One per process.
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) harness: HarnessChoice,
    pub(crate) credentials: Credentials,
    pub(crate) host: ToolHost,
    pub(crate) project: Project,
    pub(crate) agents: Agents,
    stage: AtomicU8,
    loaded: OnceLock<HashSet<String>>,
    revision: Mutex<Option<String>>,
}

/// Where a session is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Stage {
    /// The tools are being loaded.
    Loading = 0,
    /// Calls are taken.
    Ready = 1,
    /// Running calls may end, new ones are refused.
    Stopping = 2,
}

impl Session {
    pub(crate) fn new(
        id: String,
        harness: HarnessChoice,
        credentials: Credentials,
        host: ToolHost,
        project: Project,
        agents: Agents,
    ) -> Self {
        Self {
            id,
            harness,
            credentials,
            host,
            project,
            agents,
            stage: AtomicU8::new(Stage::Loading as u8),
            loaded: OnceLock::new(),
            revision: Mutex::new(None),
        }
    }

    pub(crate) fn stage(&self) -> Stage {
        match self.stage.load(Relaxed) {
            0 => Stage::Loading,
            1 => Stage::Ready,
            _ => Stage::Stopping,
        }
    }

    /// The tools are there: takes calls from now on.
    pub(crate) fn open(&self, report: &LoadReport) {
        let names = report.tools.iter().map(|loaded| loaded.tool.name.clone()).collect();
        // The tools are loaded once in a session's life (C1), so the first set is the only one.
        let _ = self.loaded.set(names);
        self.stage.store(Stage::Ready as u8, Relaxed);
    }

    /// Takes no further calls.
    pub(crate) fn close(&self) {
        self.stage.store(Stage::Stopping as u8, Relaxed);
    }

    /// Whether the tool `name` is loaded.
    pub(crate) fn has_tool(&self, name: &str) -> bool {
        self.loaded.get().is_some_and(|names| names.contains(name))
    }

    /// The revision of the secrets in force.
    pub(crate) fn revision(&self) -> Option<String> {
        self.revision.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_revision(&self, revision: String) {
        *self.revision.lock().unwrap_or_else(PoisonError::into_inner) = Some(revision);
    }
}

/// The agents of a session and what each may call.
pub(crate) struct Agents {
    access: HashMap<String, AgentAccess>,
    /// The agent of calls that name none.
    pub(crate) default: String,
}

struct AgentAccess {
    enabled: bool,
    tools: ToolAccess,
}

/// Why an agent may not call a tool; Display is the text for the caller.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Denied {
    #[error("no agent named {0:?} is declared in this project")]
    Unknown(String),
    #[error("the agent {0:?} is disabled")]
    Disabled(String),
    #[error("the agent {agent:?} may not use {tool}: its tools list leaves it out")]
    Tool { agent: String, tool: String },
}

impl Agents {
    /// The agents `declared`, of which `default` calls when a call names none.
    pub(crate) fn new(declared: &[Agent], default: String) -> Self {
        let access = declared
            .iter()
            .map(|agent| {
                let access = AgentAccess {
                    enabled: agent.enabled,
                    tools: agent.tools.clone(),
                };
                (agent.name.clone(), access)
            })
            .collect();
        Self { access, default }
    }

    /// Whether `agent` may call the loaded tool `tool` (A2).
    pub(crate) fn check(&self, agent: &str, tool: &str) -> Result<(), Denied> {
        match self.access.get(agent) {
            None => Err(Denied::Unknown(agent.chars().take(80).collect())),
            Some(access) if !access.enabled => Err(Denied::Disabled(agent.to_owned())),
            Some(access) if !access.tools.allows(tool) => Err(Denied::Tool {
                agent: agent.to_owned(),
                tool: tool.to_owned(),
            }),
            Some(_) => Ok(()),
        }
    }
}

/// The checkout.
pub(crate) struct Project {
    /// Its root as the user named it: `context.directory`.
    pub(crate) root: PathBuf,
    /// The same with every link resolved.
    resolved: PathBuf,
}

impl Project {
    /// The checkout at the absolute path `root`.
    pub(crate) fn new(root: PathBuf) -> Self {
        let resolved = fs::canonicalize(&root).unwrap_or_else(|_| root.clone());
        Self { root, resolved }
    }

    /// What a call's `directory` means: `None` for the checkout itself, else the folder below it.
    pub(crate) fn directory<'d>(&self, asked: Option<&'d str>) -> Result<Option<&'d str>, String> {
        // The usual case, and no reason to ask the file system.
        let Some(asked) = asked.filter(|asked| Path::new(asked) != self.root) else {
            return Ok(None);
        };
        if !Path::new(asked).is_absolute() {
            return Err("directory must be an absolute path".to_owned());
        }
        let found = fs::canonicalize(asked).map_err(|error| format!("directory cannot be used: {}", error.kind()))?;
        if !found.starts_with(&self.resolved) {
            return Err("directory must be the checkout or a folder below it".to_owned());
        }
        if !found.is_dir() {
            return Err("directory must be a folder".to_owned());
        }
        Ok((found != self.resolved).then_some(asked))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    #[test]
    fn a_directory_is_the_checkout_or_below_it() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("project");
        fs::create_dir_all(root.join("src/deep")).unwrap();
        fs::create_dir(outer.path().join("project-evil")).unwrap();
        fs::write(root.join("file"), "").unwrap();
        std::os::unix::fs::symlink(outer.path(), root.join("out")).unwrap();
        let project = Project::new(root.clone());
        let text = |path: &str| root.join(path).to_str().unwrap().to_owned();

        assert_eq!(project.directory(None), Ok(None));
        for same in [text(""), text("."), text("src/..")] {
            assert_eq!(project.directory(Some(&same)), Ok(None), "{same}");
        }
        let below = text("src/deep");
        assert_eq!(project.directory(Some(&below)), Ok(Some(below.as_str())));
        for bad in [
            "",
            "src",
            "./src",
            "/",
            "/etc",
            "\0",
            &text("../project-evil"),
            &text("out"),
            &text("missing"),
            &text("file"),
            outer.path().to_str().unwrap(),
        ] {
            assert!(project.directory(Some(bad)).is_err(), "{bad:?}");
        }
    }
}
