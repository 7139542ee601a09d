//! Arguments out of words, typed by the schema of the tool that is offered.

use serde_json::Value;

/// What was written for an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Written {
    /// Words, as they stand.
    Bare(String),
    /// Text in quotes.
    Quoted(String),
    /// JSON.
    Json(String),
}

/// The schema of a tool's arguments, as far as it decides how words are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Schema<'a>(Option<&'a Value>);

impl<'a> Schema<'a> {
    pub(super) fn new(parameters: Option<&'a Value>) -> Self {
        Self(
            parameters
                .and_then(|it| it.get("properties"))
                .filter(|it| it.is_object()),
        )
    }

    /// Whether it names its arguments, so that another word cannot be one.
    pub(super) fn is_known(self) -> bool {
        self.0.and_then(Value::as_object).is_some_and(|it| !it.is_empty())
    }

    /// Whether it has an argument of this name.
    pub(super) fn has(self, name: &str) -> bool {
        self.property(name).is_some()
    }

    /// Whether this argument is a list.
    pub(super) fn is_list(self, name: &str) -> bool {
        self.types(name).first() == Some(&"array")
    }

    /// The JSON text for what was written for an argument.
    pub(super) fn read(self, name: &str, written: &Written) -> String {
        let types = self.types(name);
        let text = match written {
            Written::Json(json) if types.first() != Some(&"string") => return json.clone(),
            Written::Json(text) | Written::Bare(text) | Written::Quoted(text) => text,
        };
        let quoted = matches!(written, Written::Quoted(_));
        if types.is_empty() && !quoted {
            // Nothing says what it should be: a number is a number, any other word a text.
            return as_type("number", text)
                .or_else(|| as_type("boolean", text))
                .unwrap_or_else(|| string(text));
        }
        let fits = types.iter().find_map(|it| as_type(it, text));
        // What fits no type is sent as it was written: the tool's own words say what is wrong.
        fits.unwrap_or_else(|| string(text))
    }

    fn property(self, name: &str) -> Option<&'a Value> {
        self.0?.get(name)
    }

    /// The types that an argument may have, also from inside `anyOf` and `oneOf`, or those of its `enum`.
    fn types(self, name: &str) -> Vec<&'a str> {
        let mut types = Vec::new();
        if let Some(property) = self.property(name) {
            collect_types(property, &mut types);
            if types.is_empty() && property.get("enum").is_some_and(Value::is_array) {
                types.push("string");
            }
        }
        types
    }
}

fn collect_types<'a>(schema: &'a Value, types: &mut Vec<&'a str>) {
    match schema.get("type") {
        Some(Value::String(name)) => types.push(name),
        Some(Value::Array(names)) => types.extend(names.iter().filter_map(Value::as_str)),
        _ => {
            let alternatives = ["anyOf", "oneOf"].iter().filter_map(|it| schema.get(it)?.as_array());
            for schema in alternatives.flatten() {
                collect_types(schema, types);
            }
        }
    }
}

/// `text` as JSON of this type; `None` when it is none.
fn as_type(name: &str, written: &str) -> Option<String> {
    let text = written.trim();
    let parsed = || serde_json::from_str::<Value>(text).ok();
    match name {
        // The digits stay as they were written: numbers beyond 2^53 too.
        "number" | "integer" => text
            .starts_with(|it: char| it == '-' || it.is_ascii_digit())
            .then(|| serde_json::from_str::<&serde_json::value::RawValue>(text).ok())?
            .map(|raw| raw.get().to_owned()),
        "boolean" => match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some("true".to_owned()),
            "false" | "no" | "off" => Some("false".to_owned()),
            _ => None,
        },
        "null" => (text == "null").then(|| text.to_owned()),
        "object" => parsed().filter(Value::is_object).map(|_| text.to_owned()),
        "array" if parsed().is_some_and(|it| it.is_array()) => Some(text.to_owned()),
        "array" => {
            let entries = text.split(',').flat_map(|part| part.split(" and "));
            let entries: Vec<&str> = entries.map(str::trim).filter(|it| !it.is_empty()).collect();
            serde_json::to_string(&entries).ok()
        }
        "string" => Some(string(written)),
        _ => None,
    }
}

/// `text` as a JSON string.
pub(super) fn string(text: &str) -> String {
    Value::from(text).to_string()
}
