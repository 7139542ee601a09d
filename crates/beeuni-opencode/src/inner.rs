//! What all handles to a session share, and what changes while it lives.
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use beeuni_agent::kit::{Actor, Asks, Journal, Models, View};
use beeuni_agent::permission::{Permissions, Rules};
use beeuni_agent::{AgentDefinition, OnAsk, Setup};
use beeuni_protocol::session::{Activity, Attachment, TurnEnded, TurnError};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::link::Link;
use crate::scribe::Scribe;
use crate::server::Server;

/// What all handles share.
pub(crate) struct Inner {
    pub(crate) config: Config,
    pub(crate) journal: Arc<Journal>,
    pub(crate) asks: Asks,
    pub(crate) models: Models,
    /// What was said "always" to, with no rules of its own.
    pub(crate) permissions: Permissions,
    pub(crate) flow: Mutex<Flow>,
    /// Another one whenever OpenCode is started.
    pub(crate) scribe: Mutex<Scribe>,
    /// Held by the turn, reload or restart that runs: the next one waits, in order.
    pub(crate) link: Arc<tokio::sync::Mutex<Link>>,
    /// Rung when the turn that runs has to look up.
    pub(crate) bell: Notify,
    /// Rung when something that OpenCode told is in the transcript.
    pub(crate) heard: Notify,
}

/// What changes while a session lives.
pub(crate) struct Flow {
    pub(crate) setup: Arc<Setup>,
    pub(crate) running: Option<Running>,
    pub(crate) reloads: usize,
    pub(crate) closed: bool,
    pub(crate) health: Health,
    /// For what it says about the project's folder.
    pub(crate) server: Option<Arc<Server>>,
}

/// How OpenCode's process is doing.
#[derive(Debug, Clone)]
pub(crate) enum Health {
    /// It is being started.
    Starting,
    /// It runs.
    Up,
    /// It does not run, and is tried again with a prompt.
    Down {
        /// Why.
        reason: String,
        /// Since when.
        since: std::time::Instant,
    },
}

/// The turn that runs or waits to run.
pub(crate) struct Running {
    pub(crate) turn: String,
    pub(crate) agent: String,
    /// The model that answers; that the prompt named, as long as it is not known.
    pub(crate) model: Option<String>,
    pub(crate) on_ask: OnAsk,
    pub(crate) stop: CancellationToken,
    pub(crate) ended: watch::Sender<Option<TurnEnded>>,
    /// Takes what a person says to it.
    pub(crate) steering: mpsc::UnboundedSender<Steer>,
    /// Why it has to end, and OpenCode's session in which that came up.
    pub(crate) block: Option<(String, TurnError)>,
}

/// What a person says to the turn that runs; in the transcript already.
#[derive(Debug)]
pub(crate) struct Steer {
    pub(crate) message: String,
    pub(crate) text: String,
    pub(crate) files: Vec<Attachment>,
    /// Told when OpenCode has it; dropped when it never gets it.
    pub(crate) taken: Option<oneshot::Sender<()>>,
}

impl Inner {
    pub(crate) fn flow(&self) -> MutexGuard<'_, Flow> {
        self.flow.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn scribe(&self) -> MutexGuard<'_, Scribe> {
        self.scribe.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session's folder.
    pub(crate) fn folder(&self) -> PathBuf {
        self.config.state.join("sessions").join(&self.config.id)
    }

    /// A look at the session.
    pub(crate) fn view(&self) -> View<'_> {
        let flow = self.flow();
        let activity = if flow.running.is_some() {
            Activity::Running
        } else if flow.closed {
            Activity::Closed
        } else if flow.reloads > 0 {
            Activity::Reloading
        } else {
            Activity::Idle
        };
        View {
            journal: &self.journal,
            asks: &self.asks,
            activity,
            turn: flow.running.as_ref().map(|running| running.turn.clone()),
            default_agent: flow.setup.default_agent.clone(),
        }
    }

    pub(crate) fn rules(&self, agent: &AgentDefinition) -> Rules {
        Rules::new(&agent.permission, self.config.home.as_deref())
    }

    /// Who acts in one of OpenCode's sessions, and under which rules; `None` when the project does not know them.
    pub(crate) fn actor(&self, setup: &Setup, session: &str) -> Option<(Actor, Permissions)> {
        self.actor_in(setup, &self.scribe(), session)
    }

    fn actor_in(&self, setup: &Setup, scribe: &Scribe, session: &str) -> Option<(Actor, Permissions)> {
        let talk = scribe.talk(session)?;
        let Some(parent) = &talk.parent else {
            let actor = Actor::of_session(setup, Some(&talk.agent)).ok()?;
            let permissions = self.permissions.with_rules(self.rules(&actor.agent));
            return Some((actor, permissions));
        };
        let (above, permissions) = self.actor_in(setup, scribe, parent)?;
        let actor = Actor::of_task(setup, &above.agent, &talk.agent)?;
        let rules = if actor.built_in {
            Rules::default()
        } else {
            self.rules(&actor.agent)
        };
        Some((actor, permissions.subagent(rules)))
    }

    /// The turn has to end when the step in which this came up has.
    pub(crate) fn block(&self, session: &str, error: TurnError) {
        if let Some(running) = &mut self.flow().running {
            running.block.get_or_insert((session.to_owned(), error));
        }
        self.scribe().seal();
        self.bell.notify_one();
    }

    /// The names of the tools that the tool host runs on this harness.
    pub(crate) fn hosted(&self) -> HashSet<String> {
        let report = self.config.hosted.report();
        let mut names: HashSet<String> = report.tools.iter().map(|tool| tool.tool.name.clone()).collect();
        let server = self.flow().server.clone();
        for tool in server.iter().flat_map(|server| server.overridden()) {
            names.remove(&tool.name);
        }
        names
    }
}
