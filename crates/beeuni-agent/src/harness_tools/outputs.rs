//! What reaches the model: secrets taken out, control characters too, and never more than the bound.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use beeuni_tools::output;

/// Makes texts fit for the model.
#[derive(Clone)]
pub(super) struct Outputs {
    pub(super) folder: PathBuf,
    pub(super) redact: Arc<dyn Fn(String) -> String + Send + Sync>,
}

impl Outputs {
    /// An output: a longer one than the bound is saved whole.
    pub(super) fn bounded(&self, tool: &str, text: String) -> String {
        let text = (self.redact)(text);
        let shown = match output::readable(&text) {
            Cow::Borrowed(_) => None,
            Cow::Owned(shown) => Some(shown),
        };
        if output::fits(shown.as_deref().unwrap_or(&text)) {
            return shown.unwrap_or(text);
        }
        output::bound(shown.as_deref().unwrap_or(&text), &text, &self.folder, tool)
    }

    /// The same, off the runtime's thread: a large text takes a while.
    pub(super) async fn bounded_later(&self, tool: &'static str, text: String) -> String {
        let outputs = self.clone();
        tokio::task::spawn_blocking(move || outputs.bounded(tool, text))
            .await
            .unwrap_or_else(|_| "[The output was lost: it could not be processed]".to_owned())
    }

    /// A line for a person.
    pub(super) fn line(&self, text: String) -> String {
        const LONGEST: usize = 200;
        let text = (self.redact)(text);
        let first = text.lines().next().unwrap_or_default();
        output::readable(first).chars().take(LONGEST).collect()
    }

    /// A value for views.
    pub(super) fn json(&self, value: serde_json::Value) -> serde_json::Value {
        let text = value.to_string();
        let clean = (self.redact)(text.clone());
        if clean == text {
            value
        } else {
            // A mark in the place of a value leaves JSON as it is; if not, nothing is better than the value.
            serde_json::from_str(&clean).unwrap_or_default()
        }
    }

    /// An error: what is too long is cut.
    pub(super) fn failure(&self, text: String) -> String {
        let text = (self.redact)(text);
        output::bound_error(output::readable(&text).into_owned())
    }
}
