//! The arguments of calls as models wrote them, for a harness that reads them as JavaScript.
//!
//! OpenCode parses a call's arguments and writes them anew: integers above 2^53 lose digits on the way, `1.0` becomes
//! `1`. The model's answer passes through the bridge before, so the text is known here.
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::value::RawValue;

/// How many calls are remembered: a call is passed on right after it was written, but its end in the transcript may be
/// many calls of its subagents away.
const MOST_CALLS: usize = 1024;
/// How much text is remembered, in bytes.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// How deep arguments may be nested to be compared: each level is read once more.
const DEEPEST: usize = 32;

/// What models wrote lately.
#[derive(Default)]
pub(crate) struct BridgeArguments {
    texts: Mutex<Texts>,
}

#[derive(Default)]
struct Texts {
    /// `(call id, text)`, the oldest first. Some models give several calls one id.
    calls: VecDeque<(String, Arc<str>)>,
    bytes: usize,
}

impl BridgeArguments {
    /// Remembers the arguments of a call.
    pub(crate) fn note(&self, call: String, text: &str) {
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        texts.bytes += text.len();
        texts.calls.push_back((call, text.into()));
        while texts.calls.len() > MOST_CALLS || texts.bytes > MOST_BYTES {
            let Some((_, oldest)) = texts.calls.pop_front() else {
                break;
            };
            texts.bytes -= oldest.len();
        }
    }

    /// The model's own text of a call's arguments, if a harness's reading of it is what was received. Nothing when the
    /// harness, or a plugin in it, has changed them: then they are what it says.
    pub(crate) fn exact(&self, call: &str, received: &str) -> Option<Arc<str>> {
        let texts: Vec<Arc<str>> = {
            let texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
            let of_call = texts.calls.iter().rev().filter(|(id, _)| id == call);
            of_call.map(|(_, text)| Arc::clone(text)).collect()
        };
        let is_object = |text: &str| text.trim_ascii_start().starts_with('{');
        texts
            .into_iter()
            .find(|text| is_object(text) && is_read_as(text.trim_ascii(), received.trim_ascii(), 0))
    }
}

/// Whether JavaScript, when it parses `written` and writes it anew, comes to what `received` says.
fn is_read_as(written: &str, received: &str, depth: usize) -> bool {
    if depth > DEEPEST {
        return false;
    }
    let both = |first: u8| {
        [written, received]
            .iter()
            .all(|text| text.as_bytes().first() == Some(&first))
    };
    if both(b'{') {
        // Of a key that is there twice, the last counts; the order of keys does not.
        let read = |text| serde_json::from_str::<BTreeMap<String, &RawValue>>(text);
        let (Ok(written), Ok(received)) = (read(written), read(received)) else {
            return false;
        };
        return written.len() == received.len()
            && written.iter().zip(&received).all(|((key, value), (other, received))| {
                key == other && is_read_as(value.get(), received.get(), depth + 1)
            });
    }
    if both(b'[') {
        let read = |text| serde_json::from_str::<Vec<&RawValue>>(text);
        let (Ok(written), Ok(received)) = (read(written), read(received)) else {
            return false;
        };
        return written.len() == received.len()
            && written
                .iter()
                .zip(&received)
                .all(|(value, received)| is_read_as(value.get(), received.get(), depth + 1));
    }
    if written == received {
        return true;
    }
    if both(b'"') {
        let read = |text| serde_json::from_str::<String>(text).ok();
        return read(written).is_some_and(|text| read(received) == Some(text));
    }
    match (number(written), number(received)) {
        (Some(written), Some(received)) => written == received,
        // What is too large for a number is written as nothing.
        (Some(written), None) => written.is_infinite() && received == "null",
        _ => false,
    }
}

