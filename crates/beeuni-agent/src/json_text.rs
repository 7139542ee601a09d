//! Arguments as a model wrote them: whether they can be used, with every digit and escape as it was.
use std::borrow::Cow;

use serde_json::value::RawValue;

/// The arguments of a call as the text of a JSON object, or what is wrong with them, for the model.
///
/// Nothing, an empty text and `null` mean no arguments (ARGS-03). Numbers keep every digit, keys their order. Only
/// half surrogate pairs, which no JSON reader outside of JavaScript takes, become U+FFFD (OUT-02).
pub(crate) fn arguments(raw: &str) -> Result<Cow<'_, str>, String> {
    let text = raw.trim();
    if text.is_empty() || text == "null" {
        return Ok(Cow::Borrowed("{}"));
    }
    let text = whole_surrogates(text);
    if let Err(error) = serde_json::from_str::<&RawValue>(&text) {
        return Err(format!(
            "The arguments are not valid JSON ({error}). Nothing was run. Call the tool again with a JSON object."
        ));
    }
    if !text.starts_with('{') {
        let found = match text.as_bytes().first() {
            Some(b'[') => "an array",
            Some(b'"') => "a string",
            Some(b't' | b'f') => "a boolean",
            _ => "a number",
        };
        return Err(format!(
            "The arguments must be a JSON object, not {found}. Nothing was run. Call the tool again with an object."
        ));
    }
    Ok(text)
}

/// JSON text in which every `\uD8xx` escape that has no partner is `\uFFFD`.
fn whole_surrogates(text: &str) -> Cow<'_, str> {
    let mut out: Option<String> = None;
    let (mut at, mut copied) = (0, 0);
    while let Some(found) = text[at..].find('\\') {
        let escape = at + found;
        let Some(unit) = unit(&text[escape..]) else {
            // Past the escaped character, which may be a backslash itself.
            at = text[escape + 1..]
                .chars()
                .next()
                .map_or(text.len(), |c| escape + 1 + c.len_utf8());
            continue;
        };
        at = escape + 6;
        let lonely = match unit {
            0xD800..=0xDBFF => {
                let paired = unit_at(text, at).is_some_and(|low| (0xDC00..=0xDFFF).contains(&low));
                if paired {
                    at += 6;
                }
                !paired
            }
            0xDC00..=0xDFFF => true,
            _ => false,
        };
        if lonely {
            let out = out.get_or_insert_with(|| String::with_capacity(text.len()));
            out.push_str(&text[copied..escape]);
            out.push_str("\\ufffd");
            copied = at;
        }
    }
    match out {
        Some(mut out) => {
            out.push_str(&text[copied..]);
            Cow::Owned(out)
        }
        None => Cow::Borrowed(text),
    }
}

fn unit_at(text: &str, at: usize) -> Option<u16> {
    unit(text.get(at..)?)
}

/// The code unit of the `\uXXXX` that `text` begins with.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    // `from_str_radix` takes a sign.
    digits.bytes().all(|b| b.is_ascii_hexdigit()).then_some(())?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    #[test]
    fn args_03_no_arguments_come_in_five_forms() {
        for raw in ["", "  ", "null", "{}", " null\n"] {
            assert_eq!(arguments(raw).unwrap(), "{}", "{raw:?}");
        }
    }

    #[test]
    fn args_05_digits_order_and_escapes_are_kept() {
        let raw = r#"{"id": 7301444403212345679, "a":1e400, "b":"\u0000\\ud800", "a":2}"#;
        assert_eq!(arguments(raw).unwrap(), raw);
    }

    #[test]
    fn out_02_half_pairs_become_the_replacement_character() {
        for (raw, expected) in [
            (r#"{"a":"a\ud800b"}"#, r#"{"a":"a\ufffdb"}"#),
            (r#"{"a":"\udc00\ud800"}"#, r#"{"a":"\ufffd\ufffd"}"#),
            (r#"{"a":"\ud83d\ude00"}"#, r#"{"a":"\ud83d\ude00"}"#),
            (r#"{"a":"\ud83d\ud83d\ude00"}"#, r#"{"a":"\ufffd\ud83d\ude00"}"#),
            (r#"{"a":"\\ud800"}"#, r#"{"a":"\\ud800"}"#),
            (r#"{"\uD800":"é\\\uD800é"}"#, r#"{"\ufffd":"é\\\ufffdé"}"#),
        ] {
            assert_eq!(arguments(raw).unwrap(), expected);
        }
    }

    #[test]
    fn what_is_no_object_is_explained() {
        for (raw, part) in [
            (
                r#"{"a":"#,
                "not valid JSON (EOF while parsing a value at line 1 column 5)",
            ),
            ("{\"a\":\"x\ny\"}", "not valid JSON"),
            ("{}{}", "not valid JSON"),
            ("\\", "not valid JSON"),
            ("\"\\u12", "not valid JSON"),
            ("[1]", "not an array"),
            ("\"{}\"", "not a string"),
            ("7", "not a number"),
            ("true", "not a boolean"),
        ] {
            let error = arguments(raw).unwrap_err();
            assert!(error.contains(part), "{raw}: {error}");
        }
    }
}
