//! `beeuni tools new`: a module from a template, declared beside the others.
use beeuni_manifest::{BEEUNI_TOOLS, Manifest, ToolSource, is_harness_tool, is_tool_name};

use super::Context;
use super::declare::{self, Declaration};
use crate::commands::init::shell_word;
use crate::commands::schema::{TYPES, is_current};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{GOOD, Output};
use crate::project::Project;

/// Write a tool of your own: a module that works as it is, declared in beeuni.yaml
///
/// Also refreshes .beeuni/beeuni.d.ts, the types that your editor shows. A project without a `tools:`
/// key gets one that lists the five Beeuni tools first, so that none is lost.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  beeuni tools new lookup_order
  beeuni tools new lookup_order --js
  beeuni tools new crm_note --path integrations/crm/note.ts")]
pub(crate) struct Args {
    /// The tool's name: a-z, 0-9 and _, beginning with a letter, at most 64 characters
    name: String,
    /// JavaScript instead of TypeScript
    #[arg(long)]
    js: bool,
    /// The module's path in the project [default: tools/<name>.ts]
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
}

/// An argument that the template's tool takes, for the steps that are printed.
const SAMPLE: &str = r#"{"text":"one two three"}"#;

pub(crate) fn run(context: &mut Context, args: &Args) -> Result<Exit, Failure> {
    let name = args.name.as_str();
    let project = context.project()?;
    let (manifest, issues) = project.usable(&context.output)?;
    refuse_name(&manifest, name)?;
    if let Some(issue) = issues.iter().find(|issue| declare::concerns(issue, name)) {
        return Err(refusal(format!("{name} is declared already, with an error")).because(&project.finding(issue)));
    }
    let script = args.js || args.path.as_deref().is_some_and(is_javascript);
    let path = module_path(args)?;
    if path_is_plain(&path) && declare::kind(&project, &path)?.is_some() {
        return Err(
            refusal(format!("{} exists already", project.shown(&path))).hint("`--path` writes the module elsewhere")
        );
    }
    let types = beeuni_tools::type_declarations();
    let refreshed = !is_current(&project, TYPES, types);
    let generated: &[(&str, &str)] = if refreshed { &[(TYPES, types)] } else { &[] };
    let others: Vec<(&str, String)> = BEEUNI_TOOLS
        .iter()
        .map(|name| (*name, format!("beeuni:{name}")))
        .collect();
    let others: Vec<(&str, &str)> = others.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let file = declare::write(
        &project,
        &manifest,
        &Declaration {
            name,
            path: &path,
            module: &module(name, &path, script),
            overwrite: false,
            comment: None,
            others: &others,
            generated,
        },
    )?;
    report(
        &mut context.output,
        &project,
        &Written {
            name,
            path: &path,
            file: &file,
            refreshed,
            first: !manifest.tools_key,
        },
    );
    Ok(Exit::DONE)
}

fn refuse_name(manifest: &Manifest, name: &str) -> Result<(), Failure> {
    if BEEUNI_TOOLS.contains(&name) {
        return Err(refusal(format!("{name} is a Beeuni tool")).hint(format!(
            "`beeuni tools eject {name}` writes its source for you to change"
        )));
    }
    if is_harness_tool(name) {
        return Err(
            refusal(format!("{name} is a tool of the harness")).hint(format!("choose another name, e.g. `my_{name}`"))
        );
    }
    if !is_tool_name(name) {
        let failure = refusal(format!(
            "{name:?} is no tool name: use a-z, 0-9 and _, begin with a letter, at most 64 characters"
        ));
        return Err(match legal_name(name) {
            Some(legal) => failure.hint(format!("e.g. `{legal}`")),
            None => failure,
        });
    }
    let declared = manifest.tools.iter().find(|tool| tool.name == name);
    match declared.map(|tool| (&tool.source, &tool.place)) {
        Some((ToolSource::Module(path), place)) => Err(refusal(format!(
            "{name} is declared already in {}:{}",
            place.file, place.line
        ))
        .hint(format!("edit {path}"))),
        _ => Ok(()),
    }
}

