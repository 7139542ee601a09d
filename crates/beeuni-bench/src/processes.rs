//! Whole commands against starting Bun once.

use std::process::{Command, Stdio};
use std::time::Instant;

use crate::project;
use crate::report::{Report, median};
use crate::{Outcome, Programs};

const RUNS: usize = 40;
const FILES: usize = 200;

pub(crate) fn commands(programs: &Programs, report: &mut Report) -> Outcome<()> {
    let (_folder, small) = project::scratch()?;
    project::make(&small, 4)?;
    let (_other, large) = project::scratch()?;
    project::make_large(&large, FILES)?;
    let beeuni = |project: &std::path::Path, args: &[&str]| {
        let mut command = Command::new(&programs.beeuni);
        command.args(args).current_dir(project);
        command
    };
    let mut bun = Command::new(&programs.bun);
    bun.args(["-e", "0"]).current_dir(&small);
    let mut all = [
        bun,
        beeuni(&small, &["validate"]),
        beeuni(&small, &["tools", "ls"]),
        beeuni(&large, &["validate"]),
    ];
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..RUNS {
        for (command, times) in all.iter_mut().zip(&mut times) {
            times.push(milliseconds(command)?);
        }
    }
    let [mut bun, mut validate, mut list, mut large] = times;
    let base = median(&mut bun);
    report.less("beeuni validate, 1 file", "ms", median(&mut validate), base, 1.0);
    report.less("beeuni tools ls, 1 file", "ms", median(&mut list), base, 1.0);
    report.compare(
        &format!("beeuni validate, {FILES} files"),
        "ms",
        median(&mut large),
        base,
    );
    Ok(())
}

fn milliseconds(command: &mut Command) -> Outcome<f64> {
    let begin = Instant::now();
    let status = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    let elapsed = begin.elapsed().as_secs_f64() * 1000.0;
    if !status.success() {
        return Err(format!("{command:?} failed: {status}").into());
    }
    Ok(elapsed)
}
