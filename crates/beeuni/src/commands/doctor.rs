//! `beeuni doctor`: what this machine has, what it lacks, and the command that fixes it.
use std::path::{Path, PathBuf};

use beeuni_gateway::GatewayConfig;
use serde::Serialize;

use super::Context;
use crate::bun::{self, Age, PINNED, program_version};
use crate::dirs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::opencode::Program;
use crate::output::{DIM, ERROR, GOOD, Output, WARNING, count, visible};
use crate::project::Project;

/// Check this machine and the project, and show the command that fixes each finding
///
/// Exit code 1 only when something is missing without which tools do not run.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  beeuni doctor
  beeuni doctor --json | jq '.findings[] | select(.state != \"ok\")'")]
pub(crate) struct Args {
    /// Print JSON: { ok, findings: [{ name, state, required, detail, fix }] }
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    Warning,
    Missing,
    Failed,
}

#[derive(Serialize)]
struct Report {
    ok: bool,
    findings: Vec<Finding>,
}

#[derive(Serialize)]
struct Finding {
    name: &'static str,
    state: State,
    required: bool,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

impl Finding {
    fn new(name: &'static str, state: State, detail: impl Into<String>) -> Self {
        Self {
            name,
            state,
            required: false,
            detail: detail.into(),
            fix: None,
        }
    }

    fn required(self) -> Self {
        Self { required: true, ..self }
    }

    fn fix(self, fix: impl Into<String>) -> Self {
        Self {
            fix: Some(fix.into()),
            ..self
        }
    }

    /// Whether tools cannot run because of it.
    fn blocks(&self) -> bool {
        self.required && matches!(self.state, State::Missing | State::Failed)
    }
}

pub(crate) fn run(context: &mut Context, args: &Args) -> Result<Exit, Failure> {
    let findings = vec![
        of_bun(),
        of_program(
            "git",
            &["--version"],
            "sessions work on git branches",
            "apt-get install git",
        ),
        of_program(
            "npm",
            &["--version"],
            "`beeuni setup` installs Bun and OpenCode with it",
            "apt-get install npm",
        ),
        of_program(
            "bwrap",
            &["--version"],
            "sessions run inside bubblewrap; tools do not need it",
            "apt-get install bubblewrap",
        ),
        of_harness(
            "opencode",
            Program::OpenCode,
            "the standard harness; tools do not need it",
        ),
        of_harness("ripgrep", Program::Ripgrep, "OpenCode searches with it"),
        of_folder("cache folder", dirs::cache(), "XDG_CACHE_HOME"),
        of_folder("runtime folder", dirs::managed(), "BEEUNI_RUNTIME_DIR"),
        of_models(&GatewayConfig::from_env()),
        of_project(context),
    ];
    let report = Report {
        ok: !findings.iter().any(Finding::blocks),
        findings,
    };
    if args.json {
        context.output.json(&report);
    } else {
        print(&mut context.output, &report);
    }
    Ok(if report.ok { Exit::DONE } else { Exit::FAILED })
}

fn of_bun() -> Finding {
    const NAME: &str = "bun";
    let (bun, origin) = match bun::find() {
        Ok(found) => found,
        Err(error) => {
            let missing = Finding::new(NAME, State::Missing, error.tried.join(", "));
            return missing.required().fix(fix_of_bun());
        }
    };
    let place = format!("{} ({})", bun.display(), origin.text());
    let finding = match bun::version(&bun) {
        Err(reason) => Finding::new(NAME, State::Failed, format!("{place} {reason}")),
        Ok(version) => match bun::age(&version) {
            Age::Fine => return Finding::new(NAME, State::Ok, format!("{version} at {place}")).required(),
            Age::Untested => {
                let detail = format!("{version} at {place}; Beeuni is tested with {PINNED}");
                Finding::new(NAME, State::Warning, detail)
            }
            Age::TooOld => {
                let detail = format!("{version} at {place} is too old: {PINNED} is needed");
                Finding::new(NAME, State::Failed, detail)
            }
        },
    };
    finding.required().fix(fix_of_bun())
}

/// A setting is stronger than what `setup` installs.
fn fix_of_bun() -> &'static str {
    match std::env::var_os("BEEUNI_BUN") {
        Some(setting) if !setting.is_empty() => "unset BEEUNI_BUN && beeuni setup",
        _ => "beeuni setup",
    }
}

/// A program of the standard harness.
fn of_harness(name: &'static str, program: Program, purpose: &str) -> Finding {
    let fix = match std::env::var_os(program.variable()) {
        Some(setting) if !setting.is_empty() => format!("unset {} && beeuni setup", program.variable()),
        _ => "beeuni setup".to_owned(),
    };
    let (path, origin) = match program.find() {
        Ok(found) => found,
        Err(error) => {
            return Finding::new(name, State::Missing, format!("{}: {purpose}", error.tried.join(", "))).fix(fix);
        }
    };
    let place = format!("{} ({})", path.display(), origin.text());
    match program.version(&path) {
        Ok(version) if version == program.pinned() => Finding::new(name, State::Ok, format!("{version} at {place}")),
        // Every ripgrep of the last years does; OpenCode's interface changes with its versions.
        Ok(version) if program == Program::Ripgrep => Finding::new(name, State::Ok, format!("{version} at {place}")),
        Ok(version) => {
            let pinned = program.pinned();
            let detail = format!("{version} at {place}; Beeuni is tested with {pinned}");
            Finding::new(name, State::Warning, detail).fix(fix)
        }
        Err(reason) => Finding::new(name, State::Failed, format!("{place} {reason}")).fix(fix),
    }
}

