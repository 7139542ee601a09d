//! Writing a text as a YAML scalar.
use crate::yaml::{Kind, Style, plain_kind};

/// Words that readers of YAML 1.1 take for something else than text.
const WORDS: [&str; 10] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "~"];

/// `text` without quotes where every reader then reads the same text, else in double quotes.
pub(super) fn plain_or_quoted(text: &str, flow: bool) -> String {
    if is_plain(text, flow) {
        text.to_owned()
    } else {
        double_quoted(text)
    }
}

/// `text` in the style of the scalar that it replaces.
pub(super) fn in_style(text: &str, style: Style, flow: bool) -> String {
    match style {
        Style::Double => double_quoted(text),
        Style::Single if !text.contains(char::is_control) => {
            format!("'{}'", text.replace('\'', "''"))
        }
        _ => plain_or_quoted(text, flow),
    }
}

fn is_plain(text: &str, flow: bool) -> bool {
    let safe = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':' | '@' | '+' | '=' | '~' | ' ');
    text.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '/'))
        && text.chars().all(safe)
        && !text.ends_with([':', ' '])
        && !text.contains(": ")
        && !(flow && text.contains(':') && text.contains(' '))
        && !WORDS.contains(&text.to_ascii_lowercase().as_str())
        && matches!(plain_kind(text), Kind::Text(_))
        && !matches!(text, "..." | "---")
}

/// JSON's way to write a text is one of YAML's.
fn double_quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
