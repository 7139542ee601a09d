//! `beeuni run`: one turn of an agent on the current checkout, with no server.
mod ask;
mod drive;
mod follow;
mod lines;
mod outcome;
mod place;
mod prompt;
mod session;
mod view;
mod watch;
mod wording;

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use beeuni_daemon::HarnessChoice;
use beeuni_daemon::local::{ControlPlane, LocalOptions};
use beeuni_manifest::Manifest;
use beeuni_protocol::session::OnAsk;

use self::place::Continue;
use self::session::Plan;
use super::tools::access;
use super::tools::call_input::{self, Secrets};
use super::{Context, daemon};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::project::Project;
use crate::runtime::block_on;
use crate::{bun, dirs};

/// Run one turn of an agent on this checkout, with no server
///
/// The answer goes to stdout, on a terminal as it comes; tool calls, what tools print and what the turn used go
/// to stderr. With no model provider set up the built-in rehearsal model answers, and says so. Exit code 3
/// when the turn needs a permission or an answer and nobody can be asked, 124 when its time is over. Ctrl-C
/// stops the turn, a second one ends at once.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Models are asked with the keys in your environment: OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY,
OPENROUTER_API_KEY, or BEEUNI_LLM_BASE_URL (with BEEUNI_LLM_API_KEY) for any server that speaks OpenAI's chat
completions. A local Ollama is found by itself. `beeuni models` shows what is set up, BEEUNI_MODEL chooses.

A secret's value on the command line can be seen by every user of the machine while the turn runs:
`--env NAME` takes it from your environment instead.

Examples:
  beeuni run \"What does this project do?\"
  beeuni run --agent support --env SHOP_KEY \"Where is order A-1042?\"
  beeuni run --continue \"And order A-1043?\"
  { echo \"Review this:\"; git diff; } | beeuni run - --on-ask deny > review.md
  beeuni run --json \"Count the files\" | jq -r 'select(.type == \"run.ended\").answer'")]
pub(crate) struct Args {
    /// The prompt, or - for standard input
    #[arg(value_name = "PROMPT")]
    words: Vec<String>,
    /// The same as an option
    #[arg(long, value_name = "TEXT", conflicts_with = "words", allow_hyphen_values = true)]
    prompt: Option<String>,
    /// The agent [default: the session's, else the project's default agent]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The model, as provider/model [default: the agent's, else BEEUNI_MODEL, else the first provider's]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Go on with a session of this checkout: its id or the beginning of it, or the last one
    #[arg(long = "continue", value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    goes_on: Option<String>,
    /// Where a person would be asked: no, yes, or end the turn [default: ask at a terminal, else fail]
    #[arg(long, value_name = "ANSWER", value_enum)]
    on_ask: Option<Unasked>,
    /// A secret of the agent: NAME takes its value from your environment
    #[arg(long = "env", value_name = "NAME[=VALUE]")]
    secrets: Vec<String>,
    /// The longest time of the turn
    #[arg(long, value_name = "SECONDS", value_parser = call_input::seconds)]
    timeout: Option<Duration>,
    /// How many times the model is asked at most [default: `steps` in the agent's file, else 500]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    steps: Option<u32>,
    /// Print JSON lines: each event as the daemon sends it, at last { type: "run.ended", outcome, answer, … }
    #[arg(long)]
    json: bool,
    /// What runs the turn [default: `harness` in beeuni.yaml where it is written, else experimental, which starts at
    /// once]
    #[arg(long, value_enum)]
    harness: Option<Harness>,
    /// The folder for sessions [default: one for this checkout in ~/.local/state/beeuni]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
}

/// What happens where a person would be asked and nobody is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Unasked {
    /// The answer is no, and the model goes on
    Deny,
    /// The answer is yes; what the agent's file denies stays denied
    Allow,
    /// The turn ends, with exit code 3
    Fail,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Harness {
    /// OpenCode
    Standard,
    /// The agent loop inside this program
    Experimental,
}

impl From<Harness> for HarnessChoice {
    fn from(harness: Harness) -> Self {
        match harness {
            Harness::Standard => Self::Standard,
            Harness::Experimental => Self::Experimental,
        }
    }
}

