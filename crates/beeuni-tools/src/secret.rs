//! Secret values: a type that never shows them, and the redactor that takes them out of text.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use aho_corasick::{AhoCorasick, MatchKind};

/// A value that never shows itself: `Debug` and `Display` print `[secret]`, and it cannot be serialised.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretValue(String);

impl SecretValue {
    /// Wraps a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself, for the one place that hands it to a tool.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl fmt::Display for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// The secrets of each agent: agent name to variable name to value.
pub type AgentSecrets = BTreeMap<String, BTreeMap<String, SecretValue>>;

/// Values shorter than this stay in text: replacing every `1` or `true` would make it unreadable.
pub const MIN_REDACTED_BYTES: usize = 8;

/// Replaces secret values in text by `[secret NAME]`.
///
/// A value is also found in the two forms in which it travels most: escaped inside JSON, and percent-encoded
/// inside a URL.
#[derive(Debug, Clone, Default)]
pub(crate) struct Redactor {
    automaton: Option<AhoCorasick>,
    replacements: Vec<String>,
}

impl Redactor {
    pub(crate) fn new<'a>(secrets: impl IntoIterator<Item = (&'a str, &'a SecretValue)>) -> Self {
        let mut patterns: Vec<String> = Vec::new();
        let mut replacements = Vec::new();
        for (name, value) in secrets {
            for form in forms(value.expose()) {
                if form.len() >= MIN_REDACTED_BYTES && !patterns.contains(&form) {
                    patterns.push(form);
                    replacements.push(format!("[secret {name}]"));
                }
            }
        }
        if patterns.is_empty() {
            return Self::default();
        }
        // Longest first, so that a value that contains another is replaced whole.
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&patterns)
            .ok();
        Self {
            automaton,
            replacements,
        }
    }

    pub(crate) fn apply<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match &self.automaton {
            Some(automaton) if automaton.is_match(text) => Cow::Owned(automaton.replace_all(text, &self.replacements)),
            _ => Cow::Borrowed(text),
        }
    }

    pub(crate) fn apply_owned(&self, text: String) -> String {
        match self.apply(&text) {
            Cow::Owned(clean) => clean,
            Cow::Borrowed(_) => text,
        }
    }
}

fn forms(value: &str) -> Vec<String> {
    let mut forms = vec![value.to_owned()];
    let trimmed = value.trim();
    if trimmed != value {
        forms.push(trimmed.to_owned());
    }
    if let Ok(json) = serde_json::to_string(value) {
        forms.push(json[1..json.len() - 1].to_owned());
    }
    forms.push(percent_encode(value));
    forms
}

/// As JavaScript's `encodeURIComponent`.
fn percent_encode(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor(value: &str) -> Redactor {
        Redactor::new([("API_TOKEN", &SecretValue::new(value))])
    }

    #[test]
    fn sec_01_a_value_is_replaced_plain_in_json_and_in_a_url() {
        let redactor = redactor("tok-6f1e-Zq+/9=\"x");
        let text = "a tok-6f1e-Zq+/9=\"x b tok-6f1e-Zq+/9=\\\"x c tok-6f1e-Zq%2B%2F9%3D%22x";
        assert_eq!(
            redactor.apply(text),
            "a [secret API_TOKEN] b [secret API_TOKEN] c [secret API_TOKEN]"
        );
    }

    #[test]
    fn short_values_are_left_alone() {
        assert_eq!(redactor("true").apply("true story"), "true story");
    }

    #[test]
    fn the_longest_of_two_values_wins() {
        let (short, long) = (SecretValue::new("abcdefgh"), SecretValue::new("abcdefgh-ijkl"));
        let redactor = Redactor::new([("SHORT", &short), ("LONG", &long)]);
        assert_eq!(redactor.apply("abcdefgh-ijkl abcdefgh"), "[secret LONG] [secret SHORT]");
    }

    #[test]
    fn a_secret_value_does_not_show_itself() {
        let value = SecretValue::new("hunter2-hunter2");
        assert_eq!(format!("{value} {value:?}"), "[secret] [secret]");
    }
}
