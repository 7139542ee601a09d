//! `beeuni tools check`: does every tool load, and will every model provider take its schema?
use std::sync::Arc;
use std::time::{Duration, Instant};

use beeuni_manifest::{Issue, SelectedTool, Selection};
use beeuni_tools::{Limits, LoadReport, LogLine};
use serde::Serialize;
use serde_json::Value;

use super::{Context, call_input, declare, host, no_such_tool};
use crate::advice::{self, Advice, Provider};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{DIM, ERROR, GOOD, Look, Output, STRONG, WARNING, count, duration, visible};
use crate::project::Project;
use crate::runtime::{Interrupts, block_on};

/// Load every tool as a session would, and tell what fails and what model providers refuse or ignore
///
/// Exit code 1 when a tool does not load. Advice alone is no failure: the model receives each schema as
/// it is, so one that a provider refuses loses the whole request with that provider.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  beeuni tools check
  beeuni tools check lookup_order
  beeuni tools check --json | jq '.tools[] | select(.ok | not)'")]
pub(crate) struct Args {
    /// Only these tools
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Also what OpenAI's strict mode refuses, which Beeuni does not ask for
    #[arg(long)]
    strict: bool,
    /// The longest time that one module may take to load
    #[arg(long, value_name = "SECONDS", value_parser = call_input::seconds)]
    timeout: Option<Duration>,
    /// Print JSON: { manifest, ok, tools: [{ name, kind, source, ok, error, advice }], advice, duration_ms }
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    manifest: String,
    ok: bool,
    tools: Vec<Checked>,
    advice: Vec<Advice>,
    duration_ms: u128,
}

/// One tool's outcome.
#[derive(Serialize)]
struct Checked {
    name: String,
    kind: &'static str,
    source: String,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    advice: Vec<Advice>,
}

pub(crate) fn run(context: &mut Context, args: &Args) -> Result<Exit, Failure> {
    let project = context.project()?;
    let (manifest, issues) = project.usable(&context.output)?;
    let selection = manifest.selection();
    let broken = broken_entries(&selection, &issues);
    let wanted = wanted(&selection, &broken, &args.names)?;
    let mut limits = Limits::default();
    limits.load = args.timeout.unwrap_or(limits.load);

    let started = Instant::now();
    let report = if wanted.is_empty() {
        Arc::default()
    } else {
        block_on(load(&project, &wanted, limits, context.output.err))?
    };
    let took = started.elapsed();

    let mut tools = outcomes(&wanted, &report, args.strict)?;
    let asked = |name: &str| args.names.is_empty() || args.names.iter().any(|asked| asked == name);
    tools.extend(
        broken
            .into_iter()
            .filter(|(name, _)| asked(name))
            .map(|(name, issue)| Checked {
                name: name.to_owned(),
                kind: "",
                source: String::new(),
                ok: false,
                error: Some(project.finding(issue)),
                advice: Vec::new(),
            }),
    );
    let report = Report {
        manifest: project.manifest_path(),
        ok: tools.iter().all(|tool| tool.ok),
        tools,
        advice: advice::of_count(report.tools.len()).into_iter().collect(),
        duration_ms: took.as_millis(),
    };
    if args.json {
        context.output.json(&report);
    } else {
        print(&mut context.output, &report, took);
    }
    Ok(if report.ok { Exit::DONE } else { Exit::FAILED })
}

/// Entries with an error of their own: a session leaves them out, so they never reach the host.
fn broken_entries<'a>(selection: &Selection, issues: &'a [Issue]) -> Vec<(&'a str, &'a Issue)> {
    let mut broken: Vec<(&str, &Issue)> = Vec::new();
    for issue in issues {
        let Some(name) = issue.path.strip_prefix("tools.") else {
            continue;
        };
        let selected = selection.tools.iter().any(|tool| tool.name == name);
        if declare::concerns(issue, name) && !selected && !broken.iter().any(|(known, _)| *known == name) {
            broken.push((name, issue));
        }
    }
    broken
}

fn wanted(selection: &Selection, broken: &[(&str, &Issue)], names: &[String]) -> Result<Vec<SelectedTool>, Failure> {
    for name in names {
        let known =
            selection.tools.iter().any(|tool| tool.name == *name) || broken.iter().any(|(tool, _)| tool == name);
        if !known {
            return Err(no_such_tool(name, selection));
        }
    }
    let asked = |tool: &&SelectedTool| names.is_empty() || names.contains(&tool.name);
    Ok(selection.tools.iter().filter(asked).cloned().collect())
}

