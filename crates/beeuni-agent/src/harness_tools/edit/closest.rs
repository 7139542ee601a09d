//! Why a text was not found: what in the file resembles it most, and in what it differs.

use std::fmt::Write as _;

/// Longest file that is compared with a text.
const LONGEST: usize = 2 * 1024 * 1024;
/// Lines of the wanted text that are compared.
const COMPARED: usize = 8;
/// Lines that are shown of a place.
const SHOWN: usize = 8;
/// Characters of a line that are shown, bytes that are compared.
const WIDTH: usize = 300;
/// Below this a place does not resemble the text.
const RESEMBLES: f64 = 0.5;

/// The text for the model.
pub(super) fn explain(shown: &str, content: &str, old: &str, redact: &dyn Fn(String) -> String) -> String {
    let mut text = format!("`old_string` is not in {shown}: nothing was changed.");
    if content.is_empty() {
        text.push_str(" The file is empty: use `write`.");
        return text;
    }
    if let Some(hint) = hint(content, old, redact) {
        let _ = write!(text, " {hint}");
        return text;
    }
    let lines: Vec<&str> = content.lines().collect();
    let wanted: Vec<&str> = old.lines().collect();
    if let Some(line) = same_but_for_space(&lines, &wanted) {
        let _ = write!(
            text,
            " Line {line} differs only in white space (→ is a tab here); copy it exactly:\n{}",
            excerpt(&lines, line, wanted.len(), redact).replace('\t', "→")
        );
        return text;
    }
    match closest(content, &lines, &wanted) {
        Some(line) => {
            let _ = write!(
                text,
                " What resembles it most:\n{}\nRead the file again if it may have changed.",
                excerpt(&lines, line, wanted.len().max(1), redact)
            );
        }
        None => text.push_str(" Nothing in it resembles the text: read the file, or look for the text with `grep`."),
    }
    text
}

/// A mistake that explains it all.
fn hint(content: &str, old: &str, redact: &dyn Fn(String) -> String) -> Option<&'static str> {
    let numbered = |line: &str| {
        let line = line.trim_start();
        let digits = line.chars().take_while(char::is_ascii_digit).count();
        digits > 0 && line[digits..].starts_with('\t')
    };
    if old.lines().all(numbered) {
        let stripped: Vec<&str> = old
            .lines()
            .filter_map(|line| line.split_once('\t').map(|(_, text)| text))
            .collect();
        if content.replace("\r\n", "\n").contains(&stripped.join("\n")) {
            return Some("It begins with the line numbers that `read` shows: leave them out.");
        }
    }
    if old.contains("\\n")
        && content
            .replace("\r\n", "\n")
            .contains(&old.replace("\\n", "\n").replace("\\t", "\t"))
    {
        return Some("It holds `\\n` as two characters where the file has a line's end: write real line ends.");
    }
    if old.contains("[secret ") && redact(content.to_owned()).contains(old) {
        return Some(
            "The file holds a secret's value where you are shown `[secret NAME]`: leave that part out of `old_string`.",
        );
    }
    if old.contains('\u{fffd}') {
        return Some("It holds \u{fffd}, which stands for bytes that could not be shown: leave that part out.");
    }
    None
}

/// The line (from 1) at which the file has the same words with other space between them.
fn same_but_for_space(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
    let wanted: Vec<String> = wanted.iter().map(|line| words(line)).collect();
    if wanted.iter().all(String::is_empty) || lines.iter().map(|line| line.len()).sum::<usize>() > LONGEST {
        return None;
    }
    let lines: Vec<String> = lines.iter().map(|line| words(line)).collect();
    if let [only] = wanted.as_slice() {
        return lines.iter().position(|line| line.contains(only)).map(|at| at + 1);
    }
    lines
        .windows(wanted.len())
        .position(|window| window == wanted)
        .map(|at| at + 1)
}

/// The line (from 1) at which the file resembles the wanted text most.
fn closest(content: &str, lines: &[&str], wanted: &[&str]) -> Option<usize> {
    if content.len() > LONGEST {
        return None;
    }
    // Empty lines resemble each other everywhere.
    let wanted: Vec<(usize, Pairs)> = wanted
        .iter()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(index, line)| (index, Pairs::of(line)))
        .take(COMPARED)
        .collect();
    let (first_index, first) = wanted.first()?;
    let lines: Vec<Pairs> = lines.iter().map(|line| Pairs::of(line)).collect();
    let mut best: Option<(f64, usize)> = None;
    for (at, line) in lines.iter().enumerate() {
        // The first line decides whether the others are worth looking at.
        let similar = first.similarity(line);
        if similar < RESEMBLES * 0.7 {
            continue;
        }
        let mut sum = similar;
        for (index, line) in &wanted[1..] {
            sum += lines
                .get(at + index - first_index)
                .map_or(0.0, |other| line.similarity(other));
        }
        #[expect(clippy::cast_precision_loss, reason = "at most 8 lines are compared")]
        let score = sum / wanted.len() as f64;
        if score >= RESEMBLES && best.is_none_or(|(most, _)| score > most) {
            best = Some((score, at + 1));
        }
    }
    best.map(|(_, line)| line)
}

