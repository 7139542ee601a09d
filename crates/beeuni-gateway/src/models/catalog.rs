//! The models of all providers: their list, one of them, and the one that is used by default.

use std::sync::Arc;
use std::time::Duration;

use super::{DefaultModel, DefaultSource, ModelInfo, ModelList, REHEARSAL, bare, best_of};
use crate::error::ChatError;
use crate::gateway::{Gateway, Target};
use crate::rehearsal;

/// How long a provider has to list its models.
const LISTING_TIME: Duration = Duration::from_secs(5);

/// How long an Ollama that nobody announced has: it is on this machine, or not there.
const PROBE_TIME: Duration = Duration::from_millis(500);

impl Gateway {
    /// Every model of every provider, `beeuni/rehearsal` last. Asks the providers, at most once in
    /// five minutes, all at once and for at most 5 s; one that does not answer is in `problems`.
    pub async fn models(&self) -> ModelList {
        let mut asking = tokio::task::JoinSet::new();
        for at in 0..self.shared.seats.len() {
            let gateway = self.clone();
            asking.spawn(async move { (at, gateway.listed(at).await) });
        }
        let mut outcomes = asking.join_all().await;
        outcomes.sort_by_key(|(at, _)| *at);
        let mut list = ModelList {
            models: Vec::new(),
            problems: Vec::new(),
        };
        for ((_, outcome), seat) in outcomes.into_iter().zip(&self.shared.seats) {
            match outcome {
                Ok(models) => list.models.extend(models.iter().cloned()),
                Err(error) if !seat.maybe => list.problems.push((seat.provider.name.clone(), error)),
                Err(_) => {}
            }
        }
        list.models.push(rehearsal::info());
        list
    }

    /// What is known about one model, its window above all. Providers whose list says no more than
    /// the well-known families are not asked. `None`: no such provider.
    pub async fn model(&self, id: &str) -> Option<ModelInfo> {
        let (provider, model) = match self.target(id).ok()? {
            Target::Rehearsal(_) => return Some(rehearsal::info()),
            Target::Provider(provider, model) => (provider, model),
        };
        let bare = bare(&provider.name, model);
        let silent = matches!(provider.name.as_str(), "openai" | "anthropic" | "gemini");
        if silent && bare.context_window.is_some() {
            return Some(bare);
        }
        let at = self
            .shared
            .seats
            .iter()
            .position(|seat| Arc::ptr_eq(&seat.provider, provider))?;
        let listed = self.listed(at).await.unwrap_or_default();
        Some(listed.iter().find(|it| it.id == id).cloned().unwrap_or(bare))
    }

    /// The model to use where none is named, and why it is that one.
    pub async fn default_model(&self) -> DefaultModel {
        let mut passed_over = Vec::new();
        if let Some(id) = &self.shared.default_model {
            return DefaultModel {
                id: id.clone(),
                source: DefaultSource::Setting,
                passed_over,
            };
        }
        for (at, seat) in self.shared.seats.iter().enumerate() {
            let name = &seat.provider.name;
            if let Some(first) = seat.provider.models.first() {
                return DefaultModel::from_provider(name, first, passed_over);
            }
            let listed = self.listed(at).await;
            let prefix = format!("{name}/");
            let models: Option<Vec<&str>> = listed
                .as_ref()
                .ok()
                .map(|list| list.iter().filter_map(|it| it.id.strip_prefix(&prefix)).collect());
            match (best_of(name, models.as_deref()), listed) {
                (Some(model), _) => return DefaultModel::from_provider(name, &model, passed_over),
                (None, Err(error)) if !seat.maybe => passed_over.push((name.clone(), error)),
                (None, _) => {}
            }
        }
        DefaultModel {
            id: REHEARSAL.to_owned(),
            source: DefaultSource::Rehearsal,
            passed_over,
        }
    }

    async fn listed(&self, at: usize) -> Result<Arc<Vec<ModelInfo>>, ChatError> {
        let Some(seat) = self.shared.seats.get(at) else {
            return Ok(Arc::default());
        };
        let time = if seat.maybe { PROBE_TIME } else { LISTING_TIME };
        seat.listing.get(&self.shared.clients, &seat.provider, time).await
    }
}

impl DefaultModel {
    fn from_provider(provider: &str, model: &str, passed_over: Vec<(String, ChatError)>) -> Self {
        Self {
            id: format!("{provider}/{model}"),
            source: DefaultSource::Provider,
            passed_over,
        }
    }
}
