//! `beeuni completions`: completion scripts for shells.
use clap::CommandFactory;
use clap_complete::Shell;

use super::Context;
use crate::cli::Cli;
use crate::exit::Exit;
use crate::failure::Failure;

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  beeuni completions bash > ~/.local/share/bash-completion/completions/beeuni
  beeuni completions zsh > ~/.zfunc/_beeuni
  beeuni completions fish > ~/.config/fish/completions/beeuni.fish")]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(context: &mut Context, args: &Args) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "beeuni", &mut script);
    context.output.print(&String::from_utf8_lossy(&script));
    Ok(Exit::DONE)
}
