//! What `tools call` is given: arguments, secrets and the time limit.
use std::collections::BTreeMap;
use std::env;
use std::io::Read as _;
use std::time::Duration;

use beeuni_tools::SecretValue;
use serde::de::IgnoredAny;

use crate::failure::Failure;

/// Reads `--args`: JSON, `@FILE` or `-`. The text is passed on as it is, so that no number changes on
/// the way.
pub(super) fn arguments(given: &str) -> Result<String, Failure> {
    let (text, from) = match given.strip_prefix('@') {
        Some(file) => {
            let text = std::fs::read_to_string(file)
                .map_err(|error| Failure::usage(format!("cannot read the arguments from {file}")).caused_by(&error))?;
            (text, file.to_owned())
        }
        None if given == "-" => {
            let mut text = String::new();
            std::io::stdin()
                .lock()
                .read_to_string(&mut text)
                .map_err(|error| Failure::usage("cannot read the arguments from standard input").caused_by(&error))?;
            (text, "standard input".to_owned())
        }
        None => (given.to_owned(), "--args".to_owned()),
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned();
    check(&text, &from)?;
    Ok(text)
}

fn check(text: &str, from: &str) -> Result<(), Failure> {
    serde_json::from_str::<IgnoredAny>(text)
        .map_err(|error| Failure::usage(format!("the arguments in {from} are not JSON: {error}")))?;
    let found = match text.trim_start().chars().next() {
        Some('{') => return Ok(()),
        Some('[') => "an array",
        Some('"') => "a string",
        Some('t' | 'f') => "a boolean",
        Some('n') => "null",
        _ => "a number",
    };
    Err(
        Failure::usage(format!("the arguments in {from} must be a JSON object, found {found}"))
            .hint(r#"e.g. --args '{"query":"bees"}'"#),
    )
}

/// Reads `--timeout`.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|time| !time.is_zero() && *time <= LONGEST)
        .ok_or_else(|| "must be more than 0 and at most a day (86400)".to_owned())
}

const LONGEST: Duration = Duration::from_secs(86_400);

/// Looks up a variable of the caller.
type Environment = dyn Fn(&str) -> Result<String, env::VarError>;

/// What `--env` and the caller's environment give to the agent.
pub(crate) struct Secrets {
    /// Secrets of the agent.
    pub(crate) of_agent: BTreeMap<String, SecretValue>,
    /// The control plane's address.
    pub(crate) api_url: Option<String>,
    /// The token for it; only together with the address.
    pub(crate) token: Option<SecretValue>,
}

impl Secrets {
    /// Reads each `NAME=VALUE` or `NAME`.
    pub(crate) fn read(given: &[String]) -> Result<Self, Failure> {
        Self::read_from(given, &|name| env::var(name))
    }

    fn read_from(given: &[String], environment: &Environment) -> Result<Self, Failure> {
        let of_environment = |name: &str| environment(name).ok().filter(|value| !value.is_empty());
        let mut secrets = Self {
            of_agent: BTreeMap::new(),
            api_url: of_environment("BEEUNI_API_URL"),
            token: of_environment("BEEUNI_TOKEN").map(SecretValue::new),
        };
        for secret in given {
            let (name, value) = read_one(secret, environment)?;
            match name {
                "BEEUNI_API_URL" => secrets.api_url = Some(value),
                "BEEUNI_TOKEN" => secrets.token = Some(SecretValue::new(value)),
                _ => {
                    secrets.of_agent.insert(name.to_owned(), SecretValue::new(value));
                }
            }
        }
        secrets.token = secrets.token.filter(|_| secrets.api_url.is_some());
        Ok(secrets)
    }
}

fn read_one<'a>(secret: &'a str, environment: &Environment) -> Result<(&'a str, String), Failure> {
    let (name, value) = match secret.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (secret, None),
    };
    check_name(name)?;
    let value = match value {
        Some(value) => value.to_owned(),
        None => environment(name).map_err(|error| {
            let why = match error {
                env::VarError::NotPresent => "is not set in your environment",
                env::VarError::NotUnicode(_) => "is not UTF-8 in your environment",
            };
            Failure::usage(format!("{name} {why}")).hint(format!("export {name}, or give the value: --env {name}=…"))
        })?,
    };
    Ok((name, value))
}

/// The rule of secret names. What is not a name is not repeated: it may be the value.
fn check_name(name: &str) -> Result<(), Failure> {
    let mut characters = name.chars();
    let first = characters.next().is_some_and(|c| c.is_ascii_uppercase() || c == '_');
    let rest = characters.all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    if !(first && rest && name.len() <= 64) {
        return Err(Failure::usage(
            "--env takes NAME=VALUE or NAME: a name is A-Z, 0-9 and _, begins with no digit, and has at most 64 characters",
        ));
    }
    if name.starts_with("BEEUNI_") && !["BEEUNI_API_URL", "BEEUNI_TOKEN"].contains(&name) {
        return Err(Failure::usage(format!(
            "{name} cannot be a secret: names that begin with BEEUNI_ are reserved"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    #[test]
    fn times_are_seconds_with_fractions() {
        assert_eq!(seconds("0.5").unwrap(), Duration::from_millis(500));
        assert_eq!(seconds("90").unwrap(), Duration::from_secs(90));
        for wrong in ["0", "-1", "nan", "inf", "1e9", "", "5s"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_in_arguments_stay_as_they_are_written() {
        let text = r#"{"id": 7301444403212345679, "x": 1.50}"#;
        assert_eq!(arguments(text).unwrap(), text);
    }

    #[test]
    fn a_token_without_an_address_is_not_passed_on() {
        let empty = |_: &str| Err(env::VarError::NotPresent);
        let secrets = Secrets::read_from(&["BEEUNI_TOKEN=abcdefgh".to_owned()], &empty).unwrap();
        assert!(secrets.token.is_none());
        let given = ["BEEUNI_TOKEN=abcdefgh", "BEEUNI_API_URL=http://127.0.0.1:1"].map(str::to_owned);
        let secrets = Secrets::read_from(&given, &empty).unwrap();
        assert!(secrets.token.is_some() && secrets.of_agent.is_empty());
    }
}
