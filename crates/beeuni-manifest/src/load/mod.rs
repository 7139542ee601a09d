//! From the files of a project to its manifest: shape first, then what the parts say about each other.
mod access;
mod agents;
mod gather;
mod imports;
mod root;
mod settings;
mod tools;
mod values;
mod whole;

use std::collections::HashMap;
use std::rc::Rc;

use crate::lookup::Lookup;
use crate::model::{Agent, Connector, HarnessKind, Loaded, Project, ToolEntry};
use crate::names::{is_beeuni_tool, quote};
use crate::report::{At, Field, Findings, Spot};
use crate::tree::Tree;
use crate::yaml::{Kind, Value};

pub(crate) use agents::{AGENT_KEYS, belongs_in_manifest};
pub(crate) use gather::{Source, Sources, gather, read};
pub(crate) use root::{CONFIG_DIR, ENV_KEYS, ROOT_KEYS, unknown_key};
pub(crate) use values::{choice, one_of, prose, text};

/// Reads `file` (`beeuni.yaml`) of `tree` with its imports and checks every rule.
///
/// Never fails and never panics: what is wrong is in [`Loaded::issues`], all of it at once.
#[must_use]
pub fn load(tree: &dyn Tree, file: &str) -> Loaded {
    let mut reader = Reader {
        lookup: Lookup::new(tree),
        findings: Findings::new(),
        draft: Draft::default(),
        root: Rc::from(file),
        broken_import: false,
    };
    let sources = gather(&mut reader.lookup, file, &mut reader.findings);
    reader.broken_import = sources.broken;
    for (index, source) in sources.files.iter().enumerate() {
        if let Some(node) = &source.document.root {
            reader.file(&At::root(&source.file, node), index == 0);
        }
    }
    let files: Vec<String> = sources.files.iter().map(|source| source.file.to_string()).collect();
    let manifest = sources.files.first().map(|source| reader.finish(source, &files));
    let own = manifest
        .iter()
        .flat_map(|manifest| manifest.agents.iter().map(|agent| agent.file.as_str()));
    let order = files.iter().map(String::as_str).chain(own);
    let issues = reader.findings.sorted(order.collect::<Vec<_>>());
    Loaded { manifest, issues }
}

/// What reads the files, and what it has read.
pub(crate) struct Reader<'t> {
    lookup: Lookup<'t>,
    findings: Findings,
    draft: Draft,
    /// The root file.
    root: Rc<str>,
    /// An import could not be read: what it declares is not known, so nothing may be called unknown.
    broken_import: bool,
}

/// The manifest as read so far.
#[derive(Default)]
struct Draft {
    default_agent: Option<(String, Spot)>,
    harness: Option<HarnessKind>,
    config_dir: Option<String>,
    /// Every `tools` key.
    tools_keys: Vec<Spot>,
    /// One of them is no map: what it was to list is not known.
    unclear_tools: bool,
    tools: Vec<ToolEntry>,
    /// Every declared name, those with an error too, so that no agent's list calls them unknown.
    tool_names: HashMap<String, Spot>,
    /// The root file's `agents` key.
    agents_key: Option<Spot>,
    agents: Vec<AgentDraft>,
    agent_names: HashMap<String, Spot>,
    connectors: Vec<Connector>,
    slugs: HashMap<String, Spot>,
    project: Project,
    env_required: Vec<String>,
    env_optional: Vec<String>,
}

/// An agent and the names that its lists mention.
struct AgentDraft {
    agent: Agent,
    file: FileLine,
    /// Where `enabled` stands, or the agent.
    enabled: Spot,
    tools: Vec<Mention>,
    /// Its list takes tools away: an unknown name there leaves one on.
    excludes: bool,
    connectors: Vec<Mention>,
}

/// What names an agent's `.md`.
enum FileLine {
    /// The key `file`.
    Given(Spot),
    /// Nothing: it is the default path, and the agent's own line the place to say so.
    Default(Spot),
    /// A `file` with an error of its own: nothing more to say of it.
    Broken,
}

/// A name in an agent's list.
struct Mention {
    name: String,
    spot: Spot,
}

/// Notes that `name` is declared at `spot`; a second time is an error (V6).
fn declare(known: &mut HashMap<String, Spot>, name: &str, spot: &Spot, findings: &mut Findings) -> bool {
    let Some(first) = known.get(name) else {
        known.insert(name.to_owned(), spot.clone());
        return true;
    };
    let message = if first.file == spot.file {
        format!(
            "is declared twice, on line {} and on line {}",
            first.mark.line, spot.mark.line
        )
    } else {
        format!(
            "is declared twice, in {} (line {}) and in {} (line {})",
            first.file, first.mark.line, spot.file, spot.mark.line
        )
    };
    let message = format!("{message}: remove one of the two");
    findings.error(spot, message);
    false
}

/// Whether a session could have a tool of this name, loaded or not.
fn is_known_tool(name: &str, declared: &HashMap<String, Spot>) -> bool {
    crate::names::is_harness_tool(name) || is_beeuni_tool(name) || declared.contains_key(name)
}

/// The entries of a map; nothing is as good as an empty one, anything else is an error.
fn map<'n>(at: &At<'n>, expected: &str, findings: &mut Findings) -> Option<Vec<Field<'n>>> {
    let fields = at.fields();
    if fields.is_none() && at.node.kind() != Kind::Null {
        findings.error(
            &at.spot,
            format!("must be {expected}, not {}", at.node.kind().describe()),
        );
    }
    fields
}

/// Reports every tag below `at` that means nothing here, such as `!include`.
pub(crate) fn foreign_tags(at: &At<'_>, findings: &mut Findings) {
    if let Some(tag) = at.node.foreign_tag() {
        let message = format!(
            "has the YAML tag {}, which means nothing here: write the value itself",
            quote(tag)
        );
        findings.error(&at.spot, message);
    }
    // Below an alias they are reported where they stand.
    if matches!(at.node.value, Value::Alias(_)) {
        return;
    }
    for item in at.items().unwrap_or_default() {
        foreign_tags(&item, findings);
    }
    for field in at.fields().unwrap_or_default() {
        foreign_tags(&field.value, findings);
    }
}

/// "`a`, `b` and `c`".
fn list<'k>(names: impl Iterator<Item = &'k str>) -> String {
    let names: Vec<String> = names.map(quote).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    }
}
