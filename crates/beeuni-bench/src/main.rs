//! `make bench`: Beeuni against a bare `Bun.serve` that runs the same module in its own process, in one run.
//!
//! Every figure stands beside a baseline that was measured a moment before or after it, so that the ratio says
//! something on a noisy machine too. Usage: `beeuni-bench <beeuni binary> <bun binary> [<opencode binary>]`.

mod harnesses;
mod http;
mod load;
mod model;
mod processes;
mod project;
mod report;
mod rounds;
mod server;
mod sessions;

use std::path::PathBuf;

use report::Report;

/// Anything that goes wrong ends the run with a sentence.
type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// The programs that are compared.
struct Programs {
    beeuni: PathBuf,
    bun: PathBuf,
    /// Without it the standard harness cannot be measured.
    opencode: Option<PathBuf>,
}

/// What can be measured by itself, with `--only`.
const PARTS: [&str; 4] = ["calls", "experimental", "standard", "commands"];

fn main() -> Outcome<()> {
    let usage = "usage: beeuni-bench [--only calls|experimental|standard|commands] <beeuni binary> <bun binary> \
        [<opencode binary>]";
    let mut args: Vec<_> = std::env::args_os().skip(1).collect();
    let only = if args.first().is_some_and(|arg| arg == "--only") {
        let part = args.get(1).and_then(|part| part.to_str()).map(str::to_owned);
        args.drain(..2.min(args.len()));
        Some(part.filter(|part| PARTS.contains(&part.as_str())).ok_or(usage)?)
    } else {
        None
    };
    let wanted = |part: &str| only.as_deref().is_none_or(|only| only == part);
    let (beeuni, bun, opencode) = match args.as_slice() {
        [beeuni, bun] => (beeuni, bun, None),
        [beeuni, bun, opencode] => (beeuni, bun, Some(opencode)),
        _ => return Err(usage.into()),
    };
    // Absolute: they are started in other folders.
    let programs = Programs {
        beeuni: std::fs::canonicalize(beeuni)?,
        bun: std::fs::canonicalize(bun)?,
        // A pattern of the shell that matched nothing is no file.
        opencode: opencode.and_then(|opencode| std::fs::canonicalize(opencode).ok()),
    };
    // One thread, like the daemon: the load generator must not take more than one of the machine's cores.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut report = Report::default();
    runtime.block_on(async {
        if wanted("calls") {
            rounds::calls(&programs, &mut report).await?;
            rounds::cold_calls(&programs, &mut report).await?;
            rounds::side_by_side(&programs, &mut report).await?;
        }
        if wanted("experimental") {
            harnesses::experimental(&programs, &mut report).await?;
        }
        if wanted("standard") {
            harnesses::standard(&programs, &mut report).await?;
        }
        Ok::<_, Box<dyn std::error::Error>>(())
    })?;
    if wanted("commands") {
        processes::commands(&programs, &mut report)?;
    }
    report.print();
    Ok(())
}
