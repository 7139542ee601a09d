//! `beeuni tools ls`: what a session gets.
use beeuni_manifest::Selection;
use serde::Serialize;

use super::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, STRONG, visible};

/// List the tools of a session, then the Beeuni tools that the project removed
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Kinds:
  beeuni               maintained by Beeuni: listed as `beeuni:<name>`, or no `tools:` key at all
  beeuni (overridden)  a Beeuni tool's name with a module of the project, which runs instead
  project              a tool of the project's own

Examples:
  beeuni tools ls
  beeuni tools ls --json | jq -r '.tools[].name'")]
pub(crate) struct Args {
    /// Print JSON: { manifest, tools_key, tools: [{ name, kind, source }], removed }
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    manifest: String,
    tools_key: bool,
    tools: Vec<Row<'a>>,
    removed: &'a [String],
}

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    kind: &'static str,
    source: String,
}

pub(crate) fn run(context: &mut Context, args: &Args) -> Result<Exit, Failure> {
    let project = context.project()?;
    let (manifest, _) = project.usable(&context.output)?;
    let selection = manifest.selection();
    if args.json {
        context.output.json(&Report {
            manifest: project.manifest_path(),
            tools_key: manifest.tools_key,
            tools: rows(&selection),
            removed: &selection.removed,
        });
    } else {
        print(&mut context.output, &selection);
        if !manifest.tools_key {
            context.output.println(&format!(
                "\nNo `tools:` key in {}: sessions get all five Beeuni tools.",
                project.file
            ));
        }
    }
    Ok(Exit::DONE)
}

fn rows(selection: &Selection) -> Vec<Row<'_>> {
    selection
        .tools
        .iter()
        .map(|tool| Row {
            name: &tool.name,
            kind: tool.kind.as_str(),
            source: tool.source_text(),
        })
        .collect()
}

/// L3: columns two spaces apart, as wide as their longest cell.
fn print(output: &mut Output, selection: &Selection) {
    let rows = rows(selection);
    if rows.is_empty() {
        output.println("Sessions of this project get no Beeuni tool and no tool of the project.");
    } else {
        // Names and kinds are ASCII, and no shorter than their headers.
        let name = rows
            .iter()
            .map(|row| row.name.len())
            .max()
            .unwrap_or(0)
            .max("NAME".len());
        let kind = rows
            .iter()
            .map(|row| row.kind.len())
            .max()
            .unwrap_or(0)
            .max("KIND".len());
        output.println(
            &output
                .out
                .paint(STRONG, &format!("{:name$}  {:kind$}  SOURCE", "NAME", "KIND")),
        );
        for row in &rows {
            output.println(&visible(&format!(
                "{:name$}  {:kind$}  {}",
                row.name, row.kind, row.source
            )));
        }
    }
    if !selection.removed.is_empty() {
        output.println(&format!("\nRemoved Beeuni tools: {}", selection.removed.join(", ")));
        output.println("Add `<name>: beeuni:<name>` under `tools:` to get one back.");
    }
}
