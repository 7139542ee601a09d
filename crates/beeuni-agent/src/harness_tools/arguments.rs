//! A call's arguments: taken as they are meant where that is certain, else an error that says what was wanted.

use serde_json::{Map, Value};

use super::context::ToolFailure;

/// The arguments of one call of a tool.
pub(super) struct Arguments {
    tool: &'static str,
    values: Map<String, Value>,
}

impl Arguments {
    /// Reads the JSON text that a model wrote.
    pub(super) fn parse(tool: &'static str, text: &str) -> Result<Self, ToolFailure> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(Self {
                tool,
                values: Map::new(),
            });
        }
        let mut value: Value = serde_json::from_str(text).map_err(|error| {
            let cut = if error.is_eof() {
                " It ends too early: the answer may have been cut, so send less in one call."
            } else {
                ""
            };
            ToolFailure::arguments(format!(
                "The arguments of `{tool}` are not valid JSON: {error}.{cut} Call it again with one JSON object."
            ))
        })?;
        // Some models send the object as a text.
        if let Value::String(inner) = &value
            && let Ok(object @ Value::Object(_)) = serde_json::from_str(inner)
        {
            value = object;
        }
        match value {
            Value::Object(values) => Ok(Self { tool, values }),
            Value::Null => Ok(Self {
                tool,
                values: Map::new(),
            }),
            other => Err(ToolFailure::arguments(format!(
                "The arguments of `{tool}` must be one JSON object, not {}.",
                shown(&other)
            ))),
        }
    }

    /// The value under the first of `names` that is there; `null` is as good as not there.
    fn get(&self, names: &[&str]) -> Option<&Value> {
        names
            .iter()
            .find_map(|name| self.values.get(*name).filter(|value| !value.is_null()))
    }

    fn wrong(&self, name: &str, wanted: &str, came: &Value) -> ToolFailure {
        ToolFailure::arguments(format!(
            "The argument `{name}` of `{}` must be {wanted}, but {} came.",
            self.tool,
            shown(came)
        ))
    }

    /// A text that has to be there. `names` are the argument's name, then other names that models use for it.
    pub(super) fn text(&self, names: &[&'static str], what: &str) -> Result<String, ToolFailure> {
        self.optional_text(names, what)?.ok_or_else(|| {
            ToolFailure::arguments(format!(
                "The argument `{}` of `{}` is missing: {what}.",
                names[0], self.tool
            ))
        })
    }

    /// A text that may be missing.
    pub(super) fn optional_text(&self, names: &[&'static str], what: &str) -> Result<Option<String>, ToolFailure> {
        match self.get(names) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(Value::Number(number)) => Ok(Some(number.to_string())),
            Some(Value::Bool(flag)) => Ok(Some(flag.to_string())),
            Some(other) => Err(self.wrong(names[0], &format!("a string ({what})"), other)),
        }
    }

    /// A text that may be missing; an empty one is as good as that.
    pub(super) fn filled_text(&self, names: &[&'static str], what: &str) -> Result<Option<String>, ToolFailure> {
        Ok(self.optional_text(names, what)?.filter(|text| !text.trim().is_empty()))
    }

    /// A whole number, not negative.
    pub(super) fn number(&self, names: &[&'static str], what: &str) -> Result<Option<u64>, ToolFailure> {
        let Some(value) = self.get(names) else { return Ok(None) };
        let number = match value {
            Value::Number(number) => number.as_u64().or_else(|| number.as_f64().and_then(whole)),
            Value::String(text) if text.trim().is_empty() => return Ok(None),
            Value::String(text) => {
                let text = text.trim();
                text.parse().ok().or_else(|| text.parse::<f64>().ok().and_then(whole))
            }
            _ => None,
        };
        match number {
            Some(number) => Ok(Some(number)),
            None => Err(self.wrong(names[0], &format!("a whole number, 0 or more ({what})"), value)),
        }
    }

    /// Yes or no; no when it is missing.
    pub(super) fn flag(&self, names: &[&'static str]) -> Result<bool, ToolFailure> {
        let Some(value) = self.get(names) else { return Ok(false) };
        match value {
            Value::Bool(flag) => Ok(*flag),
            Value::Number(number) if number.as_u64() == Some(0) => Ok(false),
            Value::Number(number) if number.as_u64() == Some(1) => Ok(true),
            Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "yes" | "1" => Ok(true),
                "false" | "no" | "0" | "" => Ok(false),
                _ => Err(self.wrong(names[0], "true or false", value)),
            },
            other => Err(self.wrong(names[0], "true or false", other)),
        }
    }

    /// One of a few words; the first when it is missing.
    pub(super) fn word(&self, names: &[&'static str], words: &[&'static str]) -> Result<&'static str, ToolFailure> {
        let Some(value) = self.get(names) else {
            return Ok(words[0]);
        };
        let text = value.as_str().unwrap_or_default().trim().to_ascii_lowercase();
        words
            .iter()
            .find(|word| **word == text)
            .copied()
            .ok_or_else(|| self.wrong(names[0], &format!("one of {}", words.join(", ")), value))
    }

    /// A list that has to be there, also as the text of one.
    pub(super) fn list(&self, name: &'static str, what: &str) -> Result<Vec<Value>, ToolFailure> {
        match self.get(&[name]) {
            None => Err(ToolFailure::arguments(format!(
                "The argument `{name}` of `{}` is missing: {what}.",
                self.tool
            ))),
            Some(Value::Array(items)) => Ok(items.clone()),
            Some(value) => match value.as_str().map(serde_json::from_str) {
                Some(Ok(Value::Array(items))) => Ok(items),
                _ => Err(self.wrong(name, &format!("an array ({what})"), value)),
            },
        }
    }
}

/// A number that a model wrote as `5.0`.
fn whole(number: f64) -> Option<u64> {
    // Up to here a double holds every whole number.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is whole, not negative and below 2^53"
    )]
    (number.fract() == 0.0 && (0.0..=EXACT).contains(&number)).then_some(number as u64)
}

