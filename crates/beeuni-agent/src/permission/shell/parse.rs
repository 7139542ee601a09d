//! Takes a shell script apart into the commands that it may run.
//!
//! This is no shell: it looks for whatever a shell would run, and gives up (the script is then *unclear*) where it
//! is not certain. What it must never do is to take a command for data.

use super::redirects::Heredoc;
use super::script::Script;
use super::words;

/// How deep substitutions, groups and quotes may lie in each other.
const DEEPEST: usize = 40;

/// Words that mean something where a command begins, or where one of them asks for another.
pub(super) const KEYWORDS: &[&str] = &[
    "!", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in",
    "select", "then", "time", "until", "while", "{", "}",
];

/// A part that cannot be read: why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unclear(pub(super) &'static str);

pub(super) type Parsed<T> = Result<T, Unclear>;

/// Where a list of commands ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// With the text.
    End,
    /// At `)`, which is taken.
    Parenthesis,
    /// At `;;` or `esac`, which is left.
    CaseItem,
}

pub(super) struct Parser<'s> {
    pub(super) chars: Vec<char>,
    pub(super) at: usize,
    pub(super) script: &'s mut Script,
    pub(super) scope: usize,
    pub(super) depth: usize,
    pub(super) heredocs: Vec<Heredoc>,
    /// Where the last here-document ended.
    pub(super) heredoc_end: usize,
}

/// Takes `text` apart.
pub(crate) fn parse(text: &str) -> Script {
    let mut script = Script {
        scopes: vec![0],
        ..Script::default()
    };
    if text.contains('\0') {
        script.unclear = Some("it holds a NUL character");
        return script;
    }
    if let Err(Unclear(why)) = Parser::on(text, &mut script, 0, 0).list(Until::End) {
        script.unclear = Some(why);
    }
    script
}

impl<'s> Parser<'s> {
    pub(super) fn on(text: &str, script: &'s mut Script, scope: usize, depth: usize) -> Self {
        Self {
            chars: text.chars().collect(),
            at: 0,
            script,
            scope,
            depth,
            heredocs: Vec::new(),
            heredoc_end: 0,
        }
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    pub(super) fn ahead(&self, by: usize) -> Option<char> {
        self.chars.get(self.at + by).copied()
    }

    pub(super) fn follows(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(by, c)| self.ahead(by) == Some(c))
    }

    /// Goes one level deeper while `inner` runs.
    pub(super) fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= DEEPEST {
            return Err(Unclear("it is nested too deeply"));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// The commands up to `)`, in a scope of their own.
    pub(super) fn subshell(&mut self) -> Parsed<()> {
        let outer = self.scope;
        self.script.scopes.push(outer);
        self.scope = self.script.scopes.len() - 1;
        let pending = self.heredocs.len();
        let result = self.deeper(|parser| parser.list(Until::Parenthesis));
        self.scope = outer;
        if self.heredocs.len() > pending {
            return Err(Unclear("a here-document begins inside of parentheses and ends outside"));
        }
        result
    }

    /// The commands of `$(…)`, `<(…)` or `>(…)` behind the parenthesis.
    pub(super) fn substitution(&mut self) -> Parsed<()> {
        let start = self.at;
        self.subshell()?;
        let end = self.at - 1;
        // A shell writes these commands anew before it runs them, and what it writes of a here-document with more
        // commands behind it is not always the same.
        if self.heredoc_end > start
            && !self.chars[self.heredoc_end.min(end)..end]
                .iter()
                .all(|c| c.is_whitespace())
        {
            return Err(Unclear("commands stand behind a here-document inside of parentheses"));
        }
        Ok(())
    }

    pub(super) fn list(&mut self, until: Until) -> Parsed<()> {
        let mut piped = false;
        loop {
            self.blanks();
            let Some(c) = self.peek() else {
                return match until {
                    Until::End => Ok(()),
                    Until::Parenthesis => Err(Unclear("a parenthesis is not closed")),
                    Until::CaseItem => Err(Unclear("`case` is not closed by `esac`")),
                };
            };
            match c {
                '\n' => {
                    self.newline()?;
                    continue;
                }
                ';' if matches!(self.ahead(1), Some(';' | '&')) => {
                    return if until == Until::CaseItem {
                        Ok(())
                    } else {
                        Err(Unclear("`;;` stands outside of `case`"))
                    };
                }
                '&' if self.ahead(1) == Some('>') => self.simple()?,
                ';' | '&' | '|' => {
                    piped = c == '|' && self.ahead(1) != Some('|');
                    self.at += if self.follows("||") || self.follows("|&") { 2 } else { 1 };
                    continue;
                }
                ')' if until == Until::Parenthesis => {
                    self.at += 1;
                    return Ok(());
                }
                ')' => return Err(Unclear("a parenthesis is closed that was not opened")),
                '(' if self.ahead(1) == Some('(') => {
                    self.at += 2;
                    self.arithmetic()?;
                    self.harmless("((");
                }
                '(' => {
                    self.at += 1;
                    self.subshell()?;
                }
                _ => {
                    if piped && self.plain_word().as_deref() == Some("time") {
                        // Behind `|` it is a program, not the keyword.
                        self.simple()?;
                    } else if self.reserved_or_command(until)? {
                        return Ok(());
                    }
                }
            }
            piped = false;
        }
    }

    /// A keyword and what belongs to it, or a command. True at the `esac` that ends an item.
    fn reserved_or_command(&mut self, until: Until) -> Parsed<bool> {
        let Some(word) = self.plain_word() else {
            self.simple()?;
            return Ok(false);
        };
        match word.as_str() {
            "esac" if until == Until::CaseItem => return Ok(true),
            "esac" => return Err(Unclear("`esac` stands outside of `case`")),
            "coproc" => return Err(Unclear("it uses `coproc`")),
            // What comes next is in the place of a command again.
            "if" | "then" | "elif" | "else" | "fi" | "while" | "until" | "do" | "done" | "!" | "{" | "}" => {
                self.at += word.len();
            }
            "time" => {
                self.at += word.len();
                self.blanks();
                while self.plain_word().is_some_and(|option| option == "-p" || option == "--") {
                    self.at += 2;
                    self.blanks();
                }
            }
            "for" | "select" => self.deeper(Self::for_loop)?,
            "case" => self.deeper(Self::case)?,
            "[[" => self.condition()?,
            "function" => {
                self.at += word.len();
                self.blanks();
                self.word()?;
                self.blanks();
                if self.peek() == Some('(') {
                    self.empty_parentheses()?;
                }
            }
            _ => self.simple()?,
        }
        Ok(false)
    }

    /// Spaces, tabs, joined lines and comments.
    pub(super) fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(' ' | '\t') => self.at += 1,
                Some('\\') if self.ahead(1) == Some('\n') => self.at += 2,
                Some('#') => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    pub(super) fn blank_lines(&mut self) -> Parsed<()> {
        loop {
            self.blanks();
            if self.peek() != Some('\n') {
                return Ok(());
            }
            self.newline()?;
        }
    }

    /// The next word when it has no quote, no expansion and no escape.
    pub(super) fn plain_word(&self) -> Option<String> {
        let rest = &self.chars[self.at.min(self.chars.len())..];
        let word: String = rest.iter().take_while(|c| !words::ends_word(**c)).collect();
        let plain = !word.is_empty() && !word.contains(['\'', '"', '\\', '$', '`']);
        (plain && word.is_ascii()).then_some(word)
    }
}
