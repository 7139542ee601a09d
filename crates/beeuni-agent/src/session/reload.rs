//! The exchange of agents, tools and skills between turns.
use std::sync::Arc;

use beeuni_protocol::session::EventBody;
use beeuni_tools::LoadReport;

use super::{Inner, PromptError, Session};
use crate::setup::Setup;

impl Session {
    /// Exchanges agents, tools, skills and prompts between turns: now, or when the turn that runs has ended. Prompts
    /// that come meanwhile wait for it. The conversation goes on (C2).
    ///
    /// # Errors
    /// The session was closed, or the event could not be stored.
    pub async fn reload(&self, setup: Setup) -> Result<Arc<LoadReport>, PromptError> {
        let inner = Arc::clone(&self.0);
        inner.flow().reloads += 1;
        // A task of its own: who asked for it may go away, the reload is still done.
        let reloading = tokio::spawn(async move {
            let reloaded = inner.reload(setup).await;
            inner.flow().reloads -= 1;
            reloaded
        });
        reloading.await.unwrap_or(Err(PromptError::Closed))
    }
}

impl Inner {
    async fn reload(&self, setup: Setup) -> Result<Arc<LoadReport>, PromptError> {
        let _between_turns = self.conversation.lock().await;
        if self.flow().closed {
            return Err(PromptError::Closed);
        }
        let report = self.engine.hosted.load(&setup.tools).await;
        self.skills.fill(&setup);
        self.flow().setup = Arc::new(setup);
        let tools = report.tools.iter().map(|tool| tool.tool.name.clone()).collect();
        let failed = report
            .failed
            .iter()
            .map(|tool| format!("{}: {}", tool.tool.name, tool.error))
            .collect();
        self.engine
            .journal
            .publish(&self.id, EventBody::SessionReloaded { tools, failed })?;
        Ok(report)
    }
}
