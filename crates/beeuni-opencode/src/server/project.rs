//! The project's own OpenCode folder (`harnesses/opencode`): read, tried, and shown to OpenCode in a folder of ours.
//!
//! OpenCode writes into the folders that it is configured from, so it gets one made of links. A tool becomes a small
//! file that imports the project's and asks for permission before it runs; configuration files are copied; code and
//! everything else is linked, so that relative imports and `node_modules` are those of the project.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::layout::Layout;
use super::listing::{Kind, PASSED_OVER, SKILLS, kind, list};
use super::rewriting::{moved, wrapper};
use super::trying::{Code, Tried, Tries};
use super::{LeftOut, Overridden, Place, StartError, files, trying};

/// The longest name of a tool that providers take.
const LONGEST_NAME: usize = 64;

/// What the folder holds that OpenCode can work with.
#[derive(Debug, Default)]
pub(super) struct Project {
    /// Tools by name, with the file that has them.
    tools: BTreeMap<String, PathBuf>,
    /// What to show OpenCode, by the path in its folder.
    shown: BTreeMap<PathBuf, Shown>,
    /// Files with code that OpenCode imports: one of them may spoil all.
    pub(super) modules: Vec<PathBuf>,
    plugins: Vec<PathBuf>,
    /// What that code is: OpenCode keeps what it has imported.
    pub(super) code: Code,
    pub(super) skills: Vec<PathBuf>,
    pub(super) left_out: Vec<LeftOut>,
}

#[derive(Debug)]
enum Shown {
    Link(PathBuf),
    Text(String),
}

/// Files that OpenCode refused, with its reason, as they were then.
pub(super) type Refused = BTreeMap<PathBuf, (Code, String)>;

impl Project {
    /// Reads the folder and tries its modules. `refused` files stay out while they are the same.
    pub(super) async fn read(
        place: &Place,
        layout: &Layout,
        refused: &Refused,
        tries: &mut Tries,
    ) -> Result<Self, StartError> {
        let mut project = Self::default();
        let root = &place.config_source;
        let mut found = Vec::new();
        list(root, Path::new(""), &mut found);
        for relative in found {
            let file = root.join(&relative);
            if let Some((code, reason)) = refused.get(&file)
                && *code == trying::code_of([&file])
            {
                project.leave_out(file, reason.clone());
                continue;
            }
            match kind(&relative) {
                Kind::Tool => {
                    let tried = tries.module(place, layout, &file).await?;
                    project.tool(relative, file, tried);
                }
                Kind::Plugin => {
                    let tried = tries.module(place, layout, &file).await?;
                    project.plugin(relative, file, tried);
                }
                Kind::Config => project.config(place, relative, file),
                Kind::Other => {
                    project.shown.insert(relative, Shown::Link(file));
                }
            }
        }
        project.skills = SKILLS
            .iter()
            .map(|name| root.join(name))
            .filter(|folder| folder.is_dir())
            .collect();
        Ok(project)
    }

    fn leave_out(&mut self, file: PathBuf, reason: String) {
        self.left_out.push(LeftOut { file, reason });
    }

    fn tool(&mut self, relative: PathBuf, file: PathBuf, tried: Tried) {
        let tools = match tried {
            Tried::Loads { tools, code } => {
                self.code.extend(code);
                tools
            }
            Tried::Fails(reason) => return self.leave_out(file, reason),
        };
        let stem = relative.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut named = Vec::new();
        for export in tools {
            let name = if export == "default" {
                stem.clone()
            } else {
                format!("{stem}_{export}")
            };
            if !is_name(&name) {
                let allowed = format!("letters, digits, `_` and `-`, at most {LONGEST_NAME}");
                return self.leave_out(file, format!("a tool cannot be called `{name}`: use {allowed}"));
            }
            if let Some(other) = self.tools.get(&name) {
                let other = other.display();
                return self.leave_out(file, format!("the tool `{name}` is in {other} already"));
            }
            named.push((name, export));
        }
        if !named.is_empty() {
            self.shown.insert(relative, Shown::Text(wrapper(&file, &named)));
            self.tools
                .extend(named.into_iter().map(|(name, _)| (name, file.clone())));
            self.modules.push(file);
        }
    }

    fn plugin(&mut self, relative: PathBuf, file: PathBuf, tried: Tried) {
        match tried {
            Tried::Loads { code, .. } => {
                self.code.extend(code);
                self.shown.insert(relative, Shown::Link(file.clone()));
                self.plugins.push(file.clone());
                self.modules.push(file);
            }
            Tried::Fails(reason) => self.leave_out(file, reason),
        }
    }

    fn config(&mut self, place: &Place, relative: PathBuf, file: PathBuf) {
        match std::fs::read_to_string(&file) {
            Ok(text) => {
                self.shown.insert(relative, Shown::Text(moved(&text, place)));
            }
            Err(error) => self.leave_out(file, format!("it cannot be read: {error}")),
        }
    }

    /// The files with plugins.
    pub(super) fn plugins(&self) -> impl Iterator<Item = &PathBuf> {
        self.plugins.iter()
    }

    /// Whether there is anything of the project's that OpenCode is configured by.
    pub(super) fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// The names of the tools in files.
    pub(super) fn tool_names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }

    /// The tools that take the place of hosted ones.
    pub(super) fn overriding<'a>(&self, hosted: impl Iterator<Item = &'a str>) -> Vec<Overridden> {
        hosted
            .filter_map(|name| {
                Some(Overridden {
                    name: name.to_owned(),
                    file: self.tools.get(name)?.clone(),
                })
            })
            .collect()
    }

    /// Whether a path in OpenCode's folder stands for a file of the project, and which.
    pub(super) fn source_of(&self, place: &Place, layout: &Layout, path: &Path) -> Option<PathBuf> {
        let relative = path.strip_prefix(&layout.project).ok()?;
        self.shown
            .contains_key(relative)
            .then(|| place.config_source.join(relative))
    }

    /// Makes OpenCode's folder show this and nothing else. Whether it showed anything else before.
    pub(super) fn show(&self, layout: &Layout) -> Result<bool, StartError> {
        let mut changed = false;
        let mut folders = BTreeSet::new();
        for (relative, shown) in &self.shown {
            let path = layout.project.join(relative);
            for parent in relative
                .ancestors()
                .skip(1)
                .filter(|parent| !parent.as_os_str().is_empty())
            {
                folders.insert(parent.to_owned());
            }
            if let Some(parent) = path.parent() {
                files::folder(parent)?;
            }
            changed |= match shown {
                Shown::Link(target) => files::link(target, &path)?,
                Shown::Text(text) => files::write(&path, text.as_bytes())?,
            };
        }
        Ok(self.clear(layout, Path::new(""), &folders)? || changed)
    }

    /// Removes what is not shown.
    fn clear(&self, layout: &Layout, below: &Path, folders: &BTreeSet<PathBuf>) -> Result<bool, StartError> {
        let mut changed = false;
        for entry in std::fs::read_dir(layout.project.join(below))
            .into_iter()
            .flatten()
            .flatten()
        {
            let relative = below.join(entry.file_name());
            let ours = below.as_os_str().is_empty() && PASSED_OVER.iter().any(|name| entry.file_name() == *name);
            if ours || self.shown.contains_key(&relative) {
                continue;
            }
            changed |= if folders.contains(&relative) {
                self.clear(layout, &relative, folders)?
            } else {
                files::remove(&entry.path())?
            };
        }
        Ok(changed)
    }
}

fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(allowed)
}
