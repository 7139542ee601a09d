//! Finds the old text and puts the new one in its place, byte by byte; line ends are those of the file.

use memchr::memmem;

/// A changed content.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Replacement {
    pub(super) content: Vec<u8>,
    /// The line on which each replaced text began, from 1.
    pub(super) lines: Vec<usize>,
}

/// Why nothing was replaced.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoReplacement {
    NotFound,
    /// It begins on each of these lines, and one was wanted.
    Several(Vec<usize>),
}

/// How many places are looked for when one is wanted.
const MOST_PLACES: usize = 1000;

/// Replaces `old` by `new` in `content`: the one occurrence, or `all` of them.
pub(super) fn replacement(content: &[u8], old: &str, new: &str, all: bool) -> Result<Replacement, NoReplacement> {
    let as_is = places(content, old.as_bytes(), all);
    if !as_is.is_empty() {
        return put(content, old.as_bytes(), &as_is, all, |at| adapt(new, content, at, old));
    }
    // A model writes plain line ends; the file's own may be CR LF.
    if old.contains('\n') && !old.contains('\r') && memmem::find(content, b"\r\n").is_some() {
        let old = old.replace('\n', "\r\n");
        let found = places(content, old.as_bytes(), all);
        if !found.is_empty() {
            let new = with_carriage_returns(new);
            return put(content, old.as_bytes(), &found, all, |_| new.clone());
        }
    }
    Err(NoReplacement::NotFound)
}

/// The new text with the line ends of the place it comes to. An old text with line ends has matched as it is, so
/// the new one is right as it is; one within a line tells nothing.
fn adapt(new: &str, content: &[u8], at: usize, old: &str) -> String {
    if old.contains('\n') || new.contains('\r') || !new.contains('\n') {
        return new.to_owned();
    }
    let next = memchr::memchr(b'\n', &content[at..]).map(|end| at + end);
    // On the last line the one before tells.
    let end = next.or_else(|| memchr::memrchr(b'\n', &content[..at]));
    match end {
        Some(end) if end > 0 && content[end - 1] == b'\r' => with_carriage_returns(new),
        _ => new.to_owned(),
    }
}

