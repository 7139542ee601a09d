//! A finding: what is wrong, how bad it is, and the place where it stands.
use serde::ser::{Serialize, SerializeStruct, Serializer};

/// A place in a file: line and column count from 1, column in characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, repo-relative.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Does not block.
    Warning,
    /// Blocks.
    Error,
}

impl Severity {
    /// `error` or `warning`, as every output writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One finding.
///
/// It serialises flat, as `beeuni validate --json` prints it:
/// `{ path, message, severity, file, line, column }`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// The YAML path, e.g. `tools.web_search` or `agents.researcher.tools[1]`.
    pub path: String,
    /// What is wrong and what to do.
    pub message: String,
    /// How bad it is.
    pub severity: Severity,
    /// Where it stands.
    pub place: Place,
}

impl Serialize for Issue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Issue", 6)?;
        out.serialize_field("path", &self.path)?;
        out.serialize_field("message", &self.message)?;
        out.serialize_field("severity", self.severity.as_str())?;
        out.serialize_field("file", &self.place.file)?;
        out.serialize_field("line", &self.place.line)?;
        out.serialize_field("column", &self.place.column)?;
        out.end()
    }
}
