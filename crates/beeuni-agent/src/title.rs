//! A short title of a conversation, made from its first prompt without asking a model.

/// The longest title, in characters.
const LONGEST: usize = 60;

/// The first line of `prompt` that says something, cut at a word.
#[must_use]
pub fn of(prompt: &str) -> Option<String> {
    let line = prompt
        .lines()
        .map(|line| line.trim_start_matches(['#', '>', '*', '-', '`', ' ', '\t']).trim())
        .find(|line| line.chars().any(char::is_alphanumeric))?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let line = words.join(" ");
    let line: String = line.chars().filter(|c| !c.is_control()).collect();
    if line.chars().count() <= LONGEST {
        return Some(line);
    }
    let cut: String = line.chars().take(LONGEST - 1).collect();
    // A text without spaces, as Chinese is, is cut anywhere.
    let end = cut.rfind(' ').filter(|end| *end > cut.len() / 2).unwrap_or(cut.len());
    Some(format!("{}…", cut[..end].trim_end_matches([',', '.', ';', ':', ' '])))
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn a_title_is_the_first_line_that_says_something() {
        let long =
            "Please look through the whole repository and tell me which of the tools are never called by anybody";
        for (prompt, title) in [
            ("Fix the build", Some("Fix the build")),
            ("\n\n## Task:\tfix   the build \nnow", Some("Task: fix the build")),
            ("```\n\u{1b}[31mcargo test", Some("[31mcargo test")),
            (
                long,
                Some("Please look through the whole repository and tell me which…"),
            ),
            ("", None),
            (" \n---\n", None),
        ] {
            assert_eq!(of(prompt).as_deref(), title, "{prompt:?}");
        }
        let chinese = "工".repeat(80);
        assert_eq!(of(&chinese).map(|title| title.chars().count()), Some(60));
    }
}
