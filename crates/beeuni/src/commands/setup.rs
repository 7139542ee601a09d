//! `beeuni setup`: installs Bun into a folder of Beeuni's own.
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Context;
use crate::bun::{self, PINNED};
use crate::dirs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::GOOD;

/// Install Bun, which runs the tools
///
/// Takes Bun's npm package with `npm`, and puts its one file into Beeuni's own folder: nothing else on
/// the machine changes. Does nothing when the right version is there already.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Environment:
  BEEUNI_RUNTIME_DIR   the folder [default: ~/.local/share/beeuni/runtime]
  BEEUNI_BUN           a Bun of your own, used instead

Examples:
  beeuni setup
  beeuni setup --force      Install it again")]
pub(crate) struct Args {
    /// Install it again, even if the right version is there
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(context: &mut Context, args: &Args) -> Result<Exit, Failure> {
    let managed = dirs::managed().ok_or_else(|| {
        Failure::user("there is no home folder to install into").hint("name a folder with BEEUNI_RUNTIME_DIR")
    })?;
    let package = platform_package()?;
    // Where npm puts it, and `find_bun` looks.
    let bun = managed.join(in_packages(&package));
    let tick = context.output.out.paint(GOOD, "✓");
    if !args.force && bun.exists() && bun::version(&bun).is_ok_and(|version| version == PINNED) {
        context
            .output
            .println(&format!("  {tick}  Bun {PINNED} is there: {}", bun.display()));
    } else {
        context.output.note(&format!("Installing Bun {PINNED} with npm …"));
        install(&managed, &bun, &package)?;
        context
            .output
            .println(&format!("  {tick}  Installed Bun {PINNED}: {}", bun.display()));
    }
    if let Ok((used, origin)) = bun::find()
        && used != bun
    {
        context
            .output
            .warn(&format!("another Bun is used: {} ({})", used.display(), origin.text()));
    }
    context
        .output
        .println("OpenCode, bubblewrap and git are not needed to run tools: `beeuni doctor` checks them.");
    Ok(Exit::DONE)
}

/// Installs into a folder beside the final one, checks what came, and only then lets it take its place.
fn install(managed: &Path, bun: &Path, package: &str) -> Result<(), Failure> {
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |error: io::Error| Failure::user(format!("cannot write {path}")).caused_by(&error)
    };
    fs::create_dir_all(managed).map_err(failed(managed))?;
    let staging = tempfile::Builder::new()
        .prefix(".setup-")
        .tempdir_in(managed)
        .map_err(failed(managed))?;
    npm_install(staging.path(), &format!("{package}@{PINNED}"))?;
    let fresh = staging.path().join(in_packages(package));
    let version = bun::version(&fresh).map_err(|reason| {
        Failure::user(format!("the Bun that npm installed {reason}"))
            .hint("if this machine needs another build of Bun, install it yourself and name it with BEEUNI_BUN")
    })?;
    if version != PINNED {
        return Err(Failure::user(format!(
            "npm installed Bun {version} instead of {PINNED}"
        )));
    }
    let folder = bun.parent().unwrap_or(managed);
    fs::create_dir_all(folder).map_err(failed(folder))?;
    fs::rename(&fresh, bun).map_err(failed(bun))?;
    match beeuni_tools::find_bun(None, managed) {
        Ok(found) if found == bun => Ok(()),
        _ => Err(Failure::internal(format!(
            "the tools do not look for Bun at {}",
            bun.display()
        ))),
    }
}

/// The path of Bun below a folder that npm installed `package` into.
fn in_packages(package: &str) -> PathBuf {
    Path::new("node_modules").join(package).join("bin/bun")
}

/// The npm package that holds Bun for this machine. The package `bun` itself needs its install script
/// to pick one of these, and npm may be set to run no scripts.
fn platform_package() -> Result<String, Failure> {
    let arch = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "aarch64",
        other => return Err(no_package(other)),
    };
    match std::env::consts::OS {
        "linux" if musl(arch) => Ok(format!("@oven/bun-linux-{arch}-musl")),
        "linux" => Ok(format!("@oven/bun-linux-{arch}")),
        "macos" => Ok(format!("@oven/bun-darwin-{arch}")),
        other => Err(no_package(other)),
    }
}

fn no_package(platform: &str) -> Failure {
    Failure::user(format!("there is no Bun for {platform}")).hint("if you have one, name it with BEEUNI_BUN")
}

/// Whether the system's C library is musl and not glibc.
fn musl(arch: &str) -> bool {
    let name = if arch == "x64" { "x86_64" } else { arch };
    let glibc = ["/lib64", "/lib", "/usr/lib64", "/usr/lib"].iter().any(|folder| {
        Path::new(folder)
            .join(format!(
                "ld-linux-{}.so.{}",
                name.replace('_', "-"),
                if arch == "x64" { 2 } else { 1 }
            ))
            .exists()
    });
    !glibc && PathBuf::from(format!("/lib/ld-musl-{name}.so.1")).exists()
}

fn npm_install(prefix: &Path, package: &str) -> Result<(), Failure> {
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
        .arg(package)
        .current_dir(prefix)
        .stdin(Stdio::null())
        .output();
    let output = match ran {
        Ok(output) => output,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Failure::user("npm was not found, and Bun is installed with it")
                .hint("install Node.js with npm (Debian and Ubuntu: `apt-get install npm`), then run `beeuni setup` again")
                .hint(format!("or install Bun {PINNED} yourself and name it with BEEUNI_BUN")));
        }
        Err(error) => return Err(Failure::user("npm does not start").caused_by(&error)),
    };
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(Failure::user(format!("npm could not install {package}"))
        .because(text.trim())
        .hint("check that npm reaches its registry (`npm ping`), then run `beeuni setup` again"))
}
