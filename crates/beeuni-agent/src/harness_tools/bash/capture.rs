//! What a command prints: all of it on the way into a file, the beginning and the end in memory.

use beeuni_tools::output;

use super::spilled::{KEPT, Spilled, with_notes};
use crate::harness_tools::outputs::Outputs;

/// An output up to this size stays in memory.
const IN_MEMORY: usize = 1024 * 1024;
/// How much of a longer one's end waits for more, so that a secret that comes in two pieces is found.
const HELD: usize = 64 * 1024;
/// Collects one output.
pub(super) struct Capture {
    outputs: Outputs,
    /// How much is written into the file.
    limit: u64,
    /// Bytes at the end that begin a character.
    partial: Vec<u8>,
    /// All that came so far, or what is held back once there is a file.
    text: String,
    spilled: Option<Spilled>,
    /// Characters, and those that stand for bytes that are no text.
    chars: usize,
    broken: usize,
}

impl Capture {
    pub(super) fn new(outputs: Outputs, limit: u64) -> Self {
        Self {
            outputs,
            limit,
            partial: Vec::new(),
            text: String::new(),
            spilled: None,
            chars: 0,
            broken: 0,
        }
    }

    /// Whether nothing has come.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.partial.is_empty() && self.spilled.is_none()
    }

    /// Takes in what came from the command.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.partial.extend_from_slice(bytes);
        let bytes = std::mem::take(&mut self.partial);
        let end = complete(&bytes);
        self.partial.extend_from_slice(&bytes[end..]);
        self.add(&bytes[..end]);
    }

    fn add(&mut self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        if self.chars < KEPT {
            self.chars += text.chars().count();
            self.broken += text.matches(char::REPLACEMENT_CHARACTER).count();
        }
        self.text.push_str(&text);
        if self.text.len() > IN_MEMORY || (self.spilled.is_some() && self.text.len() > 4 * HELD) {
            self.spill();
        }
    }

    /// Moves all but the end of what is in memory into the file.
    fn spill(&mut self) {
        let text = (self.outputs.redact)(std::mem::take(&mut self.text));
        let keep = text.floor_char_boundary(text.len().saturating_sub(HELD));
        self.write(&text[..keep]);
        text[keep..].clone_into(&mut self.text);
    }

    fn write(&mut self, text: &str) {
        let file = || output::output_file(&self.outputs.folder, "bash");
        let spilled = self.spilled.get_or_insert_with(|| Spilled::new(file()));
        spilled.take(text, self.limit);
    }

    /// The last few lines so far, for somebody who watches.
    pub(super) fn recent(&self) -> String {
        const LINES: usize = 10;
        const BYTES: usize = 4 * 1024;
        let from = self.text.ceil_char_boundary(self.text.len().saturating_sub(BYTES));
        let clean = (self.outputs.redact)(self.text[from..].to_owned());
        let clean = output::readable(&clean);
        let lines: Vec<&str> = clean.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }

    /// Takes out all that has come.
    pub(super) fn take_all(&mut self) -> Self {
        std::mem::replace(self, Self::new(self.outputs.clone(), self.limit))
    }

    /// Takes out what has come up to the end of its last line; the rest stays for the next time.
    pub(super) fn take_lines(&mut self) -> Self {
        let mut taken = self.take_all();
        // A long line is not waited for.
        if let Some(end) = taken.text.rfind('\n')
            && taken.text.len() - end < HELD
        {
            self.text = taken.text.split_off(end + 1);
        }
        self.partial = std::mem::take(&mut taken.partial);
        taken
    }

    /// The text for the model with `notes` below it, within the bound.
    pub(super) fn finish(mut self, notes: &[String]) -> String {
        let partial = std::mem::take(&mut self.partial);
        self.add(&partial);
        let text = (self.outputs.redact)(std::mem::take(&mut self.text));
        // One character in ten that is none: what comes of it helps nobody.
        if self.broken * 10 > self.chars {
            let bytes = text.len() as u64 + self.spilled.as_ref().map_or(0, |spilled| spilled.bytes);
            let note = format!(
                "[The output is binary, about {} as text: it is not shown. Write it to a file instead.]",
                crate::harness_tools::read::bytes(bytes)
            );
            return with_notes(note, notes);
        }
        if self.spilled.is_none() {
            let shown = output::readable(&text).into_owned();
            let whole = with_notes(shown, notes);
            if output::fits(&whole) {
                return whole;
            }
        }
        self.write(&text);
        let Some(spilled) = self.spilled else {
            return with_notes(text, notes);
        };
        spilled.finish(&self.outputs, self.limit, notes)
    }
}

