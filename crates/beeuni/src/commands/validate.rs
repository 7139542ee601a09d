//! `beeuni validate`: every finding about `beeuni.yaml`, where it is and what to do.
use std::collections::BTreeMap;
use std::path::PathBuf;

use beeuni_manifest::{Issue, Severity, Tree};
use serde::Serialize;

use super::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{DIM, ERROR, GOOD, Output, STRONG, WARNING, count, visible};
use crate::project::Project;

/// Check beeuni.yaml, its imports and the files they name
///
/// Prints every finding as `file:line:column: severity: path: message`. Exit code 0 when there is no
/// error (warnings may be there), 1 with errors, 2 when there is no manifest. Needs no network, no
/// secrets and no Bun: whether the modules load is what `beeuni tools check` tells.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  beeuni validate
  beeuni validate shop
  beeuni validate --json | jq -r '.issues[].message'")]
pub(crate) struct Args {
    /// The project's folder, or one inside it [default: the current folder]
    #[arg(conflicts_with = "project")]
    dir: Option<PathBuf>,
    /// Print JSON: { manifest, valid, issues: [{ path, message, severity, file, line, column }] }
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    manifest: String,
    valid: bool,
    issues: Vec<Finding<'a>>,
}

#[derive(Serialize)]
struct Finding<'a> {
    path: &'a str,
    message: &'a str,
    severity: &'static str,
    file: &'a str,
    line: usize,
    column: usize,
}

pub(crate) fn run(context: &mut Context, args: &Args) -> Result<Exit, Failure> {
    let start = args.dir.as_deref().or(context.start.as_deref());
    let project = Project::find(start)?;
    let loaded = project.load();
    let valid = loaded.is_valid();
    if args.json {
        let issues = loaded.issues.iter().map(finding).collect();
        context.output.json(&Report {
            manifest: project.manifest_path(),
            valid,
            issues,
        });
    } else {
        print_findings(&mut context.output, &project, &loaded.issues);
        print_summary(&mut context.output, &project, &loaded.issues);
    }
    Ok(if valid { Exit::DONE } else { Exit::FAILED })
}

fn finding(issue: &Issue) -> Finding<'_> {
    Finding {
        path: &issue.path,
        message: &issue.message,
        severity: severity(issue.severity),
        file: &issue.place.file,
        line: issue.place.line,
        column: issue.place.column,
    }
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// Prints each finding on a line of its own; for a person with the line of source below it.
pub(crate) fn print_findings(output: &mut Output, project: &Project, issues: &[Issue]) {
    let mut sources = BTreeMap::new();
    for issue in issues {
        let look = output.out;
        let place = format!(
            "{}:{}:{}:",
            project.shown(&issue.place.file),
            issue.place.line,
            issue.place.column,
        );
        let style = if issue.severity == Severity::Error {
            ERROR
        } else {
            WARNING
        };
        let label = look.paint(style, &format!("{}:", severity(issue.severity)));
        let path = if issue.path.is_empty() {
            String::new()
        } else {
            format!("{}: ", issue.path)
        };
        let text = format!("{path}{}", issue.message);
        output.println(&format!(
            "{} {label} {}",
            look.paint(STRONG, &visible(&place)),
            visible(&text)
        ));
        if output.person {
            let source = sources
                .entry(issue.place.file.as_str())
                .or_insert_with(|| project.tree.read(&issue.place.file).unwrap_or_default());
            if let Some(excerpt) = excerpt(source, issue) {
                output.println(&look.paint(DIM, &excerpt));
            }
        }
    }
}

/// The finding's line of source with a caret below its column.
fn excerpt(source: &[u8], issue: &Issue) -> Option<String> {
    const WIDEST: usize = 200;
    let text = String::from_utf8_lossy(source);
    let line = text.lines().nth(issue.place.line.checked_sub(1)?)?;
    let before = issue.place.column.checked_sub(1)?;
    if line.trim().is_empty() || line.chars().count() > WIDEST || before > line.chars().count() {
        return None;
    }
    let number = issue.place.line.to_string();
    let margin = " ".repeat(number.len());
    // A tab is as wide as the terminal says: the same tab stands before the caret.
    let indent: String = line
        .chars()
        .take(before)
        .map(|c| if c == '\t' { '\t' } else { ' ' })
        .collect();
    Some(format!("  {number} | {}\n  {margin} | {indent}^", visible(line)))
}

fn print_summary(output: &mut Output, project: &Project, issues: &[Issue]) {
    let errors = issues.iter().filter(|issue| issue.severity == Severity::Error).count();
    let warnings = issues.len() - errors;
    let file = project.shown(&project.file);
    let look = output.out;
    let summary = match (errors, warnings) {
        (0, 0) => format!("  {}  {file} is valid", look.paint(GOOD, "✓")),
        (0, _) => format!(
            "  {}  {file} is valid, with {}",
            look.paint(GOOD, "✓"),
            count(warnings, "warning")
        ),
        (_, 0) => format!("{file} has {}", look.paint(ERROR, &count(errors, "error"))),
        (_, _) => format!(
            "{file} has {} and {}",
            look.paint(ERROR, &count(errors, "error")),
            look.paint(WARNING, &count(warnings, "warning")),
        ),
    };
    if !issues.is_empty() {
        output.println("");
    }
    output.println(&summary);
}
