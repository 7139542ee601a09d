//! `beeuni schema`: the JSON Schema of `beeuni.yaml`, and the files that editors read.
use super::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::files::{Before, Files};
use crate::project::Project;

/// Print the JSON Schema of beeuni.yaml
///
/// Editors with a YAML language server complete and check beeuni.yaml with it, when its first line is
/// `# yaml-language-server: $schema=./.beeuni/beeuni.schema.json`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  beeuni schema > beeuni.schema.json
  beeuni schema --write      Refresh the project's .beeuni/ after an update of Beeuni")]
pub(crate) struct Args {
    /// Write .beeuni/beeuni.schema.json and .beeuni/beeuni.d.ts of the project instead
    #[arg(long)]
    write: bool,
}

/// The JSON Schema, in the project.
pub(crate) const SCHEMA: &str = ".beeuni/beeuni.schema.json";
/// The types for tool authors, in the project.
pub(crate) const TYPES: &str = ".beeuni/beeuni.d.ts";

pub(crate) fn run(context: &mut Context, args: &Args) -> Result<Exit, Failure> {
    if !args.write {
        context.output.print(&text()?);
        return Ok(Exit::DONE);
    }
    let project = context.project()?;
    let mut files = Files::default();
    let mut lines = Vec::new();
    for (file, content) in [(SCHEMA, text()?), (TYPES, beeuni_tools::type_declarations().to_owned())] {
        if is_current(&project, file, &content) {
            lines.push(format!("  kept    {} (it is up to date)", project.shown(file)));
        } else {
            lines.push(format!("  wrote   {}", project.shown(file)));
            files.add(project.root.join(file), content, Before::Anything);
        }
    }
    files
        .write()
        .map_err(|error| Failure::user("nothing was written").caused_by(&error))?;
    for line in lines {
        context.output.println(&line);
    }
    Ok(Exit::DONE)
}

/// The JSON Schema as text.
pub(crate) fn text() -> Result<String, Failure> {
    serde_json::to_string_pretty(&beeuni_manifest::json_schema())
        .map(|text| text + "\n")
        .map_err(|error| Failure::internal("cannot print the JSON Schema").caused_by(&error))
}

/// Whether `file` of the project has exactly this content.
pub(crate) fn is_current(project: &Project, file: &str, content: &str) -> bool {
    std::fs::read(project.root.join(file)).is_ok_and(|bytes| bytes == content.as_bytes())
}
