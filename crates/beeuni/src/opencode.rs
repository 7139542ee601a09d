//! OpenCode, which is the standard harness, and the ripgrep that it searches with: the versions that Beeuni is made for,
//! where they are, and what they are.
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use beeuni_opencode::server::{BinaryMissing, find_opencode, find_ripgrep};

use crate::bun::{Origin, first_line};
use crate::dirs;

/// The version that `beeuni setup` installs and that Beeuni is tested with.
pub(crate) const PINNED: &str = "1.18.33";
/// The npm package of ripgrep that `beeuni setup` installs, and the version that its program says it is.
pub(crate) const RIPGREP_PACKAGE: &str = "1.18.0";
pub(crate) const RIPGREP: &str = "15.0.0";
/// The zod that `beeuni setup` installs for the tools in a project's own OpenCode folder.
pub(crate) const ZOD: &str = "4.6.7";

/// A program of the standard harness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Program {
    /// OpenCode.
    OpenCode,
    /// ripgrep.
    Ripgrep,
}

impl Program {
    /// As a person would say it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OpenCode => "OpenCode",
            Self::Ripgrep => "ripgrep",
        }
    }

    /// The version that Beeuni is tested with, as the program says it.
    pub(crate) fn pinned(self) -> &'static str {
        match self {
            Self::OpenCode => PINNED,
            Self::Ripgrep => RIPGREP,
        }
    }

    /// The setting that names one.
    pub(crate) fn variable(self) -> &'static str {
        match self {
            Self::OpenCode => "BEEUNI_OPENCODE",
            Self::Ripgrep => "BEEUNI_RIPGREP",
        }
    }

    /// Finds it: the setting, the managed folder, `PATH`.
    pub(crate) fn find(self) -> Result<(PathBuf, Origin), BinaryMissing> {
        // Without a home nothing is managed: no folder has this name.
        let managed = dirs::managed().unwrap_or_else(|| PathBuf::from("/nonexistent"));
        let program = match self {
            Self::OpenCode => find_opencode(&managed),
            Self::Ripgrep => find_ripgrep(&managed),
        }?;
        let origin = if env::var_os(self.variable()).is_some_and(|value| !value.is_empty()) {
            Origin::Setting(self.variable())
        } else if program.starts_with(&managed) {
            Origin::Managed
        } else {
            Origin::Path
        };
        Ok((program, origin))
    }

    /// Asks the program for its version. Its answer, or why it gave none.
    pub(crate) fn version(self, program: &Path) -> Result<String, String> {
        // OpenCode makes folders in its home as soon as it starts.
        let home = tempfile::tempdir().map_err(|error| format!("cannot be asked: {error}"))?;
        let mut command = Command::new(program);
        command.arg("--version").current_dir("/").stdin(Stdio::null());
        for name in [
            "HOME",
            "XDG_CONFIG_HOME",
            "XDG_DATA_HOME",
            "XDG_CACHE_HOME",
            "XDG_STATE_HOME",
        ] {
            command.env(name, home.path());
        }
        let line = first_line(&mut command)?;
        Ok(match self {
            Self::OpenCode => line,
            // `ripgrep 15.0.0 (rev …)`
            Self::Ripgrep => line.split_whitespace().nth(1).unwrap_or(&line).to_owned(),
        })
    }
}

/// The npm packages that hold the standard harness for this machine, `None` where there is no OpenCode for it.
pub(crate) fn packages(musl: impl Fn(&str) -> bool) -> Option<[Package; 3]> {
    let arch = match env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        _ => return None,
    };
    if env::consts::OS != "linux" || musl(arch) {
        return None;
    }
    Some([
        Package {
            name: format!("opencode-linux-{arch}"),
            version: PINNED,
            holds: Holds::Program(Program::OpenCode, "bin/opencode"),
        },
        Package {
            name: format!("@vscode/ripgrep-linux-{arch}"),
            version: RIPGREP_PACKAGE,
            holds: Holds::Program(Program::Ripgrep, "bin/rg"),
        },
        Package {
            name: "zod".to_owned(),
            version: ZOD,
            holds: Holds::Library,
        },
    ])
}

/// An npm package of the standard harness.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: &'static str,
    pub(crate) holds: Holds,
}

/// What is of use in a package.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Holds {
    /// One program, at this path.
    Program(Program, &'static str),
    /// All of it.
    Library,
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    #[test]
    fn setup_installs_what_the_tests_run_with() {
        let text = include_str!("../../../runtime/package.json");
        let pinned: serde_json::Value = serde_json::from_str(text).unwrap();
        let optional = &pinned["optionalDependencies"];
        for arch in ["x64", "arm64"] {
            assert_eq!(optional[format!("opencode-linux-{arch}")], PINNED);
            assert_eq!(optional[format!("@vscode/ripgrep-linux-{arch}")], RIPGREP_PACKAGE);
        }
        assert_eq!(optional["@oven/bun-linux-x64"], crate::bun::PINNED);
        assert_eq!(pinned["devDependencies"]["zod"], ZOD);
    }

    #[test]
    fn there_is_no_opencode_for_musl() {
        assert!(packages(|_| true).is_none());
    }
}