async fn load(
    project: &Project,
    tools: &[SelectedTool],
    limits: Limits,
    look: Look,
) -> Result<Arc<LoadReport>, Failure> {
    let mut interrupts = Interrupts::listen()?;
    let log = Arc::new(move |line: &LogLine| {
        use std::io::Write as _;
        let text = look.paint(DIM, &format!("{}: {}", line.tool, visible(&line.text)));
        // Nobody is left to tell when stderr is closed.
        let _ = writeln!(std::io::stderr().lock(), "{text}");
    });
    let host = host::start(
        project,
        host::Setup {
            limits,
            // Loading asks nobody.
            router: None,
            log,
        },
    )
    .await?;
    let report = tokio::select! {
        report = host.load(tools) => Ok(report),
        exit = interrupts.next() => Err(Failure::user("stopped").with_exit(exit)),
    };
    host.shutdown(Duration::ZERO).await;
    report
}

/// What became of each tool, in the order of the selection.
fn outcomes(wanted: &[SelectedTool], report: &LoadReport, strict: bool) -> Result<Vec<Checked>, Failure> {
    wanted
        .iter()
        .map(|tool| {
            let mut checked = Checked {
                name: tool.name.clone(),
                kind: tool.kind.as_str(),
                source: tool.source_text(),
                ok: true,
                error: None,
                advice: Vec::new(),
            };
            if let Some(loaded) = report.tools.iter().find(|loaded| loaded.tool.name == tool.name) {
                checked.advice = match serde_json::from_str::<Value>(loaded.parameters.get()) {
                    Ok(parameters) => advice::of_tool(&tool.name, &loaded.description, &parameters, strict),
                    Err(_) => vec![unreadable_schema()],
                };
            } else if let Some(failed) = report.failed.iter().find(|failed| failed.tool.name == tool.name) {
                checked.ok = false;
                checked.error = Some(failed.error.clone());
            } else {
                return Err(Failure::internal(format!("the host said nothing about {}", tool.name)));
            }
            Ok(checked)
        })
        .collect()
}

/// The parser's own limit (128 levels) is far beyond every provider's.
fn unreadable_schema() -> Advice {
    Advice {
        path: "parameters".to_owned(),
        rule: "too-deep",
        message: "nested too deep to be read".to_owned(),
        refused_by: vec![Provider::OpenAi, Provider::Anthropic, Provider::Gemini],
        ignored_by: Vec::new(),
        fix: "flatten it".to_owned(),
    }
}

fn print(output: &mut Output, report: &Report, took: Duration) {
    if report.tools.is_empty() {
        output.println("Sessions of this project get no Beeuni tool and no tool of the project.");
        return;
    }
    let name_width = report
        .tools
        .iter()
        .map(|tool| tool.name.chars().count())
        .max()
        .unwrap_or(0);
    for tool in &report.tools {
        let label = if tool.ok {
            output.out.paint(GOOD, "ok    ")
        } else {
            output.out.paint(ERROR, "failed")
        };
        let line = format!(
            "{label}  {:name_width$}  {}",
            visible(&tool.name),
            visible(&tool.source)
        );
        output.println(line.trim_end());
        for line in tool.error.iter().flat_map(|error| error.lines()) {
            output.println(&format!("          {}", visible(line)));
        }
    }
    print_advice(output, report);
    let loaded = report.tools.iter().filter(|tool| tool.ok).count();
    let failed = report.tools.len() - loaded;
    let mut summary = format!("{} loaded in {}", count(loaded, "tool"), duration(took));
    if failed > 0 {
        summary = format!("{summary}, {}", output.out.paint(ERROR, &format!("{failed} failed")));
    }
    let pieces = report.advice.len() + report.tools.iter().map(|tool| tool.advice.len()).sum::<usize>();
    if pieces > 0 {
        let text = if pieces == 1 {
            "1 piece of advice".to_owned()
        } else {
            format!("{pieces} pieces of advice")
        };
        summary = format!("{summary}, {}", output.out.paint(WARNING, &text));
    }
    output.println(&format!("\n{summary}"));
}

fn print_advice(output: &mut Output, report: &Report) {
    for tool in report.tools.iter().filter(|tool| !tool.advice.is_empty()) {
        output.println(&format!("\nAdvice for {}:", output.out.paint(STRONG, &tool.name)));
        for advice in &tool.advice {
            print_one(output, advice);
        }
    }
    if !report.advice.is_empty() {
        output.println("\nAdvice for the project:");
        for advice in &report.advice {
            print_one(output, advice);
        }
    }
}

fn print_one(output: &mut Output, advice: &Advice) {
    let look = output.out;
    let names = |providers: &[Provider]| {
        let names: Vec<&str> = providers.iter().map(|provider| provider.name()).collect();
        match names.split_last() {
            Some((last, [])) => (*last).to_owned(),
            Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
            None => String::new(),
        }
    };
    let mut effects = Vec::new();
    if !advice.refused_by.is_empty() {
        effects.push(look.paint(WARNING, &format!("refused by {}", names(&advice.refused_by))));
    }
    if !advice.ignored_by.is_empty() {
        effects.push(format!("ignored by {}", names(&advice.ignored_by)));
    }
    output.println(&format!("  {}: {}", visible(&advice.path), visible(&advice.message)));
    output.println(&format!("    {}: {}", effects.join(", "), visible(&advice.fix)));
}