fn of_program(name: &'static str, args: &[&str], purpose: &str, fix: &str) -> Finding {
    match program_version(Path::new(name), args) {
        Ok(version) => Finding::new(name, State::Ok, version),
        Err(reason) => Finding::new(name, State::Missing, format!("{reason}: {purpose}")).fix(fix),
    }
}

/// Whether the folder, or the nearest one above it that exists, can be written.
fn of_folder(name: &'static str, folder: Option<PathBuf>, variable: &str) -> Finding {
    let Some(folder) = folder else {
        return Finding::new(name, State::Warning, "no home folder")
            .fix(format!("export {variable}=/a/folder/of/yours"));
    };
    let there = folder.ancestors().find(|folder| folder.exists()).unwrap_or(&folder);
    match tempfile::tempfile_in(there) {
        Ok(_) => Finding::new(name, State::Ok, folder.display().to_string()),
        Err(error) => Finding::new(
            name,
            State::Warning,
            format!("{} cannot be written: {error}", there.display()),
        )
        .fix(format!("chown -R \"$(id -u)\" {0} && chmod u+rwX {0}", there.display())),
    }
}

/// The model providers that the environment switches on, by name and variable: never a key.
fn of_models(config: &GatewayConfig) -> Finding {
    const NAME: &str = "models";
    let providers: Vec<String> = config
        .providers
        .iter()
        .map(|provider| match &provider.key {
            Some(key) => format!("{} ({})", provider.name, key.variable()),
            None => provider.name.clone(),
        })
        .collect();
    let known = |name: &str| config.providers.iter().any(|it| it.name == name) || ["beeuni", "ollama"].contains(&name);
    let unknown = config
        .default_model
        .as_deref()
        .filter(|id| !known(id.split('/').next().unwrap_or_default()));
    match (unknown, providers.as_slice()) {
        (Some(id), _) => Finding::new(
            NAME,
            State::Warning,
            format!("BEEUNI_MODEL is {id}, and that provider is not set up"),
        )
        .fix("beeuni models"),
        (None, []) if config.ollama.as_ref().is_some_and(|ollama| ollama.expected) => {
            Finding::new(NAME, State::Ok, "ollama (OLLAMA_HOST)")
        }
        (None, []) => Finding::new(
            NAME,
            State::Missing,
            "no provider is set up: without a local Ollama a built-in stand-in answers `beeuni run`",
        )
        .fix("export OPENAI_API_KEY=… (other providers: `beeuni models --help`)"),
        (None, providers) => Finding::new(NAME, State::Ok, providers.join(", ")),
    }
}

fn of_project(context: &Context) -> Finding {
    const NAME: &str = "project";
    let project = match Project::find(context.start.as_deref()) {
        Ok(project) => project,
        Err(failure) => return Finding::new(NAME, State::Warning, failure.message()).fix("beeuni init"),
    };
    let loaded = project.load();
    let file = project.shown(&project.file);
    match (loaded.is_valid(), loaded.issues.len()) {
        (true, 0) => Finding::new(NAME, State::Ok, format!("{file} is valid")),
        (true, warnings) => Finding::new(
            NAME,
            State::Warning,
            format!("{file} has {}", count(warnings, "warning")),
        )
        .fix("beeuni validate"),
        (false, findings) => Finding::new(
            NAME,
            State::Failed,
            format!("{file} has {}", count(findings, "finding")),
        )
        .fix("beeuni validate"),
    }
}

fn print(output: &mut Output, report: &Report) {
    let width = report
        .findings
        .iter()
        .map(|finding| finding.name.len())
        .max()
        .unwrap_or(0);
    for finding in &report.findings {
        let (style, word) = match finding.state {
            State::Ok => (GOOD, "ok     "),
            State::Warning => (WARNING, "warning"),
            State::Missing if !finding.required => (DIM, "missing"),
            State::Missing => (ERROR, "missing"),
            State::Failed => (ERROR, "failed "),
        };
        let label = output.out.paint(style, word);
        output.println(&format!(
            "{label}  {:width$}  {}",
            finding.name,
            visible(&finding.detail)
        ));
        if let Some(fix) = &finding.fix {
            output.println(&format!("{:width$}           fix: {fix}", ""));
        }
    }
    let summary = if report.ok {
        "Tools can run."
    } else {
        "Tools cannot run yet."
    };
    output.println(&format!("\n{summary}"));
}