/// The legal name that is nearest to what was asked for.
fn legal_name(name: &str) -> Option<String> {
    let mut legal = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !legal.is_empty() && !legal.ends_with('_') {
            legal.push('_');
        }
        match c.to_ascii_lowercase() {
            c if c.is_ascii_lowercase() || c.is_ascii_digit() => legal.push(c),
            _ if !legal.is_empty() && !legal.ends_with('_') => legal.push('_'),
            _ => {}
        }
    }
    legal.truncate(64);
    let legal = legal.trim_matches('_').to_owned();
    (is_tool_name(&legal) && !is_harness_tool(&legal)).then_some(legal)
}

fn module_path(args: &Args) -> Result<String, Failure> {
    match &args.path {
        Some(path) if args.js && !is_javascript(path) => Err(Failure::usage(format!(
            "--js writes JavaScript, and {path} does not end in .js, .mjs or .cjs"
        ))),
        Some(path) => Ok(path.strip_prefix("./").unwrap_or(path).to_owned()),
        None if args.js => Ok(format!("tools/{}.js", args.name)),
        None => Ok(format!("tools/{}.ts", args.name)),
    }
}

fn is_javascript(path: &str) -> bool {
    [".js", ".mjs", ".cjs"].iter().any(|end| path.ends_with(end))
}

/// Whether the path can be looked up at all; the manifest's rules say what is wrong with one that
/// cannot.
fn path_is_plain(path: &str) -> bool {
    !path.starts_with('/') && !path.contains('\\') && path.split('/').all(|part| !part.is_empty() && part != "..")
}

fn module(name: &str, path: &str, script: bool) -> String {
    let up = "../".repeat(path.matches('/').count());
    let types = format!("{}{TYPES}", if up.is_empty() { "./" } else { &up });
    let template = if script {
        include_str!("../../../starter/tool.js.txt")
    } else {
        include_str!("../../../starter/tool.ts.txt")
    };
    template
        .replace("{{name}}", name)
        .replace("{{types}}", &types)
        .replace("{{sample}}", SAMPLE)
}

fn refusal(problem: String) -> Failure {
    Failure::user(problem).note("nothing was written")
}

struct Written<'a> {
    name: &'a str,
    path: &'a str,
    file: &'a str,
    refreshed: bool,
    first: bool,
}

fn report(output: &mut Output, project: &Project, written: &Written<'_>) {
    let Written {
        name,
        path,
        file,
        refreshed,
        first,
    } = *written;
    let tick = output.out.paint(GOOD, "✓");
    let title = format!("Add the {name} tool");
    let mut lines = vec![
        format!("  {tick}  Created {name}"),
        format!("  wrote   {path} (works as it is: it counts the words of a text)"),
        format!("  set     {file}: tools.{name}: {path}"),
    ];
    if first {
        lines.push(format!(
            "  set     {file}: tools: the five Beeuni tools, so that none is lost"
        ));
    }
    let mut add = vec![path, file];
    if refreshed {
        lines.push(format!("  wrote   {TYPES} (the types that your editor shows)"));
        add.push(TYPES);
    }
    let add: Vec<String> = add.iter().map(|file| shell_word(&project.shown(file))).collect();
    output.print(&format!(
        "{lines}

Next:
  1. Edit {path}. Keep the default export: {{ description, parameters, execute(args, context) }}.
  2. beeuni tools call {name} --args '{SAMPLE}'
  3. beeuni validate && beeuni tools check {name}
  4. git add {add} && git commit -m \"{title}\"
  5. Open a change request: git push origin HEAD && beeuni cr open --title \"{title}\"
Sessions load the tool after the change request merges.
",
        lines = lines.join("\n"),
        add = add.join(" "),
    ));
}

#[cfg(test)]
mod tests {
    use super::legal_name;

    #[test]
    fn an_illegal_name_gets_its_nearest_legal_one() {
        assert_eq!(legal_name("find orders").as_deref(), Some("find_orders"));
        assert_eq!(legal_name("LookupOrder").as_deref(), Some("lookup_order"));
        assert_eq!(legal_name("crm.lookup").as_deref(), Some("crm_lookup"));
        assert_eq!(legal_name("-dash").as_deref(), Some("dash"));
        assert_eq!(legal_name("时间"), None);
    }
}
