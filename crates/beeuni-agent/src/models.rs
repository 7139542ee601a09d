//! What is known about models, asked once and never waited for.
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use beeuni_gateway::{Gateway, ModelInfo, Usage as Counted};
use beeuni_protocol::session::Usage;

/// Windows and prices of the models that a session has used.
#[derive(Clone)]
pub struct Models {
    gateway: Gateway,
    /// `None` while a model is being asked about, and when nothing is known.
    known: Arc<Mutex<HashMap<String, Option<ModelInfo>>>>,
}

impl Models {
    /// Nothing is known yet.
    #[must_use]
    pub fn new(gateway: Gateway) -> Self {
        Self {
            gateway,
            known: Arc::default(),
        }
    }

    /// Asks about a model in the background, once: a provider that is slow to list its models delays no answer.
    pub fn learn(&self, model: &str) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.contains_key(model) {
            return;
        }
        known.insert(model.to_owned(), None);
        drop(known);
        let (models, model) = (self.clone(), model.to_owned());
        tokio::spawn(async move {
            let info = models.gateway.model(&model).await;
            models
                .known
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(model, info);
        });
    }

    /// What is known about a model by now.
    fn about(&self, model: &str) -> Option<ModelInfo> {
        self.known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(model)
            .cloned()
            .flatten()
    }

    /// The tokens that request and answer may have together, where known.
    #[must_use]
    pub fn window(&self, model: &str) -> Option<u64> {
        self.about(model)?.context_window
    }

    /// What a step used, with its cost where the provider or its prices tell.
    #[must_use]
    pub fn usage(&self, model: &str, counted: &Counted) -> Usage {
        Usage {
            input: counted.input_tokens,
            output: counted.output_tokens,
            reasoning: counted.reasoning_tokens,
            cached: counted.cached_input_tokens,
            cost: counted.cost.or_else(|| self.cost(model, counted)),
        }
    }

    fn cost(&self, model: &str, counted: &Counted) -> Option<f64> {
        let price = self.about(model)?.price?;
        #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
        let millions = |tokens: u64| tokens as f64 / 1e6;
        let cached = counted.cached_input_tokens.min(counted.input_tokens);
        Some(
            millions(counted.input_tokens - cached) * price.input
                + millions(cached) * price.cached_input.unwrap_or(price.input)
                + millions(counted.output_tokens) * price.output,
        )
    }
}
