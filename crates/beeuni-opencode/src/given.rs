//! What OpenCode works with.
use std::sync::Arc;
use std::time::Duration;

use beeuni_tools::LoadReport;

use crate::inner::Inner;
use crate::server::{Bridge, Given, HostedTool, Model};

impl Inner {
    /// What OpenCode works with: the tools that loaded, and the models that are asked for.
    pub(crate) async fn given(&self, report: &LoadReport, more: &[String]) -> Given {
        let setup = Arc::clone(&self.flow().setup);
        let tools = report
            .tools
            .iter()
            .map(|tool| HostedTool {
                name: tool.tool.name.clone(),
                description: tool.description.clone(),
                parameters: tool.parameters.clone(),
            })
            .collect();
        let gateway = &self.config.gateway;
        let default_model = match &setup.model {
            Some(model) => model.clone(),
            None => gateway.default_model().await.id,
        };
        let last = self.journal.with(self.journal.root(), |transcript| {
            transcript.turn.as_ref().map(|turn| turn.model.clone())
        });
        let mut ids: Vec<String> = std::iter::once(default_model.clone())
            .chain(setup.agents.iter().filter_map(|agent| agent.model.clone()))
            .chain(last.flatten())
            .chain(more.iter().cloned())
            .collect();
        ids.sort();
        ids.dedup();
        let models = futures_util::future::join_all(ids.iter().map(|id| self.model(id))).await;
        Given {
            setup,
            tools,
            models,
            default_model,
            bridge: Bridge {
                url: self.config.bridge_url.clone(),
                key: self.config.bridge_key.clone(),
            },
        }
    }

    async fn model(&self, id: &str) -> Model {
        // A provider that is slow to list its models must not hold up a start.
        let asking = tokio::time::timeout(Duration::from_secs(3), self.config.gateway.model(id));
        let known = asking.await.ok().flatten();
        Model {
            id: id.to_owned(),
            context: known.as_ref().and_then(|known| known.context_window),
            output: known.and_then(|known| known.max_output),
        }
    }
}
