//! `beeuni tools eject`: a Beeuni tool becomes the project's own.
use beeuni_manifest::{BEEUNI_TOOLS, EntryKind, Issue, Manifest, ToolSource};

use super::declare::{self, Declaration, concerns};
use super::{Context, nearest};
use crate::commands::init::shell_word;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{GOOD, Output};
use crate::project::Project;

/// Make a Beeuni tool the project's own: write its source and point beeuni.yaml at it
///
/// Writes the source to tools/<name>.ts, the same bytes that a session runs, and sets
/// `<name>: tools/<name>.ts` in the file that declares the tool. Every other line stays as it is. The
/// copy is yours: Beeuni no longer updates it. To go back, set the line to `<name>: beeuni:<name>` and
/// delete the file.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  beeuni tools eject web_search
  beeuni tools eject web_search --force     Overwrite tools/web_search.ts")]
pub(crate) struct Args {
    /// web_search, image_search, scrape_webpage, memory or show
    name: String,
    /// Overwrite tools/<name>.ts, and replace a line that points at another module
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(context: &mut Context, args: &Args) -> Result<Exit, Failure> {
    let name = args.name.as_str();
    let project = context.project()?;
    let (manifest, issues) = project.usable(&context.output)?;
    let source = beeuni_source(&manifest, name)?;
    let path = format!("tools/{name}.ts");
    let there = declare::kind(&project, &path)?;
    if there == Some(EntryKind::Folder) {
        return Err(refusal(format!("{} is a folder", project.shown(&path))));
    }
    if !args.force {
        refuse_another_module(&project, &manifest, &issues, name, &path)?;
        if there.is_some() {
            return Err(refusal(format!("{} exists already", project.shown(&path)))
                .hint("`--force` overwrites it with the Beeuni source"));
        }
    }
    let others: Vec<(&str, String)> = BEEUNI_TOOLS
        .iter()
        .filter(|other| **other != name)
        .map(|other| (*other, format!("beeuni:{other}")))
        .collect();
    let others: Vec<(&str, &str)> = others.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let file = declare::write(
        &project,
        &manifest,
        &Declaration {
            name,
            path: &path,
            module: source,
            overwrite: args.force,
            comment: Some(&format!("ejected from beeuni:{name}")),
            others: &others,
            generated: &[],
        },
    )?;
    report(&mut context.output, &project, name, &path, &file);
    Ok(Exit::DONE)
}

/// E4: only a Beeuni tool has a source to eject.
fn beeuni_source(manifest: &Manifest, name: &str) -> Result<&'static str, Failure> {
    if BEEUNI_TOOLS.contains(&name) {
        return beeuni_tools::beeuni_tool_source(name)
            .ok_or_else(|| Failure::internal(format!("the source of {name} is not in this program")));
    }
    let failure = refusal(format!("{name} is not a Beeuni tool"));
    let own = manifest.tools.iter().find(|tool| tool.name == name);
    if let Some(ToolSource::Module(path)) = own.map(|tool| &tool.source) {
        return Err(failure.hint(format!("it is the project's own already: edit {path}")));
    }
    let failure = match nearest(name, BEEUNI_TOOLS) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure,
    };
    Err(failure.hint(format!("the Beeuni tools are {}", BEEUNI_TOOLS.join(", "))))
}

/// E4: a line that points elsewhere, or that cannot be understood, is the user's to change.
fn refuse_another_module(
    project: &Project,
    manifest: &Manifest,
    issues: &[Issue],
    name: &str,
    path: &str,
) -> Result<(), Failure> {
    let entry = manifest.tools.iter().find(|tool| tool.name == name);
    match entry.map(|tool| &tool.source) {
        Some(ToolSource::Module(module)) if module == path => Ok(()),
        Some(ToolSource::Module(module)) => Err(refusal(format!("{name} points at {module} already"))
            .hint(format!("edit {module}, or `--force` to point {name} at {path} instead"))),
        Some(ToolSource::Beeuni) => Ok(()),
        None => match issues.iter().find(|issue| concerns(issue, name)) {
            Some(issue) => Err(refusal(format!("the line of {name} has an error"))
                .because(&project.finding(issue))
                .hint(format!("mend the line, or `--force` to replace it by {path}"))),
            None => Ok(()),
        },
    }
}

fn refusal(problem: String) -> Failure {
    Failure::user(problem).note("nothing was written")
}

fn report(output: &mut Output, project: &Project, name: &str, path: &str, file: &str) {
    let tick = output.out.paint(GOOD, "✓");
    let title = format!("Own the {name} tool");
    let add = format!(
        "{} {}",
        shell_word(&project.shown(path)),
        shell_word(&project.shown(file))
    );
    output.print(&format!(
        "  {tick}  Ejected {name}
  wrote   {path} (the Beeuni source, now the project's to change)
  set     {file}: tools.{name}: {path}

Next:
  1. Edit {path}. Keep the default export: {{ description, parameters, execute(args, context) }}.
  2. beeuni validate
  3. git add {add} && git commit -m \"{title}\"
  4. Open a change request: git push origin HEAD && beeuni cr open --title \"{title}\"
Sessions load the copy after the change request merges.
"
    ));
}
