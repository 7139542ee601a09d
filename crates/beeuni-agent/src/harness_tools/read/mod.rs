//! `read`: a file's lines with their numbers, a folder's entries, or an image.

mod folder;
mod kind;
mod lines;
mod numbered;

use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek as _, SeekFrom};
use std::path::Path;

use beeuni_tools::output::{MAX_OUTPUT_BYTES, MAX_OUTPUT_LINES};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::permission::Access;

use super::arguments::Arguments;
use super::context::{Attachment, CallContext, ToolFailure, ToolOutput};
use super::nearest;
use super::paths::{Paths, Place};
use super::sessions::Stamp;
use super::spec::Spec;
use super::{Inner, blocking};
use kind::Kind;

/// What the model reads about the tool.
pub(super) const SPEC: Spec = Spec {
    name: "read",
    description: "Read a file, list a folder, or look at an image. Text comes with line numbers (number, tab, line); \
        what is shown in front of the tab is not part of the file. Reads up to 2,000 lines from the start; give \
        `offset` and `limit` for another part of a long file. Lines over 2,000 characters are cut. Images (PNG, JPEG, \
        GIF, WebP up to 5 MiB) are shown to you. Several files can be read at once by several calls.",
    parameters: r#"{"type":"object","properties":{"path":{"type":"string","description":"The file or folder: relative to the checkout, absolute, or beginning with ~."},"offset":{"type":"integer","description":"The first line to read, from 1."},"limit":{"type":"integer","description":"How many lines to read. Default: up to 2,000."}},"required":["path"]}"#,
};

/// Longest line that is shown whole, in characters.
const LONGEST_LINE: usize = 2000;
/// Lines that are shown at most: the notes below them need some of the bound.
const MOST_LINES: usize = MAX_OUTPUT_LINES - 8;
/// Bytes that are shown at most.
const MOST_BYTES: usize = MAX_OUTPUT_BYTES - 1024;
/// Largest image.
const LARGEST_IMAGE: u64 = 5 * 1024 * 1024;
/// Largest file in UTF-16: it is turned into UTF-8 as a whole.
const LARGEST_UTF16: u64 = 8 * 1024 * 1024;
/// Entries of a folder that are looked at.
const MOST_ENTRIES: usize = 100_000;

/// A call whose arguments are read.
pub(super) struct Call {
    place: Place,
    offset: u64,
    limit: usize,
}

pub(super) fn prepare(tools: &Inner, arguments: &Arguments) -> Result<(Call, Vec<Access>), ToolFailure> {
    let path = arguments.text(&["path", "file_path", "filePath", "file"], "the file or folder to read")?;
    let offset = arguments.number(&["offset"], "the first line")?.unwrap_or(1).max(1);
    let limit = arguments
        .number(&["limit"], "how many lines")?
        .filter(|limit| *limit > 0);
    let place = tools.paths.resolve(&path)?;
    let accesses = tools.paths.accesses(&place, "read", SPEC.name);
    let limit = limit.map_or(MOST_LINES, |limit| {
        usize::try_from(limit).unwrap_or(MOST_LINES).min(MOST_LINES)
    });
    Ok((Call { place, offset, limit }, accesses))
}

/// Metadata: `{ path, kind: "text"|"folder"|"image", first?, last?, total? }`.
pub(super) async fn run(tools: &Inner, call: Call, context: CallContext<'_>) -> Result<ToolOutput, ToolFailure> {
    let (paths, redact) = (tools.paths.clone(), tools.outputs.redact.clone());
    let stop = context.stop.clone();
    let real = call.place.real.clone();
    let (output, stamp) = blocking(move || {
        let reading = Reading {
            call,
            paths: &paths,
            redact: &*redact,
            stop,
        };
        reading.run()
    })
    .await?;
    if let Some(stamp) = stamp {
        tools.sessions.saw(context.session, &real, stamp);
    }
    Ok(output)
}

struct Reading<'a> {
    call: Call,
    paths: &'a Paths,
    redact: &'a dyn Fn(String) -> String,
    stop: CancellationToken,
}

