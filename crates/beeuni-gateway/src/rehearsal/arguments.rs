//! The arguments of a call, in plain words: `{"city": "Berlin"}`, or `city Berlin and days 3`.

use super::lexer::{Token, is_name};
use super::parser::{Offered, Parser, REPORT};
use super::values::{Schema, Written, string};

impl<O: Offered> Parser<'_, O> {
    /// Reads the arguments that begin here; the JSON text of an object.
    pub(super) fn arguments(&mut self, schema: Schema<'_>) -> String {
        while self.is(
            self.at,
            &["the", "argument", "arguments", "parameter", "parameters", "input"],
        ) && !self.is_argument(self.at, schema)
        {
            self.at += 1;
        }
        if let Some(Token::Json(json)) = self.peek(0)
            && json.starts_with('{')
        {
            let json = json.clone();
            self.at += 1;
            return json;
        }
        let mut members = Vec::new();
        while let Some(name) = self.argument_name(schema) {
            let written = self.written(schema, &name);
            let value = schema.read(&name, &written);
            members.push(format!("{}:{value}", string(&name)));
            self.skip_joint(schema);
        }
        format!("{{{}}}", members.join(","))
    }

    fn argument_name(&mut self, schema: Schema<'_>) -> Option<String> {
        let start = self.at + usize::from(self.is(self.at, &["the"]) && !self.is_argument(self.at, schema));
        let (Token::Word(name) | Token::Quoted(name)) = self.tokens.get(start)? else {
            return None;
        };
        if !is_name(name) || self.ends_at(start, schema) {
            return None;
        }
        let name = name.clone();
        self.at = start + 1;
        if self.peek(0) == Some(&Token::Equals) || self.is(self.at, &["as"]) {
            self.at += 1;
        } else if self.is(self.at, &["set"]) && self.is(self.at + 1, &["to"]) {
            self.at += 2;
        }
        Some(name)
    }

    fn is_argument(&self, at: usize, schema: Schema<'_>) -> bool {
        matches!(self.tokens.get(at), Some(Token::Word(word)) if schema.has(word))
    }

    /// A value: quoted, JSON, or words up to where the next thing begins.
    fn written(&mut self, schema: Schema<'_>, name: &str) -> Written {
        match self.peek(0) {
            Some(Token::Quoted(text)) => {
                let text = text.clone();
                self.at += 1;
                return Written::Quoted(text);
            }
            Some(Token::Json(json)) => {
                let json = json.clone();
                self.at += 1;
                return Written::Json(json);
            }
            _ => {}
        }
        let mut text = String::new();
        while let Some(token) = self.peek(0) {
            let piece = match token {
                Token::Word(word) if text.is_empty() => word.clone(),
                _ if self.ends_at(self.at, schema) || self.pair_at(self.at) => break,
                Token::Comma if schema.is_list(name) && !self.joint_at(self.at, schema) => ",".to_owned(),
                Token::Comma => break,
                Token::Word(word) | Token::Quoted(word) => format!(" {word}"),
                Token::Json(json) => format!(" {json}"),
                Token::Equals => "=".to_owned(),
                Token::Stop => break,
            };
            text.push_str(&piece);
            self.at += 1;
        }
        Written::Bare(text)
    }

    /// Whether the arguments, or at least this value, end here.
    fn ends_at(&self, at: usize, schema: Schema<'_>) -> bool {
        let Some(token) = self.tokens.get(at) else { return true };
        *token == Token::Stop
            || token.is("then")
            || self.times(at).is_some()
            || self.parallel_marker(at).is_some()
            || self.joint_at(at, schema)
    }

    /// Whether `name=` or `name:` begins here: the next argument, without anything that joins it.
    fn pair_at(&self, at: usize) -> bool {
        let named = matches!(self.tokens.get(at), Some(Token::Word(word)) if is_name(word));
        named && self.tokens.get(at + 1) == Some(&Token::Equals)
    }

    /// Whether "and" or a comma joins the next argument, call or request to report here.
    fn joint_at(&self, at: usize, schema: Schema<'_>) -> bool {
        let mut next = at;
        while self.is(next, &["and", "then"]) || self.tokens.get(next) == Some(&Token::Comma) {
            next += 1;
        }
        if next == at {
            return false;
        }
        let report = self.is(next, &REPORT);
        let call = self.call_at(next, true).is_some();
        let named = next + usize::from(self.is(next, &["the"]));
        let argument = if schema.is_known() {
            self.is_argument(named, schema)
        } else {
            // Nothing says what the arguments are called: a name with something behind it is one.
            matches!(self.tokens.get(named), Some(Token::Word(word)) if is_name(word))
                && !self.is(named + 1, &["and"])
                && matches!(
                    self.tokens.get(named + 1),
                    Some(Token::Word(_) | Token::Quoted(_) | Token::Json(_) | Token::Equals)
                )
        };
        report || call || argument || next >= self.tokens.len()
    }

    /// Goes on to the next argument, when one follows.
    fn skip_joint(&mut self, schema: Schema<'_>) {
        let mut next = self.at;
        while self.is(next, &["and"]) || self.tokens.get(next) == Some(&Token::Comma) {
            next += 1;
        }
        let other = self.is(next, &REPORT) || self.is(next, &["then"]) || self.call_at(next, true).is_some();
        if next > self.at && !other && self.joint_at(self.at, schema) {
            self.at = next;
        }
    }
}
