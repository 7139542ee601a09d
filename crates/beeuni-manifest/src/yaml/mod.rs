//! YAML with positions: bytes to text, text to a tree of nodes, and nothing about what it means.
//!
//! Three promises: every node knows where it stands, in lines and in bytes; keys and scalars are the
//! text as written; a hostile file costs no more than its size.
mod assemble;
mod build;
mod decode;
mod explain;
mod fault;
mod merge;
mod node;
pub(crate) mod path;
mod repair;
mod scalar;
mod span;

pub(crate) use build::parse;
pub(crate) use decode::{TOO_LARGE, Text, decode};
pub(crate) use merge::Pair;
pub(crate) use node::{Document, Entry, Mark, Node, Problem, Style, Value};
pub(crate) use scalar::{Kind, plain as plain_kind};
pub(crate) use span::{after_colon, after_properties, skip_space};

/// The deepest nesting of lists and maps that is read, aliases followed.
pub(crate) const DEEPEST: usize = 64;
