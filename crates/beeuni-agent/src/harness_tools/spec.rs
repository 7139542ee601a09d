//! What the model is told about a tool.

use serde_json::value::RawValue;

use super::context::ToolSpec;

/// A tool's name, description and schema as they stand in the source.
pub(super) struct Spec {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    /// Compact JSON: these bytes are sent.
    pub(super) parameters: &'static str,
}

impl Spec {
    /// `None` only if the schema in the source is no JSON, which a test rules out.
    pub(super) fn offered(&self) -> Option<ToolSpec> {
        Some(ToolSpec {
            name: self.name,
            description: self.description,
            parameters: RawValue::from_string(self.parameters.to_owned()).ok()?,
        })
    }
}
