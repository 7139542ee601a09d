//! `POST /beeuni/env`: the secrets of all agents, replaced as a whole or not at all.
//!
//! No text of this file ever quotes a value, and none of serde's messages about a value's type is passed
//! on, because those quote it.
use std::collections::BTreeMap;

use beeuni_protocol::EnvAnswer;
use beeuni_tools::{AgentSecrets, SecretValue};
use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::header::HeaderMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::answer::{self, Answer};
use crate::body;
use crate::session::Session;

/// The longest value, in bytes: 64 KiB.
const VALUE_LIMIT: usize = 64 * 1024;
/// The longest revision, in bytes.
const REVISION_LIMIT: usize = 256;

/// Answers a push by the holder of the session token. Calls that start from now on see the new set;
/// running ones keep what they started with.
pub(crate) async fn push(session: &Session, headers: &HeaderMap, body: Incoming) -> Answer {
    let bytes = match body::collect(headers, body).await {
        Ok(bytes) => bytes,
        Err(answer) => return answer,
    };
    let (revision, secrets) = match read(&bytes) {
        Ok(read) => read,
        Err(text) => return answer::error(StatusCode::BAD_REQUEST, text),
    };
    let agents = secrets.len();
    if let Err(error) = session.core.hosting.set_secrets(secrets) {
        tracing::error!(%error, "the secrets could not be put in force");
        return answer::error(StatusCode::INTERNAL_SERVER_ERROR, error.to_string());
    }
    session.set_revision(revision.clone());
    tracing::info!(revision, agents, "the secrets were replaced");
    answer::json(StatusCode::OK, &EnvAnswer { revision })
}

#[derive(Deserialize)]
struct Push<'a> {
    #[serde(borrow)]
    revision: Option<&'a RawValue>,
    #[serde(borrow)]
    agents: Option<&'a RawValue>,
}

/// The revision and the set that `body` holds, or what is wrong with it.
fn read(body: &[u8]) -> Result<(String, AgentSecrets), String> {
    let push: Push<'_> = serde_json::from_slice(body).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => {
            "the body must be { \"revision\": \"…\", \"agents\": { \"<agent>\": { \"NAME\": \"value\" } } }".to_owned()
        }
        // These name what JSON expects and where, never what stands there.
        _ => format!("the body is not JSON: {error}"),
    })?;
    let revision: Option<String> = push.revision.and_then(|text| serde_json::from_str(text.get()).ok());
    let revision = revision
        .filter(|text| (1..=REVISION_LIMIT).contains(&text.len()))
        .ok_or(format!("revision must be a string of 1 to {REVISION_LIMIT} bytes"))?;
    let agents = object(push.agents).ok_or("agents must be an object of agent name to secrets")?;
    let mut secrets = AgentSecrets::new();
    for (agent, set) in agents {
        let set =
            object(Some(set)).ok_or_else(|| format!("agents.{} must be an object of NAME to value", shown(&agent)))?;
        let mut values = BTreeMap::new();
        for (name, value) in set {
            let value = checked(&name, value)
                .map_err(|problem| format!("agents.{}.{}: {problem}", shown(&agent), shown(&name)))?;
            values.insert(name, value);
        }
        secrets.insert(agent, values);
    }
    Ok((revision, secrets))
}

/// The members of a JSON object; `None` for any other value.
fn object(value: Option<&RawValue>) -> Option<BTreeMap<String, &RawValue>> {
    serde_json::from_str(value?.get()).ok()
}

fn checked(name: &str, value: &RawValue) -> Result<SecretValue, String> {
    if !is_secret_name(name) {
        return Err("a name is a capital letter or _ and then up to 63 of A-Z 0-9 _".to_owned());
    }
    if name.starts_with("BEEUNI_") {
        return Err("names that begin with BEEUNI_ are reserved".to_owned());
    }
    let value: String = serde_json::from_str(value.get()).map_err(|_| "the value must be a string".to_owned())?;
    if value.len() > VALUE_LIMIT {
        return Err(format!("the value is over {} KiB", VALUE_LIMIT / 1024));
    }
    Ok(SecretValue::new(value))
}

