//! The program's entry: picks the command, and turns its outcome into an exit code.
mod advice;
mod bun;
mod cli;
mod commands;
mod dirs;
mod exit;
mod failure;
mod files;
mod opencode;
mod output;
mod project;
#[cfg(test)]
mod reference;
mod runtime;

use std::ffi::OsString;
use std::process::ExitCode;

use crate::commands::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    // A worker's guard starts once per worker: nothing may run before it, neither argument parsing
    // nor a runtime.
    if args.get(1).is_some_and(|arg| arg == "tool-guard") {
        std::process::exit(beeuni_tools::guard_main(&args[2..]));
    }
    // The same for the process that turns one web page into text.
    if args.get(1).is_some_and(|arg| arg == "page-reader") {
        std::process::exit(beeuni_gateway::web::page_reader_main());
    }
    let cli = match cli::parse(args) {
        Ok(cli) => cli,
        Err(exit) => return exit.into(),
    };
    let mut context = Context {
        output: Output::new(cli.global.color),
        start: cli.global.project,
    };
    let outcome = commands::run(&mut context, cli.command);
    finish(&mut context.output, outcome).into()
}

/// Reports a failure, and counts output that could not be written as one.
fn finish(output: &mut Output, outcome: Result<Exit, Failure>) -> Exit {
    let written = output.finish();
    let outcome = match (outcome, written) {
        (Ok(_), Err(error)) => Err(Failure::user("cannot write the output").caused_by(&error)),
        (outcome, _) => outcome,
    };
    match outcome {
        Ok(exit) => exit,
        Err(failure) => {
            failure.report(output);
            failure.exit()
        }
    }
}
