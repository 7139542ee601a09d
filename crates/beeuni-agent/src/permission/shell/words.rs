//! Words of a shell script and their quotes.

use super::parse::{KEYWORDS, Parsed, Parser, Unclear};
use super::script::Word;

/// Whether an unquoted `c` ends a word.
pub(super) fn ends_word(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')')
}

impl Parser<'_> {
    /// Takes one word, possibly empty.
    pub(super) fn word(&mut self) -> Parsed<Word> {
        let mut word = Word::default();
        // What was known before an unquoted `{`, and whether `,` or `..` and `}` followed.
        let mut brace: Option<(Word, bool, bool)> = None;
        while let Some(c) = self.peek() {
            match c {
                '<' | '>' if self.ahead(1) == Some('(') => {
                    self.at += 2;
                    self.substitution()?;
                    word.text.push_unknown();
                    continue;
                }
                _ if ends_word(c) => break,
                '\\' => {
                    match self.ahead(1) {
                        Some('\n') => {
                            let goes_on = self.ahead(2).is_some_and(|c| !matches!(c, ' ' | '\t' | '\n'));
                            if goes_on || word.known().is_some_and(|text| KEYWORDS.contains(&text.as_str())) {
                                return Err(Unclear("a word is broken over two lines"));
                            }
                        }
                        Some(escaped) => word.text.push(escaped),
                        // Whether it stands for itself depends on the lines before.
                        None => return Err(Unclear("it ends in a backslash")),
                    }
                    self.at += 1;
                }
                '\'' => self.single_quoted(&mut word)?,
                '"' => {
                    self.at += 1;
                    self.deeper(|parser| parser.double_quoted(&mut word))?;
                    continue;
                }
                '$' => {
                    self.dollar(&mut word, false)?;
                    continue;
                }
                '`' => {
                    self.backticks(&mut word)?;
                    continue;
                }
                _ => {
                    match (c, &mut brace) {
                        ('{', None) => brace = Some((word.clone(), false, false)),
                        (',', Some((_, several, _))) => *several = true,
                        ('.', Some((_, several, _))) if self.ahead(1) == Some('.') => *several = true,
                        ('}', Some((_, _, closed))) => *closed = true,
                        _ => {}
                    }
                    word.glob |= matches!(c, '*' | '?' | '[');
                    word.text.push(c);
                }
            }
            self.at += 1;
        }
        self.at = self.at.min(self.chars.len());
        if let Some((mut before, true, true)) = brace {
            // `{rm,-rf,/}` is three words.
            before.text.push_unknown();
            before.glob = word.glob;
            return Ok(before);
        }
        Ok(word)
    }

    /// At the opening quote; ends at the closing one.
    fn single_quoted(&mut self, word: &mut Word) -> Parsed<()> {
        self.at += 1;
        loop {
            match self.peek() {
                None => return Err(Unclear("a quote is not closed")),
                Some('\'') => return Ok(()),
                Some(c) => word.text.push(c),
            }
            self.at += 1;
        }
    }

    /// Behind the opening quote; takes the closing one.
    pub(super) fn double_quoted(&mut self, word: &mut Word) -> Parsed<()> {
        loop {
            match self.peek() {
                None => return Err(Unclear("a quote is not closed")),
                Some('"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some('\\') => {
                    match self.ahead(1) {
                        Some('\n') => {}
                        Some(c @ ('$' | '`' | '"' | '\\')) => word.text.push(c),
                        Some(c) => {
                            word.text.push('\\');
                            word.text.push(c);
                        }
                        None => return Err(Unclear("a quote is not closed")),
                    }
                    self.at += 2;
                }
                Some('$') => self.dollar(word, true)?,
                Some('`') => self.backticks(word)?,
                Some(c) => {
                    word.text.push(c);
                    self.at += 1;
                }
            }
        }
    }
}
