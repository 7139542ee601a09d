//! `GET /beeuni/tools`: what loaded and what did not.
use beeuni_protocol::{FailedToolEntry, ToolEntry, ToolList};
use beeuni_tools::LoadReport;
use hyper::StatusCode;

use crate::answer::{self, Answer};
use crate::local::core::Stage;
use crate::session::Session;

/// Answers the list.
pub(crate) fn list(session: &Session) -> Answer {
    if session.core.stage() == Stage::Loading {
        return answer::unavailable("the tools are still loading");
    }
    answer::json(StatusCode::OK, &entries(&session.core.hosting.host.report()))
}

fn entries(report: &LoadReport) -> ToolList {
    let tools = report.tools.iter().map(|loaded| ToolEntry {
        name: loaded.tool.name.clone(),
        kind: loaded.tool.kind.as_str().to_owned(),
        source: loaded.tool.source_text(),
        description: loaded.description.clone(),
        parameters: loaded.parameters.clone(),
    });
    let failed = report.failed.iter().map(|failed| FailedToolEntry {
        name: failed.tool.name.clone(),
        source: failed.tool.source_text(),
        error: failed.error.clone(),
    });
    ToolList {
        tools: tools.collect(),
        failed: failed.collect(),
    }
}
