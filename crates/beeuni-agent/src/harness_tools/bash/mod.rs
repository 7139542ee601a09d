//! `bash`: a command of the shell, in the foreground with a time limit or as a background job.

mod accesses;
mod capture;
mod ending;
mod jobs;
mod process;
mod run;
mod spilled;

use std::time::Duration;

use crate::permission::Access;

pub(super) use jobs::Jobs;
pub(super) use run::run;

use super::Inner;
use super::arguments::Arguments;
use super::context::ToolFailure;
use super::paths::Place;
use super::spec::Spec;

/// What the model reads about the tool.
pub(super) const SPEC: Spec = Spec {
    name: "bash",
    description: "Run a command in bash. Each call is a shell of its own, in the checkout or in `workdir`: `cd` and \
        variables do not last. Nobody can type: input is empty and there is no terminal. Output and errors come in one \
        text; the middle of a long one is left out and all of it is in a file. A command is ended after `timeout` \
        (default 2 minutes, at most 10) with everything that it started; what it leaves in the background with `&` ends \
        with it too. For servers and long tasks set `background: true`, then read what is new with `job`, and end it with \
        `job` and `kill: true`; jobs end with the session. To read, write, edit or search files use `read`, `write`, \
        `edit`, `glob` and `grep`.",
    parameters: r#"{"type":"object","properties":{"command":{"type":"string","description":"The command. Quote paths with spaces."},"description":{"type":"string","description":"What it does, in 5 to 10 words, for the user."},"timeout":{"type":"integer","description":"Milliseconds after which it is ended. Default 120000, at most 600000; a background job has no limit unless you give one. With job: how long to wait for its end, default 0."},"workdir":{"type":"string","description":"The folder to run in. Default: the checkout."},"background":{"type":"boolean","description":"Run it as a background job and return its id at once."},"job":{"type":"string","description":"The id of a background job whose new output to read; instead of command."},"kill":{"type":"boolean","description":"With job: end it."}}}"#,
};

/// Longest command: the system takes no longer argument.
const LONGEST_COMMAND: usize = 128 * 1024 - 1;

/// A call whose arguments are read.
pub(super) enum Call {
    Run {
        command: String,
        title: String,
        place: Place,
        background: bool,
        timeout: Option<Duration>,
    },
    Job {
        id: String,
        kill: bool,
        wait: Duration,
    },
}

pub(super) fn prepare(tools: &Inner, arguments: &Arguments) -> Result<(Call, Vec<Access>), ToolFailure> {
    let command = arguments.filled_text(&["command", "cmd"], "the command to run")?;
    let job = arguments.filled_text(&["job"], "the id of a background job")?;
    let timeout = arguments
        .number(&["timeout"], "milliseconds")?
        .map(Duration::from_millis);
    let kill = arguments.flag(&["kill"])?;
    match (command, job) {
        (Some(_), Some(_)) => Err(ToolFailure::arguments(
            "Give either `command`, to run one, or `job`, to read or end one that runs.",
        )),
        (None, None) => Err(ToolFailure::arguments(
            "The argument `command` of `bash` is missing: the command to run (or `job`: the id of a background job).",
        )),
        (None, Some(id)) => {
            let wait = timeout.unwrap_or_default().min(tools.limits.longest_command);
            Ok((Call::Job { id, kill, wait }, Vec::new()))
        }
        (Some(command), None) => {
            let background = arguments.flag(&["background", "run_in_background"])?;
            let description = arguments.filled_text(&["description"], "what the command does")?;
            let workdir = arguments.filled_text(&["workdir", "cwd"], "the folder to run in")?;
            let place = tools.paths.resolve(workdir.as_deref().unwrap_or("."))?;
            check(&command)?;
            let timeout = timeout.filter(|timeout| !timeout.is_zero());
            let accesses = accesses::accesses(&tools.paths, &command, &place);
            let title = description.unwrap_or_else(|| command.lines().next().unwrap_or_default().to_owned());
            let call = Call::Run {
                command,
                title,
                place,
                background,
                timeout,
            };
            Ok((call, accesses))
        }
    }
}

fn check(command: &str) -> Result<(), ToolFailure> {
    if command.contains('\0') {
        return Err(ToolFailure::arguments(
            "The command holds a NUL character, which no command can.",
        ));
    }
    if command.len() > LONGEST_COMMAND {
        return Err(ToolFailure::arguments(format!(
            "The command has {} bytes and may have at most {LONGEST_COMMAND}: write a script with `write` and run that.",
            command.len()
        )));
    }
    Ok(())
}
