//! Why a command failed, and the one place that prints it.
use std::error::Error;

use crate::exit::Exit;
use crate::output::{ERROR, HINT, Output, visible};

/// Whose business a failure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// What was asked cannot be done as it was asked.
    User,
    /// The project's manifest is in the way.
    Manifest,
    /// A daemon or server did not do its part.
    Server,
    /// Beeuni itself is at fault.
    Internal,
}

/// A failure with what to do about it.
#[derive(Debug)]
pub(crate) struct Failure {
    class: Class,
    exit: Exit,
    message: String,
    causes: Vec<String>,
    notes: Vec<String>,
    hints: Vec<String>,
}

impl Failure {
    fn new(class: Class, exit: Exit, message: impl Into<String>) -> Self {
        Self {
            class,
            exit,
            message: message.into(),
            causes: Vec::new(),
            notes: Vec::new(),
            hints: Vec::new(),
        }
    }

    /// Something that was asked cannot be done: exit 1.
    pub(crate) fn user(message: impl Into<String>) -> Self {
        Self::new(Class::User, Exit::FAILED, message)
    }

    /// Wrong usage, or nothing to work on: exit 2.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Class::User, Exit::USAGE, message)
    }

    /// The manifest does not allow it: exit 1.
    pub(crate) fn manifest(message: impl Into<String>) -> Self {
        Self::new(Class::Manifest, Exit::FAILED, message)
    }

    /// A daemon or server failed: exit 1.
    pub(crate) fn server(message: impl Into<String>) -> Self {
        Self::new(Class::Server, Exit::FAILED, message)
    }

    /// Beeuni broke its own rules: exit 1.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(Class::Internal, Exit::FAILED, message)
    }

    /// The same with another exit code.
    pub(crate) fn with_exit(mut self, exit: Exit) -> Self {
        self.exit = exit;
        self
    }

    /// The same with `error` and what caused it.
    pub(crate) fn caused_by(mut self, error: &dyn Error) -> Self {
        let mut next = Some(error);
        while let Some(error) = next {
            self.add_cause(&error.to_string());
            next = error.source();
        }
        self
    }

    /// The same with the causes of `error`, whose own text is the message already.
    pub(crate) fn with_causes_of(self, error: &dyn Error) -> Self {
        match error.source() {
            Some(source) => self.caused_by(source),
            None => self,
        }
    }

    /// The same with a further cause as text.
    pub(crate) fn because(mut self, cause: &str) -> Self {
        self.add_cause(cause);
        self
    }

    /// The same with what else is to be known: what was left as it was.
    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// The same with advice on what to do.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// What happened, without causes and hints.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// How the process ends.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// Prints the failure: what happened, each cause once, what to do.
    pub(crate) fn report(&self, output: &Output) {
        output.note(&format!(
            "{} {}",
            output.err.paint(ERROR, "error:"),
            visible(&self.message)
        ));
        for cause in &self.causes {
            output.note(&format!("  caused by: {}", visible(cause)));
        }
        for note in &self.notes {
            output.note(&format!("  note: {}", visible(note)));
        }
        for hint in self.hints.iter().map(String::as_str).chain(self.class.hint()) {
            let label = output.err.paint(HINT, "hint:");
            output.note(&format!("  {label} {}", visible(hint)));
        }
    }

    /// Wrappers often repeat the text of what they wrap: it is said once.
    fn add_cause(&mut self, cause: &str) {
        let last = self.causes.last().map_or(self.message.as_str(), String::as_str);
        if !cause.is_empty() && !last.ends_with(cause) {
            self.causes.push(cause.to_owned());
        }
    }
}

impl Class {
    /// What helps with every failure of the class.
    fn hint(self) -> Option<&'static str> {
        match self {
            Self::User | Self::Server => None,
            Self::Manifest => Some("`beeuni validate` shows every finding"),
            Self::Internal => Some("this is a fault in Beeuni: please report it with the command that you ran"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot write notes.txt")]
    struct Outer(#[source] Middle);

    #[derive(Debug, thiserror::Error)]
    #[error("cannot open: disk full")]
    struct Middle(#[source] Inner);

    #[derive(Debug, thiserror::Error)]
    #[error("disk full")]
    struct Inner;

    #[test]
    fn a_cause_that_is_said_already_is_not_said_again() {
        let failure = Failure::user("cannot save").caused_by(&Outer(Middle(Inner)));
        assert_eq!(failure.causes, ["cannot write notes.txt", "cannot open: disk full"]);
    }
}
