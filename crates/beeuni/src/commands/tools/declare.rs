//! Writing a module and its line in the manifest as one step.
use std::collections::BTreeMap;
use std::io;

use beeuni_manifest::{Edit, EntryKind, Issue, Manifest, Severity, ToolSource, Tree};

use crate::failure::Failure;
use crate::files::{Before, Files};
use crate::project::{Overlay, Project};

/// A module that is to be written and declared.
pub(super) struct Declaration<'a> {
    /// The tool's name.
    pub(super) name: &'a str,
    /// The module's path in the project.
    pub(super) path: &'a str,
    /// The module's content.
    pub(super) module: &'a str,
    /// Whether a file at `path` is overwritten.
    pub(super) overwrite: bool,
    /// The comment at the end of the manifest's line.
    pub(super) comment: Option<&'a str>,
    /// Entries that a new `tools:` key gets first.
    pub(super) others: &'a [(&'a str, &'a str)],
    /// Generated files that belong to it, by path.
    pub(super) generated: &'a [(&'a str, &'a str)],
}

/// Writes the module and sets its line: both, or neither. Returns the file that has the line.
pub(super) fn write(project: &Project, manifest: &Manifest, new: &Declaration<'_>) -> Result<String, Failure> {
    // The edit is made from these bytes, and they must still be there when it is written.
    let before = read_manifest_files(project, manifest)?;
    let mut after = Overlay {
        base: &project.tree,
        files: before.clone(),
    };
    let Edit { file, text } =
        beeuni_manifest::set_tool(&after, &project.file, new.name, new.path, new.comment, new.others).map_err(
            |error| {
                Failure::manifest(error.to_string())
                    .with_causes_of(&error)
                    .note("nothing was written")
            },
        )?;
    after.files.insert(file.clone(), text.clone().into_bytes());
    after.files.insert(new.path.to_owned(), new.module.as_bytes().to_vec());
    refuse_errors(project, &after, new)?;

    let mut files = Files::default();
    let module_before = if new.overwrite {
        Before::Anything
    } else {
        Before::Nothing
    };
    files.add(project.root.join(new.path), new.module, module_before);
    let manifest_before = before.get(&file).cloned().map_or(Before::Nothing, Before::Bytes);
    files.add(project.root.join(&file), text, manifest_before);
    for (path, content) in new.generated {
        files.add(project.root.join(path), *content, Before::Anything);
    }
    files
        .write()
        .map_err(|error| Failure::user("nothing was written").caused_by(&error))?;
    Ok(file)
}

fn read_manifest_files(project: &Project, manifest: &Manifest) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
    manifest
        .files
        .iter()
        .map(|file| {
            let bytes = project
                .tree
                .read(file)
                .map_err(|error| Failure::manifest(format!("cannot read {}", project.shown(file))).caused_by(&error))?;
            Ok((file.clone(), bytes))
        })
        .collect()
}

/// The manifest's own rules decide whether the new line may be written (V4, V5), and it must mean what
/// was asked for.
fn refuse_errors(project: &Project, after: &Overlay<'_>, new: &Declaration<'_>) -> Result<(), Failure> {
    let loaded = beeuni_manifest::load(after, &project.file);
    if let Some(issue) = loaded.issues.iter().find(|issue| concerns(issue, new.name)) {
        return Err(Failure::user(format!("cannot declare {}: {}", new.name, new.path))
            .because(&issue.message)
            .note("nothing was written"));
    }
    let wanted = ToolSource::Module(new.path.to_owned());
    let tools = loaded.manifest.iter().flat_map(|manifest| &manifest.tools);
    if !tools
        .into_iter()
        .any(|tool| tool.name == new.name && tool.source == wanted)
    {
        return Err(
            Failure::internal(format!("the edit of {} did not declare {}", project.file, new.name))
                .note("nothing was written"),
        );
    }
    Ok(())
}

/// Whether the finding is an error of the tool's entry.
pub(super) fn concerns(issue: &Issue, name: &str) -> bool {
    issue.severity == Severity::Error && issue.path.strip_prefix("tools.") == Some(name)
}

/// What stands at `path` of the project. Neither it nor a folder on the way may be a link that leads
/// out of the project.
pub(super) fn kind(project: &Project, path: &str) -> Result<Option<EntryKind>, Failure> {
    let failed = |at: &str, error: &io::Error| {
        Failure::user(format!("cannot use {}", project.shown(at)))
            .caused_by(error)
            .note("nothing was written")
    };
    for (end, _) in path.match_indices('/') {
        let folder = &path[..end];
        match project.tree.kind(folder).map_err(|error| failed(folder, &error))? {
            Some(EntryKind::Folder) => {}
            Some(EntryKind::File) => {
                return Err(
                    Failure::user(format!("{} is a file, not a folder", project.shown(folder)))
                        .note("nothing was written"),
                );
            }
            None => return Ok(None),
        }
    }
    project.tree.kind(path).map_err(|error| failed(path, &error))
}
