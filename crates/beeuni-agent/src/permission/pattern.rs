//! Glob patterns of rules and the texts they are matched with, parts of which may be unknown.
//!
//! `*` stands for any characters, `/` and none at all included, `?` for exactly one. A pattern that ends in ` *`
//! also matches without that end: `git status *` matches `git status`.

/// A text that is matched with patterns. Parts of it may only be known when a command runs (`$HOME`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Text {
    /// `None` stands for any characters.
    symbols: Vec<Option<char>>,
}

impl Text {
    /// A text of which nothing is known.
    pub(crate) fn unknown() -> Self {
        Self { symbols: vec![None] }
    }

    pub(crate) fn push(&mut self, c: char) {
        self.symbols.push(Some(c));
    }

    pub(crate) fn push_str(&mut self, text: &str) {
        self.symbols.extend(text.chars().map(Some));
    }

    /// Adds an unknown part.
    pub(crate) fn push_unknown(&mut self) {
        if self.symbols.last() != Some(&None) {
            self.symbols.push(None);
        }
    }

    pub(crate) fn append(&mut self, other: &Self) {
        for symbol in &other.symbols {
            match symbol {
                Some(c) => self.push(*c),
                None => self.push_unknown(),
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// The text, when all of it is known.
    pub(crate) fn known(&self) -> Option<String> {
        self.symbols.iter().copied().collect()
    }

    /// The known part at the start.
    pub(crate) fn known_start(&self) -> String {
        self.symbols.iter().map_while(|symbol| *symbol).collect()
    }

    /// The text without its first `count` characters and unknown parts.
    #[cfg(test)]
    pub(crate) fn behind(&self, count: usize) -> Self {
        Self {
            symbols: self.symbols[count..].to_vec(),
        }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self {
            symbols: text.chars().map(Some).collect(),
        }
    }
}

/// How a pattern fits a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fit {
    /// It cannot match.
    No,
    /// It matches for some values of the unknown parts.
    Maybe,
    /// It matches whatever the unknown parts are.
    Yes,
}

/// A rule's pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern {
    chars: Vec<char>,
    /// How many of `chars` are left without the end ` *`.
    short: Option<usize>,
}

impl Pattern {
    pub(crate) fn new(pattern: &str) -> Self {
        let chars: Vec<char> = pattern.chars().collect();
        let without_stars = pattern.trim_end_matches('*').chars().count();
        let ends_in_argument = without_stars < chars.len() && without_stars > 1 && chars[without_stars - 1] == ' ';
        Self {
            short: ends_in_argument.then(|| without_stars - 1),
            chars,
        }
    }

    /// How much a pattern outweighs others: its length in characters, except that `*` is the weakest of all.
    pub(crate) fn weight(&self) -> usize {
        if self.chars == ['*'] { 0 } else { self.chars.len() }
    }

    /// Whether it has a character that separates or feeds commands of a shell.
    pub(crate) fn has_operator(&self) -> bool {
        self.chars
            .iter()
            .any(|c| matches!(c, '|' | ';' | '&' | '<' | '>' | '`' | '\n'))
            || self.chars.windows(2).any(|pair| pair == ['$', '('])
    }

    /// Whether its first character is a plain one: it names what it is about.
    pub(crate) fn has_plain_start(&self) -> bool {
        self.chars.first().is_some_and(|c| !matches!(c, '*' | '?'))
    }

    pub(crate) fn fit(&self, text: &Text) -> Fit {
        let whole = fit(&self.chars, text);
        match self.short {
            Some(short) if whole < Fit::Yes => whole.max(fit(&self.chars[..short], text)),
            _ => whole,
        }
    }
}

/// Walks through the text with two sets of places in the pattern: those reached whatever the unknown parts are,
/// and those reached for some value of them.
fn fit(pattern: &[char], text: &Text) -> Fit {
    let (mut sure, mut possible) = (Places::start(pattern), Places::start(pattern));
    for symbol in &text.symbols {
        match symbol {
            Some(c) => {
                sure.step(pattern, *c);
                possible.step(pattern, *c);
            }
            None => {
                // For sure: only a star takes in whatever may come. Possibly: the unknown part is what the pattern
                // wants next, up to any place behind.
                sure.keep_stars(pattern);
                possible.fill_up();
            }
        }
        if possible.none() {
            return Fit::No;
        }
    }
    if sure.has(pattern.len()) {
        Fit::Yes
    } else if possible.has(pattern.len()) {
        Fit::Maybe
    } else {
        Fit::No
    }
}

struct Places {
    at: Vec<bool>,
    spare: Vec<bool>,
}

impl Places {
    fn start(pattern: &[char]) -> Self {
        let mut places = Self {
            at: vec![false; pattern.len() + 1],
            spare: vec![false; pattern.len() + 1],
        };
        places.at[0] = true;
        places.pass_stars(pattern);
        places
    }

    /// A star may stand for nothing: where it can be reached, so can the place behind it.
    fn pass_stars(&mut self, pattern: &[char]) {
        for (place, c) in pattern.iter().enumerate() {
            if *c == '*' && self.at[place] {
                self.at[place + 1] = true;
            }
        }
    }

    fn step(&mut self, pattern: &[char], c: char) {
        self.spare.fill(false);
        for (place, p) in pattern.iter().enumerate() {
            if !self.at[place] {
                continue;
            }
            if *p == '*' {
                self.spare[place] = true;
            } else if *p == '?' || *p == c {
                self.spare[place + 1] = true;
            }
        }
        std::mem::swap(&mut self.at, &mut self.spare);
        self.pass_stars(pattern);
    }

