//! The load pass: each module in a process of its own, only to learn its description and parameters.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::host::{BEEUNI_WORKER, Inner};
use crate::worker::Worker;
use crate::{SelectedTool, ToolSource};

/// What a module says about itself.
pub(crate) type Loaded = Result<(String, Box<RawValue>), String>;

#[derive(Deserialize)]
struct Announcement {
    description: String,
    parameters: Box<RawValue>,
}

impl Inner {
    /// Loads each tool, a few at a time; answers in the order of `selection`.
    pub(crate) async fn load_all(self: &Arc<Self>, selection: &[SelectedTool]) -> Vec<Loaded> {
        let mut outcomes: Vec<Option<Loaded>> = selection.iter().map(|_| None).collect();
        let is_beeuni = |index: &usize| selection[*index].source == ToolSource::Beeuni;
        let (beeuni, project): (Vec<usize>, Vec<usize>) = (0..selection.len()).partition(is_beeuni);
        // The Beeuni tools share a process; a project's module has one to itself, so that what it does to its
        // process while it loads is its own affair.
        let mut groups: Vec<Vec<usize>> = project.into_iter().map(|index| vec![index]).collect();
        if !beeuni.is_empty() {
            groups.insert(0, beeuni);
        }
        // More places than cores: a module that hangs holds one until its deadline.
        let places = Arc::new(Semaphore::new(4));
        let mut tasks = JoinSet::new();
        for group in groups {
            let (inner, places) = (Arc::clone(self), Arc::clone(&places));
            let tools: Vec<SelectedTool> = group.iter().map(|index| selection[*index].clone()).collect();
            tasks.spawn(async move {
                let _place = places.acquire_owned().await;
                (group, inner.load_group(&tools).await)
            });
        }
        while let Some(joined) = tasks.join_next().await {
            let Ok((group, loaded)) = joined else { continue };
            for (index, outcome) in group.into_iter().zip(loaded) {
                outcomes[index] = Some(outcome);
            }
        }
        outcomes
            .into_iter()
            .map(|outcome| outcome.unwrap_or_else(|| Err("the loader failed".to_owned())))
            .collect()
    }

    async fn load_group(&self, tools: &[SelectedTool]) -> Vec<Loaded> {
        let name = if let [tool] = tools { &tool.name } else { BEEUNI_WORKER };
        let worker = match self.start_worker(name) {
            Ok(worker) => worker,
            Err(reason) => return tools.iter().map(|_| Err(reason.clone())).collect(),
        };
        let mut outcomes = Vec::new();
        for tool in tools {
            outcomes.push(
                self.load_one(&worker, &tool.name, &self.path_of(tool))
                    .await
                    .and_then(|text| {
                        let announced: Announcement = serde_json::from_str(&text)
                            .map_err(|error| format!("cannot read what the module announced: {error}"))?;
                        Ok((announced.description, announced.parameters))
                    }),
            );
        }
        worker.retire();
        worker.wait_ended().await;
        outcomes
    }

    /// Imports one module in a worker; the reason for a failure names files as the project does.
    pub(crate) async fn load_one(&self, worker: &Worker, name: &str, path: &Path) -> Result<String, String> {
        if !path.is_file() {
            return Err(format!(
                "the file {} does not exist",
                self.shorten(&path.to_string_lossy())
            ));
        }
        let text = worker
            .load(name, &path.to_string_lossy(), self.config.limits.load)
            .await;
        text.map_err(|reason| self.shorten(&reason))
    }

    fn shorten(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.config.project.display()), "")
    }
}