/// `^[A-Z_][A-Z0-9_]{0,63}$`
fn is_secret_name(name: &str) -> bool {
    let rest = name.strip_prefix(|first: char| first.is_ascii_uppercase() || first == '_');
    rest.is_some_and(|rest| {
        rest.len() < 64
            && rest
                .bytes()
                .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
    })
}

/// A name for a message: short, and on one line.
fn shown(name: &str) -> String {
    name.chars().take(80).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    const PLANTED: &str = "tok-6f1e-Zq+/9=";

    #[test]
    fn a_whole_set_is_read() {
        let body =
            format!(r#"{{"revision":"r1","agents":{{"a":{{"API_TOKEN":"{PLANTED}","_X9":""}},"b":{{}}}},"more":1}}"#);
        let (revision, secrets) = read(body.as_bytes()).unwrap();
        assert_eq!(revision, "r1");
        assert_eq!(secrets["a"]["API_TOKEN"].expose(), PLANTED);
        assert_eq!(secrets["a"].len(), 2);
        assert!(secrets["b"].is_empty());
    }

    #[test]
    fn a_bad_name_or_value_is_named_and_no_value_is_shown() {
        let long_name = "A".repeat(65);
        let cases = [
            (r#"{"a":{"api":"V"}}"#.to_owned(), "agents.a.api"),
            (r#"{"a":{"9A":"V"}}"#.to_owned(), "agents.a.9A"),
            (r#"{"a":{"":"V"}}"#.to_owned(), "agents.a.:"),
            (r#"{"a":{"É":"V"}}"#.to_owned(), "agents.a.É"),
            (format!(r#"{{"a":{{"{long_name}":"V"}}}}"#), long_name.as_str()),
            (r#"{"a":{"BEEUNI_TOKEN":"V"}}"#.to_owned(), "agents.a.BEEUNI_TOKEN"),
            (
                r#"{"a":{"OK":"V","N":["V"]}}"#.to_owned(),
                "agents.a.N: the value must be a string",
            ),
            (
                r#"{"a":{"N":{"V":"V"}}}"#.to_owned(),
                "agents.a.N: the value must be a string",
            ),
            (r#"{"a":{"N":null}}"#.to_owned(), "agents.a.N"),
            (r#"{"a":"V"}"#.to_owned(), "agents.a must be an object"),
            (r#"["V"]"#.to_owned(), "agents must be an object"),
            (r#""V""#.to_owned(), "agents must be an object"),
            ("null".to_owned(), "agents must be an object"),
        ];
        for (agents, expected) in cases {
            let agents = agents.replace('V', PLANTED);
            let body = format!(r#"{{"revision":"r1","agents":{agents}}}"#);
            let text = read(body.as_bytes()).unwrap_err();
            assert!(text.contains(expected), "{text}");
            assert!(!text.contains("6f1e"), "{text}");
        }
    }

    #[test]
    fn a_body_that_is_no_push_is_refused_without_quoting_it() {
        for body in [
            String::new(),
            "{".to_owned(),
            format!("\"{PLANTED}\""),
            format!("[\"{PLANTED}\"]"),
            format!(r#"{{"revision":"{PLANTED}"}}"#),
            r#"{"agents":{}}"#.to_owned(),
            format!(r#"{{"revision":["{PLANTED}"],"agents":{{}}}}"#),
            format!(r#"{{"revision":"r","agents":{{}} {PLANTED}"#),
            r#"{"revision":"","agents":{}}"#.to_owned(),
            format!(r#"{{"revision":"{}","agents":{{}}}}"#, "r".repeat(257)),
        ] {
            let text = read(body.as_bytes()).unwrap_err();
            assert!(!text.contains("6f1e"), "{text}");
        }
    }

    #[test]
    fn the_largest_value_passes_and_one_byte_more_does_not() {
        let push = |size: usize| {
            let value = "v".repeat(size);
            read(format!(r#"{{"revision":"r","agents":{{"a":{{"N":"{value}"}}}}}}"#).as_bytes())
        };
        assert!(push(VALUE_LIMIT).is_ok());
        assert!(push(VALUE_LIMIT + 1).unwrap_err().contains("over 64 KiB"));
    }
}
