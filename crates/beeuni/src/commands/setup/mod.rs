//! `beeuni setup`: installs Bun and OpenCode into a folder of Beeuni's own.
mod harness;
mod npm;

use std::path::{Path, PathBuf};

use self::npm::{in_packages, put, stage};
use super::Context;
use crate::bun::{self, PINNED};
use crate::dirs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::opencode;
use crate::output::GOOD;

/// Install Bun, which runs the tools, and OpenCode, the standard harness
///
/// Takes their npm packages (with ripgrep, which OpenCode searches with, and zod, which the tools in a
/// project's `harnesses/opencode` use) with `npm`, and puts what is needed of them into Beeuni's own folder:
/// nothing else on the machine changes. Does nothing when the right versions are there already. Where
/// there is no OpenCode for the machine, Bun is installed alone.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Environment:
  BEEUNI_RUNTIME_DIR   the folder [default: ~/.local/share/beeuni/runtime]
  BEEUNI_BUN           a Bun of your own, used instead
  BEEUNI_OPENCODE      an OpenCode of your own, used instead (BEEUNI_RIPGREP: a ripgrep)

Examples:
  beeuni setup
  beeuni setup --without-opencode   Install what tools need, without the 190 MB of OpenCode
  beeuni setup --force              Install it again")]
pub(crate) struct Args {
    /// Install it again, even if the right version is there
    #[arg(long)]
    force: bool,
    /// Install Bun alone: tools and the experimental harness need no more
    #[arg(long)]
    without_opencode: bool,
}

pub(crate) fn run(context: &mut Context, args: &Args) -> Result<Exit, Failure> {
    let managed = dirs::managed().ok_or_else(|| {
        Failure::user("there is no home folder to install into").hint("name a folder with BEEUNI_RUNTIME_DIR")
    })?;
    let package = platform_package()?;
    // Where npm puts it, and `find_bun` looks.
    let bun = managed.join(bun_in(&package));
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
    match opencode::packages(|arch| musl(if arch == "arm64" { "aarch64" } else { arch })) {
        _ if args.without_opencode => {}
        Some(packages) => harness::install(context, &managed, &packages, args.force)?,
        None => context.output.note(
            "there is no OpenCode for this machine: the experimental harness works; for the standard one name an \
             OpenCode with BEEUNI_OPENCODE",
        ),
    }
    context
        .output
        .println("bubblewrap and git are not needed to run tools: `beeuni doctor` checks them.");
    Ok(Exit::DONE)
}

/// Installs into a folder beside the final one, checks what came, and only then lets it take its place.
fn install(managed: &Path, bun: &Path, package: &str) -> Result<(), Failure> {
    let staging = stage(managed, &[format!("{package}@{PINNED}")], "Bun")
        .map_err(|failure| failure.hint(format!("or install Bun {PINNED} yourself and name it with BEEUNI_BUN")))?;
    let fresh = staging.path().join(bun_in(package));
    let version = bun::version(&fresh).map_err(|reason| {
        Failure::user(format!("the Bun that npm installed {reason}"))
            .hint("if this machine needs another build of Bun, install it yourself and name it with BEEUNI_BUN")
    })?;
    if version != PINNED {
        return Err(Failure::user(format!(
            "npm installed Bun {version} instead of {PINNED}"
        )));
    }
    put(&fresh, bun)?;
    match beeuni_tools::find_bun(None, managed) {
        Ok(found) if found == bun => Ok(()),
        _ => Err(Failure::internal(format!(
            "the tools do not look for Bun at {}",
            bun.display()
        ))),
    }
}

/// The path of Bun below a folder that npm installed `package` into.
fn bun_in(package: &str) -> PathBuf {
    in_packages(package).join("bin/bun")
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