/// A number as JavaScript reads it.
fn number(text: &str) -> Option<f64> {
    let is_number = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(written: &str, received: &str) -> bool {
        let arguments = BridgeArguments::default();
        arguments.note("c1".to_owned(), written);
        let exact = arguments.exact("c1", received);
        assert!(exact.as_deref().is_none_or(|text| text == written));
        exact.is_some()
    }

    #[test]
    fn t1_what_javascript_makes_of_a_text_is_the_same() {
        for (written, received) in [
            (r#"{"n":9007199254740993}"#, r#"{"n":9007199254740992}"#),
            (r#"{"n":-9223372036854775808}"#, r#"{"n":-9223372036854776000}"#),
            (
                r#"{"n":123456789012345678901234567890}"#,
                r#"{"n":1.2345678901234568e+29}"#,
            ),
            (r#"{"n":1.0}"#, r#"{"n":1}"#),
            (r#"{"n":1e3,"m":0.1e1}"#, r#"{"n":1000,"m":1}"#),
            (r#"{"n":-0,"m":-0.0}"#, r#"{"n":0,"m":0}"#),
            (r#"{"n":0.12345678901234567890123}"#, r#"{"n":0.12345678901234568}"#),
            (r#"{"n":1e400,"m":1e-400}"#, r#"{"n":null,"m":0}"#),
            (r#"{"b":[1.0,{"c":2.50}],"a":null}"#, r#"{"a":null,"b":[1,{"c":2.5}]}"#),
            (r#"{"b":1,"10":2,"9":3}"#, r#"{"9":3,"10":2,"b":1}"#),
            (r#"{"a":{"x":1},"a":2.0}"#, r#"{"a":2}"#),
            (r#" { "t" : "\u00e9\/" , "u" : true } "#, r#"{"t":"é/","u":true}"#),
            (r#"{"t":"\ud800","n":1.0}"#, r#"{"t":"\ud800","n":1}"#),
            ("{}", "{}"),
        ] {
            assert!(exact(written, received), "{written} {received}");
        }
    }

    #[test]
    fn what_was_changed_on_the_way_is_another_text() {
        for (written, received) in [
            (r#"{"n":9007199254740993}"#, r#"{"n":9007199254740994}"#),
            (r#"{"n":1.0}"#, r#"{"n":"1"}"#),
            (r#"{"n":1.0}"#, r#"{"n":null}"#),
            (r#"{"n":1.0}"#, r#"{"m":1}"#),
            (r#"{"n":1.0}"#, r#"{"n":1,"m":2}"#),
            (r#"{"n":1.0,"m":2}"#, r#"{"n":1}"#),
            (r#"{"n":[1,2]}"#, r#"{"n":[2,1]}"#),
            (r#"{"n":[1,2]}"#, r#"{"n":[1]}"#),
            (r#"{"t":"a"}"#, r#"{"t":"b"}"#),
            (r#"{"t":true}"#, r#"{"t":false}"#),
            (r#"{"t":{}}"#, r#"{"t":[]}"#),
            // What OpenCode has repaired.
            (r#"{"n":1.0"#, r#"{"n":1}"#),
            (r#"{"n":1.0}}"#, r#"{"n":1}"#),
            (r#"{"n":inf}"#, r#"{"n":null}"#),
            ("[]", "[]"),
            (r#""{}""#, "{}"),
        ] {
            assert!(!exact(written, received), "{written} {received}");
        }
    }

    #[test]
    fn the_latest_text_of_an_id_that_fits_counts() {
        let arguments = BridgeArguments::default();
        for text in [r#"{"n":1}"#, r#"{"n":1.0}"#, r#"{"n":2.0}"#] {
            arguments.note("call_0".to_owned(), text);
        }
        let exact = |received| arguments.exact("call_0", received).map(|text| text.to_string());
        assert_eq!(exact(r#"{"n":1}"#).as_deref(), Some(r#"{"n":1.0}"#));
        assert_eq!(exact(r#"{"n":2}"#).as_deref(), Some(r#"{"n":2.0}"#));
        assert_eq!(exact(r#"{"n":3}"#), None);
        assert_eq!(arguments.exact("call_1", r#"{"n":1}"#), None);
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let arguments = BridgeArguments::default();
        for call in 0..=MOST_CALLS {
            arguments.note(format!("c{call}"), "{}");
        }
        let knows = |call: &str, text: &str| arguments.exact(call, text).is_some();
        assert_eq!((knows("c0", "{}"), knows("c1", "{}")), (false, true));
        let long = format!(r#"{{"t":"{}"}}"#, "x".repeat(MOST_BYTES / 2));
        arguments.note("long1".to_owned(), &long);
        arguments.note("long2".to_owned(), &long);
        assert!(!knows("c1024", "{}") && !knows("long1", &long) && knows("long2", &long));
    }

    #[test]
    fn what_is_nested_too_deep_is_not_compared() {
        let nested = |depth: usize| format!(r#"{{"a":{}1{}}}"#, "[".repeat(depth), "]".repeat(depth));
        assert!(exact(&nested(20), &nested(20)));
        assert!(!exact(&nested(100_000), &nested(100_000)));
    }
}