fn with_carriage_returns(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// Where `old` begins. Occurrences that overlap are several places when one is wanted.
fn places(content: &[u8], old: &[u8], all: bool) -> Vec<usize> {
    let finder = memmem::Finder::new(old);
    if all {
        return finder.find_iter(content).collect();
    }
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = finder.find(&content[from..]) {
        found.push(from + at);
        from += at + 1;
        if found.len() == MOST_PLACES {
            break;
        }
    }
    found
}

fn put(
    content: &[u8],
    old: &[u8],
    places: &[usize],
    all: bool,
    new: impl Fn(usize) -> String,
) -> Result<Replacement, NoReplacement> {
    let mut lines = Vec::with_capacity(places.len());
    let (mut line, mut counted) = (1, 0);
    for at in places {
        line += memchr::memchr_iter(b'\n', &content[counted..*at]).count();
        counted = *at;
        lines.push(line);
    }
    if places.len() > 1 && !all {
        return Err(NoReplacement::Several(lines));
    }
    let mut changed = Vec::with_capacity(content.len());
    let mut from = 0;
    for at in places {
        changed.extend_from_slice(&content[from..*at]);
        changed.extend_from_slice(new(*at).as_bytes());
        from = at + old.len();
    }
    changed.extend_from_slice(&content[from..]);
    Ok(Replacement {
        content: changed,
        lines,
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    fn edited(content: &str, old: &str, new: &str, all: bool) -> Result<(String, Vec<usize>), NoReplacement> {
        let changed = replacement(content.as_bytes(), old, new, all)?;
        Ok((String::from_utf8(changed.content).unwrap(), changed.lines))
    }

    #[test]
    fn the_one_occurrence_is_replaced_literally() {
        for new in ["$&", "\\1", "{}", "%s", "", "漢\n字"] {
            let expected = format!("a\nb{new}c\n");
            assert_eq!(edited("a\nbXc\n", "X", new, false), Ok((expected, vec![2])), "{new}");
        }
    }

    #[test]
    fn what_is_absent_or_ambiguous_changes_nothing() {
        assert_eq!(edited("abc", "x", "y", false), Err(NoReplacement::NotFound));
        assert_eq!(edited("abc", "ABC", "y", false), Err(NoReplacement::NotFound));
        assert_eq!(
            edited("x\na\nx x", "x", "y", false),
            Err(NoReplacement::Several(vec![1, 3, 3]))
        );
        assert_eq!(
            edited("aaa", "aa", "b", false),
            Err(NoReplacement::Several(vec![1, 1])),
            "they overlap"
        );
    }

    #[test]
    fn all_replaces_each_once_and_never_what_it_put_in() {
        assert_eq!(
            edited("x\na x\n", "x", "xx", true),
            Ok(("xx\na xx\n".to_owned(), vec![1, 2]))
        );
        assert_eq!(edited("aaa", "aa", "b", true), Ok(("ba".to_owned(), vec![1])));
    }

    #[test]
    fn line_ends_stay_as_the_file_has_them() {
        let crlf = "a\r\nb\r\nc\r\n";
        assert_eq!(
            edited(crlf, "a\nb", "x\ny\nz", false).unwrap().0,
            "x\r\ny\r\nz\r\nc\r\n"
        );
        assert_eq!(edited(crlf, "a\r\nb", "x\r\ny", false).unwrap().0, "x\r\ny\r\nc\r\n");
        assert_eq!(edited(crlf, "b", "x\ny", false).unwrap().0, "a\r\nx\r\ny\r\nc\r\n");
        assert_eq!(
            edited("a\r\nb", "b", "x\ny", false).unwrap().0,
            "a\r\nx\r\ny",
            "the last line has no end"
        );
        assert_eq!(edited("a\nb\n", "b", "x\ny", false).unwrap().0, "a\nx\ny\n");
        // A file with both: what is replaced keeps its own.
        assert_eq!(edited("a\r\nb\nc\n", "b\nc", "x\ny", false).unwrap().0, "a\r\nx\ny\n");
        assert_eq!(
            edited("a\nb\r\nc\r\n", "b\nc", "x\ny", false).unwrap().0,
            "a\nx\r\ny\r\n"
        );
        assert_eq!(
            edited("a\nb\r\nc\r\n", "b", "x\ny", false).unwrap().0,
            "a\nx\r\ny\r\nc\r\n"
        );
    }

    #[test]
    fn bytes_that_are_no_text_stay() {
        let content = b"\xff\xfe a \xe9 b\n";
        let changed = replacement(content, "a", "c", false).unwrap();
        assert_eq!(changed.content, b"\xff\xfe c \xe9 b\n");
    }

    #[test]
    fn every_edit_of_small_files_does_what_a_plain_search_says() {
        let mut contents = vec![String::new()];
        for _ in 0..5 {
            let longer: Vec<String> = contents
                .iter()
                .flat_map(|text| ["a", "b", "\n"].map(|c| format!("{text}{c}")))
                .collect();
            contents.extend(longer);
            contents.sort();
            contents.dedup();
        }
        for content in &contents {
            for old in ["a", "b", "ab", "aa", "a\nb", "\n"] {
                let places = (0..content.len()).filter(|at| content[*at..].starts_with(old)).count();
                let result = edited(content, old, "ZZ", false);
                match places {
                    0 => assert_eq!(result, Err(NoReplacement::NotFound), "{content:?} {old:?}"),
                    1 => assert_eq!(result.unwrap().0, content.replacen(old, "ZZ", 1), "{content:?} {old:?}"),
                    _ => assert!(matches!(result, Err(NoReplacement::Several(lines)) if lines.len() == places)),
                }
                let all = edited(content, old, "ZZ", true);
                if places > 0 {
                    assert_eq!(all.unwrap().0, content.replace(old, "ZZ"), "{content:?} {old:?}");
                }
            }
        }
    }
}
