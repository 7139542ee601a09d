//! Putting nodes together: what is open, what is named, how much it all stands for, and keys given
//! twice.
use std::collections::HashMap;
use std::rc::Rc;

use super::explain::OpenBracket;
use super::fault::{key_fault, merge_fault};
use super::node::{Document, Entry, Fault, Mark, Node, Problem, Style, Value};
use super::scalar::Kind;
use super::span::after_colon;
use super::{DEEPEST, path};

/// How many nodes aliases may stand for in one file, all together.
const MOST_COPIES: usize = 100_000;

/// Where a node begins and what stands before its content.
pub(super) struct Begin {
    pub(super) mark: Mark,
    pub(super) byte: usize,
    /// The parser's number of its anchor, 0 for none.
    pub(super) anchor: usize,
    pub(super) tag: Option<String>,
}

/// What a list or map holds so far.
pub(super) enum Content {
    List {
        items: Vec<Rc<Node>>,
    },
    Map {
        entries: Vec<Entry>,
        key: Option<Rc<Node>>,
        seen: HashMap<String, usize>,
        indent: usize,
    },
}

impl Content {
    pub(super) fn list() -> Self {
        Self::List { items: Vec::new() }
    }

    pub(super) fn map(indent: usize) -> Self {
        Self::Map {
            entries: Vec::new(),
            key: None,
            seen: HashMap::new(),
            indent,
        }
    }
}

/// A list or map whose end has not come yet.
struct Open {
    begin: Begin,
    content: Content,
}

/// The size of a node once aliases are followed.
#[derive(Clone, Copy)]
struct Size {
    weight: usize,
    depth: usize,
}

/// The tree as far as it has come.
pub(super) struct Assembly<'t> {
    text: &'t str,
    open: Vec<Open>,
    root: Option<Rc<Node>>,
    anchors: HashMap<usize, Rc<Node>>,
    copies: usize,
    faults: Vec<Fault>,
}

