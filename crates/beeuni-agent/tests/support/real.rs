//! A session with the real tool host (Bun), the real harness tools and a guard.
use std::path::{Path, PathBuf};
use std::sync::Arc;

use beeuni_agent::harness_tools::{HarnessLimits, HarnessTools, HarnessToolsConfig};
use beeuni_agent::{Session, SessionConfig, SkillShelf};
use beeuni_manifest::ToolKind;
use beeuni_tools::{HostConfig, Limits, ToolHost, find_bun, sandbox_env};

use super::{Rig, gateway, tool};

/// The Bun that the tests run: `BEEUNI_BUN`, else the one that `make` installed.
fn bun() -> PathBuf {
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runtime");
    let setting = std::env::var_os("BEEUNI_BUN").map(PathBuf::from);
    find_bun(setting.as_deref(), &runtime.canonicalize().unwrap()).expect("`make test` installs Bun")
}

impl Rig {
    /// Writes `tools/<name>.ts` with `body` as its `execute`, and declares it.
    pub fn module(&mut self, name: &str, body: &str) {
        let text = format!(
            "export default {{\n  description: 'A test tool',\n  parameters: {{ type: 'object', properties: {{}} }},\n  \
             async execute(args, context) {{\n    {body}\n  }},\n}}\n"
        );
        self.write(&format!("tools/{name}.ts"), &text);
        if !self.setup.tools.iter().any(|known| known.name == name) {
            self.setup.tools.push(tool(name, ToolKind::Project));
        }
    }

    /// Opens the session with real tools and loads those that were written.
    pub async fn open_real(&self) -> (Session, ToolHost) {
        let guard = PathBuf::from(env!("CARGO_BIN_EXE_beeuni-agent-test-guard"));
        let output_dir = self.folder.path().join("outputs");
        let project = self.project().canonicalize().unwrap();
        let host = ToolHost::new(HostConfig {
            bun: bun(),
            runtime_dir: self.folder.path().join("runtime"),
            project: project.clone(),
            output_dir: output_dir.clone(),
            session: "s1".to_owned(),
            env: sandbox_env(&[]),
            session_secrets: Default::default(),
            limits: Limits::default(),
            guard: guard.clone(),
            log: Arc::new(|_| {}),
        })
        .await
        .unwrap();
        let report = host.load(&self.setup.tools).await;
        assert!(report.failed.is_empty(), "{:?}", report.failed);
        let skills = SkillShelf::new(&project);
        let harness = HarnessTools::new(HarnessToolsConfig {
            checkout: project.clone(),
            output_dir,
            free_folders: Vec::new(),
            env: sandbox_env(&[]),
            guard,
            redact: Arc::new(|text| text),
            reader: None,
            skills: Some(Arc::new(skills.clone())),
            limits: HarnessLimits::default(),
        })
        .unwrap();
        let config = SessionConfig {
            checkout: project,
            hosted: Arc::new(host.clone()),
            harness,
            skills,
            gateway: gateway(&self.server.base_url()),
            ..self.config()
        };
        (Session::open(config, self.setup.clone()).unwrap(), host)
    }
}
