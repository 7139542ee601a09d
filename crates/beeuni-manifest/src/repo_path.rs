//! Which texts are paths inside a repository, and what is wrong with the others.
use crate::names::quote;

/// The endings of a tool's module.
pub(crate) const MODULE_ENDINGS: [&str; 6] = [".ts", ".js", ".mts", ".mjs", ".cts", ".cjs"];

/// The endings of a manifest.
pub(crate) const YAML_ENDINGS: [&str; 2] = [".yaml", ".yml"];

/// What a path is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathKind {
    /// A tool's module.
    Module,
    /// An agent's `.md`.
    Agent,
    /// A manifest or a folder of them.
    Import,
    /// A folder.
    Folder,
}

/// The clean form of `text`, without `./` and doubled or trailing slashes.
///
/// The error is what is wrong with it, as the rest of a sentence that begins with the path's key.
pub(crate) fn clean(text: &str, kind: PathKind) -> Result<String, String> {
    shape(text)?;
    let folder = text.ends_with('/');
    let parts: Vec<&str> = text
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    if parts.contains(&"..") {
        return Err("must not contain `..`: the file has to be inside the repository".to_owned());
    }
    let path = parts.join("/");
    match kind {
        PathKind::Module => {
            file_name(&path, folder, "a module")?;
            ending(
                &path,
                &MODULE_ENDINGS,
                "must end in `.ts`, `.js`, `.mts`, `.mjs`, `.cts` or `.cjs`",
            )?;
            if path.contains('?') {
                return Err(
                    "must not contain `?`: Bun takes what follows it for a query, so rename the file".to_owned(),
                );
            }
        }
        PathKind::Agent => {
            file_name(&path, folder, "a `.md` file")?;
            ending(&path, &[".md"], "must end in `.md`")?;
        }
        PathKind::Import => {
            if let Some(glob) = path.chars().find(|c| matches!(c, '*' | '?' | '[' | ']' | '{' | '}')) {
                return Err(format!(
                    "must not contain `{glob}`: patterns are not expanded, so name a file, or a folder to import \
                     every YAML file below it"
                ));
            }
        }
        PathKind::Folder => {}
    }
    Ok(path)
}

/// What no path may look like, whatever it is for.
fn shape(text: &str) -> Result<(), String> {
    let message = if text.is_empty() {
        "is empty: write a repo-relative path".to_owned()
    } else if text.chars().any(char::is_control) {
        "must not contain a line break or another control character".to_owned()
    } else if text.trim() != text {
        "must not begin or end with a blank".to_owned()
    } else if text.contains("://") {
        "must be a path inside the repository, not a URL".to_owned()
    } else if text.contains('\\') {
        format!(
            "must not contain a backslash: write {}",
            quote(&text.replace('\\', "/"))
        )
    } else if text.starts_with('/') {
        "must be repo-relative: an absolute path means nothing in a sandbox, so drop the leading `/`".to_owned()
    } else if text == "~" || text.starts_with("~/") {
        "must be repo-relative: `~` is not expanded".to_owned()
    } else if text.as_bytes().get(1) == Some(&b':') && text.as_bytes()[0].is_ascii_alphabetic() {
        "must be repo-relative, without a drive letter".to_owned()
    } else {
        return Ok(());
    };
    Err(message)
}

fn file_name(path: &str, folder: bool, what: &str) -> Result<(), String> {
    if folder || path.is_empty() {
        return Err(format!("names a folder: name {what} in it"));
    }
    Ok(())
}

fn ending(path: &str, endings: &[&str], rule: &str) -> Result<(), String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    if endings
        .iter()
        .any(|ending| name.ends_with(ending) && name.len() > ending.len())
    {
        return Ok(());
    }
    let lower = name.to_ascii_lowercase();
    if endings
        .iter()
        .any(|ending| lower.ends_with(ending) && lower.len() > ending.len())
    {
        return Err(format!("{rule}, in lower case"));
    }
    Err(rule.to_owned())
}
