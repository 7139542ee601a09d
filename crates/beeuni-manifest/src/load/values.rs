//! Reading plain values: a text, a yes or no, one word of a few, a list of names.
use crate::names::{Hints, NameRule, RESERVED_SECRETS, SECRET, quote};
use crate::report::{At, Findings};
use crate::yaml::{Kind, Value};

/// A scalar's text as written; `what` says what was expected, e.g. "a text".
pub(crate) fn text<'n>(at: &At<'n>, what: &str, findings: &mut Findings) -> Option<&'n str> {
    let message = match &at.node.inner().value {
        Value::Scalar { text, .. } if !text.is_empty() => return Some(text),
        Value::Scalar { .. } => format!("is empty: it must be {what}"),
        _ => format!("must be {what}, not {}", at.node.kind().describe()),
    };
    findings.error(&at.spot, message);
    None
}

/// A text for people; an empty value is as good as none.
pub(crate) fn prose(at: &At<'_>, findings: &mut Findings) -> Option<String> {
    if at.node.kind() == Kind::Null {
        return None;
    }
    text(at, "a text", findings).map(|text| text.trim().to_owned())
}

/// `true` or `false`.
pub(super) fn boolean(at: &At<'_>, findings: &mut Findings) -> Option<bool> {
    match at.node.kind() {
        Kind::Bool(value) => Some(value),
        Kind::Text(text) => {
            let advice = match text.to_ascii_lowercase().as_str() {
                "true" | "false" => ": drop the quotes",
                "yes" | "on" | "y" => ": write `true`",
                "no" | "off" | "n" => ": write `false`",
                _ => "",
            };
            findings.error(&at.spot, format!("must be `true` or `false`{advice}"));
            None
        }
        other => {
            findings.error(&at.spot, format!("must be `true` or `false`, not {}", other.describe()));
            None
        }
    }
}

/// One of a few words; the index of the one that is written.
pub(crate) fn one_of(at: &At<'_>, words: &[&str], findings: &mut Findings) -> Option<usize> {
    let choice = choice(words);
    let text = text(at, &choice, findings)?;
    if let Some(index) = words.iter().position(|word| *word == text) {
        return Some(index);
    }
    let hint = did_you_mean(text, words.iter().copied(), &mut findings.hints);
    findings.error(&at.spot, format!("must be {choice}, not {}{hint}", quote(text)));
    None
}

/// "`a`, `b` or `c`".
pub(crate) fn choice(words: &[&str]) -> String {
    let mut out = String::new();
    for (index, word) in words.iter().enumerate() {
        let join = match index {
            0 => "",
            _ if index + 1 == words.len() => " or ",
            _ => ", ",
        };
        out.push_str(join);
        out.push_str(&quote(word));
    }
    out
}

/// ": did you mean `x`?", or nothing.
pub(crate) fn did_you_mean<'k>(name: &str, known: impl IntoIterator<Item = &'k str>, hints: &mut Hints) -> String {
    hints
        .nearest(name, known)
        .map_or_else(String::new, |near| format!(": did you mean {}?", quote(near)))
}

/// One item of a list of names.
#[derive(Debug)]
pub(super) struct Named<'n> {
    /// The text as written: `no`, `null` and `123` are names like any other.
    pub(super) name: &'n str,
    /// Its place.
    pub(super) at: At<'n>,
}

/// The names of a list; an item that is no text is an error, one that stands twice a warning.
pub(super) fn names<'n>(items: Vec<At<'n>>, what: &str, findings: &mut Findings) -> Vec<Named<'n>> {
    let mut seen = std::collections::HashSet::new();
    let mut found = Vec::with_capacity(items.len());
    for at in items {
        let Some(name) = text(&at, what, findings) else {
            continue;
        };
        if seen.insert(name) {
            found.push(Named { name, at });
        } else {
            findings.warn(&at.spot, "stands in this list already: remove one of the two");
        }
    }
    found
}

/// The secret names of a list.
///
/// No message repeats what is written: a value pasted in the place of a name must not travel.
pub(super) fn secret_names<'n>(items: Vec<At<'n>>, findings: &mut Findings) -> Vec<Named<'n>> {
    let mut found = names(items, "the name of a secret", findings);
    found.retain(|named| secret_name(named, findings));
    found
}

fn secret_name(named: &Named<'_>, findings: &mut Findings) -> bool {
    if !SECRET.allows(named.name) {
        let message = format!(
            "must be the name of a secret (`{}`), never its value: `beeuni secrets set NAME=-` takes that",
            SECRET.pattern()
        );
        findings.error(&named.at.spot, message);
        return false;
    }
    if named.name.starts_with(RESERVED_SECRETS) {
        findings.error(
            &named.at.spot,
            "must not begin with `BEEUNI_`: Beeuni sets those names itself",
        );
        return false;
    }
    true
}

/// What is wrong with a name, and a better one.
pub(super) fn bad_name(rule: &NameRule, kind: &str, name: &str, instead: &str) -> String {
    let length = name.chars().count();
    let why = if name.is_empty() {
        "is empty".to_owned()
    } else if length > 64 {
        format!("has {length} characters, and a name has at most 64")
    } else {
        format!("is no legal name for {kind} (`{}`)", rule.pattern())
    };
    let better = rule.suggest(name).unwrap_or_else(|| instead.to_owned());
    format!("{why}: write e.g. {}", quote(&better))
}
