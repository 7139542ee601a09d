//! Rules about `$ref` and the definitions it leads to.
use serde_json::Value;

use super::Provider::{Anthropic, Gemini, OpenAi};
use super::{Advice, Provider, walk};

/// Adds advice for every `$ref`, and for definitions.
pub(super) fn check(parameters: &Value, advice: &mut Vec<Advice>) {
    walk::walk(parameters, &mut |node| {
        if let Some(reference) = node.get("$ref") {
            advice.push(of_reference(parameters, format!("{}.$ref", node.path), reference));
        }
        for keyword in ["$defs", "definitions"] {
            if node.has(keyword) {
                advice.push(Advice {
                    path: format!("{}.{keyword}", node.path),
                    rule: "definitions",
                    message: format!("`{keyword}`"),
                    refused_by: vec![Gemini],
                    ignored_by: Vec::new(),
                    fix: "write each schema in its place".to_owned(),
                });
            }
        }
    });
}

fn of_reference(parameters: &Value, path: String, reference: &Value) -> Advice {
    let every: &[Provider] = &[OpenAi, Anthropic, Gemini];
    let text = reference.as_str().unwrap_or_default();
    let (rule, refused_by, message, fix) = match text.strip_prefix('#') {
        None => (
            "reference-elsewhere",
            every,
            format!("a reference to {reference}"),
            "no provider fetches it: write the schema in its place",
        ),
        Some(pointer) if parameters.pointer(pointer).is_none() => (
            "reference-to-nothing",
            every,
            format!("{reference} leads to nothing in `parameters`"),
            "write the schema in its place",
        ),
        Some(_) => (
            "reference",
            &[Gemini][..],
            format!("a reference to {reference}"),
            "write the schema in its place",
        ),
    };
    Advice {
        path,
        rule,
        message,
        refused_by: refused_by.to_vec(),
        ignored_by: Vec::new(),
        fix: fix.to_owned(),
    }
}
