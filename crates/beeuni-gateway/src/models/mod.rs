//! Which models there are, how much they hold, and which one is used when nobody says.

mod catalog;
mod choice;
mod listing;
mod window;

use choice::best_of;
pub(crate) use listing::Listing;
use listing::bare;
use window::known_window;

use crate::error::ChatError;

/// The stand-in's id.
pub(crate) const REHEARSAL: &str = "beeuni/rehearsal";

/// A model that can be asked.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ModelInfo {
    /// `provider/model`.
    pub id: String,
    /// The provider's name.
    pub provider: String,
    /// Tokens of request and answer together, where known.
    pub context_window: Option<u64>,
    /// Tokens of an answer, where known.
    pub max_output: Option<u64>,
    /// What it costs, where the provider says so.
    pub price: Option<Price>,
}

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// Of the request.
    pub input: f64,
    /// Of the answer.
    pub output: f64,
    /// Of the request's cached part, where it differs.
    pub cached_input: Option<f64>,
}

/// The models that are there, and the providers that could not say theirs.
#[derive(Debug, Clone)]
pub struct ModelList {
    /// The models, by provider in the configured order.
    pub models: Vec<ModelInfo>,
    /// Name of the provider and why its models are missing.
    pub problems: Vec<(String, ChatError)>,
}

/// The model that is used where none is named.
#[derive(Debug, Clone)]
pub struct DefaultModel {
    /// `provider/model`.
    pub id: String,
    /// Why it is this one.
    pub source: DefaultSource,
    /// Providers that come before it and could not say which models they have.
    pub passed_over: Vec<(String, ChatError)>,
}

/// Where a default model comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultSource {
    /// The setting (`BEEUNI_MODEL`).
    Setting,
    /// The first configured provider.
    Provider,
    /// No provider is set up: the built-in stand-in. Say so: [`DefaultModel::notice`].
    Rehearsal,
}

impl DefaultModel {
    /// What to show a person: that a stand-in answers instead of a model, or that a provider which
    /// is set up was passed over.
    pub fn notice(&self) -> Option<String> {
        let mut sentences: Vec<String> = Vec::new();
        for (name, error) in &self.passed_over {
            sentences.push(format!("Provider {name} cannot say which models it has. {error}"));
        }
        if self.source == DefaultSource::Rehearsal {
            if self.passed_over.is_empty() {
                sentences.push("No model provider is set up.".to_owned());
            }
            sentences.push(format!(
                "{REHEARSAL} answers: a built-in stand-in, not a language model, that follows instructions such as \
                 \"Call the weather_now tool once with city Berlin and print its output.\""
            ));
            if self.passed_over.is_empty() {
                sentences.push(
                    "For a real model set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY or \
                     BEEUNI_LLM_BASE_URL, or start Ollama."
                        .to_owned(),
                );
            }
        } else if !sentences.is_empty() {
            sentences.push(format!("Using {}; BEEUNI_MODEL chooses another.", self.id));
        }
        (!sentences.is_empty()).then(|| sentences.join(" "))
    }
}
