//! The command line as a whole: global options, commands, and how arguments become them.
use std::ffi::OsString;
use std::path::PathBuf;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::commands::{completions, daemon, doctor, init, models, run, schema, setup, tools, validate};
use crate::exit::Exit;
use crate::output::ColorChoice;

/// Self-hosted AI agents with tools that you can read, change and own.
#[derive(Debug, Parser)]
#[command(
    name = "beeuni",
    version,
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = EXAMPLES,
    max_term_width = 100
)]
pub(crate) struct Cli {
    /// Options of every command.
    #[command(flatten)]
    pub(crate) global: Global,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  beeuni init shop                  Start a project in the folder `shop`
  beeuni validate                   Check beeuni.yaml and what it refers to
  beeuni tools ls                   See which tools a session gets
  beeuni tools new lookup_order     Write a tool of your own
  beeuni tools call lookup_order --args '{\"text\":\"one two\"}'
  beeuni run \"What does this project do?\"

Exit codes:
  0  done
  1  failed
  2  wrong usage, or nothing to work on
  3  blocked on a question or permission
  124  timed out";

/// Options of every command.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Work on the project of DIR instead of the current folder's
    #[arg(short = 'C', long, global = true, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// When to colour; auto is on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t)]
    pub(crate) color: ColorChoice,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(init::Args),
    Validate(validate::Args),
    Schema(schema::Args),
    Tools(tools::Args),
    Run(run::Args),
    Models(models::Args),
    Setup(setup::Args),
    Doctor(doctor::Args),
    Daemon(daemon::Args),
    Completions(completions::Args),
}

/// Reads the arguments. Help, the version and what is wrong with the arguments are printed here; the
/// error is then how the process ends.
pub(crate) fn parse(args: Vec<OsString>) -> Result<Cli, Exit> {
    let command = Cli::command().color(color_of_help(&args));
    command
        .try_get_matches_from(args)
        .and_then(|matches| Cli::from_arg_matches(&matches))
        .map_err(|error| {
            // A reader that went away has read what it wanted.
            let _ = error.print();
            if error.exit_code() == 0 {
                Exit::DONE
            } else {
                Exit::USAGE
            }
        })
}

/// `--color` as far as it can be seen before the arguments are read: help and errors follow it too.
fn color_of_help(args: &[OsString]) -> clap::ColorChoice {
    let mut args = args.iter().filter_map(|arg| arg.to_str());
    while let Some(arg) = args.next() {
        let value = match arg {
            "--" => break,
            "--color" => args.next(),
            _ => arg.strip_prefix("--color="),
        };
        match value {
            Some("always") => return clap::ColorChoice::Always,
            Some("never") => return clap::ColorChoice::Never,
            _ => {}
        }
    }
    clap::ColorChoice::Auto
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_colour_of_help_follows_its_flag() {
        let colour = |args: &[&str]| color_of_help(&args.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(
            colour(&["beeuni", "--color", "never", "tools"]),
            clap::ColorChoice::Never
        );
        assert_eq!(colour(&["beeuni", "--color=always"]), clap::ColorChoice::Always);
        assert_eq!(colour(&["beeuni", "--", "--color=always"]), clap::ColorChoice::Auto);
    }
}