/// How many of `bytes` are whole characters; at most three wait for the rest of theirs.
fn complete(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let at = bytes.len() - back;
        let wants = match bytes[at] {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            0x80..=0xbf => continue,
            _ => return bytes.len(),
        };
        return if wants > back { at } else { bytes.len() };
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;
    use std::sync::Arc;

    const SECRET: &str = "hunter2-hunter2";

    fn outputs(folder: &std::path::Path) -> Outputs {
        Outputs {
            folder: folder.to_owned(),
            redact: Arc::new(|text| text.replace(SECRET, "[secret KEY]")),
        }
    }

    fn captured(bytes: &[u8], chunk: usize, limit: u64) -> (String, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let mut capture = Capture::new(outputs(folder.path()), limit);
        bytes.chunks(chunk).for_each(|chunk| capture.push(chunk));
        let text = capture.finish(&["[exit code 1]".to_owned()]);
        let saved = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
            .collect();
        (text, saved)
    }

    const LIMIT: u64 = 64 * 1024 * 1024;

    #[test]
    fn a_short_output_is_shown_whole_and_not_saved() {
        for chunk in 1..5 {
            let (text, saved) = captured("a\n\u{1b}[31mé漢😀\u{1b}[0m\0\n".as_bytes(), chunk, LIMIT);
            assert_eq!((text.as_str(), saved.len()), ("a\né漢😀\n[exit code 1]", 0), "{chunk}");
        }
    }

    #[test]
    fn out_06_a_long_output_is_cut_in_its_middle_and_saved_whole() {
        let line = |number: usize| format!("line {number} {SECRET}\n");
        for count in [2_001, 5_000, 200_000] {
            let whole: String = (0..count).map(line).collect();
            let (text, saved) = captured(whole.as_bytes(), 8191, LIMIT);
            assert!(output::fits(&text), "{} bytes", text.len());
            assert!(text.starts_with("line 0 [secret KEY]\nline 1 "), "{}", &text[..100]);
            let shown: Vec<&str> = text.lines().collect();
            assert!(text.contains(&format!("line {} [secret KEY]\n[exit code 1]\n[Output cut", count - 1)));
            assert!(shown.contains(&"[… the middle is left out …]"));
            let expected = whole.replace(SECRET, "[secret KEY]");
            assert_eq!(saved, std::slice::from_ref(&expected));
            let note = shown.last().unwrap();
            assert!(
                note.contains(&format!("{} bytes in {count} lines", expected.len())),
                "{note}"
            );
            // No line is shown twice, none is broken.
            let mut numbers: Vec<&&str> = shown.iter().filter(|line| line.starts_with("line ")).collect();
            assert!(numbers.iter().all(|line| line.ends_with("[secret KEY]")));
            let before = numbers.len();
            numbers.dedup();
            assert_eq!(before, numbers.len());
        }
    }

    #[test]
    fn sec_01_a_secret_is_found_wherever_the_pieces_are_cut() {
        let whole = format!("{}{SECRET}{}", "x".repeat(IN_MEMORY - 7), "y".repeat(6 * HELD));
        let (_, saved) = captured(whole.as_bytes(), 10_007, LIMIT);
        assert_eq!(saved, [whole.replace(SECRET, "[secret KEY]")]);
        let many = format!("{}{SECRET}", "z".repeat(50_021)).repeat(60);
        let (text, saved) = captured(many.as_bytes(), 4096, LIMIT);
        assert!(!saved[0].contains(SECRET) && !text.contains(SECRET) && output::fits(&text));
    }

    #[test]
    fn one_giant_line_is_cut_at_characters() {
        let (text, saved) = captured("😀".repeat(1 << 20).as_bytes(), 4093, LIMIT);
        assert!(output::fits(&text) && text.starts_with("😀") && !text.contains('\u{fffd}'));
        assert!(text.len() > 40_000 && saved[0].len() == 4 << 20);
    }

    #[test]
    fn more_than_the_limit_is_not_saved_but_counted() {
        let whole = "0123456789\n".repeat(300_000);
        let (text, saved) = captured(whole.as_bytes(), 65_536, 2 * 1024 * 1024);
        assert_eq!(saved[0].len(), 2 * 1024 * 1024);
        assert!(text.contains("[The file holds the first 2 MiB.]") && text.contains("3300000 bytes in 300000 lines"));
        assert!(output::fits(&text));
    }

    #[test]
    fn what_is_no_text_is_not_shown() {
        let bytes: Vec<u8> = (0..100_000_u32)
            .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
            .collect();
        let (text, _) = captured(&bytes, 4096, LIMIT);
        assert!(
            text.starts_with("[The output is binary") && text.ends_with("[exit code 1]") && text.len() < 300,
            "{text}"
        );
    }

    #[test]
    fn lines_are_taken_and_a_begun_one_waits() {
        let folder = tempfile::tempdir().unwrap();
        let mut capture = Capture::new(outputs(folder.path()), LIMIT);
        capture.push("one\ntwo é".as_bytes());
        let taken = capture.take_lines();
        assert_eq!(taken.finish(&[]), "one\n");
        capture.push(b"more\n");
        assert_eq!(capture.recent(), "two émore");
        assert_eq!(capture.take_lines().finish(&[]), "two émore\n");
        assert!(capture.is_empty());
    }

    #[test]
    fn a_folder_that_cannot_be_written_keeps_the_beginning_and_the_end() {
        let mut capture = Capture::new(outputs(std::path::Path::new("/nonexistent/x")), LIMIT);
        capture.push("line\n".repeat(500_000).as_bytes());
        let text = capture.finish(&[]);
        assert!(text.contains("could not be saved") && text.starts_with("line\n") && output::fits(&text));
    }
}
