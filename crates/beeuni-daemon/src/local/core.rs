//! What a session of this machine runs with, whether a daemon or `beeuni run` holds it: harness, tools, models, and
//! the project as it was read.
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use beeuni_gateway::Gateway;

use super::hosting::Hosting;
use super::project::{Overrides, Reading};
use crate::agents::Agents;
use crate::checkout::Project;
use crate::harness::Harness;

/// A session's parts that answer calls and run turns.
pub(crate) struct Core {
    pub(crate) id: String,
    pub(crate) harness: Box<dyn Harness>,
    pub(crate) hosting: Arc<Hosting>,
    pub(crate) gateway: Gateway,
    pub(crate) project: Project,
    pub(crate) overrides: Overrides,
    stage: AtomicU8,
    now: Mutex<Now>,
}

/// What changes with the project.
struct Now {
    agents: Arc<Agents>,
    reading: Arc<Reading>,
}

/// Where a session is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Stage {
    /// The tools are being loaded for the first time, and the harness starts.
    Loading = 0,
    /// Calls are taken.
    Ready = 1,
    /// Running calls may end, new ones are refused.
    Stopping = 2,
}

impl Core {
    pub(crate) fn new(
        id: String,
        harness: Box<dyn Harness>,
        hosting: Arc<Hosting>,
        gateway: Gateway,
        overrides: Overrides,
        reading: Arc<Reading>,
    ) -> Self {
        Self {
            id,
            harness,
            project: Project::new(hosting.found.root.clone()),
            hosting,
            gateway,
            overrides,
            stage: AtomicU8::new(Stage::Loading as u8),
            now: Mutex::new(Now {
                agents: Arc::new(Agents::of(&reading)),
                reading,
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

    /// The tools and the harness are there: takes calls from now on.
    pub(crate) fn open(&self) {
        self.stage.store(Stage::Ready as u8, Relaxed);
    }

    /// Takes no further calls from outside.
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
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
