//! Collecting findings, and nodes that know their file and path so that a finding can name them.
use std::collections::HashMap;
use std::rc::Rc;

use crate::issue::{Issue, Place, Severity};
use crate::names::Hints;
use crate::yaml::{Mark, Node, Style, Value, path};

/// A place that a finding can stand at.
#[derive(Debug, Clone)]
pub(crate) struct Spot {
    /// The file, repo-relative.
    pub(crate) file: Rc<str>,
    /// The YAML path.
    pub(crate) path: String,
    /// Line and column.
    pub(crate) mark: Mark,
}

impl Spot {
    /// The beginning of `file`.
    pub(crate) fn top(file: &Rc<str>) -> Self {
        Self {
            file: Rc::clone(file),
            path: String::new(),
            mark: Mark { line: 1, column: 1 },
        }
    }

    /// The same place under the path of the key `name`.
    pub(crate) fn key(&self, name: &str) -> Self {
        Self {
            path: path::key(&self.path, name),
            ..self.clone()
        }
    }

    /// The place as callers see it.
    pub(crate) fn place(&self) -> Place {
        Place {
            file: self.file.to_string(),
            line: self.mark.line,
            column: self.mark.column,
        }
    }
}

/// A node and the place where a finding about it stands.
#[derive(Debug, Clone)]
pub(crate) struct At<'n> {
    /// The node.
    pub(crate) node: &'n Node,
    /// Its place; of an empty value that of its key.
    pub(crate) spot: Spot,
}

/// One entry of a map.
#[derive(Debug)]
pub(crate) struct Field<'n> {
    /// The key's text as written.
    pub(crate) name: &'n str,
    /// Where the key stands.
    pub(crate) key: Spot,
    /// The value.
    pub(crate) value: At<'n>,
}

impl<'n> At<'n> {
    /// The root node of `file`.
    pub(crate) fn root(file: &Rc<str>, node: &'n Node) -> Self {
        Self {
            node,
            spot: Spot {
                mark: node.mark,
                ..Spot::top(file)
            },
        }
    }

    /// The entries of a map, merge keys resolved. `None` when it is no map.
    pub(crate) fn fields(&self) -> Option<Vec<Field<'n>>> {
        let pairs = self.node.pairs()?;
        let field = |pair: crate::yaml::Pair<'n>| {
            let key = Spot {
                mark: pair.key.mark,
                ..self.spot.key(pair.name)
            };
            // Of a text below a `|` the key is the better place to look at.
            let block = matches!(
                pair.value.value,
                Value::Scalar {
                    style: Style::Block,
                    ..
                }
            );
            let mark = if block || pair.value.is_absent() {
                pair.key.mark
            } else {
                pair.value.mark
            };
            let spot = Spot { mark, ..key.clone() };
            Field {
                name: pair.name,
                key,
                value: At { node: pair.value, spot },
            }
        };
        Some(pairs.into_iter().map(field).collect())
    }

    /// The items of a list. `None` when it is no list.
    pub(crate) fn items(&self) -> Option<Vec<At<'n>>> {
        let items = self.node.items()?.iter().enumerate();
        Some(
            items
                .map(|(index, node)| {
                    let path = path::item(&self.spot.path, index);
                    At {
                        node,
                        spot: Spot {
                            file: Rc::clone(&self.spot.file),
                            path,
                            mark: node.mark,
                        },
                    }
                })
                .collect(),
        )
    }
}

/// Every finding so far.
#[derive(Debug)]
pub(crate) struct Findings {
    issues: Vec<Issue>,
    /// For "did you mean".
    pub(crate) hints: Hints,
}

impl Findings {
    pub(crate) fn new() -> Self {
        Self {
            issues: Vec::new(),
            hints: Hints::new(),
        }
    }

    /// Adds a finding that blocks.
    pub(crate) fn error(&mut self, spot: &Spot, message: impl Into<String>) {
        self.add(Severity::Error, spot, message.into());
    }

    /// Adds a finding that does not block.
    pub(crate) fn warn(&mut self, spot: &Spot, message: impl Into<String>) {
        self.add(Severity::Warning, spot, message.into());
    }

    fn add(&mut self, severity: Severity, spot: &Spot, message: String) {
        self.issues.push(Issue {
            path: spot.path.clone(),
            message,
            severity,
            place: spot.place(),
        });
    }

    /// All findings: files in the order of `files`, others after them, then line and column.
    pub(crate) fn sorted<'f>(mut self, files: impl IntoIterator<Item = &'f str>) -> Vec<Issue> {
        let mut ranks = HashMap::new();
        for (rank, file) in files.into_iter().enumerate() {
            ranks.entry(file).or_insert(rank);
        }
        let rank = |file: &str| ranks.get(file).copied().unwrap_or(usize::MAX);
        self.issues.sort_by(|a, b| {
            let place = |issue: &Issue| (rank(&issue.place.file), issue.place.line, issue.place.column);
            place(a).cmp(&place(b))
        });
        self.issues
    }
}
