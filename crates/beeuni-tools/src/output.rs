//! What reaches the model of a tool's output: readable text, at most 51,200 bytes and 2,000 lines.

use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Most bytes of one output that reach the model, the closing note included.
pub const MAX_OUTPUT_BYTES: usize = 51_200;
/// Most lines of one output that reach the model, the closing note included.
pub const MAX_OUTPUT_LINES: usize = 2_000;
/// How long a saved output is kept; older ones are removed when a host starts.
const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Whether `text` is within both limits. A text of exactly either size is.
pub fn fits(text: &str) -> bool {
    text.len() <= MAX_OUTPUT_BYTES && (text.len() < MAX_OUTPUT_LINES || lines(text) <= MAX_OUTPUT_LINES)
}

/// How many lines `text` has; the last one counts with or without its end.
pub fn line_count(text: &str) -> usize {
    lines(text)
}

fn lines(text: &str) -> usize {
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).count();
    ends + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

/// Takes out what a terminal would act on and a reader cannot see: escape codes, NUL and other control
/// characters, and the overwritten states of a progress bar. Other text stays byte for byte.
pub fn readable(text: &str) -> Cow<'_, str> {
    let control = |b: &u8| (*b < 0x20 && *b != b'\n' && *b != b'\t') || *b == 0x7f;
    if !text.as_bytes().iter().any(control) && !text.contains('\u{9b}') {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (body, end) = match line.strip_suffix("\r\n") {
            Some(body) => (body, "\r\n"),
            None => line.strip_suffix('\n').map_or((line, ""), |body| (body, "\n")),
        };
        // What stands before a carriage return was overwritten on a terminal.
        let shown = body.trim_end_matches('\r').rsplit('\r').next().unwrap_or(body);
        let start = if shown.len() == body.trim_end_matches('\r').len() {
            ""
        } else {
            before_progress(body)
        };
        for part in [start, shown] {
            let plain = anstream::adapter::strip_str(part).to_string();
            clean.extend(plain.chars().filter(|c| !c.is_control() || *c == '\t'));
        }
        clean.push_str(end);
    }
    Cow::Owned(clean)
}

/// The text before the first carriage return: a label that the progress bar stood behind.
fn before_progress(body: &str) -> &str {
    body.split('\r').next().unwrap_or("")
}

/// The text for the model: `text` itself within the limits, else its head and a note that says how large the
/// whole is and in which file it stands.
pub fn bound(text: &str, raw: &str, folder: &Path, tool: &str) -> String {
    let saved = save(raw, folder, tool);
    let note = cut_note(raw.len() as u64, lines(raw) as u64, &saved, folder);
    let mut head = head(
        text,
        MAX_OUTPUT_BYTES.saturating_sub(note.len() + 1),
        MAX_OUTPUT_LINES - 1,
    )
    .to_owned();
    if !head.is_empty() && !head.ends_with('\n') {
        head.push('\n');
    }
    head.push_str(&note);
    head
}

/// The last line of a cut output: how large the whole is, and where it stands or why it does not.
pub fn cut_note(bytes: u64, lines: u64, saved: &std::io::Result<PathBuf>, folder: &Path) -> String {
    match saved {
        Ok(path) => format!(
            "[Output cut: the whole output has {bytes} bytes in {lines} lines and is in {}]",
            path.display()
        ),
        Err(error) => format!(
            "[Output cut: the whole output has {bytes} bytes in {lines} lines; the rest could not be saved in {}: {error}]",
            folder.display()
        ),
    }
}

/// An error text within the same limits; what is cut is not saved.
pub fn bound_error(text: String) -> String {
    if fits(&text) {
        return text;
    }
    let note = format!(
        "[Error text cut: it has {} bytes in {} lines]",
        text.len(),
        lines(&text)
    );
    format!(
        "{}\n{note}",
        head(&text, MAX_OUTPUT_BYTES - note.len() - 1, MAX_OUTPUT_LINES - 1).trim_end_matches('\n')
    )
}

