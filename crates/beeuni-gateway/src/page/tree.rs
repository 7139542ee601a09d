//! A page as a tree, and the few things that are done with one. Nothing here recurses: pages may be
//! nested deeper than any stack.

use std::rc::Rc;

use html5ever::serialize::{SerializeOpts, TraversalScope, serialize};
use html5ever::tendril::TendrilSink;
use html5ever::{ParseOpts, parse_document};
use markup5ever_rcdom::{NodeData, RcDom, SerializableHandle};

/// A node: an element, a text, or the document.
pub(super) type Node = Rc<markup5ever_rcdom::Node>;

/// Parses a page.
pub(super) fn parse(html: &str) -> Node {
    parse_document(RcDom::default(), ParseOpts::default())
        .one(html)
        .document
}

/// Every node below this one, in the order of the page, with its depth.
pub(super) fn walk(root: &Node) -> impl Iterator<Item = (Node, usize)> {
    let mut waiting = vec![(Rc::clone(root), 0)];
    std::iter::from_fn(move || {
        let (node, depth) = waiting.pop()?;
        let children = node.children.borrow();
        waiting.extend(children.iter().rev().map(|child| (Rc::clone(child), depth + 1)));
        drop(children);
        Some((node, depth))
    })
}

/// The name of an element; empty for anything else.
pub(super) fn tag(node: &Node) -> &str {
    match &node.data {
        NodeData::Element { name, .. } => &name.local,
        _ => "",
    }
}

/// An attribute of an element.
pub(super) fn attribute(node: &Node, name: &str) -> Option<String> {
    let NodeData::Element { attrs, .. } = &node.data else {
        return None;
    };
    let attrs = attrs.borrow();
    attrs
        .iter()
        .find(|it| &*it.name.local == name)
        .map(|it| it.value.to_string())
}

/// Changes an attribute that is there; `None` takes it away.
pub(super) fn change_attribute(node: &Node, name: &str, value: Option<&str>) {
    if let NodeData::Element { attrs, .. } = &node.data {
        let mut attrs = attrs.borrow_mut();
        match value {
            None => attrs.retain(|it| &*it.name.local != name),
            Some(value) => attrs
                .iter_mut()
                .filter(|it| &*it.name.local == name)
                .for_each(|it| it.value = value.into()),
        }
    }
}

/// The text of everything inside.
pub(super) fn text(node: &Node) -> String {
    let mut text = String::new();
    for (node, _) in walk(node) {
        match &node.data {
            NodeData::Text { contents } => text.push_str(&contents.borrow()),
            NodeData::Element { .. } if tag(&node) == "br" => text.push('\n'),
            _ => {}
        }
    }
    text
}

/// Takes out every element below that is unwanted.
pub(super) fn remove(root: &Node, unwanted: impl Fn(&Node) -> bool) {
    let mut waiting = vec![Rc::clone(root)];
    while let Some(node) = waiting.pop() {
        let mut children = node.children.borrow_mut();
        children.retain(|child| !unwanted(child));
        waiting.extend(children.iter().map(Rc::clone));
    }
}

/// The first element of this name.
pub(super) fn find(root: &Node, name: &str) -> Option<Node> {
    walk(root).map(|(node, _)| node).find(|node| tag(node) == name)
}

/// The HTML of everything inside.
pub(super) fn inner_html(node: &Node) -> String {
    let mut html = Vec::new();
    let options = SerializeOpts {
        traversal_scope: TraversalScope::ChildrenOnly(None),
        ..SerializeOpts::default()
    };
    let handle = SerializableHandle::from(Rc::clone(node));
    match serialize(&mut html, &handle, options) {
        Ok(()) => String::from_utf8_lossy(&html).trim().to_owned(),
        // Writing into memory does not fail.
        Err(_) => String::new(),
    }
}
