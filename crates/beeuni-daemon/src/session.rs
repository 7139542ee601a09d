//! What a daemon's session consists of, and what changes in its life.
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use beeuni_gateway::web::WebRouter;
use beeuni_manifest::Issue;
use hyper::header::HeaderMap;

use crate::access::{Credentials, presented};
use crate::local::core::Core;
use crate::local::project::Reading;
use crate::local::session::ModelInUse;
use crate::reload::Reloads;
use crate::web::WebAccess;

/// A running session. One per process.
pub(crate) struct Session {
    pub(crate) core: Arc<Core>,
    pub(crate) credentials: Credentials,
    /// The web router; `None` with a control plane, which has its own.
    pub(crate) web: Option<Arc<WebAccess>>,
    pub(crate) reloads: Reloads,
    now: Mutex<Now>,
}

/// What changes in a session's life.
#[derive(Default)]
struct Now {
    /// Why the files as they are now are not in force.
    unusable: Option<Vec<Issue>>,
    revision: Option<String>,
    model: Option<ModelInUse>,
    /// What the harness had to say when it was last asked.
    notices: Vec<String>,
}

impl Session {
    pub(crate) fn new(
        core: Arc<Core>,
        credentials: Credentials,
        web: Option<Arc<WebAccess>>,
        reloads: Reloads,
    ) -> Self {
        Self {
            core,
            credentials,
            web,
            reloads,
            now: Mutex::default(),
        }
    }

    /// Puts another reading of the project in force.
    pub(crate) fn set_reading(&self, reading: Arc<Reading>) {
        self.core.set_reading(reading);
        self.now().unusable = None;
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

    /// Notes what the harness has to say; gives what of it is news.
    pub(crate) fn set_notices(&self, notices: Vec<String>) -> Vec<String> {
        let mut now = self.now();
        let news = notices.iter().filter(|notice| !now.notices.contains(notice));
        let news = news.cloned().collect();
        now.notices = notices;
        news
    }

    /// The web router as it is to the caller whose router token a request carries; `None` when it carries none.
    pub(crate) fn web_router(&self, headers: &HeaderMap) -> Option<Arc<WebRouter>> {
        self.web.as_ref()?.identify(presented(headers)?)
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
