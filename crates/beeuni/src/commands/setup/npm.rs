//! Installing npm packages into a folder of Beeuni's own.
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::failure::Failure;

/// The folder of a package below a folder that npm installed into.
pub(super) fn in_packages(package: &str) -> PathBuf {
    Path::new("node_modules").join(package)
}

/// Installs `packages` (`name@version`) into a folder beside the final one, which goes away with the value.
pub(super) fn stage(managed: &Path, packages: &[String], what: &str) -> Result<TempDir, Failure> {
    fs::create_dir_all(managed).map_err(|error| cannot_write(managed, &error))?;
    let staging = tempfile::Builder::new()
        .prefix(".setup-")
        .tempdir_in(managed)
        .map_err(|error| cannot_write(managed, &error))?;
    install(staging.path(), packages, what)?;
    Ok(staging)
}

/// Lets something that was staged take its final place.
pub(super) fn put(from: &Path, to: &Path) -> Result<(), Failure> {
    let failed = |error: io::Error| cannot_write(to, &error);
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    if from.is_dir() && to.exists() {
        fs::remove_dir_all(to).map_err(failed)?;
    }
    fs::rename(from, to).map_err(failed)
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::user(format!("cannot write {}", path.display())).caused_by(error)
}

fn install(prefix: &Path, packages: &[String], what: &str) -> Result<(), Failure> {
    const FLAGS: [&str; 6] = [
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--no-save",
        "--no-package-lock",
        "--loglevel=error",
    ];
    let ran = Command::new("npm")
        .arg("install")
        .arg("--prefix")
        .arg(prefix)
        .args(FLAGS)
        .args(packages)
        .current_dir(prefix)
        .stdin(Stdio::null())
        .output();
    let output = match ran {
        Ok(output) => output,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(
                Failure::user(format!("npm was not found, and {what} is installed with it")).hint(
                    "install Node.js with npm (Debian and Ubuntu: `apt-get install npm`), then run `beeuni setup` again",
                ),
            );
        }
        Err(error) => return Err(Failure::user("npm does not start").caused_by(&error)),
    };
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(Failure::user(format!("npm could not install {}", packages.join(", ")))
        .because(text.trim())
        .hint("check that npm reaches its registry (`npm ping`), then run `beeuni setup` again"))
}
