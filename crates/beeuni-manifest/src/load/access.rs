//! Which tools an agent sees (A1) and what it is granted.
use crate::model::{Grant, ToolAccess};
use crate::names::quote;
use crate::report::{At, Field, Findings};
use crate::yaml::Kind;

use super::Mention;
use super::values::{Named, boolean, names, secret_names};

/// The name that stands for every tool.
const EVERY: &str = "*";

/// The key of the exclude form.
const EXCLUDE: &str = "exclude";

/// What an agent's `tools` says.
pub(super) struct Access {
    pub(super) tools: ToolAccess,
    pub(super) mentions: Vec<Mention>,
    /// It takes tools away.
    pub(super) excludes: bool,
}

/// Reads an agent's `tools`. What is wrong hides every tool: a mistake must not grant one.
pub(super) fn tools(at: &At<'_>, findings: &mut Findings) -> Access {
    let mut access = Access {
        tools: ToolAccess::None,
        mentions: Vec::new(),
        excludes: false,
    };
    if let Some(items) = at.items() {
        let listed = names(items, "the name of a tool", findings);
        access.tools = match &listed[..] {
            [] => ToolAccess::None,
            _ if listed.iter().any(|named| named.name == EVERY) => ToolAccess::All,
            _ => ToolAccess::Only(owned(&listed)),
        };
        access.mentions = mentions(listed);
    } else if let Some(fields) = at.fields() {
        map(&fields, at, &mut access, findings);
    } else if let Some(tools) = word(at, "tools", "read", findings) {
        access.tools = if tools { ToolAccess::All } else { ToolAccess::None };
    }
    access
}

/// `{ exclude: […] }`, or the older `{ bash: false }`.
fn map(fields: &[Field<'_>], at: &At<'_>, access: &mut Access, findings: &mut Findings) {
    access.excludes = true;
    let exclude = fields.iter().find(|field| field.name == EXCLUDE);
    match (exclude, fields) {
        (None, []) => {
            findings.error(
                &at.spot,
                "is an empty map: write `all`, `none`, a list, or `{ exclude: [bash] }`",
            );
        }
        (None, _) => older_map(fields, access, findings),
        (Some(field), [_]) => exclude_list(&field.value, access, findings),
        (Some(_), _) => {
            for other in fields.iter().filter(|field| field.name != EXCLUDE) {
                let message = match other.value.node.kind() {
                    Kind::Bool(_) => "stands beside `exclude`: move the name into that list",
                    _ => "stands beside `exclude`: an agent has a list of tools or an `exclude` list, not both",
                };
                findings.error(&other.key, message);
            }
        }
    }
}

fn exclude_list(at: &At<'_>, access: &mut Access, findings: &mut Findings) {
    let Some(items) = at.items() else {
        let message = match at.node.kind() {
            Kind::Text(name) => format!("must be a list: write {}", quote(&format!("[{name}]"))),
            other => format!(
                "must be a list of tool names such as `[bash, write]`, not {}",
                other.describe()
            ),
        };
        findings.error(&at.spot, message);
        return;
    };
    let listed = names(items, "the name of a tool", findings);
    access.tools = match &listed[..] {
        [] => ToolAccess::All,
        _ if listed.iter().any(|named| named.name == EVERY) => ToolAccess::None,
        _ => ToolAccess::Except(owned(&listed)),
    };
    access.mentions = mentions(listed);
}

/// `false` removes a tool. `"*": false` removes every one but those that are `true`.
fn older_map(fields: &[Field<'_>], access: &mut Access, findings: &mut Findings) {
    let (mut kept, mut removed) = (Vec::new(), Vec::new());
    let (mut every, mut valid) = (true, true);
    for field in fields {
        if field.value.node.kind() != Kind::Null && (field.name == "include" || field.name == "only") {
            findings.error(
                &field.key,
                "is no form of `tools`: to name the only tools write a list, `tools: [read]`",
            );
            valid = false;
            continue;
        }
        match boolean(&field.value, findings) {
            Some(on) if field.name == EVERY => every = on,
            Some(true) => kept.push(field.name.to_owned()),
            Some(false) => removed.push(field.name.to_owned()),
            None => valid = false,
        }
        access.mentions.push(Mention {
            name: field.name.to_owned(),
            spot: field.key.clone(),
        });
    }
    access.tools = match (valid, every) {
        (false, _) => ToolAccess::None,
        (true, true) if removed.is_empty() => ToolAccess::All,
        (true, true) => ToolAccess::Except(removed),
        (true, false) if kept.is_empty() => ToolAccess::None,
        (true, false) => ToolAccess::Only(kept),
    };
}

/// A grant and the names that it mentions.
pub(super) fn grant(at: &At<'_>, key: &str, findings: &mut Findings) -> (Grant, Vec<Mention>) {
    let Some(items) = at.items() else {
        let example = if key == "secrets" { "SHOP_TOKEN" } else { "name" };
        let grant = match word(at, key, example, findings) {
            Some(true) => Grant::All,
            Some(false) | None => Grant::None,
        };
        return (grant, Vec::new());
    };
    let mut listed = if key == "secrets" {
        secret_names_or_every(items, findings)
    } else {
        names(items, "a name", findings)
    };
    listed.retain(|named| {
        let every = named.name == EVERY;
        if every {
            findings.error(
                &named.at.spot,
                format!("is no name here: for every one write `{key}: all`"),
            );
        }
        !every
    });
    let grant = if listed.is_empty() {
        Grant::None
    } else {
        Grant::Only(owned(&listed))
    };
    (grant, mentions(listed))
}

/// Secret names, where `*` is left for the caller to speak about.
fn secret_names_or_every<'n>(items: Vec<At<'n>>, findings: &mut Findings) -> Vec<Named<'n>> {
    let (every, rest): (Vec<_>, Vec<_>) = items.into_iter().partition(|at| at.node.text() == Some(EVERY));
    let mut found = secret_names(rest, findings);
    found.extend(every.into_iter().map(|at| Named { name: EVERY, at }));
    found
}

