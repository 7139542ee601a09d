//! The grammar: from an instruction in plain words to a plan of tool calls.

use super::lexer::{Token, is_name, tokens};
use super::plan::{Group, Plan, PlannedCall};
use super::values::Schema;

const VERBS: [&str; 4] = ["call", "use", "run", "invoke"];
/// What may follow the arguments: what to do with the output.
pub(super) const REPORT: [&str; 11] = [
    "print", "show", "return", "tell", "report", "give", "answer", "say", "repeat", "write", "quote",
];
const WITH: [&str; 3] = ["with", "using", "passing"];
const NUMBERS: [&str; 11] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
];
/// More calls of one kind than this would only fill the conversation.
const MOST_TIMES: usize = 50;

/// The offered tools, for what an instruction alone leaves open.
pub(super) trait Offered {
    /// Whether a tool of this name is offered.
    fn has(&self, name: &str) -> bool;
    /// The schema of its arguments; unknown for a tool that is not offered.
    fn schema(&self, name: &str) -> Schema<'_>;
}

/// Reads the calls that an instruction asks for. None: it is plain talk.
pub(super) fn plan(text: &str, offered: &impl Offered) -> Plan {
    let mut parser = Parser {
        tokens: tokens(text),
        at: 0,
        offered,
    };
    parser.plan()
}

/// Goes through the pieces of an instruction; `arguments.rs` reads what comes after "with".
pub(super) struct Parser<'a, O> {
    pub(super) tokens: Vec<Token>,
    pub(super) at: usize,
    offered: &'a O,
}

impl<O: Offered> Parser<'_, O> {
    fn plan(&mut self) -> Plan {
        let mut plan = Plan::default();
        let mut group = Group::default();
        while let Some(token) = self.peek(0) {
            if *token == Token::Stop || token.is("then") {
                group.close(&mut plan);
                self.at += 1;
            } else if let Some(length) = self.parallel_marker(self.at) {
                group.parallel = true;
                self.at += length;
            } else if let Some((name, after)) = self.call_at(self.at, !group.is_empty() || !plan.steps.is_empty()) {
                self.at = after;
                self.call(name, &mut group);
            } else {
                self.at += 1;
            }
        }
        group.close(&mut plan);
        plan
    }

    pub(super) fn peek(&self, ahead: usize) -> Option<&Token> {
        self.tokens.get(self.at + ahead)
    }

    pub(super) fn is(&self, at: usize, words: &[&str]) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is_any(words))
    }

    /// The name of the tool when a call begins here, and where it goes on.
    ///
    /// `call the NAME tool`, `call the tool NAME`; after a call (`going_on`) also `the NAME tool`. The
    /// word `tool` may be missing when the name is in quotes or offered.
    pub(super) fn call_at(&self, start: usize, going_on: bool) -> Option<(String, usize)> {
        let mut at = start;
        let verb = self.is(at, &VERBS);
        at += usize::from(verb);
        let article = self.is(at, &["the"]);
        at += usize::from(article);
        let tool_first = self.is(at, &["tool"]);
        at += usize::from(tool_first);
        let (name, quoted) = match self.tokens.get(at)? {
            Token::Word(name) if is_name(name) => (name, false),
            Token::Quoted(name) if is_name(name) => (name, true),
            _ => return None,
        };
        let tool_last = !tool_first && self.is(at + 1, &["tool"]);
        let sure = tool_first || tool_last || quoted || self.offered.has(name);
        let forbidden = start > 0 && self.is(start - 1, &["not", "never", "don't", "don’t"]);
        let begins = (verb && !forbidden) || (going_on && article && tool_last);
        (sure && begins).then(|| (name.clone(), at + 1 + usize::from(tool_last)))
    }

    /// What follows a tool's name: how often, with what.
    fn call(&mut self, tool: String, group: &mut Group) {
        let offered = self.offered;
        let schema = offered.schema(&tool);
        let mut times = 1;
        let mut arguments = "{}".to_owned();
        let mut anyway = false;
        while let Some(token) = self.peek(0) {
            if token.is_any(&WITH) {
                self.at += 1;
                arguments = self.arguments(schema);
            } else if let Some((number, length)) = self.times(self.at) {
                times = number.min(MOST_TIMES);
                self.at += length;
            } else if let Some(length) = self.parallel_marker(self.at) {
                group.parallel = true;
                self.at += length;
            } else if token.is("anyway") {
                anyway = true;
                self.at += 1;
            } else {
                break;
            }
        }
        let call = PlannedCall {
            tool,
            arguments,
            anyway,
        };
        group.push(call, times);
    }

    /// `once`, `twice`, `3 times`, `three times`.
    pub(super) fn times(&self, at: usize) -> Option<(usize, usize)> {
        let token = self.tokens.get(at)?;
        for (number, word) in [(1, "once"), (2, "twice"), (3, "thrice")] {
            if token.is(word) {
                return Some((number, 1));
            }
        }
        if !self.is(at + 1, &["times", "time"]) {
            return None;
        }
        let Token::Word(word) = token else { return None };
        let spelled = || NUMBERS.iter().position(|it| word.eq_ignore_ascii_case(it));
        Some((word.parse().ok().or_else(spelled)?, 2))
    }

    /// How many words it takes, when it begins here.
    pub(super) fn parallel_marker(&self, at: usize) -> Option<usize> {
        let matches = |words: &[&str]| {
            words
                .iter()
                .enumerate()
                .all(|(ahead, word)| self.is(at + ahead, &[word]))
        };
        let markers: [&[&str]; 5] = [
            &["at", "the", "same", "time"],
            &["in", "parallel"],
            &["at", "once"],
            &["simultaneously"],
            &["concurrently"],
        ];
        markers.into_iter().find(|words| matches(words)).map(<[&str]>::len)
    }
}