/// The pairs of neighbouring bytes of a line, sorted: what two lines have in common is counted from these.
struct Pairs(Vec<[u8; 2]>);

impl Pairs {
    fn of(line: &str) -> Self {
        let bytes = line.trim().as_bytes();
        let bytes = &bytes[..bytes.len().min(WIDTH)];
        // A line of one character is a pair too.
        let mut pairs: Vec<[u8; 2]> = std::iter::once([b'\n', bytes.first().copied().unwrap_or(b'\n')])
            .chain(bytes.windows(2).map(|pair| [pair[0], pair[1]]))
            .collect();
        pairs.sort_unstable();
        Self(pairs)
    }

    /// From 0 to 1: the part of the pairs that is the same (Sørensen and Dice).
    fn similarity(&self, other: &Self) -> f64 {
        let (mut one, mut two) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut common = 0_u32;
        while let (Some(a), Some(b)) = (one.peek(), two.peek()) {
            match a.cmp(b) {
                std::cmp::Ordering::Less => drop(one.next()),
                std::cmp::Ordering::Greater => drop(two.next()),
                std::cmp::Ordering::Equal => {
                    common += 1;
                    one.next();
                    two.next();
                }
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "at most 300 pairs each")]
        let all = (self.0.len() + other.0.len()) as f64;
        2.0 * f64::from(common) / all
    }
}

fn excerpt(lines: &[&str], first: usize, count: usize, redact: &dyn Fn(String) -> String) -> String {
    let shown = &lines[first - 1..(first - 1 + count.min(SHOWN)).min(lines.len())];
    let clean = redact(shown.join("\n"));
    let mut text = String::new();
    for (index, line) in clean.lines().enumerate() {
        let cut: String = line.chars().take(WIDTH).collect();
        let more = if cut.len() < line.len() { "…" } else { "" };
        let _ = writeln!(text, "{:>6}\t{cut}{more}", first + index);
    }
    text.pop();
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn say(content: &str, old: &str) -> String {
        explain("a.rs", content, old, &|text| {
            text.replace("hunter2-hunter2", "[secret KEY]")
        })
    }

    #[test]
    fn the_closest_lines_are_shown_with_their_numbers() {
        let content = "use std::fs;\n\nfn first() {\n    let total = sum(items);\n    print(total);\n}\n";
        let text = say(content, "fn first() {\n    let total = sum(item);\n}");
        assert!(
            text.contains(
                "What resembles it most:\n     3\tfn first() {\n     4\t    let total = sum(items);\n     5\t"
            ),
            "{text}"
        );
        assert!(
            say(content, "class Foo extends Bar").contains("Nothing in it resembles"),
            "{text}"
        );
        assert!(say("", "x").contains("empty"));
    }

    #[test]
    fn a_difference_in_white_space_is_named_and_made_visible() {
        let text = say("fn a() {\n\tlet x = 1;\n}\n", "fn a() {\n    let x = 1;\n}");
        assert!(text.contains("Line 1 differs only in white space"), "{text}");
        assert!(text.contains("     2→→let x = 1;"), "{text}");
    }

    #[test]
    fn known_mistakes_are_named() {
        let content = "one\ntwo\nthree\n";
        assert!(say(content, "     2\ttwo\n     3\tthree").contains("line numbers"));
        assert!(say(content, "one\\ntwo").contains("as two characters"));
        assert!(say("key = hunter2-hunter2\n", "key = [secret KEY]").contains("secret's value"));
        let text = say("let the_key = hunter2-hunter2; // x\n", "let the_key = 'a'; // y");
        assert!(text.contains("let the_key = [secret KEY]; // x"), "{text}");
        assert!(say("a\u{fffd}b", "x\u{fffd}").contains("stands for bytes"));
    }

    #[test]
    fn a_large_file_is_compared_in_no_time() {
        let content = "let some_value = compute_something(argument);\n".repeat(40_000);
        let start = std::time::Instant::now();
        let text = say(&content, &"let some_value = compute_something(arguments);\n".repeat(50));
        assert!(text.contains("resembles it most"), "{text}");
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }
}
