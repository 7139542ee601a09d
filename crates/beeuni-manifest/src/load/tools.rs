//! The entries under `tools` (V1, V4, V5, V6).
use crate::model::{ToolEntry, ToolSource};
use crate::names::{BEEUNI_TOOLS, TOOL, is_beeuni_tool, is_harness_tool, is_tool_name, quote};
use crate::repo_path::{PathKind, clean};
use crate::report::{At, Field};
use crate::yaml::Kind;

use super::values::{bad_name, did_you_mean};
use super::{Reader, declare};

/// What the value of a Beeuni tool begins with.
pub(crate) const PREFIX: &str = "beeuni:";

/// Reads the value of a `tools` key.
pub(super) fn read(reader: &mut Reader<'_>, Field { key, value: at, .. }: &Field<'_>) {
    reader.draft.tools_keys.push(key.clone());
    let Some(fields) = at.fields() else {
        let expected = "must be a map of lines such as `web_search: beeuni:web_search`";
        let message = match at.node.kind() {
            Kind::Null => return,
            Kind::List if at.node.items().is_some_and(<[_]>::is_empty) => {
                format!("{expected}, not a list: for no tool write `tools: {{}}`")
            }
            other => format!("{expected}, not {}", other.describe()),
        };
        reader.findings.error(&at.spot, message);
        reader.draft.unclear_tools = true;
        return;
    };
    for field in &fields {
        entry(reader, field);
    }
}

fn entry(reader: &mut Reader<'_>, field: &Field<'_>) {
    let name = field.name;
    let new = declare(&mut reader.draft.tool_names, name, &field.key, &mut reader.findings);
    let legal = match name_error(name) {
        None => true,
        Some(message) => {
            reader.findings.error(&field.key, message);
            false
        }
    };
    let source = match source(name, &field.value, reader) {
        Ok(source) => source,
        Err(message) => {
            reader.findings.error(&field.value.spot, message);
            return;
        }
    };
    if let ToolSource::Module(path) = &source
        && let Err(message) = reader.lookup.file(path, &mut reader.findings.hints)
    {
        // Listed all the same: `tools ls` shows what is declared, the loader why it did not load.
        reader.findings.error(&field.value.spot, message);
    }
    if new && legal {
        reader.draft.tools.push(ToolEntry {
            name: name.to_owned(),
            source,
            place: field.key.place(),
        });
    }
}

/// What is wrong with the name of a tool (V4).
fn name_error(name: &str) -> Option<String> {
    if is_harness_tool(name) {
        return Some(format!(
            "is a tool of the harness, and no project tool may take its name: rename it, e.g. {}",
            quote(&format!("my_{name}"))
        ));
    }
    (!is_tool_name(name)).then(|| bad_name(&TOOL, "a tool", name, "my_tool"))
}

/// Where the module of `name` comes from, or what is wrong with the value (V1, V5).
fn source(name: &str, value: &At<'_>, reader: &mut Reader<'_>) -> Result<ToolSource, String> {
    let beeuni = is_beeuni_tool(name);
    let Kind::Text(text) = value.node.kind() else {
        if beeuni {
            return Err(v1(name));
        }
        let example = if is_tool_name(name) { name } else { "my_tool" };
        return Err(format!(
            "must be a repo-relative path to a .ts or .js module (e.g. `tools/{example}.ts`), not {}",
            value.node.kind().describe()
        ));
    };
    if let Some(target) = text.strip_prefix(PREFIX) {
        return match (beeuni, target == name) {
            (true, true) => Ok(ToolSource::Beeuni),
            (true, false) => Err(v1(name)),
            (false, _) if is_beeuni_tool(target) => Err(format!(
                "must be a repo-relative path to a .ts or .js module: `beeuni:{target}` stands under its own name \
                 only, as `{target}: beeuni:{target}`"
            )),
            (false, _) => {
                let hint = did_you_mean(target, BEEUNI_TOOLS, &mut reader.findings.hints);
                Err(format!(
                    "must be a repo-relative path to a .ts or .js module: there is no Beeuni tool {}{hint}",
                    quote(target)
                ))
            }
        };
    }
    // A word that is no path at all: the text that names both possibilities helps more.
    if beeuni && !text.contains(['/', '.', '\\']) {
        return Err(v1(name));
    }
    clean(text, PathKind::Module).map(ToolSource::Module)
}

/// The text of V1.
fn v1(name: &str) -> String {
    format!(
        "must be `beeuni:{name}` (the Beeuni tool) or a repo-relative path to a .ts or .js module (e.g. \
         `tools/{name}.ts`) that replaces it."
    )
}
