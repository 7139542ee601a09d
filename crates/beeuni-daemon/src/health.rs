//! `GET /beeuni/health`: open to everybody who reaches the daemon, so no secret, no path, no agent.
use beeuni_protocol::{EnvHealth, HarnessHealth, Health, RuntimeHealth, ToolsHealth};
use hyper::StatusCode;

use crate::answer::{self, Answer};
use crate::session::{Session, Stage};

/// The route groups of this version, for clients that talk to several.
const CAPABILITIES: [&str; 2] = ["tools", "env"];

/// Answers the health.
pub(crate) fn health(session: &Session) -> Answer {
    let report = session.host.report();
    let health = Health {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        session: session.id.clone(),
        harness: HarnessHealth {
            id: session.harness.as_str().to_owned(),
            state: "off".to_owned(),
            ready: false,
        },
        runtime: RuntimeHealth {
            ready: session.stage() == Stage::Ready,
        },
        release: None,
        tools: ToolsHealth {
            loaded: report.tools.len(),
            failed: report.failed.len(),
            failed_names: report.failed.iter().map(|failed| failed.tool.name.clone()).collect(),
        },
        env: EnvHealth {
            revision: session.revision(),
        },
        capabilities: CAPABILITIES.map(str::to_owned).to_vec(),
    };
    answer::json(StatusCode::OK, &health)
}