/// A value in a message: its kind, and its start.
pub(super) fn shown(value: &Value) -> String {
    const SHOWN: usize = 60;
    let kind = match value {
        Value::Null => return "null".to_owned(),
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    let text = value.to_string();
    let start: String = text.chars().take(SHOWN).collect();
    let more = if start.len() < text.len() { "…" } else { "" };
    format!("{start}{more} ({kind})")
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    fn parse(text: &str) -> Arguments {
        Arguments::parse("read", text).unwrap()
    }

    #[test]
    fn args_01_a_number_or_flag_as_text_is_taken_as_it_is_meant() {
        let arguments = parse(r#"{"a":"200000","b":5.0,"c":"7.0","d":"true","e":0,"f":"NO","g":12,"h":" "}"#);
        assert_eq!(arguments.number(&["a"], "x").unwrap(), Some(200_000));
        assert_eq!(arguments.number(&["b"], "x").unwrap(), Some(5));
        assert_eq!(arguments.number(&["c"], "x").unwrap(), Some(7));
        assert!(
            arguments.flag(&["d"]).unwrap() && !arguments.flag(&["e"]).unwrap() && !arguments.flag(&["f"]).unwrap()
        );
        assert_eq!(arguments.text(&["g"], "x").unwrap(), "12");
        assert_eq!(arguments.number(&["h"], "x").unwrap(), None);
        assert_eq!(
            arguments.text(&["z", "a"], "x").unwrap(),
            "200000",
            "another name for it"
        );
    }

    #[test]
    fn args_05_a_large_number_keeps_its_digits() {
        let arguments = parse(r#"{"a":7301444403212345679,"b":"7301444403212345679"}"#);
        assert_eq!(arguments.text(&["a"], "x").unwrap(), "7301444403212345679");
        assert_eq!(arguments.number(&["b"], "x").unwrap(), Some(7_301_444_403_212_345_679));
    }

    #[test]
    fn args_03_null_and_nothing_are_no_arguments() {
        for text in ["", " ", "null", "{}", r#""{}""#, r#"{"a":null,"unknown":1}"#] {
            let arguments = parse(text);
            assert_eq!(arguments.optional_text(&["a"], "x").unwrap(), None, "{text}");
            assert!(arguments.text(&["a"], "the path").is_err());
        }
    }

    #[test]
    fn an_error_names_the_argument_what_is_wanted_and_what_came() {
        let arguments = parse(r#"{"a":"soon","b":-1,"c":{"x":1},"d":"maybe","e":[1],"f":"up"}"#);
        let texts = [
            arguments.number(&["a"], "milliseconds").unwrap_err(),
            arguments.number(&["b"], "lines").unwrap_err(),
            arguments.text(&["c"], "the path").unwrap_err(),
            arguments.flag(&["d"]).unwrap_err(),
            arguments.text(&["missing"], "the path").unwrap_err(),
            arguments.word(&["f"], &["markdown", "text"]).unwrap_err(),
            arguments.list("d", "the todos").err().unwrap(),
        ]
        .map(|failure| failure.message);
        assert_eq!(
            texts,
            [
                "The argument `a` of `read` must be a whole number, 0 or more (milliseconds), but \"soon\" (a string) came.",
                "The argument `b` of `read` must be a whole number, 0 or more (lines), but -1 (a number) came.",
                "The argument `c` of `read` must be a string (the path), but {\"x\":1} (an object) came.",
                "The argument `d` of `read` must be true or false, but \"maybe\" (a string) came.",
                "The argument `missing` of `read` is missing: the path.",
                "The argument `f` of `read` must be one of markdown, text, but \"up\" (a string) came.",
                "The argument `d` of `read` must be an array (the todos), but \"maybe\" (a string) came.",
            ]
        );
    }

    #[test]
    fn malformed_arguments_say_so_and_how_to_go_on() {
        let failure = |text: &str| Arguments::parse("read", text).err().unwrap().message;
        assert!(
            failure("{\"path\": \"a").contains("ends too early"),
            "{}",
            failure("{\"path\": \"a")
        );
        assert!(failure("{path: 1}").contains("not valid JSON: key must be a string at line 1 column 2"));
        assert!(failure("[1]").contains("must be one JSON object, not [1] (an array)"));
        assert!(failure("\"a\"").contains("one JSON object"));
    }
}