/// The longest start of `text` within both limits, cut at a line's end where one is near, else at a character.
fn head(text: &str, bytes: usize, lines: usize) -> &str {
    let mut end = text.floor_char_boundary(bytes.min(text.len()));
    if let Some(line_end) = memchr::memchr_iter(b'\n', &text.as_bytes()[..end]).nth(lines.saturating_sub(1)) {
        return &text[..line_end];
    }
    if end < text.len()
        && let Some(line_end) = memchr::memrchr(b'\n', &text.as_bytes()[..end])
        && line_end >= end / 2
    {
        end = line_end + 1;
    }
    &text[..end]
}

/// A new file in `folder` for the output of a call of `tool`: 0600, removed with the value unless it is kept.
pub fn output_file(folder: &Path, tool: &str) -> std::io::Result<tempfile::NamedTempFile> {
    // tempfile opens with O_EXCL and mode 0600: the file is this call's alone.
    tempfile::Builder::new()
        .prefix(&format!("{tool}-"))
        .suffix(".txt")
        .rand_bytes(12)
        .tempfile_in(folder)
}

fn save(text: &str, folder: &Path, tool: &str) -> std::io::Result<PathBuf> {
    let mut file = output_file(folder, tool)?;
    file.write_all(text.as_bytes())?;
    let (_, path) = file.keep()?;
    Ok(path)
}

/// Removes saved outputs that are older than a week. Failures do not matter: the next start tries again.
pub fn remove_old(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let Some(limit) = SystemTime::now().checked_sub(KEPT) else {
        return;
    };
    for entry in entries.flatten() {
        let old = entry
            .metadata()
            .and_then(|m| m.modified())
            .is_ok_and(|modified| modified < limit);
        if old && entry.path().extension().is_some_and(|e| e == "txt") {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    fn bounded(text: &str) -> (String, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        (bound(text, text, folder.path(), "t"), folder)
    }

    #[test]
    fn out_06_a_text_of_exactly_the_limit_is_whole() {
        assert!(fits(&"x".repeat(MAX_OUTPUT_BYTES)));
        assert!(!fits(&"x".repeat(MAX_OUTPUT_BYTES + 1)));
        assert!(fits(&"x\n".repeat(MAX_OUTPUT_LINES)));
        assert!(fits(&"x\n".repeat(MAX_OUTPUT_LINES)[..MAX_OUTPUT_LINES * 2 - 1]));
        assert!(!fits(&format!("{}x", "x\n".repeat(MAX_OUTPUT_LINES))));
    }

    #[test]
    fn out_06_a_cut_text_stays_under_both_limits_and_names_the_whole() {
        for text in [
            "y\n".repeat(2001),
            "é".repeat(3 << 20),
            "line\r\n".repeat(10_000),
            "\n".repeat(100_000),
            "😀".repeat(12_801),
        ] {
            let (shown, folder) = bounded(&text);
            assert!(fits(&shown), "{} bytes, {} lines", shown.len(), lines(&shown));
            let file = std::fs::read_dir(folder.path())
                .unwrap()
                .next()
                .unwrap()
                .unwrap()
                .path();
            assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
            let last = shown.lines().last().unwrap();
            assert!(
                last.contains(&format!("{} bytes", text.len())) && last.contains(file.to_str().unwrap()),
                "{last}"
            );
            assert!(shown.len() > last.len() + 100, "the preview is not empty");
        }
    }

    #[test]
    fn m5_a_saved_output_is_private() {
        use std::os::unix::fs::PermissionsExt;
        let (_, folder) = bounded(&"x\n".repeat(3000));
        let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn out_06_a_folder_that_cannot_be_written_keeps_the_preview() {
        let shown = bound(
            &"x\n".repeat(3000),
            &"x\n".repeat(3000),
            Path::new("/nonexistent/folder"),
            "t",
        );
        assert!(
            shown.starts_with("x\nx\n") && shown.contains("could not be saved") && fits(&shown),
            "{shown}"
        );
    }

    #[test]
    fn out_07_escape_codes_progress_and_nul_are_taken_out() {
        let progress: String = (0..99).map(|i| format!("\rdone {i}%")).collect();
        let text = format!("\x1b[31mred\x1b[0m\x1b]8;;http://x\x07link\x1b]8;;\x07 {progress}\u{0}end \\u0000");
        assert_eq!(readable(&text), "redlink done 98%end \\u0000");
        assert_eq!(readable("a\r\nb\tc\n"), "a\r\nb\tc\n");
        assert_eq!(readable("漢😀é\n"), "漢😀é\n");
    }
}
