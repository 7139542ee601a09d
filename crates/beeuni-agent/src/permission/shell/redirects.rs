//! Redirections of a shell script, and the here-documents that some of them begin.

use super::parse::{Parsed, Parser, Unclear};
use super::script::{Command, Redirect};
use super::words;

/// A here-document whose text has not come yet.
pub(super) struct Heredoc {
    delimiter: String,
    expands: bool,
    tabs: bool,
}

impl Parser<'_> {
    pub(super) fn redirect(&mut self, command: &mut Command) -> Parsed<()> {
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
        // Longest first.
        const OPERATORS: [&str; 12] = ["&>>", "<<<", "<<-", "<<", "<&", "<>", ">>", ">&", ">|", "&>", "<", ">"];
        let Some(operator) = OPERATORS.iter().find(|operator| self.follows(operator)) else {
            return Err(Unclear("a redirection cannot be read"));
        };
        self.at += operator.len();
        if operator.ends_with('&') && self.peek() == Some('-') {
            // `>&-` closes, and what comes next is another word even without a space.
            self.at += 1;
            return Ok(());
        }
        self.blanks();
        if *operator == "<<" || *operator == "<<-" {
            let (delimiter, quoted) = self.delimiter()?;
            self.heredocs.push(Heredoc {
                delimiter,
                expands: !quoted,
                tabs: *operator == "<<-",
            });
            return Ok(());
        }
        let before = self.at;
        let target = self.word()?;
        if self.at == before {
            return Err(Unclear("a redirection has no file"));
        }
        let duplicates = operator.ends_with('&')
            && target
                .known()
                .is_some_and(|text| text.trim_end_matches('-').chars().all(|c| c.is_ascii_digit()));
        if *operator != "<<<" && !duplicates {
            command.redirects.push(Redirect {
                writes: !matches!(*operator, "<" | "<&"),
                target,
            });
        }
        Ok(())
    }

    /// The word that ends a here-document, and whether it is quoted.
    fn delimiter(&mut self) -> Parsed<(String, bool)> {
        let (mut delimiter, mut quoted) = (String::new(), false);
        while let Some(c) = self.peek() {
            match c {
                // It is part of the word, and its text is the end's.
                '<' | '>' if self.ahead(1) == Some('(') => {
                    return Err(Unclear("the end of a here-document cannot be read"));
                }
                _ if words::ends_word(c) => break,
                '\'' | '"' => {
                    quoted = true;
                    self.at += 1;
                    while self
                        .peek()
                        .is_some_and(|inner| inner != c && !matches!(inner, '\\' | '$' | '`'))
                    {
                        delimiter.extend(self.peek());
                        self.at += 1;
                    }
                    if self.peek() != Some(c) {
                        return Err(Unclear("the end of a here-document cannot be read"));
                    }
                }
                '\\' => {
                    quoted = true;
                    self.at += 1;
                    match self.peek() {
                        Some(escaped) if escaped != '\n' => delimiter.push(escaped),
                        _ => return Err(Unclear("the end of a here-document cannot be read")),
                    }
                }
                '$' | '`' => return Err(Unclear("the end of a here-document cannot be read")),
                _ => delimiter.push(c),
            }
            self.at += 1;
        }
        if delimiter.is_empty() && !quoted {
            return Err(Unclear("a here-document has no end"));
        }
        Ok((delimiter, quoted))
    }

    /// Takes a line's end, and the here-documents that begin behind it.
    pub(super) fn newline(&mut self) -> Parsed<()> {
        self.at += 1;
        for heredoc in std::mem::take(&mut self.heredocs) {
            let mut body = String::new();
            while self.at < self.chars.len() {
                let line = self.heredoc_line(heredoc.expands);
                let stripped = if heredoc.tabs {
                    line.trim_start_matches('\t')
                } else {
                    &line
                };
                if stripped == heredoc.delimiter {
                    break;
                }
                body.push_str(stripped);
                body.push('\n');
            }
            if heredoc.expands {
                let (scope, depth) = (self.scope, self.depth);
                let mut inner = Parser::on(&body, self.script, scope, depth);
                inner.deeper(Parser::expansions)?;
            }
            self.heredoc_end = self.at;
        }
        Ok(())
    }

    /// A line of a here-document. Where it expands, a backslash at a line's end joins it with the next one, even
    /// when that makes the end of the document.
    fn heredoc_line(&mut self, joins: bool) -> String {
        let mut line = String::new();
        while let Some(c) = self.peek() {
            self.at += 1;
            match c {
                '\n' => break,
                '\\' if joins => match self.peek() {
                    Some('\n') => self.at += 1,
                    next => {
                        line.push(c);
                        line.extend(next);
                        self.at += usize::from(next.is_some());
                    }
                },
                _ => line.push(c),
            }
        }
        line
    }
}
