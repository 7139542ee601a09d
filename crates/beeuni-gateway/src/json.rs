//! Edits of a JSON body that leave every other byte where it is.

use std::fmt;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The members of an object in their order, values untouched.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry::<String, &RawValue>()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// The body of a streamed chat request: the gateway's own members first, then the caller's.
pub(crate) fn chat_body(body: &[u8], model: &str, with_usage: bool) -> Result<Bytes, serde_json::Error> {
    let Members(members) = serde_json::from_slice(body)?;
    let mut text = String::with_capacity(body.len() + model.len() + 80);
    text.push_str("{\"model\":");
    text.push_str(&serde_json::to_string(model)?);
    text.push_str(",\"stream\":true");
    if with_usage {
        text.push_str(",\"stream_options\":{\"include_usage\":true}");
    }
    for (name, value) in &members {
        if matches!(name.as_str(), "model" | "stream" | "stream_options") {
            continue;
        }
        text.push(',');
        text.push_str(&serde_json::to_string(name)?);
        text.push(':');
        text.push_str(value.get());
    }
    text.push('}');
    Ok(text.into())
}

/// What a chat request asks for, as far as the gateway needs to know.
pub(crate) struct Asked {
    /// The member `model`, when it is a string.
    pub(crate) model: Option<String>,
    /// Whether the answer is to be streamed.
    pub(crate) stream: bool,
}

/// Reads `model` and `stream`; where a name comes twice, the last counts, as with every JSON parser.
pub(crate) fn asked(body: &[u8]) -> Result<Asked, serde_json::Error> {
    let Members(members) = serde_json::from_slice(body)?;
    let last = |wanted: &str| {
        members
            .iter()
            .rev()
            .find(|(name, _)| name == wanted)
            .map(|(_, value)| value.get())
    };
    Ok(Asked {
        model: last("model").and_then(|it| serde_json::from_str(it).ok()),
        stream: last("stream") == Some("true"),
    })
}

/// Puts another value in for every top-level `model`; all other bytes stay.
pub(crate) fn replace_model(body: &Bytes, model: &str) -> Result<Bytes, serde_json::Error> {
    let Members(members) = serde_json::from_slice(body)?;
    let model = serde_json::to_string(model)?;
    let mut edited = Vec::with_capacity(body.len() + model.len());
    let mut copied = 0;
    for (_, value) in members.iter().filter(|(name, _)| name == "model") {
        // The value is a slice of the body: the distance is its place.
        let start = value.get().as_ptr().addr() - body.as_ptr().addr();
        edited.extend_from_slice(body.get(copied..start).unwrap_or_default());
        edited.extend_from_slice(model.as_bytes());
        copied = start + value.get().len();
    }
    edited.extend_from_slice(body.get(copied..).unwrap_or_default());
    Ok(edited.into())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    fn replaced(body: &'static str) -> String {
        let edited = replace_model(&Bytes::from_static(body.as_bytes()), "m\"1").unwrap();
        String::from_utf8(edited.to_vec()).unwrap()
    }

    #[test]
    fn only_the_model_changes_and_every_other_byte_stays() {
        assert_eq!(
            replaced(
                "\n{ \"a\" : 1e0 ,\t\"model\" : \"openai/x\" , \"n\": 9007199254740993, \"b\":{\"model\":\"y\"} }\n"
            ),
            "\n{ \"a\" : 1e0 ,\t\"model\" : \"m\\\"1\" , \"n\": 9007199254740993, \"b\":{\"model\":\"y\"} }\n"
        );
    }

    #[test]
    fn a_model_that_comes_twice_or_escaped_is_replaced_everywhere() {
        assert_eq!(
            replaced(r#"{"model":"a/b","mod\u0065l":{"x":[1]}}"#),
            r#"{"model":"m\"1","mod\u0065l":"m\"1"}"#
        );
    }

    #[test]
    fn a_body_without_a_model_stays_as_it_is() {
        assert_eq!(replaced(r#"{"messages":[]}"#), r#"{"messages":[]}"#);
    }

    #[test]
    fn a_chat_body_keeps_order_and_bytes_of_the_callers_members() {
        let body = br#"{ "messages": [ {"role": "user"} ], "model":"x", "stream":false, "seed": 9007199254740993, "tools":[1,  2]}"#;
        let built = chat_body(body, "gpt-5", true).unwrap();
        assert_eq!(
            built,
            r#"{"model":"gpt-5","stream":true,"stream_options":{"include_usage":true},"messages":[ {"role": "user"} ],"seed":9007199254740993,"tools":[1,  2]}"#
        );
    }

    #[test]
    fn a_body_that_is_no_object_is_refused() {
        for body in ["[]", "null", "{", "", "{} x", "\u{feff}{}"] {
            assert!(chat_body(body.as_bytes(), "m", true).is_err(), "{body}");
        }
    }

    #[test]
    fn deep_nesting_is_copied_not_descended_into() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(chat_body(deep.as_bytes(), "m", false).unwrap().len() > 200_000);
    }
}
