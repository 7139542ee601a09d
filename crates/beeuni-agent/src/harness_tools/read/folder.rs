//! The entries of a folder.

use std::fmt::Write as _;

use serde_json::json;

use super::{MOST_BYTES, MOST_ENTRIES, Reading, count_of};
use crate::harness_tools::context::{ToolFailure, ToolOutput};

impl Reading<'_> {
    pub(super) fn folder(&self) -> Result<ToolOutput, ToolFailure> {
        let (place, shown) = (&self.call.place, &self.call.place.shown);
        let entries = std::fs::read_dir(&place.real)
            .map_err(|error| ToolFailure::failed(format!("The folder {shown} cannot be read: {error}")))?;
        let mut names: Vec<String> = entries
            .flatten()
            .take(MOST_ENTRIES)
            .map(|entry| {
                let name = entry.file_name().to_string_lossy().into_owned();
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => format!("{name}/"),
                    Ok(kind) if kind.is_symlink() => match std::fs::read_link(entry.path()) {
                        Ok(target) => format!("{name} -> {}", target.display()),
                        Err(_) => name,
                    },
                    _ => name,
                }
            })
            .collect();
        names.sort();
        let (total, first) = (names.len(), usize::try_from(self.call.offset).unwrap_or(usize::MAX));
        let mut text = String::new();
        let mut last = first - 1;
        for name in names.iter().skip(first - 1).take(self.call.limit) {
            if text.len() + name.len() > MOST_BYTES {
                break;
            }
            // A name may hold a line's end.
            text.push_str(&name.replace(|c: char| c.is_control(), "\u{fffd}"));
            text.push('\n');
            last += 1;
        }
        if total == 0 {
            text = format!("[The folder {shown} is empty]\n");
        } else if first > total {
            return Err(ToolFailure::failed(format!(
                "Entry {first} is beyond the end: {shown} has {}.",
                count_of(total as u64, "entry")
            )));
        } else if last < total {
            let _ = writeln!(
                text,
                "[Entries {first} to {last} of {total}. Go on with offset {}.]",
                last + 1
            );
        }
        text.pop();
        Ok(self.output(
            (self.redact)(text),
            json!({"path": shown, "kind": "folder", "total": total}),
        ))
    }
}
