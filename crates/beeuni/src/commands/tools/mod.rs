//! `beeuni tools …`: the tools of a project.
pub(crate) mod access;
pub(crate) mod call;
pub(crate) mod call_input;
mod check;
mod declare;
mod eject;
mod host;
mod ls;
mod new;

use clap::Subcommand;

use super::Context;
use crate::exit::Exit;
use crate::failure::Failure;

/// See, call, check, eject and write tools
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = "\
Examples:
  beeuni tools ls
  beeuni tools eject web_search
  beeuni tools new lookup_order
  beeuni tools call lookup_order --args '{\"text\":\"one two\"}'
  beeuni tools check"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: ToolsCommand,
}

#[derive(Debug, Subcommand)]
enum ToolsCommand {
    Ls(ls::Args),
    Eject(eject::Args),
    New(new::Args),
    Call(call::Args),
    Check(check::Args),
}

pub(crate) fn run(context: &mut Context, args: Args) -> Result<Exit, Failure> {
    match args.command {
        ToolsCommand::Ls(args) => ls::run(context, &args),
        ToolsCommand::Eject(args) => eject::run(context, &args),
        ToolsCommand::New(args) => new::run(context, &args),
        ToolsCommand::Call(args) => call::run(context, &args),
        ToolsCommand::Check(args) => check::run(context, &args),
    }
}

/// The name among `known` that `name` was probably meant to be.
fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (strsim::osa_distance(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 1.max(candidate.len().min(name.len()) / 3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The failure of a name that is no tool of the project.
fn no_such_tool(name: &str, selection: &beeuni_manifest::Selection) -> Failure {
    if selection.removed.iter().any(|removed| removed == name) {
        return Failure::usage(format!("this project removed the Beeuni tool {name}"))
            .hint(format!("add `{name}: beeuni:{name}` under `tools:` to get it back"));
    }
    let failure = Failure::usage(format!("no tool named {name}"));
    let failure = match nearest(name, selection.tools.iter().map(|tool| tool.name.as_str())) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure,
    };
    failure.hint("`beeuni tools ls` shows the tools of this project")
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_finds_the_tool_that_was_meant() {
        let tools = ["web_search", "memory", "show"];
        assert_eq!(nearest("web_serch", tools), Some("web_search"));
        assert_eq!(nearest("memroy", tools), Some("memory"));
        assert_eq!(nearest("lookup_order", tools), None);
    }
}
