//! What all turns of a session share: the model gateway, the tools, the transcript, the settings.
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use beeuni_gateway::Gateway;
use beeuni_protocol::session::{Message, PartBody};

use crate::actor::Actor;
use crate::ask::Asks;
use crate::conversation::Head;
use crate::harness_tools::HarnessTools;
use crate::hosted::HostedTools;
use crate::models::Models;
use crate::offer::Offer;
use crate::permission::Rules;
use crate::setup::{AgentDefinition, Setup};
use crate::skills::SkillShelf;
use crate::store::Journal;
use crate::{prompt, subagent};

/// What a session needs to run.
#[derive(Clone)]
pub struct SessionConfig {
    /// Its id: 1 to 128 of `A-Z a-z 0-9 . _ -`.
    pub id: String,
    /// The state folder: the transcript is in `sessions/<id>/` below it (0700, files 0600).
    pub state: PathBuf,
    /// The checkout. Absolute.
    pub checkout: PathBuf,
    /// Access to models.
    pub gateway: Gateway,
    /// Beeuni and project tools.
    pub hosted: Arc<dyn HostedTools>,
    /// The harness tools.
    pub harness: HarnessTools,
    /// The skills that the harness tools were made with.
    pub skills: SkillShelf,
    /// What `~` in a permission pattern stands for.
    pub home: Option<String>,
    /// Settings.
    pub settings: Settings,
}

/// Settings of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How many times the model is asked for one prompt where the agent's file sets no `steps`. Default 500.
    pub steps: u32,
    /// The window of a model that nothing is known about, in tokens. Default 128,000.
    pub window: u64,
    /// The part of the window above which older messages are summed up. Default 0.8.
    pub compact_at: f64,
    /// How long a harness tool may take to say what it has when the turn is stopped. Default 800 ms.
    pub stop_grace: Duration,
    /// How many bytes of past events are kept in memory for readers. Default 1 MiB.
    pub ring_bytes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            steps: 500,
            window: 128_000,
            compact_at: 0.8,
            stop_grace: Duration::from_millis(800),
            ring_bytes: 1024 * 1024,
        }
    }
}

/// What happens where a person would be asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnAsk {
    /// The turn waits for the person.
    #[default]
    Wait,
    /// The answer is no, and the model goes on.
    Deny,
    /// The answer is yes. Questions stay unanswered, denials stay denials.
    Allow,
    /// The turn ends as blocked.
    Fail,
}

/// What all turns of a session and its subagents share.
pub(crate) struct Engine {
    pub(crate) gateway: Gateway,
    pub(crate) models: Models,
    pub(crate) hosted: Arc<dyn HostedTools>,
    pub(crate) harness: HarnessTools,
    pub(crate) journal: Arc<Journal>,
    pub(crate) asks: Asks,
    pub(crate) settings: Settings,
    /// The checkout.
    pub(crate) checkout: PathBuf,
    home: Option<String>,
    environment: OnceLock<String>,
    busy: Mutex<HashSet<String>>,
}

impl Engine {
    pub(crate) fn new(config: &SessionConfig, journal: Arc<Journal>) -> Self {
        Self {
            gateway: config.gateway.clone(),
            models: Models::new(config.gateway.clone()),
            hosted: Arc::clone(&config.hosted),
            harness: config.harness.clone(),
            asks: Asks::new(Arc::clone(&journal)),
            journal,
            settings: config.settings.clone(),
            checkout: config.checkout.clone(),
            home: config.home.clone(),
            environment: OnceLock::new(),
            busy: Mutex::default(),
        }
    }

    /// The rules of an agent.
    pub(crate) fn rules(&self, agent: &AgentDefinition) -> Rules {
        Rules::new(&agent.permission, self.home.as_deref())
    }

    /// What an agent's requests in `session` begin with, and the tools that it is offered.
    pub(crate) fn surroundings(&self, setup: &Setup, actor: &Actor, session: &str) -> (Head, Offer) {
        let task = (!actor.is_subagent()).then(|| subagent::description(setup));
        let offer = Offer::new(actor, &self.harness, task.as_deref(), &self.hosted.report());
        let grant = &actor.on_behalf_of().skills;
        let may_load = offer.source("skill").is_some();
        let skills = setup
            .skills
            .iter()
            .filter(|skill| may_load && grant.allows(&skill.name));
        let head = Head {
            system: prompt::system(&actor.agent, &self.environment_of(session), skills),
            tools: offer.json.clone(),
            temperature: actor.agent.temperature,
            top_p: actor.agent.top_p,
        };
        (head, offer)
    }

    /// What the prompt says about the surroundings: as it was when the session began, unless the checkout has moved.
    fn environment_of(&self, session: &str) -> String {
        let stored = self
            .journal
            .with(session, |transcript| transcript.created.environment.clone());
        let still_here = |text: &String| text.contains(&self.checkout.display().to_string());
        stored.filter(still_here).unwrap_or_else(|| {
            self.environment
                .get_or_init(|| prompt::environment(&self.checkout))
                .clone()
        })
    }

    /// The subagents' sessions in which a turn runs.
    pub(crate) fn busy(&self) -> MutexGuard<'_, HashSet<String>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The text of a message.
pub(crate) fn text_of(message: &Message) -> String {
    let texts = message.parts.iter().filter_map(|part| match &part.body {
        PartBody::Text(part) => Some(part.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}