    fn keep_stars(&mut self, pattern: &[char]) {
        for place in 0..self.at.len() {
            self.at[place] &= pattern.get(place) == Some(&'*');
        }
        self.pass_stars(pattern);
    }

    fn fill_up(&mut self) {
        if let Some(first) = self.at.iter().position(|reached| *reached) {
            self.at[first..].fill(true);
        }
    }

    fn none(&self) -> bool {
        !self.at.contains(&true)
    }

    fn has(&self, place: usize) -> bool {
        self.at[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, text: &str) -> bool {
        let fit = Pattern::new(pattern).fit(&Text::from(text));
        assert_ne!(fit, Fit::Maybe, "a known text leaves no doubt");
        fit == Fit::Yes
    }

    /// `§` stands for an unknown part.
    fn fit_of(pattern: &str, text: &str) -> Fit {
        let mut parts = Text::default();
        for c in text.chars() {
            if c == '§' {
                parts.push_unknown();
            } else {
                parts.push(c);
            }
        }
        Pattern::new(pattern).fit(&parts)
    }

    #[test]
    fn a_star_takes_anything_and_a_question_mark_one_character() {
        assert!(fits("*", "") && fits("*", "a/b\nc") && fits("", ""));
        assert!(fits("src/*", "src/a/b.rs") && !fits("src/*", "srca"));
        assert!(fits("*.env", "config/.env") && fits("a*b*c", "a__b__b_c") && !fits("a*b*c", "a__b__b_d"));
        assert!(fits("?", "é") && !fits("?", "") && !fits("?", "ab"));
        assert!(fits("git **", "git push"));
    }

    #[test]
    fn a_pattern_that_ends_in_an_argument_matches_without_one() {
        assert!(fits("git status *", "git status") && fits("git status *", "git status --short"));
        assert!(fits("ls **", "ls"));
        assert!(!fits("git status *", "git statusx") && !fits("git status*", "git stat"));
        assert!(!fits(" *", ""), "a lone argument is no command");
    }

    #[test]
    fn unknown_parts_make_a_match_sure_only_under_a_star() {
        assert_eq!(fit_of("git *", "git §"), Fit::Yes);
        assert_eq!(fit_of("git push *", "git §"), Fit::Maybe);
        assert_eq!(fit_of("rm *", "git §"), Fit::No);
        assert_eq!(fit_of("*", "§"), Fit::Yes);
        assert_eq!(fit_of("?*", "§"), Fit::Maybe);
        assert_eq!(fit_of("a*c", "a§b"), Fit::No);
        assert_eq!(fit_of("a*c", "a§c"), Fit::Yes);
        assert_eq!(fit_of("", "§"), Fit::Maybe);
    }

    /// The definition itself, slow and plain.
    fn by_definition(pattern: &[char], text: &[char]) -> bool {
        match (pattern.first(), text.first()) {
            (None, None) => true,
            (Some('*'), _) => {
                by_definition(&pattern[1..], text) || (!text.is_empty() && by_definition(pattern, &text[1..]))
            }
            (Some(p), Some(t)) if *p == '?' || p == t => by_definition(&pattern[1..], &text[1..]),
            _ => false,
        }
    }

    fn words(alphabet: &[char], longest: usize) -> Vec<String> {
        let mut all = vec![String::new()];
        let mut from = 0;
        for _ in 0..longest {
            let to = all.len();
            for index in from..to {
                for c in alphabet {
                    all.push(format!("{}{c}", all[index]));
                }
            }
            from = to;
        }
        all
    }

    #[test]
    fn every_short_pattern_matches_exactly_what_the_definition_says() {
        let texts = words(&['a', 'b'], 4);
        for pattern in words(&['a', '*', '?'], 4) {
            let chars: Vec<char> = pattern.chars().collect();
            for text in &texts {
                let expected = by_definition(&chars, &text.chars().collect::<Vec<_>>());
                assert_eq!(fits(&pattern, text), expected, "{pattern:?} {text:?}");
            }
        }
    }

    #[test]
    fn sure_and_possible_are_true_of_every_value_that_an_unknown_part_can_take() {
        let values = words(&['a', 'b'], 3);
        for pattern in words(&['a', 'b', '*', '?'], 3) {
            for text in words(&['a', '§'], 3) {
                let matches: Vec<bool> = values
                    .iter()
                    .flat_map(|one| values.iter().map(move |two| (one, two)))
                    .map(|(one, two)| fits(&pattern, &text.replacen('§', one, 1).replace('§', two)))
                    .collect();
                match fit_of(&pattern, &text) {
                    Fit::Yes => assert!(matches.iter().all(|m| *m), "{pattern:?} {text:?}"),
                    Fit::No => assert!(matches.iter().all(|m| !*m), "{pattern:?} {text:?}"),
                    Fit::Maybe => {}
                }
            }
        }
    }

    #[test]
    fn a_long_text_and_a_hostile_pattern_take_no_time() {
        let text = Text::from("a".repeat(100_000).as_str());
        let pattern = Pattern::new(&"a*".repeat(40));
        let start = std::time::Instant::now();
        assert_eq!(pattern.fit(&text), Fit::Yes);
        assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
    }
}
