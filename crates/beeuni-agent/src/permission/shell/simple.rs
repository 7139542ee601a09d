//! A simple command: assignments, words and redirections.

use super::parse::{KEYWORDS, Parsed, Parser, Unclear};
use super::script::{Command, Word};
use super::words;

impl Parser<'_> {
    /// Assignments, words and redirections up to an operator; also the head of a function.
    pub(super) fn simple(&mut self) -> Parsed<()> {
        let start = self.at;
        let mut command = Command {
            scope: self.scope,
            ..Command::default()
        };
        let mut redirected = false;
        loop {
            self.blanks();
            let Some(c) = self.peek() else { break };
            let before_words = command.words.is_empty();
            match c {
                '\n' | ';' | '|' | ')' => break,
                '&' if self.ahead(1) != Some('>') => break,
                '(' => {
                    if command.words.len() != 1 || !command.assignments.is_empty() || !command.redirects.is_empty() {
                        return Err(Unclear("a parenthesis stands inside of a command"));
                    }
                    // The body of the function comes next, as commands.
                    return self.empty_parentheses();
                }
                '<' | '>' if self.ahead(1) == Some('(') => command.words.push(self.word()?),
                '<' | '>' | '&' => {
                    redirected = true;
                    self.redirect(&mut command)?;
                }
                '0'..='9' if self.number_before_redirect() => {
                    redirected = true;
                    self.redirect(&mut command)?;
                }
                // No keyword here; but a shell writes what stands in `$(…)` anew before it runs it, with the
                // redirection behind, and then it is one.
                _ if redirected && before_words && self.keyword_follows() => {
                    return Err(Unclear("a keyword stands behind a redirection"));
                }
                _ => self.word_or_assignment(&mut command)?,
            }
        }
        let end = self.at.min(self.chars.len());
        command.source = self.chars[start..end].iter().collect::<String>().trim().to_owned();
        if !command.words.is_empty() || !command.assignments.is_empty() || !command.redirects.is_empty() {
            self.script.commands.push(command);
        }
        Ok(())
    }

    fn word_or_assignment(&mut self, command: &mut Command) -> Parsed<()> {
        let assigns = command.words.is_empty() && self.assignment_follows();
        let declares = || {
            let name = command.words.first().and_then(Word::known);
            matches!(
                name.as_deref(),
                Some("declare" | "export" | "local" | "readonly" | "typeset")
            )
        };
        if (command.words.is_empty() || declares()) && self.subscript_spans_words() {
            return Err(Unclear("a subscript cannot be read"));
        }
        let may_be_list = assigns || (declares() && self.assignment_follows());
        let mut word = self.word()?;
        if may_be_list && self.peek() == Some('(') && self.at > 0 && self.chars[self.at - 1] == '=' {
            self.at += 1;
            loop {
                self.blank_lines()?;
                match self.peek() {
                    Some(')') => break,
                    None => return Err(Unclear("a list is not closed")),
                    Some('<' | '>') if self.ahead(1) == Some('(') => {}
                    Some('&' | '|' | ';' | '(' | '<' | '>') => return Err(Unclear("a list cannot be read")),
                    Some(_) => {}
                }
                self.word()?;
            }
            self.at += 1;
            if self.peek().is_some_and(|c| !words::ends_word(c)) {
                return Err(Unclear("a list cannot be read"));
            }
            word.text.push_unknown();
        }
        if assigns {
            command.assignments.push(word.text);
        } else {
            command.words.push(word);
        }
        Ok(())
    }

    /// Whether `NAME=`, `NAME+=` or `NAME[…]=` comes next.
    fn assignment_follows(&self) -> bool {
        let rest = &self.chars[self.at..];
        let name = rest
            .iter()
            .take_while(|c| c.is_ascii_alphanumeric() || **c == '_')
            .count();
        if name == 0 || rest[0].is_ascii_digit() {
            return false;
        }
        let mut at = name;
        if rest.get(at) == Some(&'[') {
            let subscript = rest[at..].iter().take_while(|c| !matches!(c, ']' | '\n')).count();
            at += subscript + 1;
        }
        at += usize::from(rest.get(at) == Some(&'+'));
        rest.get(at) == Some(&'=')
    }

    /// Whether `NAME[` comes next whose `]` stands behind the end of the word: a shell reads up to it.
    fn subscript_spans_words(&self) -> bool {
        let rest = &self.chars[self.at..];
        let name = rest
            .iter()
            .take_while(|c| c.is_ascii_alphanumeric() || **c == '_')
            .count();
        if name == 0 || rest[0].is_ascii_digit() || rest.get(name) != Some(&'[') {
            return false;
        }
        let inside = rest[name + 1..]
            .iter()
            .take_while(|c| !words::ends_word(**c) && !matches!(c, ']' | '[' | '\'' | '"' | '\\' | '$' | '`'));
        rest.get(name + 1 + inside.count()) != Some(&']')
    }

    fn keyword_follows(&self) -> bool {
        self.plain_word().is_some_and(|word| KEYWORDS.contains(&word.as_str()))
    }

    fn number_before_redirect(&self) -> bool {
        let digits = self.chars[self.at..].iter().take_while(|c| c.is_ascii_digit()).count();
        matches!(self.ahead(digits), Some('<' | '>'))
    }
}