impl<'t> Assembly<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            text,
            open: Vec::new(),
            root: None,
            anchors: HashMap::new(),
            copies: 0,
            faults: Vec::new(),
        }
    }

    /// The finished tree.
    pub(super) fn document(mut self) -> Document {
        self.faults.sort_by_key(|fault| fault.mark);
        // `---` and nothing after it is as empty as no text at all.
        let root = self.root.filter(|root| root.kind() != Kind::Null);
        Document {
            root,
            faults: self.faults,
        }
    }

    /// The innermost list or map in brackets that is still open.
    pub(super) fn innermost_bracket(&self) -> Option<OpenBracket> {
        self.open.iter().rev().find_map(|open| {
            let bracket = *self.text.as_bytes().get(open.begin.byte)?;
            matches!(bracket, b'[' | b'{').then_some(OpenBracket {
                bracket,
                mark: open.begin.mark,
            })
        })
    }

    pub(super) fn scalar(&mut self, begin: Begin, text: String, style: Style, end: usize) {
        // A long text weighs more: an alias of it costs whoever reads it as much as a list would.
        let weight = 1 + text.len() / 100;
        self.finish(begin, Value::Scalar { text, style }, end, Size { weight, depth: 0 });
    }

    /// Begins a list or map.
    pub(super) fn open(&mut self, begin: Begin, content: Content) -> Result<(), Problem> {
        if self.open.len() >= DEEPEST {
            return Err(too_deep(begin.mark));
        }
        self.open.push(Open { begin, content });
        Ok(())
    }

    /// Ends the innermost list or map, at the byte after its bracket if it has one.
    pub(super) fn close(&mut self, bracket: Option<usize>) {
        let Some(Open { begin, content }) = self.open.pop() else {
            return;
        };
        let mut size = Size { weight: 1, depth: 0 };
        let mut last = begin.byte;
        let mut count = |node: &Node| {
            size.weight = size.weight.saturating_add(node.weight);
            size.depth = size.depth.max(node.depth);
            last = last.max(node.range.end);
        };
        let value = match content {
            Content::List { items } => {
                items.iter().for_each(|item| count(item));
                Value::List { items }
            }
            Content::Map { entries, indent, .. } => {
                for entry in &entries {
                    count(&entry.key);
                    count(&entry.value);
                }
                Value::Map {
                    entries,
                    flow: bracket.is_some(),
                    indent,
                }
            }
        };
        size.depth += 1;
        self.finish(begin, value, bracket.unwrap_or(last), size);
    }

    /// Adds an alias of the anchor that the parser calls `id`.
    pub(super) fn alias(&mut self, id: usize, begin: Begin, end: usize) -> Result<(), Problem> {
        let mark = begin.mark;
        let Some(target) = self.anchors.get(&id).cloned() else {
            let message = "an alias inside the very list or map that it names: a text cannot contain itself";
            return Err(Problem::new(message, mark));
        };
        self.copies = self.copies.saturating_add(target.weight);
        if self.copies > MOST_COPIES {
            let message = format!("the aliases of this file stand for more than {MOST_COPIES} nodes: write fewer");
            return Err(Problem::new(message, mark));
        }
        if self.open.len() + target.depth > DEEPEST {
            return Err(too_deep(mark));
        }
        let size = Size {
            weight: target.weight.saturating_add(1),
            depth: target.depth,
        };
        self.finish(begin, Value::Alias(target), end, size);
        Ok(())
    }

    /// Makes the node and hands it to the list or map that is open.
    fn finish(&mut self, begin: Begin, value: Value, end: usize, size: Size) {
        let Begin {
            mark,
            byte,
            anchor,
            tag,
        } = begin;
        let mut range = byte..end.max(byte);
        let absent = matches!(&value, Value::Scalar { text, style: Style::Plain } if text.is_empty());
        if absent
            && anchor == 0
            && tag.is_none()
            && let Some(key) = self.pending_key()
        {
            // The parser gives the place of whatever comes next.
            let at = after_colon(self.text, key.range.end).unwrap_or(key.range.end);
            range = at..at;
        }
        let node = Rc::new(Node {
            value,
            mark,
            range,
            tag,
            weight: size.weight,
            depth: size.depth,
        });
        if anchor > 0 {
            self.anchors.insert(anchor, Rc::clone(&node));
        }
        let Some(Open { content, .. }) = self.open.last_mut() else {
            self.root = Some(node);
            return;
        };
        let fault = match content {
            Content::List { items } => {
                items.push(node);
                None
            }
            Content::Map {
                entries,
                key: pending,
                seen,
                ..
            } => match pending.take() {
                None => {
                    let fault = key_fault(seen, &node);
                    *pending = Some(node);
                    fault
                }
                Some(key) => {
                    let entry = Entry { key, value: node };
                    let fault = merge_fault(&entry);
                    entries.push(entry);
                    fault
                }
            },
        };
        if let Some(mut fault) = fault {
            // A key that is no text has no name to add to the path.
            let base = self.path();
            fault.path = if fault.path.is_empty() {
                base
            } else {
                path::key(&base, &fault.path)
            };
            self.faults.push(fault);
        }
    }

    /// The key whose value comes next.
    fn pending_key(&self) -> Option<&Node> {
        match &self.open.last()?.content {
            Content::Map { key, .. } => key.as_deref(),
            Content::List { .. } => None,
        }
    }

    /// The path of the innermost open list or map.
    fn path(&self) -> String {
        let outer = self.open.len().saturating_sub(1);
        self.open[..outer]
            .iter()
            .fold(String::new(), |base, open| match &open.content {
                Content::List { items } => path::item(&base, items.len()),
                Content::Map { key, .. } => {
                    path::key(&base, key.as_ref().and_then(|key| key.text()).unwrap_or_default())
                }
            })
    }
}

fn too_deep(mark: Mark) -> Problem {
    Problem::new(format!("nested more than {DEEPEST} levels deep: flatten it"), mark)
}
