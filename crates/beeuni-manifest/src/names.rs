//! The names that tools, agents, connectors and secrets may have, and what to write instead of a bad one.
use unicode_normalization::UnicodeNormalization;

/// The Beeuni tools in the order in which every list shows them.
pub const BEEUNI_TOOLS: [&str; 5] = ["web_search", "image_search", "scrape_webpage", "memory", "show"];

/// Harness tool names that no project tool may take; `pty_*` too (see [`is_harness_tool`]).
pub const HARNESS_TOOLS: &[&str] = &[
    "bash",
    "read",
    "write",
    "edit",
    "apply_patch",
    "glob",
    "grep",
    "list",
    "task",
    "question",
    "todowrite",
    "todoread",
    "webfetch",
    "websearch",
    "skill",
    "lsp",
    "invalid",
    "execute",
    "plan_exit",
];

/// What the names of the terminal plugin's tools begin with.
pub(crate) const TERMINAL_PREFIX: &str = "pty_";

/// The prefix of secret names that Beeuni sets itself.
pub(crate) const RESERVED_SECRETS: &str = "BEEUNI_";

/// The longest name of any kind, in characters.
const LONGEST: usize = 64;

/// Whether `name` is a tool of a harness (`bash`, `read`, … or `pty_*`).
#[must_use]
pub fn is_harness_tool(name: &str) -> bool {
    name.starts_with(TERMINAL_PREFIX) || HARNESS_TOOLS.contains(&name)
}

/// Whether `name` is legal for a tool: `^[a-z][a-z0-9_]{0,63}$`.
#[must_use]
pub fn is_tool_name(name: &str) -> bool {
    TOOL.allows(name)
}

/// Whether `name` is one of Beeuni's own tools.
pub(crate) fn is_beeuni_tool(name: &str) -> bool {
    BEEUNI_TOOLS.contains(&name)
}

/// A rule for names: one character of a class, then up to 63 of another.
///
/// The classes are written as inside `[…]` of a regular expression, so that the check, the message
/// and the JSON Schema cannot differ.
#[derive(Debug)]
pub(crate) struct NameRule {
    first: &'static str,
    rest: &'static str,
}

/// Tool names.
pub(crate) const TOOL: NameRule = NameRule {
    first: "a-z",
    rest: "a-z0-9_",
};
/// Agent names and connector slugs.
pub(crate) const AGENT: NameRule = NameRule {
    first: "a-z0-9",
    rest: "a-z0-9_-",
};
/// Secret names.
pub(crate) const SECRET: NameRule = NameRule {
    first: "A-Z_",
    rest: "A-Z0-9_",
};

impl NameRule {
    /// Whether `name` keeps the rule.
    pub(crate) fn allows(&self, name: &str) -> bool {
        let mut bytes = name.bytes();
        name.len() <= LONGEST
            && bytes.next().is_some_and(|b| in_class(self.first, b))
            && bytes.all(|b| in_class(self.rest, b))
    }

    /// The rule as a regular expression.
    pub(crate) fn pattern(&self) -> String {
        format!("^[{}][{}]{{0,{}}}$", self.first, self.rest, LONGEST - 1)
    }

    /// The legal name nearest to what `name` says; `None` when nothing of it can be kept.
    ///
    /// `find orders` and `findOrders` become `find_orders`; letters lose their accents.
    pub(crate) fn suggest(&self, name: &str) -> Option<String> {
        let filler = if in_class(self.rest, b'-') { '-' } else { '_' };
        let mut out = String::new();
        let mut after_lower = false;
        for c in name
            .nfkd()
            .filter(|c| !unicode_normalization::char::is_combining_mark(*c))
            .take(4 * LONGEST)
        {
            if c.is_ascii_uppercase() && after_lower && in_class(self.rest, b'a') {
                out.push(filler);
            }
            after_lower = c.is_ascii_lowercase() || c.is_ascii_digit();
            let c = if in_class(self.rest, b'a') {
                c.to_ascii_lowercase()
            } else {
                c.to_ascii_uppercase()
            };
            let keep = u8::try_from(c).is_ok_and(|b| in_class(self.rest, b));
            if keep && (c.is_ascii_alphanumeric() || !out.ends_with(c)) {
                out.push(c);
            } else if !keep && !out.ends_with(filler) {
                out.push(filler);
            }
        }
        let kept = out
            .trim_start_matches(|c| u8::try_from(c).map_or(true, |b| !in_class(self.first, b)))
            .trim_matches(['_', '-']);
        // Cutting digits off the front can leave too little to recognise the name by.
        let kept = &kept[..kept.len().min(LONGEST)];
        self.allows(kept).then(|| kept.to_owned())
    }
}

/// Whether `byte` is in `class`, written as inside `[…]`.
fn in_class(class: &str, byte: u8) -> bool {
    let class = class.as_bytes();
    let mut at = 0;
    while at < class.len() {
        if class.get(at + 1) == Some(&b'-') && at + 2 < class.len() {
            if (class[at]..=class[at + 2]).contains(&byte) {
                return true;
            }
            at += 3;
        } else if class[at] == byte {
            return true;
        } else {
            at += 1;
        }
    }
    false
}

