//! Skills: instructions that an agent loads when a task calls for them, from `skills/<name>/SKILL.md` of the project
//! and from Beeuni itself.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use beeuni_manifest::{EntryKind, Grant, Issue, Place, Severity, Tree, read_agent_file};

use crate::harness_tools::{SkillText, Skills};
use crate::setup::Setup;

/// The folder of a project's skills.
const FOLDER: &str = "skills";
/// The file of a skill.
const FILE: &str = "SKILL.md";
/// How many files of a skill's folder are named to the model.
const MOST_FILES: usize = 100;

/// The skills that come with Beeuni. A project's skill of the same name takes its place.
const MANAGED: [(&str, &str); 2] = [
    ("beeuni-memory", include_str!("../../../skills/beeuni-memory/SKILL.md")),
    ("beeuni-tools", include_str!("../../../skills/beeuni-tools/SKILL.md")),
];

/// One skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Its name: its folder's.
    pub name: String,
    /// What it is for: agents choose by this.
    pub description: String,
    /// Its instructions.
    pub text: String,
    /// Its folder in the project; `None` for one that comes with Beeuni.
    pub folder: Option<String>,
    /// The other files in its folder, relative to it, sorted.
    pub files: Vec<String>,
}

/// Every skill, sorted by name.
pub(crate) fn find(tree: &dyn Tree, issues: &mut Vec<Issue>) -> Vec<Skill> {
    let mut skills: BTreeMap<String, Skill> = managed().map(|skill| (skill.name.clone(), skill)).collect();
    for name in tree.list(FOLDER).unwrap_or_default() {
        let folder = format!("{FOLDER}/{name}");
        let path = format!("{folder}/{FILE}");
        if !matches!(tree.kind(&path), Ok(Some(EntryKind::File))) {
            continue;
        }
        if let Some(skill) = read(tree, &name, folder, &path, issues) {
            skills.insert(name, skill);
        }
    }
    skills.into_values().collect()
}

fn managed() -> impl Iterator<Item = Skill> {
    MANAGED.iter().filter_map(|(name, text)| {
        let (file, _) = read_agent_file(&OneFile(text), FILE);
        Some(Skill {
            name: (*name).to_owned(),
            description: file.description?,
            text: file.prompt,
            folder: None,
            files: Vec::new(),
        })
    })
}

fn read(tree: &dyn Tree, name: &str, folder: String, path: &str, issues: &mut Vec<Issue>) -> Option<Skill> {
    // The form is an agent's: a YAML head and a text. Only the keys differ, so what is said about them is not for a
    // skill; what keeps its description from being read is.
    let (file, found) = read_agent_file(tree, path);
    let Some(description) = file.description.filter(|text| !text.trim().is_empty()) else {
        let reason = found.into_iter().find(|issue| issue.severity == Severity::Error);
        let place = reason.as_ref().map(|issue| issue.place.clone());
        let reason = reason.map_or_else(String::new, |issue| format!(" ({})", issue.message));
        issues.push(Issue {
            path: String::new(),
            message: format!(
                "the skill `{name}` is left out: agents choose by its `description`, and there is none that can be \
                 read{reason}. Write it between two `---` lines at the top"
            ),
            severity: Severity::Warning,
            place: place.unwrap_or_else(|| Place {
                file: path.to_owned(),
                line: 1,
                column: 1,
            }),
        });
        return None;
    };
    let mut files = Vec::new();
    list(tree, &folder, "", &mut files);
    Some(Skill {
        name: name.to_owned(),
        description: description.split_whitespace().collect::<Vec<_>>().join(" "),
        text: file.prompt,
        folder: Some(folder),
        files,
    })
}

