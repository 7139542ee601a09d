//! Installing the standard harness: OpenCode, ripgrep, and zod for the tools in a project's own OpenCode folder.
use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::npm::{in_packages, put, stage};
use crate::commands::Context;
use crate::failure::Failure;
use crate::opencode::{Holds, Package, Program};
use crate::output::GOOD;

/// Installs what is missing of `packages`.
pub(super) fn install(context: &mut Context, managed: &Path, packages: &[Package], force: bool) -> Result<(), Failure> {
    let needed: Vec<&Package> = packages
        .iter()
        .filter(|package| force || !is_there(managed, package))
        .collect();
    if !needed.is_empty() {
        let names: Vec<&str> = needed.iter().map(|package| label(package)).collect();
        context
            .output
            .note(&format!("Installing {} with npm …", names.join(", ")));
        let wanted: Vec<String> = needed
            .iter()
            .map(|package| format!("{}@{}", package.name, package.version))
            .collect();
        let staging = stage(managed, &wanted, "OpenCode").map_err(|failure| {
            failure.hint("Bun is installed: tools and the experimental harness work without OpenCode")
        })?;
        for package in &needed {
            check(staging.path(), package)?;
        }
        for package in &needed {
            let path = path(package);
            put(&staging.path().join(&path), &managed.join(&path))?;
        }
    }
    let tick = context.output.out.paint(GOOD, "✓");
    for package in packages {
        let Holds::Program(program, _) = package.holds else {
            continue;
        };
        let (name, version, place) = (program.name(), program.pinned(), managed.join(path(package)));
        let line = if needed.iter().any(|needed| needed.name == package.name) {
            format!("  {tick}  Installed {name} {version}: {}", place.display())
        } else {
            format!("  {tick}  {name} {version} is there: {}", place.display())
        };
        context.output.println(&line);
        if let Ok((used, origin)) = program.find()
            && used != place
        {
            let (used, origin) = (used.display(), origin.text());
            context
                .output
                .warn(&format!("another {name} is used: {used} ({origin})"));
        }
    }
    Ok(())
}

fn label(package: &Package) -> &str {
    match package.holds {
        Holds::Program(program, _) => program.name(),
        Holds::Library => &package.name,
    }
}

/// What of a package is kept, below a folder that npm installed into.
fn path(package: &Package) -> std::path::PathBuf {
    let folder = in_packages(&package.name);
    match package.holds {
        Holds::Program(_, file) => folder.join(file),
        Holds::Library => folder,
    }
}

fn is_there(managed: &Path, package: &Package) -> bool {
    let place = managed.join(path(package));
    match package.holds {
        Holds::Program(program, _) => {
            place.exists() && program.version(&place).is_ok_and(|version| version == program.pinned())
        }
        Holds::Library => version_in(&place).as_deref() == Some(package.version),
    }
}

/// Whether npm brought what was asked for, and whether it works here.
fn check(staging: &Path, package: &Package) -> Result<(), Failure> {
    let place = staging.join(path(package));
    let (name, wanted, found) = match package.holds {
        Holds::Program(program, _) => {
            let version = program.version(&place).map_err(|reason| works_not(program, &reason))?;
            (program.name(), program.pinned(), version)
        }
        Holds::Library => (&*package.name, package.version, version_in(&place).unwrap_or_default()),
    };
    if found == wanted {
        Ok(())
    } else {
        Err(Failure::user(format!(
            "npm installed {name} {found} instead of {wanted}"
        )))
    }
}

fn works_not(program: Program, reason: &str) -> Failure {
    let (name, variable) = (program.name(), program.variable());
    Failure::user(format!("the {name} that npm installed {reason}")).hint(format!(
        "if this machine needs another build of {name}, install it yourself and name it with {variable}"
    ))
}

#[derive(Deserialize)]
struct PackageFile {
    version: String,
}

fn version_in(package: &Path) -> Option<String> {
    let text = fs::read_to_string(package.join("package.json")).ok()?;
    Some(serde_json::from_str::<PackageFile>(&text).ok()?.version)
}
