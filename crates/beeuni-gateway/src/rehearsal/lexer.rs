//! Words, quoted text and JSON out of an instruction.

use serde_json::value::RawValue;

/// A piece of an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// Anything between two spaces.
    Word(String),
    /// Text in quotes, without them.
    Quoted(String),
    /// A JSON object or list, as it was written.
    Json(String),
    /// `=` or `:` after a name.
    Equals,
    Comma,
    /// The end of a sentence.
    Stop,
}

impl Token {
    /// Whether it is this word, in any case.
    pub(super) fn is(&self, word: &str) -> bool {
        matches!(self, Self::Word(it) if it.eq_ignore_ascii_case(word))
    }

    /// Whether it is one of these words, in any case.
    pub(super) fn is_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }
}

/// Splits an instruction into its pieces.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        rest = if let Some((token, after)) = json(rest).or_else(|| quoted(rest)) {
            tokens.push(token);
            after
        } else if let Some((token, length)) = mark(first) {
            tokens.push(token);
            rest.get(length..).unwrap_or_default()
        } else {
            word(rest, &mut tokens)
        };
        rest = rest.trim_start();
    }
    tokens
}

fn mark(first: char) -> Option<(Token, usize)> {
    match first {
        ',' => Some((Token::Comma, 1)),
        '.' | ';' | '!' | '?' => Some((Token::Stop, 1)),
        '=' | ':' => Some((Token::Equals, 1)),
        _ => None,
    }
}

fn json(text: &str) -> Option<(Token, &str)> {
    if !text.starts_with(['{', '[']) {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let value = values.next()?.ok()?;
    Some((Token::Json(value.get().to_owned()), text.get(values.byte_offset()..)?))
}

fn quoted(text: &str) -> Option<(Token, &str)> {
    let open = text.chars().next()?;
    let close = match open {
        '"' | '\'' | '`' => open,
        '“' | '„' => '”',
        '‘' => '’',
        '«' => '»',
        _ => return None,
    };
    if open == '"' {
        // A JSON string may hold \" and \n.
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
        if let Some(Ok(value)) = values.next() {
            return Some((Token::Quoted(value), text.get(values.byte_offset()..)?));
        }
    }
    let inside = text.get(open.len_utf8()..)?;
    let ends = |(at, _): &(usize, &str)| {
        let after = inside.get(at + close.len_utf8()..).and_then(|it| it.chars().next());
        // An apostrophe inside a word closes nothing.
        !after.is_some_and(char::is_alphanumeric)
    };
    let (end, _) = inside.match_indices(close).find(ends)?;
    let value = inside.get(..end)?.to_owned();
    Some((Token::Quoted(value), inside.get(end + close.len_utf8()..)?))
}

/// One word, and the marks that end it: `Berlin.`, `city:`, `city=`.
fn word<'t>(text: &'t str, tokens: &mut Vec<Token>) -> &'t str {
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (mut word, mut rest) = text.split_at(end);
    if let Some(at) = word.find(['=', ':']) {
        let (name, value) = word.split_at(at);
        // `city=Berlin` and `city: Berlin`, but not `https://…`, `12:30` or a path such as `C:\x`.
        let is_pair = is_name(name) && (value.starts_with('=') || value.len() == 1);
        if is_pair {
            tokens.push(Token::Word(name.to_owned()));
            return text.get(at..).unwrap_or_default();
        }
    }
    let bare = word.trim_end_matches([',', '.', ';', '!', '?']);
    if !bare.is_empty() && bare.len() < word.len() {
        rest = text.get(bare.len()..).unwrap_or_default();
        word = bare;
    }
    tokens.push(Token::Word(word.to_owned()));
    rest
}

/// Whether text can be a tool's or an argument's name.
pub(super) fn is_name(text: &str) -> bool {
    let begins = text.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_');
    begins
        && text
            .chars()
            .all(|it| it.is_ascii_alphanumeric() || matches!(it, '_' | '-' | '.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let shown = tokens(text).into_iter().map(|token| match token {
            Token::Word(word) => word,
            Token::Quoted(text) => format!("“{text}”"),
            Token::Json(text) => format!("<{text}>"),
            Token::Equals => "=".to_owned(),
            Token::Comma => ",".to_owned(),
            Token::Stop => "/".to_owned(),
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn marks_end_words_and_stay_inside_values() {
        assert_eq!(
            shown("with id A-1042, days 3.5 and print."),
            "with id A-1042 , days 3.5 and print /"
        );
        assert_eq!(
            shown("url https://a.example/x?q=1: ok"),
            "url https://a.example/x?q=1: ok"
        );
        assert_eq!(shown("city=Berlin days: 3"), "city = Berlin days = 3");
    }

    #[test]
    fn quotes_and_json_are_one_piece() {
        assert_eq!(
            shown(r#"a "New \"York\"" b 'it's so' c `x y`."#),
            r#"a “New "York"” b “it's so” c “x y” /"#
        );
        assert_eq!(shown(r#"city="New York", x"#), "city = “New York” , x");
        assert_eq!(
            shown(r#"with {"a": [1, 2]} and [3]"#),
            r#"with <{"a": [1, 2]}> and <[3]>"#
        );
        assert_eq!(shown("an {unfinished \"thing"), "an {unfinished \"thing");
    }
}
