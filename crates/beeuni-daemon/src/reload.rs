//! Reading the project again in a running session (C2): who asks for it, one at a time, and what comes of it.
//!
//! A set is taken as a whole: what loads is in force with what does not load marked as failed. Only a manifest that
//! cannot be read changes nothing: what was loaded before stays, and the reason is logged once and shown in the
//! health until it is gone.
use std::sync::Arc;

use beeuni_manifest::{Issue, Place, Severity};
use beeuni_protocol::{Finding, ReloadAnswer};
use beeuni_tools::{LoadReport, SelectedTool, ToolKind};
use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::header::HeaderMap;
use tokio::sync::{mpsc, oneshot};

use crate::answer::{self, Answer};
use crate::body;
use crate::conversation::refusal;
use crate::error::DaemonError;
use crate::harness::HarnessError;
use crate::health;
use crate::local::core::Stage;
use crate::local::project::{self, log_findings};
use crate::local::session::ModelInUse;
use crate::session::Session;
use crate::watch::Watch;

/// Where reloads are asked for.
pub(crate) struct Reloads(mpsc::UnboundedSender<Request>);

/// The other end.
pub(crate) type Requests = mpsc::UnboundedReceiver<Request>;

/// Somebody wants a reload.
pub(crate) struct Request {
    /// For the log.
    why: &'static str,
    done: oneshot::Sender<Result<(), ReloadFailure>>,
}

/// Why nothing was reloaded.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum ReloadFailure {
    /// The project cannot be used.
    #[error("{0}")]
    Project(String),
    /// The harness does not take it.
    #[error(transparent)]
    Harness(#[from] HarnessError),
}

impl From<DaemonError> for ReloadFailure {
    fn from(error: DaemonError) -> Self {
        Self::Project(error.to_string())
    }
}

impl Reloads {
    /// Both ends.
    pub(crate) fn new() -> (Self, Requests) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self(sender), receiver)
    }

    /// Asks for a reload; `None` comes back when the daemon stops before it is done.
    pub(crate) fn ask(&self, why: &'static str) -> oneshot::Receiver<Result<(), ReloadFailure>> {
        let (done, told) = oneshot::channel();
        // Nobody listens any more once the daemon stops: then the sender is dropped here, and with it the answer.
        let _ = self.0.send(Request { why, done });
        told
    }
}

/// Answers `POST /beeuni/reload`. While a turn runs it only says that the reload will be done after it.
pub(crate) async fn asked(session: &Session, headers: &HeaderMap, body: Incoming) -> Answer {
    if let Err(answer) = body::collect(headers, body).await {
        return answer;
    }
    match session.core.stage() {
        Stage::Loading => return answer::unavailable("the tools are still loading"),
        Stage::Stopping => return answer::unavailable("the daemon is stopping"),
        Stage::Ready => {}
    }
    let pending = session.core.harness.status().state == "running";
    let told = session.reloads.ask("a request");
    if pending {
        return answer::json(StatusCode::ACCEPTED, &report(session, true));
    }
    match told.await {
        Ok(Ok(())) => answer::json(StatusCode::OK, &report(session, false)),
        Ok(Err(ReloadFailure::Harness(error))) => refusal(&error),
        Ok(Err(ReloadFailure::Project(text))) => answer::error(StatusCode::UNPROCESSABLE_ENTITY, text),
        Err(_) => answer::unavailable("the daemon is stopping"),
    }
}

fn report(session: &Session, pending: bool) -> ReloadAnswer {
    ReloadAnswer {
        pending,
        tools: health::tools(&session.core),
        findings: session.core.reading().findings.iter().map(finding).collect(),
    }
}

fn finding(issue: &Issue) -> Finding {
    Finding {
        path: issue.path.clone(),
        message: issue.message.clone(),
        severity: issue.severity.as_str().to_owned(),
        file: issue.place.file.clone(),
        line: issue.place.line,
        column: issue.place.column,
    }
}

