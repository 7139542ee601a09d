//! The exit codes of every command.
use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exit(u8);

impl Exit {
    /// Done.
    pub(crate) const DONE: Self = Self(0);
    /// Failed.
    pub(crate) const FAILED: Self = Self(1);
    /// Wrong usage, or nothing to work on.
    pub(crate) const USAGE: Self = Self(2);
    /// Blocked on a question or permission.
    pub(crate) const BLOCKED: Self = Self(3);
    /// Timed out.
    pub(crate) const TIMED_OUT: Self = Self(124);

    /// Ended by the signal with this number, as shells count it.
    pub(crate) fn signal(number: u8) -> Self {
        Self(128 + number)
    }

    /// The number.
    pub(crate) fn number(self) -> u8 {
        self.0
    }

    /// An exit code that a library chose.
    pub(crate) fn code(code: u8) -> Self {
        Self(code)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.0)
    }
}