fn list(tree: &dyn Tree, root: &str, below: &str, files: &mut Vec<String>) {
    for name in tree.list(&join(root, below)).unwrap_or_default() {
        let path = join(below, &name);
        match tree.kind(&join(root, &path)) {
            _ if files.len() >= MOST_FILES => return,
            Ok(Some(EntryKind::File)) if path != FILE => files.push(path),
            // Deeper than this is no place for a file that a skill speaks of; it also ends a loop of links.
            Ok(Some(EntryKind::Folder)) if path.matches('/').count() < 4 => list(tree, root, &path, files),
            _ => {}
        }
    }
}

fn join(folder: &str, name: &str) -> String {
    match (folder, name) {
        ("", other) | (other, "") => other.to_owned(),
        (folder, name) => format!("{folder}/{name}"),
    }
}

/// A tree of one file.
struct OneFile(&'static str);

impl Tree for OneFile {
    fn kind(&self, path: &str) -> std::io::Result<Option<EntryKind>> {
        Ok((path == FILE).then_some(EntryKind::File))
    }

    fn read(&self, _path: &str) -> std::io::Result<Vec<u8>> {
        Ok(self.0.as_bytes().to_vec())
    }

    fn list(&self, _path: &str) -> std::io::Result<Vec<String>> {
        Ok(vec![FILE.to_owned()])
    }
}

/// The skills of a running session, for the tool `skill`: give a clone to the harness tools, another to the session,
/// which keeps it up to date. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SkillShelf(Arc<Shelf>);

#[derive(Debug)]
struct Shelf {
    checkout: PathBuf,
    content: RwLock<Content>,
}

#[derive(Debug, Default)]
struct Content {
    skills: Vec<Skill>,
    grants: BTreeMap<String, Grant>,
}

impl SkillShelf {
    /// An empty shelf for the checkout.
    pub fn new(checkout: impl AsRef<Path>) -> Self {
        Self(Arc::new(Shelf {
            checkout: checkout.as_ref().to_owned(),
            content: RwLock::default(),
        }))
    }

    /// Puts the skills of `setup` in place of what is there.
    pub(crate) fn fill(&self, setup: &Setup) {
        let grants = setup
            .agents
            .iter()
            .map(|agent| (agent.name.clone(), agent.skills.clone()));
        *self.0.content.write().unwrap_or_else(PoisonError::into_inner) = Content {
            skills: setup.skills.clone(),
            grants: grants.collect(),
        };
    }
}

impl Content {
    fn granted(&self, agent: &str) -> impl Iterator<Item = &Skill> {
        let grant = self.grants.get(agent);
        self.skills
            .iter()
            .filter(move |skill| grant.is_some_and(|grant| grant.allows(&skill.name)))
    }
}

impl Skills for SkillShelf {
    fn names(&self, agent: &str) -> Vec<String> {
        let content = self.0.content.read().unwrap_or_else(PoisonError::into_inner);
        content.granted(agent).map(|skill| skill.name.clone()).collect()
    }

    fn load(&self, agent: &str, name: &str) -> Result<SkillText, String> {
        let content = self.0.content.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(skill) = content.granted(agent).find(|skill| skill.name == name) {
            return Ok(SkillText {
                text: skill.text.clone(),
                folder: self.0.checkout.join(skill.folder.as_deref().unwrap_or_default()),
                files: skill.files.clone(),
            });
        }
        let names: Vec<&str> = content.granted(agent).map(|skill| skill.name.as_str()).collect();
        Err(if names.is_empty() {
            format!("There is no skill {name}: no skill is granted to this agent")
        } else {
            format!("There is no skill {name}. The skills are: {}", names.join(", "))
        })
    }
}

/// What the system prompt says about the skills of an agent; `None` when it has none.
pub(crate) fn section<'a>(skills: impl Iterator<Item = &'a Skill>) -> Option<String> {
    let lines: Vec<String> = skills
        .map(|skill| format!("- {}: {}", skill.name, skill.description))
        .collect();
    (!lines.is_empty()).then(|| {
        format!(
            "<skills>\nInstructions for special tasks. When a task matches one, load it with the tool `skill` \
             before you begin.\n{}\n</skills>",
            lines.join("\n")
        )
    })
}
