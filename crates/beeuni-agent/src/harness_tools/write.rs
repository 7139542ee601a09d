//! `write`: a whole file, atomically, and never over something that the session has not seen.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::PoisonError;

use beeuni_tools::output::line_count;
use serde_json::json;

use crate::permission::Access;

use super::arguments::Arguments;
use super::context::{CallContext, ToolFailure, ToolOutput};
use super::paths::Place;
use super::read::count_of;
use super::sessions::Stamp;
use super::spec::Spec;
use super::{Inner, blocking};

/// What the model reads about the tool.
pub(super) const SPEC: Spec = Spec {
    name: "write",
    description: "Write a whole file: creates it, and the folders above it, or replaces all of its content. A file \
        that exists has to be read in this session first, and again if it has changed since. To change a part of a \
        file, use `edit`.",
    parameters: r#"{"type":"object","properties":{"path":{"type":"string","description":"The file: relative to the checkout, absolute, or beginning with ~."},"content":{"type":"string","description":"The whole new content."}},"required":["path","content"]}"#,
};

/// A call whose arguments are read.
pub(super) struct Call {
    place: Place,
    content: String,
}

pub(super) fn prepare(tools: &Inner, arguments: &Arguments) -> Result<(Call, Vec<Access>), ToolFailure> {
    let path = arguments.text(&["path", "file_path", "filePath", "file"], "the file to write")?;
    let content = arguments.text(
        &["content", "file_text", "text"],
        "the whole new content, \"\" for an empty file",
    )?;
    let place = tools.paths.resolve(&path)?;
    let accesses = tools.paths.accesses(&place, "edit", SPEC.name);
    Ok((Call { place, content }, accesses))
}

/// Metadata: `{ path, created, lines, lines_before? }`.
pub(super) async fn run(tools: &Inner, call: Call, context: CallContext<'_>) -> Result<ToolOutput, ToolFailure> {
    let seen = tools.sessions.seen(context.session, &call.place.real);
    let (lock, redact) = (tools.changes.clone(), tools.outputs.redact.clone());
    let real = call.place.real.clone();
    let (output, stamp) = blocking(move || {
        let _one_at_a_time = lock.lock().unwrap_or_else(PoisonError::into_inner);
        write(&call, seen, &*redact)
    })
    .await?;
    if let Some(stamp) = stamp {
        tools.sessions.saw(context.session, &real, stamp);
    }
    Ok(output)
}

fn write(
    call: &Call,
    seen: Option<Stamp>,
    redact: &dyn Fn(String) -> String,
) -> Result<(ToolOutput, Option<Stamp>), ToolFailure> {
    let Call { place, content } = call;
    let shown = &place.shown;
    let existing = existing(place)?;
    let mut before = None;
    if let Some(metadata) = &existing {
        if metadata.len() > 0 {
            let reason = match seen {
                None => Some("was not read in this session"),
                Some(stamp) if stamp != Stamp::of(metadata) => Some("has changed since it was last read"),
                Some(_) => None,
            };
            if let Some(reason) = reason {
                return Err(ToolFailure::failed(format!(
                    "{shown} exists and {reason}: nothing was written. Read it first, then write it, or use `edit`."
                )));
            }
        }
        let old = std::fs::read(&place.real).unwrap_or_default();
        let old = String::from_utf8_lossy(&old);
        before = Some(line_count(&old));
        refuse_hidden_secret(shown, content, &old, redact)?;
    }
    let stamp = replace(&place.real, content.as_bytes(), existing.as_ref())
        .map_err(|error| ToolFailure::failed(format!("{shown} cannot be written: {}", reason(&error))))?;
    let lines = count_of(line_count(content) as u64, "line");
    let text = match before {
        None => format!("Created {shown} ({lines})."),
        Some(before) => format!("Overwrote {shown} ({lines}, {before} before)."),
    };
    let mut metadata = json!({"path": shown, "created": before.is_none(), "lines": line_count(content)});
    if let Some(before) = before {
        metadata["lines_before"] = json!(before);
    }
    let output = ToolOutput {
        text,
        title: shown.clone(),
        metadata,
        ..ToolOutput::default()
    };
    Ok((output, stamp))
}

/// What is known of the file at `place`; `None` when there is none. An error when no file can be there.
pub(super) fn existing(place: &Place) -> Result<Option<std::fs::Metadata>, ToolFailure> {
    let shown = &place.shown;
    match std::fs::metadata(&place.real) {
        Ok(metadata) if metadata.is_dir() => {
            Err(ToolFailure::failed(format!("{shown} is a folder: name a file in it.")))
        }
        Ok(metadata) if !metadata.is_file() => Err(ToolFailure::failed(format!(
            "{shown} is no regular file but a device, pipe or socket: it is not written."
        ))),
        // Renaming another file over it would work all the same, against what its mode says.
        Ok(metadata) if metadata.permissions().mode() & 0o222 == 0 => Err(ToolFailure::failed(format!(
            "{shown} is read-only (mode {:04o}): nothing was written. If it really has to change, use `chmod` first.",
            metadata.permissions().mode() & 0o7777
        ))),
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ToolFailure::failed(format!(
            "{shown} cannot be written: {}",
            reason(&error)
        ))),
    }
}

/// Writing `[secret NAME]`, which the model was shown, over the value that it stands for would destroy the value.
pub(super) fn refuse_hidden_secret(
    shown: &str,
    new: &str,
    old: &str,
    redact: &dyn Fn(String) -> String,
) -> Result<(), ToolFailure> {
    const MARK: &str = "[secret ";
    if new.contains(MARK) && !old.contains(MARK) && redact(old.to_owned()).contains(MARK) {
        return Err(ToolFailure::failed(format!(
            "{shown} holds a secret's value that is shown to you as `[secret NAME]`: writing these words would destroy \
             it. Use `edit` on the lines around it."
        )));
    }
    Ok(())
}

/// Puts `content` in the place of the file at `path` in one step; keeps the mode of what was there.
pub(super) fn replace(
    path: &Path,
    content: &[u8],
    existing: Option<&std::fs::Metadata>,
) -> std::io::Result<Option<Stamp>> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder)?;
    // A new file gets what the process's mask leaves of this.
    let mut file = tempfile::Builder::new()
        .prefix(".beeuni-")
        .suffix(".tmp")
        .permissions(std::fs::Permissions::from_mode(0o666))
        .tempfile_in(folder)?;
    file.write_all(content)?;
    if let Some(metadata) = existing {
        file.as_file().set_permissions(metadata.permissions())?;
    }
    file.persist(path).map_err(|error| error.error)?;
    Ok(std::fs::metadata(path).ok().map(|metadata| Stamp::of(&metadata)))
}

fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotADirectory | std::io::ErrorKind::AlreadyExists => {
            "a part of its path is a file, not a folder".to_owned()
        }
        std::io::ErrorKind::InvalidFilename => "its name is too long".to_owned(),
        _ => error.to_string(),
    }
}