/// Reloads whenever somebody asks or the project's files change, for as long as the session lives.
pub(crate) async fn run(session: Arc<Session>, mut requests: Requests, mut watch: Watch) {
    loop {
        let first = tokio::select! {
            biased;
            request = requests.recv() => match request {
                Some(request) => Some(request),
                None => return,
            },
            () = watch.changed() => None,
        };
        // What would be read now would be old by the end of a long turn.
        session.core.harness.idle().await;
        let why = first.as_ref().map(|request| request.why);
        let mut asked: Vec<Request> = first.into_iter().collect();
        while let Ok(request) = requests.try_recv() {
            asked.push(request);
        }
        let outcome = reload(&session, &mut watch, why).await;
        for request in asked {
            // Who asked may be gone.
            let _ = request.done.send(outcome.clone());
        }
    }
}

/// Reads the project and puts it in force; nothing happens when it is as it was and nobody asked. `asked` says why.
async fn reload(session: &Session, watch: &mut Watch, asked: Option<&str>) -> Result<(), ReloadFailure> {
    let reading = match project::read(&session.core.hosting.found, &session.core.overrides) {
        Ok(reading) => Arc::new(reading),
        Err(error) => {
            unusable(session, &error);
            return Err(error.into());
        }
    };
    let content = watch.content(&reading).await;
    if asked.is_none() && watch.is_loaded(&content) {
        // It may have been unusable for a while.
        if session.unusable().is_some() {
            session.set_reading(reading);
            tracing::info!("the project is as it was when it was loaded");
        }
        tracing::debug!("files were touched and nothing differs");
        return Ok(());
    }
    log_findings(&reading.findings, &session.core.reading().findings);
    session.core.hosting.set_agents(reading.agent_names())?;
    let report = match session.core.harness.reload(Arc::clone(&reading)).await {
        Ok(report) => report,
        Err(error) => {
            tracing::error!("the harness does not work with the project as it is now: {error}");
            // Its tools and agents are in force nevertheless, and with the next prompt the harness is tried again.
            if matches!(error, HarnessError::Failed(_)) {
                session.set_reading(reading);
            }
            return Err(error.into());
        }
    };
    session.set_reading(reading);
    watch.loaded(content, &report);
    log_failures(&report);
    log_harness(session);
    let why = asked.unwrap_or("a change in the project's files");
    tracing::info!(
        tools = report.tools.len(),
        failed = report.failed.len(),
        "reloaded after {why}"
    );
    learn_model(session).await;
    Ok(())
}

/// Notes that the project cannot be read, and logs it when that is news.
fn unusable(session: &Session, error: &DaemonError) {
    let issues = match error {
        DaemonError::Manifest { issues } => issues.clone(),
        // No file, or two: it has no place in a file.
        _ => vec![Issue {
            path: String::new(),
            message: error.to_string(),
            severity: Severity::Error,
            place: Place {
                file: session.core.hosting.found.file.clone(),
                line: 1,
                column: 1,
            },
        }],
    };
    if session.set_unusable(&issues) {
        log_findings(&issues, &[]);
        tracing::error!("the project cannot be used as it is now: what was loaded before stays in force");
    }
}

/// Finds out which model answers, where there is a harness, and says so when it is none.
pub(crate) async fn learn_model(session: &Session) {
    if session.core.harness.status().state == "off" {
        return;
    }
    let model = ModelInUse::of(&session.core.gateway, &session.core.reading(), None).await;
    let known = session.model();
    if known.as_ref() != Some(&model) {
        tracing::info!(model = model.id, "the model that answers");
        if let Some(notice) = &model.notice {
            tracing::warn!("{notice}");
        }
        session.set_model(model);
    }
}

/// Says once what the harness has to say: which hosted tools the project replaces (O1), which of its files were left out.
pub(crate) fn log_harness(session: &Session) {
    for notice in session.set_notices(session.core.harness.notices()) {
        tracing::warn!("[{}] {notice}", session.core.harness.status().id);
    }
}

/// M7: one line for each tool that was left out, with the reason.
pub(crate) fn log_failures(report: &LoadReport) {
    for failed in &report.failed {
        let SelectedTool { name, kind, .. } = &failed.tool;
        let kind = if *kind == ToolKind::Beeuni { "Beeuni" } else { "project" };
        let reason = failed.error.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        tracing::error!(
            "[tools] {kind} tools that did not load: {name} ({}): {reason}",
            failed.tool.source_text()
        );
    }
}
