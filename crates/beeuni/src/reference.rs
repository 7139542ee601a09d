//! docs/cli.md, written from the command line's own description. A test, so that it cannot go stale.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
use std::fmt::Write as _;
use std::path::Path;

use clap::{Arg, ArgAction, Command, CommandFactory};

use crate::cli::Cli;

const INTRO: &str = "\
# Command line

<!-- Written from the program's own help: `UPDATE_CLI_REFERENCE=1 cargo test -p beeuni cli_reference` -->

`beeuni help <command>` shows the same on a terminal.

## Everywhere

Data goes to stdout, everything else to stderr. Commands that read have `--json`. A command finds the
project in the current folder or the nearest one above it that has a `beeuni.yaml`, up to the root of the
git repository.

| Exit code | Meaning |
| --- | --- |
| 0 | done |
| 1 | failed |
| 2 | wrong usage, or nothing to work on |
| 3 | blocked on a question or permission |
| 124 | timed out |
| 128 + n | ended by the signal with number n, e.g. 130 for Ctrl-C |

";

const ENVIRONMENT: &str = "
| Variable | Meaning |
| --- | --- |
| `BEEUNI_BUN` | the Bun that runs the tools; else the one that `beeuni setup` installed, else the one on `PATH` |
| `BEEUNI_RUNTIME_DIR` | the folder that `beeuni setup` fills; else `$XDG_DATA_HOME/beeuni/runtime`, else `~/.local/share/beeuni/runtime` |
| `BEEUNI_API_URL`, `BEEUNI_TOKEN` | the control plane and the token for it, for `run`, `tools call` and `daemon` |
| `OPENAI_API_KEY`, `ANTHROPIC_API_KEY`, `GEMINI_API_KEY`, `OPENROUTER_API_KEY` | switch on that provider of models, for `run`, `models` and `daemon` |
| `OPENAI_BASE_URL` and so on | another address for it |
| `BEEUNI_LLM_BASE_URL`, `BEEUNI_LLM_API_KEY` | the provider `custom`: any server that speaks OpenAI's chat completions |
| `OLLAMA_HOST` | where Ollama is; one on this machine is found without it |
| `BEEUNI_MODEL` | the model to use where none is named, as `provider/model` |
| `TAVILY_API_KEY`, `SERPER_API_KEY`, `FIRECRAWL_API_KEY`, `BEEUNI_SEARXNG_URL` | what the web tools search and read with, where the agent has no such secret; pages are read without any |
| `BEEUNI_WEB_ALLOW` | hosts that may be read although they are not public, with commas |
| `BEEUNI_LOG` | what `daemon` logs; `run` logs nothing unless it is set |
| `XDG_CACHE_HOME` | the workers' code is in `beeuni` below it; else in `~/.cache/beeuni` |
| `XDG_STATE_HOME` | the sessions of `run` are in `beeuni/projects` below it; else in `~/.local/state/beeuni/projects` |
| `TMPDIR` | outputs of `run` and `tools call` that are too long for a model are in `beeuni-<uid>/output` below it |
| `NO_COLOR` | no colour |
";

/// The whole page.
fn page() -> String {
    let mut command = Cli::command();
    command.build();
    let mut text = INTRO.to_owned();
    text.push_str("| Option of every command | Meaning |\n| --- | --- |\n");
    for option in command.get_arguments().filter(|arg| arg.is_global_set()) {
        row(&mut text, option);
    }
    text.push_str(ENVIRONMENT);
    sections(&mut text, &command);
    text
}

/// A section for each command below `command` that does something.
fn sections(text: &mut String, command: &Command) {
    for sub in command
        .get_subcommands()
        .filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
    {
        if sub.has_subcommands() {
            sections(text, sub);
        } else {
            section(text, sub);
        }
    }
}

fn section(text: &mut String, command: &Command) {
    let name = command.get_bin_name().unwrap_or_default();
    let about = command.get_long_about().or(command.get_about()).unwrap().to_string();
    let usage = command.clone().render_usage().to_string();
    write!(text, "\n## {name}\n\n{}\n\n", sentences(&about)).unwrap();
    writeln!(text, "```text\n{}\n```", usage.trim_start_matches("Usage: ")).unwrap();
    let own = |arg: &&Arg| !arg.is_global_set() && !arg.is_hide_set() && arg.get_id() != "help";
    let arguments: Vec<&Arg> = command.get_arguments().filter(own).collect();
    if !arguments.is_empty() {
        text.push_str("\n| Argument | Meaning |\n| --- | --- |\n");
        arguments.into_iter().for_each(|arg| row(text, arg));
    }
    if let Some(after) = command.get_after_help() {
        write!(text, "\n```text\n{}\n```\n", after.to_string().trim_end()).unwrap();
    }
}

/// The first paragraph is a heading on the terminal, and has no full stop there.
fn sentences(about: &str) -> String {
    let about = prose(about);
    match about.split_once("\n\n") {
        Some((first, rest)) => format!("{first}.\n\n{rest}"),
        None => format!("{about}."),
    }
}

/// Outside of code, `<name>` would be taken for HTML; anywhere, `|` ends a cell.
fn prose(text: &str) -> String {
    let escape = |(index, part): (usize, &str)| {
        let text = part.replace('|', "\\|");
        if index % 2 == 0 { text.replace('<', "\\<") } else { text }
    };
    text.split('`').enumerate().map(escape).collect::<Vec<_>>().join("`")
}

fn row(text: &mut String, arg: &Arg) {
    let mut form = arg.get_long().map(|long| format!("--{long}")).unwrap_or_default();
    if let Some(short) = arg.get_short() {
        form = format!("-{short}, {form}");
    }
    let value = arg
        .get_value_names()
        .and_then(|names| names.first())
        .map(|name| format!("<{name}>"))
        .map(|name| {
            if arg.get_num_args().is_some_and(|count| count.min_values() == 0) {
                format!("[{name}]")
            } else {
                name
            }
        });
    if !matches!(arg.get_action(), ArgAction::SetTrue) {
        form = format!("{form} {}", value.unwrap_or_default());
    }
    let mut meaning = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let values: Vec<String> = arg
        .get_possible_values()
        .iter()
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if !values.is_empty() && !matches!(arg.get_action(), ArgAction::SetTrue) {
        write!(meaning, ": {}", values.join(", ")).unwrap();
    }
    let default: Vec<String> = arg
        .get_default_values()
        .iter()
        .map(|value| value.to_string_lossy().into_owned())
        .collect();
    if !default.is_empty() && !matches!(arg.get_action(), ArgAction::SetTrue) {
        write!(meaning, " (default `{}`)", default.join(" ")).unwrap();
    }
    writeln!(text, "| `{}` | {} |", form.trim().replace('|', "\\|"), prose(&meaning)).unwrap();
}

#[test]
fn cli_reference_is_what_the_program_says() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let page = page();
    if std::env::var_os("UPDATE_CLI_REFERENCE").is_some() {
        std::fs::write(&file, &page).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        written == page,
        "docs/cli.md is stale: run `UPDATE_CLI_REFERENCE=1 cargo test -p beeuni cli_reference` and commit it"
    );
}