/// `all` or `none`; anything else that is neither list nor map is an error with the right form.
fn word(at: &At<'_>, key: &str, example: &str, findings: &mut Findings) -> Option<bool> {
    let message = match at.node.kind() {
        Kind::Text("all") => return Some(true),
        Kind::Text("none") => return Some(false),
        Kind::Text(EVERY) => {
            format!("must be `all`, `none` or a list: for every one write `{key}: all`")
        }
        Kind::Text(text) if text.eq_ignore_ascii_case("all") || text.eq_ignore_ascii_case("none") => {
            format!(
                "must be `all`, `none` or a list: write `{}`, in lower case",
                text.to_ascii_lowercase()
            )
        }
        // Under `secrets` the text may be one: it is not repeated.
        Kind::Text(_) if key == "secrets" => "must be `all`, `none` or a list: write `[NAME]`".to_owned(),
        Kind::Text(text) => format!("must be `all`, `none` or a list: write {}", quote(&format!("[{text}]"))),
        Kind::Bool(true) => format!("must be `all`, `none` or a list: write `{key}: all`"),
        Kind::Bool(false) => format!("must be `all`, `none` or a list: write `{key}: none`"),
        Kind::Null => format!("is empty: write `all`, `none` or a list such as `[{example}]`"),
        other => format!(
            "must be `all`, `none` or a list such as `[{example}]`, not {}",
            other.describe()
        ),
    };
    findings.error(&at.spot, message);
    None
}

fn owned(listed: &[Named<'_>]) -> Vec<String> {
    listed.iter().map(|named| named.name.to_owned()).collect()
}

fn mentions(listed: Vec<Named<'_>>) -> Vec<Mention> {
    listed
        .into_iter()
        .map(|named| Mention {
            name: named.name.to_owned(),
            spot: named.at.spot,
        })
        .collect()
}
