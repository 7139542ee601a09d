//! What a running session consists of, and what changes in its life.
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use beeuni_gateway::Gateway;
use beeuni_gateway::web::WebRouter;
use beeuni_manifest::Issue;
use hyper::header::HeaderMap;

use crate::access::{Credentials, presented};
use crate::agents::Agents;
use crate::checkout::Project;
use crate::harness::Harness;
use crate::local::hosting::Hosting;
use crate::local::project::{Overrides, Reading};
use crate::local::session::ModelInUse;
use crate::reload::Reloads;
use crate::web::WebAccess;

/// A running session. One per process.
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) harness: Box<dyn Harness>,
    pub(crate) credentials: Credentials,
    pub(crate) hosting: Arc<Hosting>,
    pub(crate) gateway: Gateway,
    pub(crate) project: Project,
    pub(crate) overrides: Overrides,
    /// The web router; `None` with a control plane, which has its own.
    pub(crate) web: Option<Arc<WebAccess>>,
    pub(crate) reloads: Reloads,
    stage: AtomicU8,
    now: Mutex<Now>,
}

/// What changes in a session's life.
struct Now {
    agents: Arc<Agents>,
    reading: Arc<Reading>,
    /// Why the files as they are now are not in force.
    unusable: Option<Vec<Issue>>,
    revision: Option<String>,
    model: Option<ModelInUse>,
}

/// Where a session is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Stage {
    /// The tools are being loaded for the first time.
    Loading = 0,
    /// Calls are taken.
    Ready = 1,
    /// Running calls may end, new ones are refused.
    Stopping = 2,
}

/// The parts of a session.
pub(crate) struct Parts {
    pub(crate) id: String,
    pub(crate) harness: Box<dyn Harness>,
    pub(crate) credentials: Credentials,
    pub(crate) hosting: Arc<Hosting>,
    pub(crate) gateway: Gateway,
    pub(crate) overrides: Overrides,
    pub(crate) web: Option<Arc<WebAccess>>,
    pub(crate) reading: Arc<Reading>,
    pub(crate) reloads: Reloads,
}

impl Session {
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts {
            id,
            harness,
            credentials,
            hosting,
            gateway,
            overrides,
            web,
            reading,
            reloads,
        } = parts;
        Self {
            id,
            harness,
            credentials,
            project: Project::new(hosting.found.root.clone()),
            hosting,
            gateway,
            overrides,
            web,
            reloads,
            stage: AtomicU8::new(Stage::Loading as u8),
            now: Mutex::new(Now {
                agents: Arc::new(Agents::of(&reading)),
                reading,
                unusable: None,
                revision: None,
                model: None,
            }),
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
    pub(crate) fn open(&self) {
        self.stage.store(Stage::Ready as u8, Relaxed);
    }

    /// Takes no further calls.
    pub(crate) fn close(&self) {
        self.stage.store(Stage::Stopping as u8, Relaxed);
    }

    /// The agents and what each may call.
    pub(crate) fn agents(&self) -> Arc<Agents> {
        Arc::clone(&self.now().agents)
    }

    /// The project as it was when what is in force was read.
    pub(crate) fn reading(&self) -> Arc<Reading> {
        Arc::clone(&self.now().reading)
    }

    /// Puts another reading of the project in force.
    pub(crate) fn set_reading(&self, reading: Arc<Reading>) {
        let mut now = self.now();
        now.agents = Arc::new(Agents::of(&reading));
        now.reading = reading;
        now.unusable = None;
    }

    /// Why the project's files as they are now are not in force; `None` when they are.
    pub(crate) fn unusable(&self) -> Option<Vec<Issue>> {
        self.now().unusable.clone()
    }

    /// Notes that the files as they are now cannot be used. Says whether that is news.
    pub(crate) fn set_unusable(&self, issues: &[Issue]) -> bool {
        let mut now = self.now();
        let news = now.unusable.as_deref() != Some(issues);
        now.unusable = Some(issues.to_vec());
        news
    }

    /// The revision of the secrets in force.
    pub(crate) fn revision(&self) -> Option<String> {
        self.now().revision.clone()
    }

    pub(crate) fn set_revision(&self, revision: String) {
        self.now().revision = Some(revision);
    }

    /// The model of the session's agent, once it is known.
    pub(crate) fn model(&self) -> Option<ModelInUse> {
        self.now().model.clone()
    }

    pub(crate) fn set_model(&self, model: ModelInUse) {
        self.now().model = Some(model);
    }

    /// The web router as it is to the caller whose router token a request carries; `None` when it carries none.
    pub(crate) fn web_router(&self, headers: &HeaderMap) -> Option<Arc<WebRouter>> {
        self.web.as_ref()?.identify(presented(headers)?)
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
