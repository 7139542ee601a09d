//! The models that OpenCode may ask, all through Beeuni's gateway.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Given, PROVIDER};

/// What an unknown model is taken to hold, in tokens: as on the experimental harness.
const WINDOW: u64 = 128_000;
/// The part of the window that is kept free: older messages are summed up above four fifths of it.
const KEPT_FREE: u64 = 5;

/// A model as OpenCode names it.
pub(super) fn model_id(id: &str) -> String {
    format!("{PROVIDER}/{id}")
}

/// Every model that may be asked: its window and the longest answer, where known.
pub(super) struct Models<'a>(BTreeMap<&'a str, (Option<u64>, Option<u64>)>);

impl<'a> Models<'a> {
    pub(super) fn of(given: &'a Given) -> Self {
        let named = given.setup.agents.iter().filter_map(|agent| agent.model.as_deref());
        let named = named
            .chain([given.default_model.as_str()])
            .chain(given.setup.model.as_deref());
        let mut models: BTreeMap<&str, _> = named.map(|id| (id, (None, None))).collect();
        models.extend(
            given
                .models
                .iter()
                .map(|model| (model.id.as_str(), (model.context, model.output))),
        );
        Self(models)
    }

    pub(super) fn entries(&self) -> Value {
        let entry = |(id, (context, output)): (&&str, &(Option<u64>, Option<u64>))| {
            let context = context.unwrap_or(WINDOW);
            // What OpenCode keeps free for an answer before it sums up older messages; no request names it.
            let kept_free = (context / KEPT_FREE).min(output.unwrap_or(u64::MAX)).max(1);
            let entry = json!({
                "name": id,
                "tool_call": true,
                "temperature": true,
                // Only shows what the model says of its thinking.
                "reasoning": true,
                "limit": { "context": context, "output": kept_free },
            });
            ((*id).to_owned(), entry)
        };
        Value::Object(self.0.iter().map(entry).collect())
    }
}
