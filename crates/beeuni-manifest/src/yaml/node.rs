//! The tree that a YAML text becomes.
use std::ops::Range;
use std::rc::Rc;

/// A line and a column in characters, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark {
    /// The line, from 1.
    pub(crate) line: usize,
    /// The column in characters, from 1.
    pub(crate) column: usize,
}

/// Why a text is no YAML tree at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    /// What is wrong and what to do.
    pub(crate) message: String,
    /// Where.
    pub(crate) mark: Mark,
}

impl Problem {
    pub(crate) fn new(message: impl Into<String>, mark: Mark) -> Self {
        Self {
            message: message.into(),
            mark,
        }
    }
}

/// A mistake that leaves the tree readable: a key given twice, a merge of something that is no map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The YAML path.
    pub(crate) path: String,
    /// What is wrong and what to do.
    pub(crate) message: String,
    /// Where.
    pub(crate) mark: Mark,
}

/// One parsed document.
#[derive(Debug)]
pub(crate) struct Document {
    /// `None` when the text has no document, or an empty one.
    pub(crate) root: Option<Rc<Node>>,
    /// What is wrong with the tree itself, in file order.
    pub(crate) faults: Vec<Fault>,
}

/// How a scalar is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Without quotes.
    Plain,
    /// `'…'`
    Single,
    /// `"…"`
    Double,
    /// `|` or `>`
    Block,
}

/// What a node is.
#[derive(Debug)]
pub(crate) enum Value {
    /// Text. A missing value is an empty plain scalar.
    Scalar {
        /// The text as YAML reads it, quotes and escapes resolved.
        text: String,
        /// How it is written.
        style: Style,
    },
    /// A list.
    List {
        /// Its items.
        items: Vec<Rc<Node>>,
    },
    /// A map.
    Map {
        /// Its own entries in order, merge keys among them, duplicates too.
        entries: Vec<Entry>,
        /// Written with braces.
        flow: bool,
        /// The column of its keys in characters, from 0 (of the `?` where there is one).
        indent: usize,
    },
    /// `*name`: the node that the anchor names.
    Alias(Rc<Node>),
}

/// One `key: value` of a map.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The key.
    pub(crate) key: Rc<Node>,
    /// The value.
    pub(crate) value: Rc<Node>,
}

/// A node and where it stands.
#[derive(Debug)]
pub(crate) struct Node {
    /// What it is.
    pub(crate) value: Value,
    /// Where its content begins, for findings.
    pub(crate) mark: Mark,
    /// The bytes of its content, without anchor and tag. Of an empty value an empty range behind
    /// the colon or, without one, behind the key; of a block scalar the text below the `|`.
    pub(crate) range: Range<usize>,
    /// Its tag, if any, with the prefix resolved.
    pub(crate) tag: Option<String>,
    /// How many nodes it stands for once aliases are followed.
    pub(super) weight: usize,
    /// How deep lists and maps nest in it once aliases are followed; 0 for a scalar.
    pub(super) depth: usize,
}

impl Node {
    /// The node itself, or the one that it is an alias of.
    pub(crate) fn inner(&self) -> &Node {
        match &self.value {
            Value::Alias(target) => target,
            _ => self,
        }
    }

    /// The text of a scalar, whatever type YAML would give it.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.inner().value {
            Value::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// The items of a list.
    pub(crate) fn items(&self) -> Option<&[Rc<Node>]> {
        match &self.inner().value {
            Value::List { items } => Some(items),
            _ => None,
        }
    }

    /// The entries of a map as written.
    pub(crate) fn entries(&self) -> Option<&[Entry]> {
        match &self.inner().value {
            Value::Map { entries, .. } => Some(entries),
            _ => None,
        }
    }

    /// Nothing is written here: `key:` and no value.
    pub(crate) fn is_absent(&self) -> bool {
        matches!(&self.value, Value::Scalar { text, style: Style::Plain } if text.is_empty())
    }
}
