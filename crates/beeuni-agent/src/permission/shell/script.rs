//! What a shell script is made of, as far as permissions need to know.

use crate::permission::pattern::Text;

/// A script taken apart. Whatever a shell would run is among its commands, or it is marked as unclear.
#[derive(Debug, Default)]
pub(crate) struct Script {
    /// Every command that may run, in the order of the text, those inside of substitutions included.
    pub(crate) commands: Vec<Command>,
    /// The scope in which each scope lies. Scope 0 is the script; a subshell and a substitution have their own.
    pub(crate) scopes: Vec<usize>,
    /// Why a part could not be read.
    pub(crate) unclear: Option<&'static str>,
}

/// A simple command.
#[derive(Debug, Clone, Default)]
pub(crate) struct Command {
    /// `NAME=value` before the command.
    pub(crate) assignments: Vec<Text>,
    /// The command's name and its arguments, quotes taken off.
    pub(crate) words: Vec<Word>,
    /// Files that it reads or writes through redirections.
    pub(crate) redirects: Vec<Redirect>,
    /// Where it runs: a `cd` holds within its scope.
    pub(crate) scope: usize,
    /// Its text.
    pub(crate) source: String,
}

/// One word of a command.
#[derive(Debug, Clone, Default)]
pub(crate) struct Word {
    /// What it says; unknown where it is expanded.
    pub(crate) text: Text,
    /// Whether it has an unquoted `*`, `?` or `[`.
    pub(crate) glob: bool,
}

impl Word {
    /// The word when nothing of it is unknown.
    pub(crate) fn known(&self) -> Option<String> {
        self.text.known()
    }
}

impl From<&str> for Word {
    fn from(text: &str) -> Self {
        Self {
            text: Text::from(text),
            ..Self::default()
        }
    }
}

/// A redirection to or from a file.
#[derive(Debug, Clone)]
pub(crate) struct Redirect {
    /// Whether it may write.
    pub(crate) writes: bool,
    /// The file.
    pub(crate) target: Word,
}

/// A command with more words than this that may be nothing at all is not told apart further.
const MOST_DOUBTFUL: usize = 3;

impl Command {
    /// Name and arguments with one space between them. Several texts where a word may turn out to be nothing
    /// (`git $OPTIONS push`): the command is one of them.
    pub(crate) fn texts(&self) -> Vec<Text> {
        let doubtful = self.words.iter().filter(|word| word.text == Text::unknown()).count();
        let mut texts = vec![Text::default()];
        for (index, word) in self.words.iter().enumerate() {
            if word.text == Text::unknown() && doubtful > MOST_DOUBTFUL {
                // Nothing, or whatever comes from here on.
                let mut rest = texts[0].clone();
                if !rest.is_empty() {
                    rest.push(' ');
                }
                rest.push_unknown();
                texts.push(rest);
                return texts;
            }
            let without = if word.text == Text::unknown() {
                texts.clone()
            } else {
                Vec::new()
            };
            for text in &mut texts {
                if !text.is_empty() {
                    text.push(' ');
                }
                if index == 0 && word.glob {
                    // A name that is a pattern may be any program.
                    text.push_unknown();
                } else {
                    text.append(&word.text);
                }
            }
            texts.extend(without);
        }
        texts
    }

    /// The program's name without its folder, when it is known.
    pub(crate) fn name(&self) -> Option<String> {
        let first = self.words.first().filter(|word| !word.glob)?;
        let known = first.known()?;
        Some(known.rsplit('/').next().unwrap_or(&known).to_owned())
    }
}
