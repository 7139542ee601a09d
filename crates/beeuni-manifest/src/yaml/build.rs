//! From the parser's events to the tree.
use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};

use super::assemble::{Assembly, Begin, Content};
use super::decode::unprintable;
use super::explain::{explain, tab_problem};
use super::node::{Document, Problem, Style};
use super::repair::Repaired;
use super::span::{Offsets, Place, after_properties, end_of_quoted, leading_tab, skip_space};

/// Reads one document.
///
/// `text` has no byte order mark; [`decode`](super::decode()) bounds its size.
pub(crate) fn parse(text: &str) -> Result<Document, Problem> {
    if let Some(problem) = unprintable(text) {
        return Err(problem);
    }
    let mut repaired = Repaired::new(text);
    loop {
        match Builder::new(text, &repaired).run() {
            Ok(document) => return Ok(document),
            Err(Failure::Problem(problem)) => return Err(problem),
            Err(Failure::Bracket(at, problem)) => {
                if !repaired.indent_bracket(at) {
                    return Err(problem);
                }
            }
        }
    }
}

/// Why a pass over the text ended early.
enum Failure {
    /// It is wrong.
    Problem(Problem),
    /// The closing bracket at this character is indented less than YAML asks for.
    Bracket(usize, Problem),
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

struct Builder<'t> {
    text: &'t str,
    repaired: &'t Repaired<'t>,
    offsets: Offsets<'t>,
    assembly: Assembly<'t>,
    documents: usize,
}

impl<'t> Builder<'t> {
    fn new(text: &'t str, repaired: &'t Repaired<'t>) -> Self {
        Self {
            text,
            repaired,
            offsets: Offsets::new(text, repaired),
            assembly: Assembly::new(text),
            documents: 0,
        }
    }

    fn run(mut self) -> Result<Document, Failure> {
        let mut parser = Parser::new_from_str(self.repaired.text());
        while let Some(next) = parser.next_event() {
            match next {
                Ok((event, span)) => self.event(event, span)?,
                Err(error) => {
                    let Place { byte, char, .. } = self.offsets.place(error.marker());
                    let problem = explain(self.text, &error, byte, self.assembly.innermost_bracket());
                    let closes = matches!(self.text.as_bytes().get(byte), Some(b']' | b'}'));
                    return Err(if closes && error.info() == "invalid indentation" {
                        Failure::Bracket(char, problem)
                    } else {
                        Failure::Problem(problem)
                    });
                }
            }
        }
        Ok(self.assembly.document())
    }

    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), Problem> {
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    let mark = self.offsets.place(&span.start).mark;
                    let message = "a second document begins here: a file holds one, so remove the extra `---`, \
                                   or move what follows to a file of its own";
                    return Err(Problem::new(message, mark));
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let absent = text.is_empty() && style == ScalarStyle::Plain;
                let begin = self.begin(span, anchor, tag.as_deref(), absent)?;
                let last = self.offsets.place(&span.end).byte;
                let (style, end) = match style {
                    ScalarStyle::Plain => (Style::Plain, last),
                    ScalarStyle::SingleQuoted => (Style::Single, end_of_quoted(self.text, begin.byte)),
                    ScalarStyle::DoubleQuoted => (Style::Double, end_of_quoted(self.text, begin.byte)),
                    ScalarStyle::Literal | ScalarStyle::Folded => (Style::Block, last),
                };
                self.assembly.scalar(begin, text.into_owned(), style, end);
            }
            Event::SequenceStart(anchor, tag) => {
                let begin = self.begin(span, anchor, tag.as_deref(), false)?;
                self.assembly.open(begin, Content::list())?;
            }
            Event::MappingStart(anchor, tag) => {
                let begin = self.begin(span, anchor, tag.as_deref(), false)?;
                // An anchor may stand on the line above: the column is that of the map's own token.
                let indent = self.offsets.place(&span.end).mark.column - 1;
                self.assembly.open(begin, Content::map(indent))?;
            }
            Event::SequenceEnd => {
                let end = self.closing(span, b']');
                self.assembly.close(end);
            }
            Event::MappingEnd => {
                let end = self.closing(span, b'}');
                self.assembly.close(end);
            }
            Event::Alias(id) => {
                let Place { byte, mark, .. } = self.offsets.place(&span.start);
                let end = self.offsets.place(&span.end).byte;
                let end = byte + self.text[byte..end].trim_end().len();
                self.assembly.alias(
                    id,
                    Begin {
                        mark,
                        byte,
                        anchor: 0,
                        tag: None,
                    },
                    end,
                )?;
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
        Ok(())
    }

    /// Where the node of `span` begins once its anchor and tag are past.
    fn begin(&mut self, span: Span, anchor: usize, tag: Option<&Tag>, absent: bool) -> Result<Begin, Problem> {
        let Place { mut byte, mut mark, .. } = self.offsets.place(&span.start);
        if anchor > 0 || tag.is_some() {
            if absent {
                byte = self.offsets.place(&span.end).byte;
            } else {
                let begin = after_properties(self.text, byte);
                mark = mark.after(&self.text[byte..begin]);
                byte = begin;
            }
        }
        if !absent && let Some(tab) = leading_tab(self.text, byte) {
            return Err(tab_problem(self.text, tab));
        }
        let tag = tag.map(|tag| format!("{}{}", tag.handle, tag.suffix));
        Ok(Begin {
            mark,
            byte,
            anchor,
            tag,
        })
    }

    /// The byte after the `bracket` that ends a list or map; `None` when it has none.
    fn closing(&mut self, span: Span, bracket: u8) -> Option<usize> {
        // The end of a block has no width, or is some other token.
        if span.is_empty() {
            return None;
        }
        let mut at = self.offsets.place(&span.start).byte;
        if self.text.as_bytes().get(at) == Some(&b',') {
            // Of a map that ends with a comma the parser gives the place of the comma.
            at = skip_space(self.text, at + 1);
        }
        (self.text.as_bytes().get(at) == Some(&bracket)).then_some(at + 1)
    }
}

#[cfg(test)]
mod tests;