/// Finds the known name nearest to a typo.
///
/// A budget bounds all its work together: a file with many thousands of unknown names still gets
/// every finding, the later ones without a hint.
#[derive(Debug)]
pub(crate) struct Hints {
    budget: usize,
}

impl Hints {
    pub(crate) fn new() -> Self {
        Self { budget: 100_000 }
    }

    /// Whether `work` more comparisons are within the budget, which they then use up.
    pub(crate) fn afford(&mut self, work: usize) -> bool {
        let left = self.budget.checked_sub(work);
        self.budget = left.unwrap_or(0);
        left.is_some()
    }

    /// The one of `known` that `name` most likely means.
    pub(crate) fn nearest<'k>(&mut self, name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
        let length = name.chars().count();
        if length == 0 || length > LONGEST {
            return None;
        }
        let limit = (length / 3).max(1);
        let lower = name.to_lowercase();
        let mut best: Option<(usize, &str)> = None;
        for candidate in known {
            if !self.afford(1) {
                return None;
            }
            if candidate.len().abs_diff(lower.len()) > limit || candidate == name {
                continue;
            }
            let distance = strsim::osa_distance(&lower, &candidate.to_lowercase());
            // A name of two letters is two changes away from any other.
            if distance <= limit && distance < candidate.len() && best.is_none_or(|(least, _)| distance < least) {
                best = Some((distance, candidate));
            }
        }
        best.map(|(_, candidate)| candidate)
    }
}

/// `text` in backticks for a message: on one line, shortened when long.
pub(crate) fn quote(text: &str) -> String {
    const SHOWN: usize = 100;
    let mut out = String::from("`");
    for (count, c) in text.chars().enumerate() {
        if count == SHOWN {
            out.push('…');
            break;
        }
        if c.is_control() {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out.push('`');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v4_a_tool_name_is_64_lower_case_letters_digits_and_underscores() {
        for name in ["a", "web_search", "a1_", &"a".repeat(64)] {
            assert!(is_tool_name(name), "{name}");
        }
        for name in ["", "1a", "_a", "A", "a-b", "a.b", "a b", "é", "时间", &"a".repeat(65)] {
            assert!(!is_tool_name(name), "{name}");
        }
    }

    #[test]
    fn the_patterns_are_those_of_the_rules() {
        assert_eq!(TOOL.pattern(), "^[a-z][a-z0-9_]{0,63}$");
        assert_eq!(AGENT.pattern(), "^[a-z0-9][a-z0-9_-]{0,63}$");
        assert_eq!(SECRET.pattern(), "^[A-Z_][A-Z0-9_]{0,63}$");
        assert!(AGENT.allows("a-b_1") && !AGENT.allows("-a") && !AGENT.allows("aB"));
        assert!(SECRET.allows("_A1") && !SECRET.allows("1A") && !SECRET.allows("a"));
    }

    #[test]
    fn name_01_a_bad_name_gets_a_legal_one_that_resembles_it() {
        let long = "a".repeat(73);
        let cases = [
            (&TOOL, "find orders", Some("find_orders")),
            (&TOOL, "findOrders", Some("find_orders")),
            (&TOOL, "crm.lookup", Some("crm_lookup")),
            (&TOOL, "-dash", Some("dash")),
            (&TOOL, "Prüfen!", Some("prufen")),
            (&TOOL, "9lives", Some("lives")),
            (&TOOL, "时间", None),
            (&TOOL, "123", None),
            (&TOOL, "", None),
            (&TOOL, &long, Some(&long[..64])),
            (&AGENT, "Night Shift", Some("night-shift")),
            (&SECRET, "apiKey", Some("APIKEY")),
        ];
        for (rule, name, expected) in cases {
            assert_eq!(rule.suggest(name).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn every_harness_tool_and_the_terminal_tools_are_known() {
        assert!(HARNESS_TOOLS.iter().all(|name| is_harness_tool(name)));
        assert!(is_harness_tool("pty_spawn") && !is_harness_tool("pty") && !is_harness_tool("memory"));
    }

    #[test]
    fn perm_03_the_nearest_name_is_the_one_that_was_meant() {
        let mut hints = Hints::new();
        let known = ["web_search", "image_search", "deploy", "show"];
        assert_eq!(hints.nearest("web_serch", known), Some("web_search"));
        assert_eq!(hints.nearest("depoy", known), Some("deploy"));
        assert_eq!(hints.nearest("hsow", known), Some("show"));
        assert_eq!(hints.nearest("kitchen", known), None);
        assert_eq!(hints.nearest("", known), None);
    }

    #[test]
    fn a_quoted_text_stays_on_one_line_and_short() {
        assert_eq!(quote("a\nb"), "`a\\nb`");
        assert_eq!(quote(&"x".repeat(200)).chars().count(), 103);
    }
}
