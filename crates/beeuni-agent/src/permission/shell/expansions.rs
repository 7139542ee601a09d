//! Expansions of a shell script, in which further commands may stand: `$(…)`, `${…}`, `$((…))`, backticks.

use super::parse::{Parsed, Parser, Unclear, Until};
use super::script::Word;

impl Parser<'_> {
    /// The expansions of a text that is otherwise data: a here-document.
    pub(super) fn expansions(&mut self) -> Parsed<()> {
        let mut ignored = Word::default();
        while let Some(c) = self.peek() {
            match c {
                '\\' => self.at += 2,
                '$' => self.dollar(&mut ignored, true)?,
                '`' => self.backticks(&mut ignored)?,
                _ => self.at += 1,
            }
        }
        Ok(())
    }

    /// At `$`; takes the whole expansion.
    pub(super) fn dollar(&mut self, word: &mut Word, quoted: bool) -> Parsed<()> {
        self.at += 1;
        match self.peek() {
            Some('(') if self.ahead(1) == Some('(') => {
                self.at += 2;
                self.arithmetic()?;
            }
            Some('(') => {
                self.at += 1;
                self.substitution()?;
            }
            Some('{') => {
                self.at += 1;
                self.deeper(Self::braced)?;
            }
            Some('[') => return Err(Unclear("it uses `$[`")),
            Some('\\') if self.ahead(1) == Some('\n') => return Err(Unclear("a word is broken over two lines")),
            Some('\'') if !quoted => return self.ansi_quoted(word),
            Some('"') if !quoted => {
                self.at += 1;
                return self.deeper(|parser| parser.double_quoted(word));
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                while self.peek().is_some_and(|c| c.is_ascii_alphanumeric() || c == '_') {
                    self.at += 1;
                }
                if self.peek() == Some('\\') && self.ahead(1) == Some('\n') {
                    return Err(Unclear("a name is broken over two lines"));
                }
            }
            // A shell looks for the end of `$(…)` here although it is none.
            Some('$') if matches!(self.ahead(1), Some('(' | '{' | '[' | '\'' | '"')) => {
                return Err(Unclear("`$$` stands before a parenthesis or quote"));
            }
            Some('0'..='9' | '@' | '*' | '#' | '?' | '-' | '$' | '!') => self.at += 1,
            _ => {
                word.text.push('$');
                return Ok(());
            }
        }
        word.text.push_unknown();
        Ok(())
    }

    /// Behind `${`; takes the closing brace.
    fn braced(&mut self) -> Parsed<()> {
        let mut ignored = Word::default();
        let start = self.at;
        loop {
            match self.peek() {
                None => return Err(Unclear("`${` is not closed")),
                Some('}') => {
                    // Shells disagree with themselves over here-documents in there.
                    let lines = self.chars[start..self.at].contains(&'\n');
                    self.at += 1;
                    return if lines {
                        Err(Unclear("`${` spans several lines"))
                    } else {
                        Ok(())
                    };
                }
                Some('\\') => self.at += 2,
                // Whether it quotes depends on what stands around it.
                Some('\'') => return Err(Unclear("a quote stands inside of `${`")),
                Some('<' | '>') if self.ahead(1) == Some('(') => {
                    return Err(Unclear("a process substitution stands inside of `${`"));
                }
                Some('"') => {
                    self.at += 1;
                    self.deeper(|parser| parser.double_quoted(&mut ignored))?;
                }
                Some('$') => self.dollar(&mut ignored, true)?,
                Some('`') => self.backticks(&mut ignored)?,
                Some(_) => self.at += 1,
            }
        }
    }

    /// Behind `((`; takes `))`.
    pub(super) fn arithmetic(&mut self) -> Parsed<()> {
        self.deeper(|parser| {
            let mut ignored = Word::default();
            let mut open = 0_usize;
            let start = parser.at;
            loop {
                match parser.peek() {
                    Some('(') => open += 1,
                    Some(')') if open > 0 => open -= 1,
                    Some(')') if parser.ahead(1) == Some(')') => {
                        parser.at += 2;
                        // A shell finds the end by counting, which a `case` in there misleads, and it disagrees with
                        // itself over here-documents in there.
                        let inside = &parser.chars[start..parser.at - 2];
                        let count = |wanted: char| inside.iter().filter(|c| **c == wanted).count();
                        return if count('(') == count(')') && count('\n') == 0 {
                            Ok(())
                        } else {
                            Err(Unclear("double parentheses cannot be told from two single ones"))
                        };
                    }
                    Some('$') => {
                        parser.dollar(&mut ignored, true)?;
                        continue;
                    }
                    Some('`') => {
                        parser.backticks(&mut ignored)?;
                        continue;
                    }
                    Some('\'' | '"' | '\\' | '{' | '}' | '#') | Some(')') | None => {
                        return Err(Unclear("double parentheses cannot be told from two single ones"));
                    }
                    Some(_) => {}
                }
                parser.at += 1;
            }
        })
    }

    /// At the quote of `$'…'`; takes the closing one. With an escape in it, none of it is known.
    fn ansi_quoted(&mut self, word: &mut Word) -> Parsed<()> {
        self.at += 1;
        let mut inner = String::new();
        let mut escapes = false;
        loop {
            match self.peek() {
                None => return Err(Unclear("a quote is not closed")),
                Some('\'') => break,
                Some('\\') => {
                    escapes = true;
                    self.at += 2;
                }
                Some(c) => {
                    inner.push(c);
                    self.at += 1;
                }
            }
        }
        self.at += 1;
        if escapes {
            word.text.push_unknown();
        } else {
            word.text.push_str(&inner);
        }
        Ok(())
    }

    /// At the opening backtick; takes the closing one.
    pub(super) fn backticks(&mut self, word: &mut Word) -> Parsed<()> {
        self.at += 1;
        let mut inner = String::new();
        loop {
            match self.peek() {
                None => return Err(Unclear("a backtick is not closed")),
                Some('`') => break,
                Some('\\') => {
                    match self.ahead(1) {
                        Some(c @ ('`' | '\\' | '$')) => inner.push(c),
                        // Inside of double quotes `\"` loses its backslash, elsewhere not.
                        Some('"') => return Err(Unclear("an escaped quote stands inside of backticks")),
                        Some('\n') => return Err(Unclear("a line is joined inside of backticks")),
                        Some(c) => inner.extend(['\\', c]),
                        None => return Err(Unclear("a backtick is not closed")),
                    }
                    self.at += 1;
                }
                Some(c) => inner.push(c),
            }
            self.at += 1;
        }
        self.at += 1;
        let (scope, depth) = (self.scope, self.depth);
        self.script.scopes.push(scope);
        let own = self.script.scopes.len() - 1;
        let mut parser = Parser::on(&inner, self.script, own, depth);
        parser.deeper(|parser| parser.list(Until::End))?;
        word.text.push_unknown();
        Ok(())
    }
}
