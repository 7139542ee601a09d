//! The project's skills and those that come with Beeuni, where OpenCode finds them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use beeuni_agent::{Setup, Skill};
use serde_json::Value;

use super::layout::Layout;
use super::{Place, StartError, files};

/// Where OpenCode finds each skill. A project's skill stays where it is when OpenCode reads its head as Beeuni does;
/// the others, and those that come with Beeuni, are written out.
pub(super) fn write(place: &Place, layout: &Layout, setup: &Setup) -> Result<(Vec<PathBuf>, bool), StartError> {
    files::folder(&layout.skills)?;
    let mut paths = Vec::new();
    let mut changed = false;
    let mut written = BTreeSet::new();
    for skill in &setup.skills {
        let folder = skill.folder.as_ref().map(|folder| place.checkout.join(folder));
        match folder {
            Some(folder) if names_itself(&folder.join("SKILL.md"), &skill.name) => paths.push(folder),
            folder => {
                let own = layout.skills.join(&skill.name);
                files::folder(&own)?;
                changed |= files::write(&own.join("SKILL.md"), text(skill, folder.as_deref()).as_bytes())?;
                written.insert(skill.name.clone());
                paths.push(own);
            }
        }
    }
    for entry in std::fs::read_dir(&layout.skills).into_iter().flatten().flatten() {
        if !entry.file_name().to_str().is_some_and(|name| written.contains(name)) {
            changed |= files::remove(&entry.path())?;
        }
    }
    Ok((paths, changed))
}

fn text(skill: &Skill, folder: Option<&Path>) -> String {
    let quoted = |text: &str| Value::from(text).to_string();
    let place = folder.map(|folder| format!("\n\nThe files of this skill are in {}.", folder.display()));
    format!(
        "---\nname: {}\ndescription: {}\n---\n{}{}\n",
        quoted(&skill.name),
        quoted(&skill.description),
        skill.text.trim_end(),
        place.unwrap_or_default()
    )
}

/// Whether the head of a `SKILL.md` has the skill's name: OpenCode goes by that, Beeuni by the folder's.
fn names_itself(file: &Path, name: &str) -> bool {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let Some(head) = text.strip_prefix("---").and_then(|rest| rest.split("\n---").next()) else {
        return false;
    };
    let named = head.lines().find_map(|line| line.strip_prefix("name:"));
    named.is_some_and(|named| named.trim().trim_matches(['"', '\'']) == name)
}
