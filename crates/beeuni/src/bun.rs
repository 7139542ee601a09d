//! Bun, which runs the tools: the version that Beeuni is made for, where it is, and what it is.
use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use beeuni_tools::BunMissing;

use crate::dirs;
use crate::failure::Failure;

/// The version that `beeuni setup` installs and that Beeuni is tested with.
pub(crate) const PINNED: &str = "1.4.5";

/// Where the Bun in use comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The setting of this name.
    Setting(&'static str),
    /// The folder that `beeuni setup` fills.
    Managed,
    /// `PATH`.
    Path,
}

impl Origin {
    /// As a person would say it.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Setting(variable) => variable,
            Self::Managed => "installed by `beeuni setup`",
            Self::Path => "on PATH",
        }
    }
}

/// Finds Bun: the setting, the managed folder, `PATH`.
pub(crate) fn find() -> Result<(PathBuf, Origin), BunMissing> {
    let explicit = env::var_os("BEEUNI_BUN")
        .filter(|value| !value.is_empty())
        .map(PathBuf::from);
    // Without a home nothing is managed: no folder has this name.
    let managed = dirs::managed().unwrap_or_else(|| PathBuf::from("/nonexistent"));
    let bun = beeuni_tools::find_bun(explicit.as_deref(), &managed)?;
    let origin = if explicit.is_some() {
        Origin::Setting("BEEUNI_BUN")
    } else if bun.starts_with(&managed) {
        Origin::Managed
    } else {
        Origin::Path
    };
    Ok((bun, origin))
}

/// Finds Bun, or says what to do.
pub(crate) fn required() -> Result<PathBuf, Failure> {
    find()
        .map(|(bun, _)| bun)
        .map_err(|error| Failure::user(error.to_string()).hint("`beeuni doctor` shows what else is missing"))
}

/// Runs `bun --version`. Its answer, or why it gave none.
pub(crate) fn version(bun: &Path) -> Result<String, String> {
    program_version(bun, &["--version"])
}

/// The first line that a program prints about its version.
pub(crate) fn program_version(program: &Path, args: &[&str]) -> Result<String, String> {
    // A folder of its own: programs read settings from the one they are started in.
    first_line(Command::new(program).args(args).current_dir("/").stdin(Stdio::null()))
}

/// The first line that a command prints, or why it printed none.
pub(crate) fn first_line(command: &mut Command) -> Result<String, String> {
    let output = match command.output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err("not installed".to_owned()),
        Err(error) => return Err(format!("does not start: {error}")),
        Ok(output) => output,
    };
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let reason = text.lines().next().unwrap_or_default();
        return Err(format!("does not work ({}): {reason}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout)
        .lines()
        .next()
        .unwrap_or_default()
        .trim()
        .to_owned())
}

/// How a version compares with the pinned one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Age {
    /// The pinned version or a later one of the same line.
    Fine,
    /// Another line than the pinned one, or an earlier version of it.
    Untested,
    /// Older than the line that Beeuni is made for: it lacks what the workers need.
    TooOld,
}

/// Compares a version with the pinned one.
pub(crate) fn age(version: &str) -> Age {
    match (numbers(version), numbers(PINNED)) {
        (Some(found), Some(pinned)) if found[..2] < pinned[..2] => Age::TooOld,
        (Some(found), Some(pinned)) if found[..2] == pinned[..2] && found >= pinned => Age::Fine,
        _ => Age::Untested,
    }
}

fn numbers(version: &str) -> Option<[u32; 3]> {
    let mut parts = version.split(['.', '-', '+']).map(str::parse);
    Some([parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert_eq!(age("1.4.5"), Age::Fine);
        assert_eq!(age("1.4.10"), Age::Fine);
        assert_eq!(age("1.4.4"), Age::Untested);
        assert_eq!(age("1.10.0"), Age::Untested);
        assert_eq!(age("2.0.0-canary.1"), Age::Untested);
        assert_eq!(age("1.3.14"), Age::TooOld);
        assert_eq!(age("0.9.9"), Age::TooOld);
        assert_eq!(age("nonsense"), Age::Untested);
    }
}