pub(crate) fn run(context: &mut Context, mut args: Args) -> Result<Exit, Failure> {
    let wanted = continues(&mut args);
    let project = context.project()?;
    let (manifest, _) = project.usable(&context.output)?;
    // A session that goes on has an agent.
    if args.agent.is_some() || wanted == Continue::New {
        access::agent(&manifest, args.agent.as_deref())?;
    }
    let secrets = Secrets::read(&args.secrets)?;
    let prompt = prompt::read(args.prompt.as_deref(), &args.words)?;
    let mut options = options(&project, &args, &secrets, &wanted)?;
    options.harness = harness(args.harness, &manifest);
    let plan = Plan {
        manifest: &manifest,
        prompt,
        on_ask: on_ask(&args),
        again: again(context.start.as_deref(), args.state.as_deref()),
        agent: args.agent,
        model: args.model,
        secrets,
        timeout: args.timeout,
        json: args.json,
    };
    // The view tells all that a person needs: a log is for those who look for a fault.
    if std::env::var_os("BEEUNI_LOG").is_some_and(|filter| !filter.is_empty()) {
        daemon::start_log(context.output.err.colored())?;
    }
    block_on(session::run(options, plan, &mut context.output))
}

/// What runs the turn. A project that does not say gets the loop in this process: it is there at once, and with no
/// further program to install, which a single turn at a terminal is better off with than with the daemon's default.
fn harness(asked: Option<Harness>, manifest: &Manifest) -> HarnessChoice {
    match asked {
        Some(harness) => harness.into(),
        None if manifest.harness_key => manifest.harness.into(),
        None => HarnessChoice::Experimental,
    }
}

/// What happens where a person would be asked.
fn on_ask(args: &Args) -> OnAsk {
    match args.on_ask {
        Some(Unasked::Deny) => OnAsk::Deny,
        Some(Unasked::Allow) => OnAsk::Allow,
        Some(Unasked::Fail) => OnAsk::Fail,
        // A program that reads JSON does not see a question on the terminal.
        None if !args.json && std::io::stdin().is_terminal() && std::io::stderr().is_terminal() => OnAsk::Wait,
        None => OnAsk::Fail,
    }
}

/// The command that goes on with a session of this project, up to its id.
fn again(project: Option<&Path>, state: Option<&Path>) -> String {
    let mut command = "beeuni run".to_owned();
    for (option, folder) in [("-C", project), ("--state", state)] {
        let Some(folder) = folder.map(|folder| folder.display().to_string()) else {
            continue;
        };
        let plain = folder.chars().all(|c| c.is_alphanumeric() || "/._-+:@".contains(c));
        let quoted = if plain {
            folder
        } else {
            format!("'{}'", folder.replace('\'', r"'\''"))
        };
        // Writing to a String cannot fail.
        let _ = write!(command, " {option} {quoted}");
    }
    command + " --continue"
}

/// What `--continue` means. Its value is optional, so words after it may be the prompt's: an id has no spaces.
fn continues(args: &mut Args) -> Continue {
    match args.goes_on.take() {
        None => Continue::New,
        Some(id) if id.is_empty() => Continue::Last,
        Some(text) if text.contains(char::is_whitespace) && args.prompt.is_none() => {
            args.words.insert(0, text);
            Continue::Last
        }
        Some(id) => Continue::Id(id),
    }
}

/// What the session is made from.
fn options(project: &Project, args: &Args, secrets: &Secrets, wanted: &Continue) -> Result<LocalOptions, Failure> {
    let folder = |error: &std::io::Error| Failure::user("cannot make a folder for the tools").caused_by(error);
    let guard = std::env::current_exe()
        .map_err(|error| Failure::internal("cannot find this program's own file").caused_by(&error))?;
    let bun = bun::required()?;
    let state = place::state(args.state.as_deref(), &project.root)?;
    let session = place::session(&state, wanted)?;
    let mut options = LocalOptions::new(&project.root, state, bun, guard);
    options.session = session;
    options.agent.clone_from(&args.agent);
    options.runtime_dir = Some(dirs::usable_cache().map_err(|error| folder(&error))?);
    options.output_dir = Some(dirs::output().map_err(|error| folder(&error))?);
    options.steps = args.steps;
    options.managed = dirs::managed();
    options.control_plane = secrets.api_url.clone().map(|url| ControlPlane {
        url,
        token: secrets.token.clone(),
    });
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_goes_on_can_be_pasted() {
        assert_eq!(again(None, None), "beeuni run --continue");
        let (project, state) = (Path::new("my shop"), Path::new("/tmp/it's"));
        assert_eq!(
            again(Some(project), Some(state)),
            r"beeuni run -C 'my shop' --state '/tmp/it'\''s' --continue"
        );
    }
}
