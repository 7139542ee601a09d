//! `make bench`: Beeuni against a bare `Bun.serve` that runs the same module in its own process, in one run.
//!
//! Every figure stands beside a baseline that was measured a moment before or after it, so that the ratio says
//! something on a noisy machine too. Usage: `beeuni-bench <beeuni binary> <bun binary>`.

mod load;
mod processes;
mod project;
mod report;
mod rounds;

use std::path::PathBuf;

use report::Report;

/// Anything that goes wrong ends the run with a sentence.
type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// The two programs that are compared.
struct Programs {
    beeuni: PathBuf,
    bun: PathBuf,
}

fn main() -> Outcome<()> {
    let args: Vec<_> = std::env::args_os().collect();
    let [_, beeuni, bun] = args.as_slice() else {
        return Err("usage: beeuni-bench <beeuni binary> <bun binary>".into());
    };
    // Absolute: they are started in other folders.
    let programs = Programs {
        beeuni: std::fs::canonicalize(beeuni)?,
        bun: std::fs::canonicalize(bun)?,
    };
    // One thread, like the daemon: the load generator must not take more than one of the machine's cores.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut report = Report::default();
    runtime.block_on(async {
        rounds::calls(&programs, &mut report).await?;
        rounds::cold_calls(&programs, &mut report).await?;
        rounds::side_by_side(&programs, &mut report).await
    })?;
    processes::commands(&programs, &mut report)?;
    report.print();
    Ok(())
}
