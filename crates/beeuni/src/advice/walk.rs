//! Every schema inside a schema, with its path.
use serde_json::{Map, Value};

/// A schema inside the parameters.
pub(super) struct Node<'a> {
    /// `parameters.properties.tags.items`.
    pub(super) path: String,
    /// The schema.
    pub(super) schema: &'a Map<String, Value>,
    /// Whether it is the whole of the parameters.
    pub(super) root: bool,
    /// How many objects and arrays are around it.
    pub(super) depth: usize,
}

impl<'a> Node<'a> {
    /// The keyword's value.
    pub(super) fn get(&self, keyword: &str) -> Option<&'a Value> {
        self.schema.get(keyword)
    }

    /// Whether `type` says this, alone or among others.
    pub(super) fn is(&self, kind: &str) -> bool {
        match self.get("type") {
            Some(Value::String(found)) => found == kind,
            Some(Value::Array(all)) => all.iter().any(|found| found == kind),
            _ => false,
        }
    }

    /// Whether the schema has the keyword.
    pub(super) fn has(&self, keyword: &str) -> bool {
        self.schema.contains_key(keyword)
    }
}

/// Keywords whose value is one schema.
const ONE: &[&str] = &[
    "items",
    "not",
    "if",
    "then",
    "else",
    "additionalProperties",
    "contains",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
    "additionalItems",
];
/// Keywords whose value is a list of schemas. `items` was one in older drafts.
const MANY: &[&str] = &["anyOf", "oneOf", "allOf", "prefixItems", "items"];
/// Keywords whose value is a map of schemas.
const NAMED: &[&str] = &[
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
];
/// Deeper than any provider takes, and no deeper than the stack.
const DEEPEST: usize = 120;

/// Shows every schema of `parameters` to `visit`, the outer before the inner, in their order.
pub(super) fn walk<'a>(parameters: &'a Value, visit: &mut dyn FnMut(&Node<'a>)) {
    if let Value::Object(schema) = parameters {
        enter(
            Node {
                path: "parameters".to_owned(),
                schema,
                root: true,
                depth: 0,
            },
            visit,
            0,
        );
    }
}

fn enter<'a>(node: Node<'a>, visit: &mut dyn FnMut(&Node<'a>), level: usize) {
    visit(&node);
    if level >= DEEPEST {
        return;
    }
    for (keyword, value) in node.schema {
        // `$defs` hold schemas for elsewhere, and alternatives stand beside each other.
        let deeper = usize::from(matches!(
            keyword.as_str(),
            "properties" | "items" | "additionalProperties" | "prefixItems"
        ));
        let mut inner = |path: String, value: &'a Value| {
            if let Value::Object(schema) = value {
                enter(
                    Node {
                        path,
                        schema,
                        root: false,
                        depth: node.depth + deeper,
                    },
                    visit,
                    level + 1,
                );
            }
        };
        match value {
            Value::Object(schemas) if NAMED.contains(&keyword.as_str()) => {
                for (name, value) in schemas {
                    inner(format!("{}.{keyword}{}", node.path, member(name)), value);
                }
            }
            Value::Array(schemas) if MANY.contains(&keyword.as_str()) => {
                for (index, value) in schemas.iter().enumerate() {
                    inner(format!("{}.{keyword}[{index}]", node.path), value);
                }
            }
            Value::Object(_) if ONE.contains(&keyword.as_str()) => {
                inner(format!("{}.{keyword}", node.path), value);
            }
            _ => {}
        }
    }
}

/// `.name`, or `["a name"]` where a dot would mislead.
pub(super) fn member(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    if !name.is_empty() && name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit()) {
        format!(".{name}")
    } else {
        format!("[{}]", Value::from(name))
    }
}
