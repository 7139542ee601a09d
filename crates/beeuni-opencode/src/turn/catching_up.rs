//! What was missed is looked up: after a break in the stream, after a long silence, and at the end.
use beeuni_agent::StoreError;

use super::work::Work;
use crate::client::{Happening, Status};
use crate::link::told;

impl Work<'_> {
    /// Nothing was heard for a while, or something is awaited.
    pub(super) async fn look(&mut self) -> Result<(), StoreError> {
        if self.stopping.is_some() {
            return Ok(());
        }
        let busy = self.with(|scribe| scribe.is_busy());
        if !busy && self.begun {
            return Ok(());
        }
        match self.up.client.status().await {
            Ok(status) => {
                let root = &self.up.carrier.session;
                let now = status.get(root).cloned().unwrap_or(Status::Idle);
                if now == Status::Idle && busy {
                    tracing::warn!("OpenCode is idle and had not said so");
                    self.reconcile().await?;
                }
                let happening = Happening::Status {
                    session: self.up.carrier.session.clone(),
                    status: now,
                };
                self.take(happening).await
            }
            Err(error) => {
                tracing::warn!("{}", told(&error));
                Ok(())
            }
        }
    }

    /// Events were missed: everything is looked at again.
    pub(super) async fn catch_up(&mut self) -> Result<(), StoreError> {
        let root = self.up.carrier.session.clone();
        match self.up.client.children(&root).await {
            Ok(children) => {
                for child in children {
                    let id = child.id.clone();
                    self.with(|scribe| scribe.take(&Happening::Session(child)))?;
                    self.reconcile_one(&id).await?;
                }
            }
            Err(error) => tracing::warn!("{}", told(&error)),
        }
        self.reconcile().await?;
        match self.up.client.permissions().await {
            Ok(waiting) => {
                for permission in waiting {
                    self.ask_permission(permission)?;
                }
            }
            Err(error) => tracing::warn!("{}", told(&error)),
        }
        match self.up.client.questions().await {
            Ok(waiting) => {
                for questions in waiting {
                    self.ask_questions(questions).await?;
                }
            }
            Err(error) => tracing::warn!("{}", told(&error)),
        }
        match self.up.client.status().await {
            Ok(all) => {
                for session in self.with(|scribe| scribe.sessions()) {
                    let status = all.get(&session).cloned().unwrap_or(Status::Idle);
                    self.take_status(session, status)?;
                }
            }
            Err(error) => tracing::warn!("{}", told(&error)),
        }
        Ok(())
    }

    fn take_status(&mut self, session: String, status: Status) -> Result<(), StoreError> {
        self.with(|scribe| scribe.take(&Happening::Status { session, status }))
    }

    /// Takes what OpenCode has stored for what is true.
    pub(super) async fn reconcile(&mut self) -> Result<(), StoreError> {
        let root = self.up.carrier.session.clone();
        let mut sessions: Vec<String> = self.with(|scribe| scribe.unfinished().into_iter().collect());
        sessions.retain(|session| *session != root);
        sessions.push(root);
        for session in sessions {
            self.reconcile_one(&session).await?;
        }
        Ok(())
    }

    async fn reconcile_one(&mut self, session: &str) -> Result<(), StoreError> {
        let limit = self.with(|scribe| scribe.count(session)) + 4;
        match self.up.client.messages(session, Some(limit)).await {
            Ok(messages) => self.with(|scribe| scribe.reconcile(session, &messages)),
            Err(error) => {
                tracing::warn!("{}", told(&error));
                Ok(())
            }
        }
    }
}
