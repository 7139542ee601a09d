//! The type of a node under the YAML 1.2 core schema.
use super::node::{Node, Style, Value};

/// What a node is to someone who asks for a certain type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind<'n> {
    /// Nothing, `~` or `null`.
    Null,
    /// `true` or `false`. `yes`, `no`, `on` and `off` are text.
    Bool(bool),
    /// A whole number; `None` when it does not fit.
    Integer(Option<i64>),
    /// A number with a point or an exponent, `.inf` or `.nan`.
    Float(f64),
    /// Text.
    Text(&'n str),
    /// A list.
    List,
    /// A map.
    Map,
}

impl Kind<'_> {
    /// The kind in words, for "must be …, not …". Never the value itself: it may be a secret that
    /// stands in the wrong place.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Null => "empty",
            Self::Bool(true) => "`true`",
            Self::Bool(false) => "`false`",
            Self::Integer(_) | Self::Float(_) => "a number",
            Self::Text(_) => "a text",
            Self::List => "a list",
            Self::Map => "a map",
        }
    }
}

impl Node {
    /// The node's kind, aliases followed, `!!str` and the like respected.
    pub(crate) fn kind(&self) -> Kind<'_> {
        let node = self.inner();
        match &node.value {
            Value::List { .. } => Kind::List,
            Value::Map { .. } => Kind::Map,
            Value::Scalar { text, style } => match node.tag.as_deref() {
                None if *style == Style::Plain => plain(text),
                Some("tag:yaml.org,2002:null") => Kind::Null,
                Some("tag:yaml.org,2002:bool" | "tag:yaml.org,2002:int" | "tag:yaml.org,2002:float") => plain(text),
                _ => Kind::Text(text),
            },
            // An alias of an alias cannot be written.
            Value::Alias(_) => Kind::Null,
        }
    }

    /// A tag that has no meaning here, such as `!include`.
    pub(crate) fn foreign_tag(&self) -> Option<&str> {
        let known = |tag: &str| {
            tag.strip_prefix("tag:yaml.org,2002:")
                .is_some_and(|t| matches!(t, "str" | "null" | "bool" | "int" | "float" | "seq" | "map"))
        };
        self.inner().tag.as_deref().filter(|tag| *tag != "!" && !known(tag))
    }
}

/// The core schema's reading of a plain scalar.
pub(crate) fn plain(text: &str) -> Kind<'_> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Kind::Null,
        "true" | "True" | "TRUE" => Kind::Bool(true),
        "false" | "False" | "FALSE" => Kind::Bool(false),
        _ => number(text).unwrap_or(Kind::Text(text)),
    }
}

fn number(text: &str) -> Option<Kind<'_>> {
    let based = |digits: &str, base: u32| {
        (!digits.is_empty() && digits.chars().all(|c| c.is_digit(base)))
            .then(|| Kind::Integer(i64::from_str_radix(digits, base).ok()))
    };
    if let Some(digits) = text.strip_prefix("0x") {
        return based(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return based(digits, 8);
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    match unsigned {
        ".inf" | ".Inf" | ".INF" => {
            return Some(Kind::Float(if text.starts_with('-') {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            }));
        }
        ".nan" | ".NaN" | ".NAN" if unsigned == text => return Some(Kind::Float(f64::NAN)),
        _ => {}
    }
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    if unsigned.bytes().all(|b| b.is_ascii_digit()) {
        return Some(Kind::Integer(text.parse().ok()));
    }
    // Rust's own grammar takes `1e5`, `1.`, `.5`, and nothing that the core schema calls text here.
    let float = unsigned
        .bytes()
        .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
    float.then(|| text.parse().ok().map(Kind::Float)).flatten()
}
