//! The part of a request's address after `?`.

/// Names and values, decoded.
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads `query`. A name that is not one of `known` is an error: a misspelt `?limt=5` must not pass unnoticed.
    pub(crate) fn read(query: Option<&str>, known: &[&str]) -> Result<Self, String> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (Some(name), Some(value)) = (decoded(name), decoded(value)) else {
                return Err("the part of the address after ? is badly encoded".to_owned());
            };
            if !known.contains(&name.as_str()) {
                let name: String = name.chars().take(40).collect();
                return Err(format!(
                    "there is no parameter {name:?}: this takes {}",
                    known.join(", ")
                ));
            }
            pairs.push((name, value));
        }
        Ok(Self(pairs))
    }

    /// The value of `name`.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// The value of `name` as a number.
    pub(crate) fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, String> {
        let parsed = self
            .get(name)
            .map(|value| value.parse().map_err(|_| format!("{name} must be a whole number")));
        parsed.transpose()
    }
}

/// `text` without its percent-encoding; `None` when that is broken.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    #[test]
    fn names_and_values_are_decoded() {
        let query = Query::read(Some("after=msg%5F1+x&limit=5"), &["after", "limit"]).unwrap();
        assert_eq!(query.get("after"), Some("msg_1 x"));
        assert_eq!(query.number("limit"), Ok(Some(5)));
        assert_eq!(Query::read(None, &["after"]).unwrap().get("after"), None);
    }

    #[test]
    fn what_is_not_known_or_no_number_is_refused() {
        let refused = |query: &str| Query::read(Some(query), &["limit"]).err().unwrap();
        assert!(refused("limt=5").contains("limt") && refused("limt=5").contains("limit"));
        assert!(refused("limit=%zz").contains("encoded") && refused("limit=%f").contains("encoded"));
        let query = Query::read(Some("limit=many"), &["limit"]).unwrap();
        assert!(query.number::<usize>("limit").is_err());
    }
}
