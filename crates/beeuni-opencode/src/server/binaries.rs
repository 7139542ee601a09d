//! Where OpenCode and ripgrep are.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A binary was not found. `Display` says where it was looked for and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{program} was not found ({}): run `beeuni setup`, or name it with {variable}", tried.join(", "))]
pub struct BinaryMissing {
    /// `OpenCode` or `ripgrep`.
    pub program: &'static str,
    /// The setting that names one.
    pub variable: &'static str,
    /// The places that were tried.
    pub tried: Vec<String>,
}

/// A program that npm has packages for, one for each platform.
struct Program {
    name: &'static str,
    variable: &'static str,
    /// The package's name up to the platform.
    package: &'static str,
    /// The file in the package's `bin`, and on `PATH`.
    file: &'static str,
}

const OPENCODE: Program = Program {
    name: "OpenCode",
    variable: "BEEUNI_OPENCODE",
    package: "opencode",
    file: "opencode",
};
const RIPGREP: Program = Program {
    name: "ripgrep",
    variable: "BEEUNI_RIPGREP",
    package: "@vscode/ripgrep",
    file: "rg",
};

/// The platforms that the packages are named after.
const PLATFORMS: &[&str] = &["linux-x64", "linux-arm64", "darwin-arm64", "darwin-x64"];

/// Finds OpenCode: the setting `BEEUNI_OPENCODE`, then `managed` (the folder that `beeuni setup` fills, laid out as
/// `npm install opencode-<platform>` does), then `PATH`.
///
/// # Errors
/// It is in none of these, or the setting names no executable file.
pub fn find_opencode(managed: &Path) -> Result<PathBuf, BinaryMissing> {
    OPENCODE.find(managed)
}

/// Finds ripgrep: the setting `BEEUNI_RIPGREP`, then `managed` (the folder that `beeuni setup` fills, laid out as
/// `npm install @vscode/ripgrep-<platform>` does), then `PATH`.
///
/// # Errors
/// It is in none of these, or the setting names no executable file.
pub fn find_ripgrep(managed: &Path) -> Result<PathBuf, BinaryMissing> {
    RIPGREP.find(managed)
}

impl Program {
    fn find(&self, managed: &Path) -> Result<PathBuf, BinaryMissing> {
        let setting = std::env::var_os(self.variable).filter(|value| !value.is_empty());
        self.find_in(setting, managed, std::env::var_os("PATH").as_deref())
    }

    fn find_in(
        &self,
        setting: Option<OsString>,
        managed: &Path,
        path: Option<&OsStr>,
    ) -> Result<PathBuf, BinaryMissing> {
        let missing = |tried| BinaryMissing {
            program: self.name,
            variable: self.variable,
            tried,
        };
        if let Some(setting) = setting.map(PathBuf::from) {
            return if is_executable(&setting) {
                Ok(setting)
            } else {
                let tried = format!("{}={} is no executable file", self.variable, setting.display());
                Err(missing(vec![tried]))
            };
        }
        // npm installs the one package that fits the machine.
        let in_managed = PLATFORMS
            .iter()
            .map(|platform| managed.join(format!("node_modules/{}-{platform}/bin/{}", self.package, self.file)));
        let on_path = path.map(std::env::split_paths).into_iter().flatten();
        in_managed
            .chain(on_path.map(|folder| folder.join(self.file)))
            .find(|candidate| is_executable(candidate))
            .ok_or_else(|| missing(vec![format!("not in {}", managed.display()), "not on PATH".to_owned()]))
    }
}

/// The package `zod` beside an OpenCode that `beeuni setup` installed: what `tool.schema` in a project's own tools is.
pub(super) fn zod_beside(opencode: &Path) -> Option<PathBuf> {
    let packages = opencode.parent()?.parent()?.parent()?;
    let zod = packages.join("zod");
    (packages.ends_with("node_modules") && zod.join("package.json").is_file()).then_some(zod)
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    #[test]
    fn the_setting_comes_before_the_managed_folder_and_that_before_path() {
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        for (program, package) in [
            (OPENCODE, "opencode-linux-x64"),
            (RIPGREP, "@vscode/ripgrep-linux-arm64"),
        ] {
            let managed = folder.path().join(program.name);
            let path = folder.path().join("path");
            let find = |setting: Option<&Path>| {
                program.find_in(
                    setting.map(|s| s.as_os_str().to_owned()),
                    &managed,
                    Some(path.as_os_str()),
                )
            };
            let error = find(None).unwrap_err().to_string();
            assert!(
                error.contains("beeuni setup") && error.contains(program.variable),
                "{error}"
            );
            let on_path = make(&format!("path/{}", program.file));
            assert_eq!(find(None).unwrap(), on_path);
            let in_managed = make(&format!("{}/node_modules/{package}/bin/{}", program.name, program.file));
            assert_eq!(find(None).unwrap(), in_managed);
            let own = make("own");
            assert_eq!(find(Some(&own)).unwrap(), own);
            let error = find(Some(Path::new("/nonexistent/x"))).unwrap_err().to_string();
            assert!(error.contains("=/nonexistent/x is no executable file"), "{error}");
        }
    }
}
