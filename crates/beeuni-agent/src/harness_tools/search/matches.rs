//! Searches many files at once and keeps what was found in the order of the files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};

use super::Until;

/// Characters of a line that are shown.
const WIDTH: usize = 400;
/// Characters before the match that are shown of a longer line.
const BEFORE: usize = 100;
/// Memory for one line of a file.
const LONGEST_LINE: usize = 16 * 1024 * 1024;
/// Threads that search.
const MOST_THREADS: usize = 4;

/// What to look for.
pub(super) struct Wanted<'a> {
    pub(super) matcher: &'a RegexMatcher,
    /// Lines shown before and after each match.
    pub(super) context: usize,
    /// Only which files match.
    pub(super) names_only: bool,
    /// Matches (or files) that are enough.
    pub(super) limit: usize,
    /// Whether a file that matches may be shown.
    pub(super) may_show: &'a (dyn Fn(&Path) -> bool + Sync),
}

/// A line of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    Match(u64, String),
    Context(u64, String),
    /// Lines are left out here.
    Break,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// By the place of the file in the list.
    pub(super) files: BTreeMap<usize, Vec<Line>>,
    /// Files that match but may not be shown.
    pub(super) withheld: usize,
    /// Whether all files were searched to their ends.
    pub(super) complete: bool,
}

/// How far the search is.
#[derive(Default)]
struct Progress {
    found: Found,
    /// Which files are done; all before `through` are.
    done: Vec<bool>,
    through: usize,
    /// Matches in the files before `through`.
    enough: usize,
}

pub(super) fn search(files: &[PathBuf], wanted: &Wanted<'_>, until: &Until) -> Found {
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(MOST_THREADS)
        .min(files.len().max(1));
    let next = AtomicUsize::new(0);
    let (satisfied, cut) = (AtomicBool::new(false), AtomicBool::new(false));
    let progress = Mutex::new(Progress {
        done: vec![false; files.len()],
        ..Progress::default()
    });
    let work = || {
        let mut searcher = searcher(wanted);
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = files.get(index) else { return };
            if satisfied.load(Ordering::Relaxed) || until.is_over() {
                cut.store(true, Ordering::Relaxed);
                return;
            }
            let mut sink = Lines {
                wanted,
                until,
                lines: Vec::new(),
                matches: 0,
                cut: false,
            };
            // What cannot be read is left out, as by every search.
            if let Ok(file) = File::open(file) {
                let _ = searcher.search_reader(wanted.matcher, Stoppable { file, until }, &mut sink);
            }
            if sink.cut || until.is_over() {
                cut.store(true, Ordering::Relaxed);
            }
            let withheld = sink.matches > 0 && !(wanted.may_show)(file);
            let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
            if withheld {
                progress.found.withheld += 1;
            } else if sink.matches > 0 {
                progress.found.files.insert(index, sink.lines);
            }
            progress.advance(index, wanted);
            if progress.enough >= wanted.limit {
                satisfied.store(true, Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let mut found = progress.into_inner().unwrap_or_else(PoisonError::into_inner).found;
    found.complete = !cut.into_inner();
    found
}

impl Progress {
    /// The file `index` is done: what is found in a row from the first file on counts towards the limit.
    fn advance(&mut self, index: usize, wanted: &Wanted<'_>) {
        self.done[index] = true;
        while self.done.get(self.through) == Some(&true) {
            if let Some(lines) = self.found.files.get(&self.through) {
                self.enough += if wanted.names_only { 1 } else { count(lines) };
            }
            self.through += 1;
        }
    }
}

/// How many of the lines are matches.
pub(super) fn count(lines: &[Line]) -> usize {
    lines.iter().filter(|line| matches!(line, Line::Match(..))).count()
}

fn searcher(wanted: &Wanted<'_>) -> Searcher {
    SearcherBuilder::new()
        .line_number(true)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(LONGEST_LINE))
        .before_context(wanted.context)
        .after_context(wanted.context)
        .build()
}

/// A file that cannot be read on once the search is over.
struct Stoppable<'a> {
    file: File,
    until: &'a Until,
}

impl Read for Stoppable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.until.is_over() {
            return Err(std::io::Error::other("the search is over"));
        }
        self.file.read(buffer)
    }
}

struct Lines<'a> {
    wanted: &'a Wanted<'a>,
    until: &'a Until,
    lines: Vec<Line>,
    matches: usize,
    cut: bool,
}

impl Sink for Lines<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        if self.matches >= self.wanted.limit || self.until.is_over() {
            self.cut = true;
            return Ok(false);
        }
        self.matches += 1;
        if self.wanted.names_only {
            self.lines.push(Line::Match(0, String::new()));
            return Ok(false);
        }
        let line = found.bytes();
        let at = self
            .wanted
            .matcher
            .find(line)
            .ok()
            .flatten()
            .map_or(0, |hit| hit.start());
        self.lines
            .push(Line::Match(found.line_number().unwrap_or(0), shown(line, at)));
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, Self::Error> {
        // Behind the last match that is shown, its context still is.
        self.lines.push(Line::Context(
            context.line_number().unwrap_or(0),
            shown(context.bytes(), 0),
        ));
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, Self::Error> {
        self.lines.push(Line::Break);
        Ok(true)
    }
}

/// A line without its end; of a long one the part around the byte `at`.
fn shown(line: &[u8], at: usize) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() <= WIDTH {
        return String::from_utf8_lossy(line).into_owned();
    }
    let start = at.saturating_sub(BEFORE).min(line.len());
    let end = (start + WIDTH).min(line.len());
    // A character that is cut in the middle is left out.
    let is_inside = |at: &usize| line.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let start = (start..end).find(|at| !is_inside(at)).unwrap_or(start);
    let end = (start..=end).rev().find(|at| !is_inside(at)).unwrap_or(end);
    let (left, right) = (
        if start > 0 { "…" } else { "" },
        if end < line.len() { "…" } else { "" },
    );
    format!("{left}{}{right}", String::from_utf8_lossy(&line[start..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_shown_around_its_match_and_cut_between_characters() {
        let line = format!("{}needle{}\r\n", "é".repeat(1000), "漢".repeat(1000));
        let text = shown(line.as_bytes(), 2000);
        assert!(
            text.starts_with("…é") && text.contains("needle") && text.ends_with("漢…"),
            "{text}"
        );
        assert!(text.len() < WIDTH + 10 && !text.contains('\u{fffd}'), "{text}");
        assert_eq!(shown(b"short\r\n", 0), "short");
    }
}
