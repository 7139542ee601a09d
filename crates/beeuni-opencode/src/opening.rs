//! Opens a session, and exchanges what it works with.
use std::sync::{Arc, Mutex};

use beeuni_agent::Setup;
use beeuni_agent::kit::{Asks, FORMAT, Journal, environment, is_id, remembered};
use beeuni_agent::permission::Permissions;
use beeuni_protocol::session::{EventBody, SessionCreated};
use beeuni_tools::LoadReport;
use tokio::sync::Notify;

use crate::config::Config;
use crate::error::{OpenCodeError, StartError};
use crate::inner::{Flow, Health, Inner};
use crate::link::{Link, models};
use crate::scribe::Scribe;
use crate::server::{Bridge, Given};

impl Inner {
    /// Opens the transcript. What its process left unfinished is marked interrupted.
    pub(crate) async fn open(config: Config, setup: Setup) -> Result<Arc<Self>, StartError> {
        if !is_id(&config.id) {
            return Err(StartError::Id(config.id));
        }
        let folder = config.state.join("sessions").join(&config.id);
        let journal = Journal::open(&folder, &config.id, config.settings.ring_bytes, || SessionCreated {
            format: FORMAT,
            parent: None,
            agent: setup.default_agent.clone().unwrap_or_default(),
            environment: environment(&config.checkout),
        })?;
        let permissions = Permissions::default();
        for session in journal.sessions() {
            let allowed = journal.with(&session, |transcript| transcript.allowed.clone());
            permissions.remember(allowed.unwrap_or_default().iter().filter_map(remembered));
        }
        let journal = Arc::new(journal);
        let models = models(&config.gateway);
        let (redact, written) = (Arc::clone(&config.redact), Arc::clone(&config.written));
        // A placeholder for the short time until OpenCode's session is known.
        let scribe = Scribe::new(Arc::clone(&journal), models.clone(), redact, written, "");
        let given = Given {
            setup: Arc::new(setup),
            tools: Vec::new(),
            models: Vec::new(),
            default_model: String::new(),
            bridge: Bridge {
                url: config.bridge_url.clone(),
                key: config.bridge_key.clone(),
            },
        };
        let inner = Arc::new(Self {
            asks: Asks::new(Arc::clone(&journal)),
            models,
            permissions,
            flow: Mutex::new(Flow {
                setup: Arc::clone(&given.setup),
                running: None,
                reloads: 0,
                closed: false,
                health: Health::Starting,
                server: None,
            }),
            scribe: Mutex::new(scribe),
            link: Arc::new(tokio::sync::Mutex::new(Link::new(given))),
            bell: Notify::new(),
            heard: Notify::new(),
            journal,
            config,
        });
        let given = inner.given(&inner.config.hosted.report(), &[]).await;
        inner.link.lock().await.given = given;
        Ok(inner)
    }

    pub(crate) async fn reload(self: &Arc<Self>, setup: Setup) -> Result<Arc<LoadReport>, OpenCodeError> {
        let mut link = self.link.lock().await;
        if self.flow().closed {
            return Err(OpenCodeError::Unavailable("the session is closed".to_owned()));
        }
        let report = self.config.hosted.load(&setup.tools).await;
        self.flow().setup = Arc::new(setup);
        link.given = self.given(&report, &[]).await;
        self.apply(&mut link)
            .await
            .map_err(|error| OpenCodeError::Failed(format!("OpenCode does not work with what was changed: {error}")))?;
        let tools = report.tools.iter().map(|tool| tool.tool.name.clone()).collect();
        let failed = report
            .failed
            .iter()
            .map(|tool| format!("{}: {}", tool.tool.name, tool.error))
            .collect();
        let reloaded = EventBody::SessionReloaded { tools, failed };
        self.journal.publish(self.journal.root(), reloaded)?;
        Ok(report)
    }
}
