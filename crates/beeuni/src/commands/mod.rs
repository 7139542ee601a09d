//! Every command: its arguments, what it asks of the libraries, and what it prints.
pub(crate) mod completions;
pub(crate) mod daemon;
pub(crate) mod doctor;
pub(crate) mod init;
pub(crate) mod models;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod setup;
pub(crate) mod tools;
pub(crate) mod validate;

use std::path::PathBuf;

use crate::cli::Command;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::project::Project;

/// What every command works with.
pub(crate) struct Context {
    /// The process's streams.
    pub(crate) output: Output,
    /// `--project`.
    pub(crate) start: Option<PathBuf>,
}

impl Context {
    /// The project of `--project` or the current folder.
    pub(crate) fn project(&self) -> Result<Project, Failure> {
        Project::find(self.start.as_deref())
    }
}

/// Runs a command.
pub(crate) fn run(context: &mut Context, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Init(args) => init::run(context, &args),
        Command::Validate(args) => validate::run(context, &args),
        Command::Schema(args) => schema::run(context, &args),
        Command::Run(args) => run::run(context, args),
        Command::Models(args) => models::run(context, &args),
        Command::Tools(args) => tools::run(context, args),
        Command::Setup(args) => setup::run(context, &args),
        Command::Doctor(args) => doctor::run(context, &args),
        Command::Daemon(args) => daemon::run(context, args),
        Command::Completions(args) => completions::run(context, &args),
    }
}
