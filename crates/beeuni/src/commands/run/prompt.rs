//! The text of the prompt: from an option, from words, or from standard input.
use std::io::{IsTerminal as _, Read as _};

use crate::failure::Failure;

/// Reads the prompt. `-` stands for standard input.
pub(super) fn read(option: Option<&str>, words: &[String]) -> Result<String, Failure> {
    let text = match (option, words) {
        (Some("-"), _) => standard_input()?,
        (None, [dash]) if dash == "-" => standard_input()?,
        (Some(text), _) => text.to_owned(),
        (None, []) => return Err(missing()),
        (None, words) => words.join(" "),
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text).trim();
    if text.is_empty() {
        return Err(Failure::usage("the prompt is empty"));
    }
    Ok(text.to_owned())
}

fn standard_input() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::usage("cannot read the prompt from standard input").caused_by(&error))?;
    String::from_utf8(bytes).map_err(|_| Failure::usage("the prompt on standard input is not UTF-8"))
}

fn missing() -> Failure {
    let failure = Failure::usage("there is no prompt").hint("e.g. beeuni run \"What does this project do?\"");
    if std::io::stdin().is_terminal() {
        failure
    } else {
        failure.hint("`--prompt -` reads it from standard input")
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    #[test]
    fn words_make_a_prompt() {
        let words = ["Fix", "the tests", "--now"].map(str::to_owned);
        assert_eq!(read(None, &words).unwrap(), "Fix the tests --now");
        assert_eq!(read(Some(" text\n"), &[]).unwrap(), "text");
        assert!(read(Some(" \n"), &[]).is_err());
        assert!(read(None, &[]).is_err());
    }
}