impl Reading<'_> {
    fn run(&self) -> Result<(ToolOutput, Option<Stamp>), ToolFailure> {
        let (place, shown) = (&self.call.place, &self.call.place.shown);
        let metadata = match std::fs::metadata(&place.real) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let show = |path: &Path| self.paths.shown(path);
                return Err(ToolFailure::failed(nearest::missing(&place.real, shown, show)));
            }
            Err(error) => return Err(ToolFailure::failed(format!("{shown} cannot be read: {error}"))),
        };
        if metadata.is_dir() {
            return self.folder().map(|output| (output, None));
        }
        // Opening a pipe would wait for its other end.
        if !metadata.is_file() {
            return Err(ToolFailure::failed(format!(
                "{shown} is no regular file but a device, pipe or socket: it cannot be read."
            )));
        }
        let failed = |error: std::io::Error| {
            if self.stop.is_cancelled() {
                return ToolFailure::stopped();
            }
            ToolFailure::failed(format!("{shown} cannot be read: {error}"))
        };
        let mut file = File::open(&place.real).map_err(failed)?;
        let mut start = Vec::with_capacity(kind::LOOKED_AT);
        Read::by_ref(&mut file)
            .take(kind::LOOKED_AT as u64)
            .read_to_end(&mut start)
            .map_err(failed)?;
        let size = metadata.len();
        let (from, count) = (self.call.offset, self.call.limit);
        let mut notes = Vec::new();
        let found = match kind::of(&start) {
            Kind::Image(mime) => return self.image(file, mime, size).map(|output| (output, None)),
            Kind::Binary(what) => {
                return Err(ToolFailure::failed(format!(
                    "{shown} is binary ({what}, {}): it cannot be shown as text. Look into it with a program in `bash` \
                     (`file`, `strings`, `xxd` or one made for its format).",
                    bytes(size)
                )));
            }
            Kind::Utf16 { .. } if size > LARGEST_UTF16 => {
                return Err(ToolFailure::failed(format!(
                    "{shown} is a text in UTF-16 of {}: convert it with `iconv -f UTF-16 -t UTF-8` in `bash` first.",
                    bytes(size)
                )));
            }
            Kind::Utf16 { big_endian } => {
                notes.push("The file is in UTF-16: `edit` cannot change it.".to_owned());
                let text = utf16(file, start, big_endian).map_err(failed)?;
                lines::read(&mut Cursor::new(text), from, count, &self.stop).map_err(failed)?
            }
            Kind::Text { mark } => {
                file.seek(SeekFrom::Start(mark as u64)).map_err(failed)?;
                lines::read(&mut BufReader::with_capacity(64 * 1024, file), from, count, &self.stop).map_err(failed)?
            }
        };
        if found.total == 0 {
            let text = format!("[{shown} is empty]");
            return Ok((
                self.output(text, json!({"path": shown, "kind": "text", "total": 0})),
                Some(Stamp::of(&metadata)),
            ));
        }
        if from > found.total {
            return Err(ToolFailure::failed(format!(
                "Line {from} is beyond the end: {shown} has {}.",
                count_of(found.total, "line")
            )));
        }
        Ok((self.numbered(&found, notes), Some(Stamp::of(&metadata))))
    }

    fn output(&self, text: String, metadata: serde_json::Value) -> ToolOutput {
        ToolOutput {
            text,
            title: self.call.place.shown.clone(),
            metadata,
            ..ToolOutput::default()
        }
    }

    fn image(&self, file: File, mime: &'static str, size: u64) -> Result<ToolOutput, ToolFailure> {
        let shown = &self.call.place.shown;
        if size > LARGEST_IMAGE {
            return Err(ToolFailure::failed(format!(
                "{shown} is an image ({mime}) of {}: only images up to 5 MiB can be shown. Make it smaller first.",
                bytes(size)
            )));
        }
        let mut data = Vec::new();
        let mut file = file;
        file.seek(SeekFrom::Start(0))
            .and_then(|_| file.take(LARGEST_IMAGE + 1).read_to_end(&mut data))
            .map_err(|error| ToolFailure::failed(format!("{shown} cannot be read: {error}")))?;
        let mut output = self.output(
            format!("[Image {shown}: {mime}, {}]", bytes(size)),
            json!({"path": shown, "kind": "image", "mime": mime, "bytes": size}),
        );
        output.attachments.push(Attachment {
            mime,
            name: shown.clone(),
            data,
        });
        Ok(output)
    }
}

fn utf16(mut file: File, start: Vec<u8>, big_endian: bool) -> std::io::Result<Vec<u8>> {
    let mut data = start;
    Read::by_ref(&mut file).take(LARGEST_UTF16).read_to_end(&mut data)?;
    let units = data[2..].chunks(2).map(|pair| match *pair {
        [a, b] if big_endian => u16::from_be_bytes([a, b]),
        [a, b] => u16::from_le_bytes([a, b]),
        _ => 0xfffd,
    });
    let text: String = char::decode_utf16(units)
        .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    Ok(text.into_bytes())
}

/// A size as people read it.
pub(super) fn bytes(size: u64) -> String {
    let text = size.to_string();
    let mut out = String::new();
    for (index, digit) in text.chars().enumerate() {
        if index > 0 && (text.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    format!("{out} byte{}", if size == 1 { "" } else { "s" })
}

/// `1 line`, `2 lines`, `3 entries`.
pub(super) fn count_of(count: u64, what: &str) -> String {
    match what.strip_suffix('y') {
        _ if count == 1 => format!("1 {what}"),
        Some(stem) => format!("{count} {stem}ies"),
        None => format!("{count} {what}s"),
    }
}
