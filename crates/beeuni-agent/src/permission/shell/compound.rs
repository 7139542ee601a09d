//! Keywords of a shell script that hold more than commands: `for`, `case`, `[[`, the head of a function.

use super::parse::{Parsed, Parser, Unclear, Until};
use super::script::{Command, Word};

impl Parser<'_> {
    /// `for NAME [in WORDS]`; the body is read as a list.
    pub(super) fn for_loop(&mut self) -> Parsed<()> {
        self.at += self.plain_word().map_or(0, |word| word.len());
        self.blanks();
        if self.follows("((") {
            self.at += 2;
            return self.arithmetic();
        }
        self.word()?;
        self.blank_lines()?;
        if self.plain_word().as_deref() != Some("in") {
            return Ok(());
        }
        self.at += 2;
        loop {
            self.blanks();
            match self.peek() {
                None | Some('\n' | ';') => return Ok(()),
                Some('<' | '>') if self.ahead(1) == Some('(') => {}
                Some('&' | '|' | '(' | ')' | '<' | '>') => return Err(Unclear("the words of `for` cannot be read")),
                Some(_) => {}
            }
            self.word()?;
        }
    }

    pub(super) fn case(&mut self) -> Parsed<()> {
        self.at += "case".len();
        self.blanks();
        self.word()?;
        self.blank_lines()?;
        if self.plain_word().as_deref() != Some("in") {
            return Err(Unclear("`case` has no `in`"));
        }
        self.at += 2;
        loop {
            self.blank_lines()?;
            if self.plain_word().as_deref() == Some("esac") {
                self.at += "esac".len();
                return Ok(());
            }
            if self.peek() == Some('(') {
                self.at += 1;
            }
            loop {
                self.blanks();
                let before = self.at;
                self.word()?;
                self.blanks();
                match self.peek() {
                    Some('|') if self.at > before => self.at += 1,
                    Some(')') if self.at > before => break,
                    _ => return Err(Unclear("a pattern of `case` cannot be read")),
                }
            }
            self.at += 1;
            self.list(Until::CaseItem)?;
            while matches!(self.peek(), Some(';' | '&')) {
                self.at += 1;
            }
        }
    }

    /// `[[ … ]]`: its operators are no operators of commands.
    pub(super) fn condition(&mut self) -> Parsed<()> {
        self.at += "[[".len();
        loop {
            self.blank_lines()?;
            match self.peek() {
                None | Some(';') => return Err(Unclear("`[[` is not closed by `]]`")),
                Some('<' | '>') if self.ahead(1) == Some('(') => {
                    self.word()?;
                }
                Some('(' | ')' | '|' | '&' | '<' | '>') => self.at += 1,
                Some(_) if self.plain_word().as_deref() == Some("]]") => {
                    self.at += "]]".len();
                    self.harmless("[[");
                    return Ok(());
                }
                Some(_) => {
                    self.word()?;
                }
            }
        }
    }

    /// A command that runs no program, for rules that want to know of it.
    pub(super) fn harmless(&mut self, name: &str) {
        let mut rest = Word::default();
        rest.text.push_unknown();
        self.script.commands.push(Command {
            words: vec![Word::from(name), rest],
            scope: self.scope,
            source: name.to_owned(),
            ..Command::default()
        });
    }

    pub(super) fn empty_parentheses(&mut self) -> Parsed<()> {
        self.at += 1;
        self.blanks();
        if self.peek() != Some(')') {
            return Err(Unclear("a parenthesis stands inside of a command"));
        }
        self.at += 1;
        Ok(())
    }
}
