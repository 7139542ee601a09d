//! `beeuni init`: a starter project.
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Context;
use super::schema::{self, SCHEMA, TYPES};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::files::{Before, Files};
use crate::output::{GOOD, Output};
use crate::project::Project;

/// Start a project: beeuni.yaml, a first agent, memory, skills and a git repository
///
/// Writes what is missing and keeps every file that is there. A folder that has a beeuni.yaml already
/// is left as it is.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  beeuni init               In the current folder
  beeuni init shop          In the new folder `shop`")]
pub(crate) struct Args {
    /// The project's folder; made when it is missing
    #[arg(default_value = ".")]
    dir: PathBuf,
}

pub(crate) fn run(context: &mut Context, args: &Args) -> Result<Exit, Failure> {
    let root = match &context.start {
        Some(start) => start.join(&args.dir),
        None => args.dir.clone(),
    };
    let root = std::path::absolute(&root)
        .map_err(|error| Failure::user("cannot find the current folder").caused_by(&error))?;
    refuse_a_project(&root)?;
    let outer = outer_project(&root);
    let mut files = Files::default();
    let mut lines = Vec::new();
    for (file, content) in starter_files(&project_name(&root))? {
        let path = root.join(file);
        match path.symlink_metadata() {
            Ok(found) if found.is_dir() => {
                return Err(nothing_written(format!("{} is a folder, not a file", path.display())));
            }
            Ok(_) => lines.push(format!("  kept    {file} (it was there already)")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                lines.push(format!("  wrote   {file}"));
                files.add(path, content, Before::Nothing);
            }
            Err(error) => {
                return Err(nothing_written(format!("cannot look at {}", path.display())).caused_by(&error));
            }
        }
    }
    files
        .write()
        .map_err(|error| Failure::user("the project was not made, nothing was written").caused_by(&error))?;
    if let Some(outer) = outer {
        context.output.warn(&format!(
            "{outer} no longer applies in this folder: the nearest manifest does"
        ));
    }
    match make_repository(&root) {
        Ok(true) => lines.push("  made    a git repository".to_owned()),
        Ok(false) => {}
        Err(reason) => context.output.warn(&format!(
            "no git repository was made ({reason}): sessions need one, so run `git init` here later"
        )),
    }
    report(&mut context.output, &args.dir, context.start.is_some(), &root, &lines);
    Ok(Exit::DONE)
}

/// Every file of a new project with its content.
fn starter_files(name: &str) -> Result<Vec<(&'static str, String)>, Failure> {
    let readme = include_str!("../../starter/README.md").replace("{{name}}", name);
    let mut files = vec![("beeuni.yaml", include_str!("../../starter/beeuni.yaml").to_owned())];
    files.extend([
        (
            "agents/beeuni.md",
            include_str!("../../starter/agents/beeuni.md").to_owned(),
        ),
        (
            "memory/MEMORY.md",
            include_str!("../../starter/memory/MEMORY.md").to_owned(),
        ),
        (
            "skills/README.md",
            include_str!("../../starter/skills/README.md").to_owned(),
        ),
        ("README.md", readme),
        (".gitignore", include_str!("../../starter/gitignore").to_owned()),
        (SCHEMA, schema::text()?),
        (TYPES, beeuni_tools::type_declarations().to_owned()),
    ]);
    Ok(files)
}

fn refuse_a_project(root: &Path) -> Result<(), Failure> {
    if root.exists() && !root.is_dir() {
        return Err(nothing_written(format!("{} is not a folder", root.display())));
    }
    for file in ["beeuni.yaml", "beeuni.yml"] {
        if root.join(file).symlink_metadata().is_ok() {
            return Err(nothing_written(format!("{} exists already", root.join(file).display()))
                .hint("`beeuni validate` checks it, `beeuni schema --write` refreshes .beeuni/"));
        }
    }
    Ok(())
}

/// The manifest that commands in this folder have used so far.
fn outer_project(root: &Path) -> Option<String> {
    let there = root.ancestors().find(|folder| folder.is_dir())?;
    Project::find(Some(there)).ok().map(|project| project.manifest_path())
}

fn nothing_written(problem: String) -> Failure {
    Failure::user(problem).note("nothing was written")
}

/// The folder's name, for the README.
fn project_name(root: &Path) -> String {
    // `absolute` keeps `..`: only the real path has a name then.
    let real = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    real.file_name().map_or_else(
        || "Beeuni project".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// Makes a repository unless the folder is in one. Whether it did, or why it could not.
fn make_repository(root: &Path) -> Result<bool, String> {
    let real = root.canonicalize().map_err(|error| error.to_string())?;
    if real.ancestors().any(|folder| folder.join(".git").exists()) {
        return Ok(false);
    }
    let branch_is_set = git(root, &["config", "--get", "init.defaultBranch"]).is_ok();
    let choice: &[&str] = if branch_is_set {
        &[]
    } else {
        &["-c", "init.defaultBranch=main"]
    };
    git(root, &[choice, &["init", "--quiet"]].concat())?;
    Ok(true)
}

fn git(root: &Path, args: &[&str]) -> Result<(), String> {
    let ran = Command::new("git")
        .current_dir(root)
        .args(args)
        .stdin(Stdio::null())
        .output();
    match ran {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err("git is not installed".to_owned()),
        Err(error) => Err(format!("git did not start: {error}")),
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

fn report(output: &mut Output, dir: &Path, elsewhere: bool, root: &Path, lines: &[String]) {
    let tick = output.out.paint(GOOD, "✓");
    let here = dir == Path::new(".") && !elsewhere;
    let place = if here {
        "this folder".to_owned()
    } else {
        dir_text(dir, elsewhere, root)
    };
    output.println(&format!("  {tick}  Started a project in {place}"));
    for line in lines {
        output.println(line);
    }
    let mut steps = Vec::new();
    if !here {
        steps.push(format!("cd {}", shell_word(&place)));
    }
    steps.extend(
        [
            "beeuni setup",
            "beeuni validate",
            "beeuni tools ls",
            "git add -A && git commit -m \"Start the project\"",
        ]
        .map(str::to_owned),
    );
    output.println("\nNext:");
    for (number, step) in steps.iter().enumerate() {
        output.println(&format!("  {}. {step}", number + 1));
    }
}

fn dir_text(dir: &Path, elsewhere: bool, root: &Path) -> String {
    if elsewhere {
        root.display().to_string()
    } else {
        dir.display().to_string()
    }
}

/// `text` as one word of a shell command.
pub(crate) fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./,:@+=%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
