//! A session: the handle over its transcript and over the turn that runs, cheap to clone.
mod prompting;
mod reading;
mod reload;
mod run;
mod turn_handle;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use beeuni_protocol::session::{PartBody, SessionCreated, ToolCall, TurnEnded};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub use prompting::{PromptError, PromptOptions};
pub use turn_handle::TurnHandle;

use crate::conversation::Conversation;
use crate::engine::{Engine, SessionConfig};
use crate::permission::Permissions;
use crate::setup::Setup;
use crate::skills::SkillShelf;
use crate::store::{FORMAT, Journal, StoreError};
use crate::{ask, prompt};

/// A session could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Its id cannot be one.
    #[error("`{0}` cannot be a session's id: use 1 to 128 of A-Z a-z 0-9 . _ -, not beginning with a dot")]
    Id(String),
    /// Its transcript cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A session of the experimental harness. Clones are handles to the same session; a turn goes on when all are gone.
#[derive(Clone)]
pub struct Session(Arc<Inner>);

/// What all handles share.
struct Inner {
    id: String,
    engine: Arc<Engine>,
    /// What was said "always" to, with no rules of its own.
    permissions: Permissions,
    /// Held by the turn or reload that runs: the next one waits, in order.
    conversation: Arc<tokio::sync::Mutex<Conversation>>,
    flow: Mutex<Flow>,
    skills: SkillShelf,
}

/// What changes while a session lives.
struct Flow {
    setup: Arc<Setup>,
    running: Option<Running>,
    reloads: usize,
    closed: bool,
}

/// The turn that runs or waits to run.
struct Running {
    turn: String,
    agent: String,
    /// The model that answers; that the prompt named, as long as it is not known.
    model: Option<String>,
    stop: CancellationToken,
    ended: watch::Sender<Option<TurnEnded>>,
}

impl Session {
    /// Opens a session: a new one, or one whose transcript is in the state folder. What its process left unfinished
    /// is marked interrupted. The tools are those that `config.hosted` has loaded; [`Session::reload`] loads others.
    ///
    /// # Errors
    /// The id is no id, or the transcript cannot be used: another process has it open, it is not this session's, or
    /// the file system fails.
    pub fn open(config: SessionConfig, setup: Setup) -> Result<Self, OpenError> {
        if !is_id(&config.id) {
            return Err(OpenError::Id(config.id));
        }
        let folder = config.state.join("sessions").join(&config.id);
        let journal = Journal::open(&folder, &config.id, config.settings.ring_bytes, || SessionCreated {
            format: FORMAT,
            parent: None,
            agent: setup.default_agent.clone().unwrap_or_default(),
            environment: prompt::environment(&config.checkout),
        })?;
        let permissions = Permissions::default();
        for session in journal.sessions() {
            let stored = journal.with(&session, |transcript| (transcript.allowed.clone(), transcript.todos));
            let (allowed, todos) = stored.unwrap_or_default();
            permissions.remember(allowed.iter().filter_map(ask::remembered));
            if let Some(place) = todos
                && let PartBody::Tool(call) = journal.part(place)?.body
            {
                restore_todos(&config, &session, call);
            }
        }
        config.skills.fill(&setup);
        let journal = Arc::new(journal);
        Ok(Self(Arc::new(Inner {
            conversation: Arc::new(tokio::sync::Mutex::new(Conversation::new(&config.id))),
            engine: Arc::new(Engine::new(&config, journal)),
            permissions,
            flow: Mutex::new(Flow {
                setup: Arc::new(setup),
                running: None,
                reloads: 0,
                closed: false,
            }),
            id: config.id,
            skills: config.skills,
        })))
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// Stops the turn, ends every command, makes the transcript durable and ends the streams of events. Prompts are
    /// refused from here on.
    pub async fn close(&self) {
        self.0.flow().closed = true;
        self.abort();
        self.idle().await;
        for session in self.0.engine.journal.sessions() {
            self.0.engine.harness.end_session(&session).await;
        }
        self.0.engine.journal.synced().await;
        self.0.engine.journal.close();
    }
}

impl Inner {
    fn flow(&self) -> MutexGuard<'_, Flow> {
        self.flow.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives the harness tools the todo list that the last `todowrite` stored.
fn restore_todos(config: &SessionConfig, session: &str, call: ToolCall) {
    let todos = call
        .metadata
        .into_iter()
        .find_map(|(key, value)| (key == "todos").then_some(value));
    match todos.map(serde_json::from_value) {
        Some(Ok(todos)) => config.harness.set_todos(session, todos),
        Some(Err(error)) => tracing::warn!(session, %error, "the stored todo list could not be read"),
        None => {}
    }
}

/// Whether `text` can be a session's id: it is the name of a folder.
#[must_use]
pub fn is_id(text: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=128).contains(&text.len()) && text.bytes().all(good) && !text.starts_with('.')
}
