//! The way to OpenCode: its process, the client, the stream of events, and which of its sessions carries the transcript.
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use beeuni_agent::kit::Models;
use serde_json::json;

use crate::client::{Client, ClientError, Events};
use crate::inner::{Health, Inner};
use crate::resume::Carrier;
use crate::scribe::Scribe;
use crate::server::{Change, Given, Place, Server, StartError};

/// A process that lived so long did not die at once.
const LIVED: Duration = Duration::from_secs(60);
/// How long the stream of events may take to begin.
const STREAM: Duration = Duration::from_secs(30);

/// The way to OpenCode.
pub(crate) struct Link {
    /// What it works with.
    pub(crate) given: Given,
    /// There while it runs.
    pub(crate) up: Option<Up>,
    /// How often it died in a row.
    pub(crate) deaths: u32,
    started: Option<Instant>,
    /// What is given now was written and OpenCode has not taken it in: that failed, or was cut off. Its files are up to
    /// date, so that nothing else would tell.
    unsettled: bool,
}

/// A running OpenCode.
pub(crate) struct Up {
    pub(crate) server: Arc<Server>,
    pub(crate) client: Client,
    pub(crate) events: Events,
    pub(crate) carrier: Carrier,
    /// The messages of the transcript that OpenCode's session has.
    pub(crate) known: HashSet<String>,
}

/// Why there is no way to OpenCode.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkError {
    /// It does not start.
    #[error("OpenCode does not start: {}", told(.0))]
    Start(StartError),
    /// It runs and does not answer.
    #[error("{}", told(.0))]
    Client(#[from] ClientError),
    /// It runs and tells nothing of what happens.
    #[error("OpenCode's stream of events does not begin")]
    Stream,
}

/// An error with its causes.
pub(crate) fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        // Some say their cause themselves.
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

impl Link {
    pub(crate) fn new(given: Given) -> Self {
        Self {
            given,
            up: None,
            deaths: 0,
            started: None,
            unsettled: false,
        }
    }

    /// A turn came to its end: whatever happened before, OpenCode works.
    pub(crate) fn works(&mut self) {
        self.deaths = 0;
    }

    /// The process died.
    pub(crate) fn died(&mut self) {
        self.up = None;
        let lived = self.started.is_some_and(|started| started.elapsed() > LIVED);
        self.deaths = if lived { 1 } else { self.deaths + 1 };
    }
}

impl Inner {
    pub(crate) fn place(&self) -> Place {
        let config = &self.config;
        Place {
            program: config.program.clone(),
            ripgrep: config.ripgrep.clone(),
            guard: config.guard.clone(),
            folder: config.folder.clone(),
            checkout: config.checkout.clone(),
            config_source: config.config_source.clone(),
            outside: config.outside.clone(),
            env: config.env.clone(),
            start: config.settings.start,
        }
    }

    /// The way to OpenCode, which is started when it does not run.
    pub(crate) async fn connect<'a>(self: &Arc<Self>, link: &'a mut Link) -> Result<&'a mut Up, LinkError> {
        let ended = match &link.up {
            Some(up) => tokio::time::timeout(Duration::ZERO, up.server.ended()).await.ok(),
            None => None,
        };
        if let Some(ended) = ended {
            tracing::error!("OpenCode ended by itself: {ended}");
            link.died();
        }
        if link.unsettled
            && let Some(up) = link.up.take()
        {
            up.server.stop(Duration::from_secs(2)).await;
        }
        if link.up.is_none() {
            self.flow().health = Health::Starting;
            link.started = Some(Instant::now());
            match self.start(&link.given).await {
                Ok(up) => (link.up, link.unsettled) = (Some(up), false),
                Err(error) => {
                    link.deaths += 1;
                    let mut flow = self.flow();
                    flow.server = None;
                    flow.health = Health::Down {
                        reason: error.to_string(),
                        since: Instant::now(),
                    };
                    return Err(error);
                }
            }
            self.flow().health = Health::Up;
        }
        // It was just put there.
        link.up.as_mut().ok_or(LinkError::Stream)
    }

    async fn start(self: &Arc<Self>, given: &Given) -> Result<Up, LinkError> {
        let server = Server::start(&self.place(), given).await.map_err(LinkError::Start)?;
        let server = Arc::new(server);
        let up = self.join(Arc::clone(&server)).await?;
        self.watch(&server);
        Ok(up)
    }

    /// Finds the way to a server that has just started.
    pub(crate) async fn join(&self, server: Arc<Server>) -> Result<Up, LinkError> {
        let (config, settings) = (&self.config, &self.config.settings);
        let client = Client::new(server.url(), server.password(), &config.checkout, settings.answer)?;
        let mut events = client.events();
        tokio::time::timeout(STREAM, events.begun_after(0))
            .await
            .map_err(|_| LinkError::Stream)?;
        let carrier = self.carrier(&client).await?;
        let stored = client.messages(&carrier.session, None).await?;
        let known = stored.into_iter().map(|message| message.info.id).collect();
        let (redact, written) = (Arc::clone(&config.redact), Arc::clone(&config.written));
        let (journal, models) = (Arc::clone(&self.journal), self.models.clone());
        let scribe = Scribe::new(journal, models, redact, written, &carrier.session);
        *self.scribe() = scribe;
        self.flow().server = Some(Arc::clone(&server));
        Ok(Up {
            server,
            client,
            events,
            carrier,
            known,
        })
    }

    /// Which of OpenCode's sessions carries the transcript: the one that did before, else a new one.
    async fn carrier(&self, client: &Client) -> Result<Carrier, ClientError> {
        let folder = self.folder();
        if let Some(carrier) = Carrier::read(&folder)
            && client.has(&carrier.session).await?
        {
            return Ok(carrier);
        }
        let title = self
            .journal
            .with(self.journal.root(), |transcript| transcript.title.clone())
            .flatten();
        let title = title.unwrap_or_else(|| format!("Beeuni session {}", self.config.id));
        let metadata = json!({ "beeuni": { "session": self.config.id } });
        let carrier = Carrier {
            session: client.create(&title, &metadata).await?,
            told: None,
        };
        if let Err(error) = carrier.write(&folder) {
            // The next start tells the conversation to a new session.
            tracing::warn!(%error, "which of OpenCode's sessions carries the transcript could not be written down");
        }
        Ok(carrier)
    }

    /// Makes what is given now count. Only between turns. Where this fails or is cut off, OpenCode is started anew for
    /// the next turn.
    pub(crate) async fn apply(self: &Arc<Self>, link: &mut Link) -> Result<(), LinkError> {
        let Some(up) = link.up.as_mut().filter(|_| !link.unsettled) else {
            return self.connect(link).await.map(drop);
        };
        link.unsettled = true;
        match up.server.update(&link.given).await.map_err(LinkError::Start)? {
            Change::Nothing => {}
            Change::Dispose => {
                up.server.dispose().await.map_err(LinkError::Start)?;
                // A stream that was there may not have noticed, and stay silent for ever.
                let mut events = up.client.events();
                let begun = tokio::time::timeout(STREAM, events.begun_after(0)).await;
                up.events = events;
                begun.map_err(|_| LinkError::Stream)?;
            }
            Change::Restart => return self.connect(link).await.map(drop),
        }
        link.unsettled = false;
        Ok(())
    }
}

/// Prices and windows, for the scribe.
pub(crate) fn models(gateway: &beeuni_gateway::Gateway) -> Models {
    Models::new(gateway.clone())
}
