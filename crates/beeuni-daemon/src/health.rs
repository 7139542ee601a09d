//! `GET /beeuni/health`: open to everybody who reaches the daemon, so no secret, no path outside the project, no agent.
use beeuni_manifest::{Issue, Severity};
use beeuni_protocol::{EnvHealth, HarnessHealth, Health, ModelHealth, ProjectHealth, RuntimeHealth, ToolsHealth};
use hyper::StatusCode;

use crate::answer::{self, Answer};
use crate::local::core::{Core, Stage};
use crate::local::project::first_error;
use crate::session::Session;

/// The route groups of this version, for clients that talk to several.
const CAPABILITIES: [&str; 8] = ["tools", "env", "reload", "sessions", "events", "asks", "llm", "router"];

/// Which of them a daemon without a harness has not.
const OF_A_HARNESS: [&str; 3] = ["sessions", "events", "asks"];

/// Answers the health.
pub(crate) fn health(session: &Session) -> Answer {
    let stage = session.core.stage();
    let status = session.core.harness.status();
    let state = match stage {
        _ if status.state == "off" => "off",
        Stage::Loading => "starting",
        Stage::Stopping => "stopping",
        Stage::Ready => status.state,
    };
    let has = |name: &str| match name {
        "router" => session.web.is_some(),
        name => state != "off" || !OF_A_HARNESS.contains(&name),
    };
    let health = Health {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        session: session.core.id.clone(),
        harness: HarnessHealth {
            id: status.id.to_owned(),
            state: state.to_owned(),
            ready: status.ready && stage == Stage::Ready,
        },
        model: session.model().map(|model| ModelHealth {
            id: model.id,
            rehearsal: model.rehearsal,
        }),
        runtime: RuntimeHealth {
            ready: stage == Stage::Ready,
        },
        project: project(session),
        release: None,
        tools: tools(&session.core),
        env: EnvHealth {
            revision: session.revision(),
        },
        capabilities: CAPABILITIES
            .into_iter()
            .filter(|name| has(name))
            .map(str::to_owned)
            .collect(),
    };
    answer::json(StatusCode::OK, &health)
}

/// How the project's files are.
fn project(session: &Session) -> ProjectHealth {
    let unusable = session.unusable();
    let reading = session.core.reading();
    let findings = unusable.as_deref().unwrap_or(&reading.findings);
    let count = |severity: Severity| {
        findings
            .iter()
            .filter(|issue: &&Issue| issue.severity == severity)
            .count()
    };
    ProjectHealth {
        current: unusable.is_none(),
        errors: count(Severity::Error),
        warnings: count(Severity::Warning),
        problem: first_error(findings),
    }
}

/// Which tools there are.
pub(crate) fn tools(core: &Core) -> ToolsHealth {
    let report = core.hosting.host.report();
    let replaced = core.harness.replaced();
    ToolsHealth {
        replaced: replaced.into_iter().map(|replaced| replaced.tool).collect(),
        loaded: report.tools.len(),
        failed: report.failed.len(),
        failed_names: report.failed.iter().map(|failed| failed.tool.name.clone()).collect(),
    }
}
