//! `beeuni init` and `beeuni schema`: a starter project and the files for editors.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod support;

use support::{MANIFEST, Shell};

#[test]
fn a_new_folder_becomes_a_project() {
    let shell = Shell::new();
    insta::assert_snapshot!(shell.run(&["init", "shop"]), @r#"
    exit 0
    ----- stdout
      ✓  Started a project in shop
      wrote   beeuni.yaml
      wrote   agents/beeuni.md
      wrote   memory/MEMORY.md
      wrote   skills/README.md
      wrote   README.md
      wrote   .gitignore
      wrote   .beeuni/beeuni.schema.json
      wrote   .beeuni/beeuni.d.ts
      made    a git repository

    Next:
      1. cd shop
      2. beeuni setup
      3. beeuni validate
      4. beeuni tools ls
      5. git add -A && git commit -m "Start the project"
    "#);
    let names: Vec<String> = shell
        .names()
        .into_iter()
        .filter(|name| !name.starts_with("shop/.git/"))
        .collect();
    insta::assert_snapshot!(names.join("\n"), @"
    shop/
    shop/.beeuni/
    shop/.beeuni/beeuni.d.ts
    shop/.beeuni/beeuni.schema.json
    shop/.gitignore
    shop/README.md
    shop/agents/
    shop/agents/beeuni.md
    shop/beeuni.yaml
    shop/memory/
    shop/memory/MEMORY.md
    shop/skills/
    shop/skills/README.md
    ");
    assert!(shell.read("shop/.git/HEAD").contains("refs/heads/main"));
}

/// S1: the five tools with the comments of the page.
#[test]
fn s1_the_five_tools_are_listed_with_their_comments() {
    let shell = Shell::new();
    assert_eq!(shell.run(&["init"]).code, 0);
    let manifest = shell.read("beeuni.yaml");
    assert!(manifest.contains(
        "
tools:
  web_search: beeuni:web_search      # maintained by Beeuni, updated automatically
  image_search: beeuni:image_search
  scrape_webpage: beeuni:scrape_webpage
  memory: beeuni:memory
  show: beeuni:show
  # lookup_order: tools/lookup_order.ts   # your own tool: a module in your repo
"
    ));
    assert!(manifest.starts_with("# yaml-language-server: $schema=./.beeuni/beeuni.schema.json\n"));
    assert!(manifest.contains("    tools: all ") && manifest.contains("    secrets: all "));
}

#[test]
fn the_new_project_has_no_finding() {
    let shell = Shell::new();
    assert_eq!(shell.run(&["init"]).code, 0);
    insta::assert_snapshot!(shell.run(&["validate"]), @"
    exit 0
    ----- stdout
      ✓  beeuni.yaml is valid
    ");
    let json = shell.run(&["validate", "--json"]).json();
    assert_eq!(json["issues"], serde_json::json!([]));
}

/// What the manifest's first line names must be in the repository.
#[test]
fn git_tracks_what_the_manifest_refers_to() {
    let shell = Shell::new();
    assert_eq!(shell.run(&["init"]).code, 0);
    let ran = shell.sh("git add -A && git ls-files");
    insta::assert_snapshot!(ran.stdout, @"
    .beeuni/beeuni.d.ts
    .beeuni/beeuni.schema.json
    .gitignore
    README.md
    agents/beeuni.md
    beeuni.yaml
    memory/MEMORY.md
    skills/README.md
    ");
    for line in shell
        .read(".gitignore")
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        assert!(!line.starts_with(".beeuni/") && !line.contains("beeuni."), "{line}");
    }
}

#[test]
fn files_that_are_there_are_kept() {
    let shell = Shell::new();
    shell.write("README.md", "mine\n");
    shell.write("agents/beeuni.md", "---\ndescription: Mine.\n---\nMy prompt.\n");
    insta::assert_snapshot!(shell.run(&["init"]), @r#"
    exit 0
    ----- stdout
      ✓  Started a project in this folder
      wrote   beeuni.yaml
      kept    agents/beeuni.md (it was there already)
      wrote   memory/MEMORY.md
      wrote   skills/README.md
      kept    README.md (it was there already)
      wrote   .gitignore
      wrote   .beeuni/beeuni.schema.json
      wrote   .beeuni/beeuni.d.ts
      made    a git repository

    Next:
      1. beeuni setup
      2. beeuni validate
      3. beeuni tools ls
      4. git add -A && git commit -m "Start the project"
    "#);
    assert_eq!(shell.read("README.md"), "mine\n");
    assert!(shell.read("agents/beeuni.md").ends_with("My prompt.\n"));
}

#[test]
fn a_project_is_never_touched() {
    for file in ["beeuni.yaml", "beeuni.yml"] {
        let shell = Shell::new();
        shell.write(file, MANIFEST);
        let before = shell.snapshot();
        let ran = shell.run(&["init"]);
        assert_eq!(ran.code, 1, "{ran}");
        assert_eq!(shell.snapshot(), before);
        if file == "beeuni.yaml" {
            insta::assert_snapshot!(ran, @"
            exit 1
            ----- stderr
            error: [DIR]/project/beeuni.yaml exists already
              note: nothing was written
              hint: `beeuni validate` checks it, `beeuni schema --write` refreshes .beeuni/
            ");
        }
    }
}

/// All or nothing: `memory` is a file, so that its folder cannot be made.
#[test]
fn a_write_that_fails_leaves_nothing_behind() {
    let shell = Shell::new();
    shell.write("memory", "a file");
    let before = shell.snapshot();
    insta::assert_snapshot!(shell.run(&["init"]), @"
    exit 1
    ----- stderr
    error: cannot look at [DIR]/project/memory/MEMORY.md
      caused by: Not a directory (os error 20)
      note: nothing was written
    ");
    assert_eq!(shell.snapshot(), before);
    assert_eq!(shell.run(&["init", "memory"]).code, 1);
    assert_eq!(shell.snapshot(), before);
}

#[test]
fn a_folder_inside_a_repository_gets_none_of_its_own() {
    let shell = Shell::new();
    assert!(shell.sh("git init --quiet && mkdir inner").code == 0);
    let ran = shell.run(&["init", "inner"]);
    assert_eq!(ran.code, 0);
    assert!(!ran.stdout.contains("git repository"), "{ran}");
    assert!(!shell.path("inner/.git").exists());
}

#[test]
fn a_project_inside_another_is_told() {
    let shell = Shell::with_manifest(MANIFEST);
    let ran = shell.run(&["init", "inner"]);
    assert_eq!(ran.code, 0);
    insta::assert_snapshot!(ran.stderr, @"warning: [DIR]/project/beeuni.yaml no longer applies in this folder: the nearest manifest does");
}

#[test]
fn the_users_default_branch_is_kept() {
    let shell = Shell::new();
    let ran = shell.sh("git config --global init.defaultBranch trunk && beeuni init && cat .git/HEAD");
    assert!(ran.stdout.ends_with("ref: refs/heads/trunk\n"), "{ran}");
}

#[test]
fn without_git_the_project_is_made_and_that_is_told() {
    let shell = Shell::new();
    let mut command = shell.command(["init"]);
    let ran = shell.ran(command.env("PATH", shell.root()));
    assert_eq!(ran.code, 0, "{ran}");
    insta::assert_snapshot!(ran.stderr, @"warning: no git repository was made (git is not installed): sessions need one, so run `git init` here later");
    assert!(shell.path("beeuni.yaml").is_file() && !shell.path(".git").exists());
}

#[test]
fn the_schema_is_json_schema_and_the_project_has_the_same() {
    let shell = Shell::new();
    let ran = shell.run(&["schema"]);
    assert_eq!(ran.code, 0);
    assert_eq!(ran.json()["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(shell.run(&["init"]).code, 0);
    assert_eq!(shell.read(".beeuni/beeuni.schema.json"), ran.stdout);
}

#[test]
fn schema_write_refreshes_what_is_stale() {
    let shell = Shell::with_manifest(MANIFEST);
    shell.write(".beeuni/beeuni.schema.json", "{}");
    insta::assert_snapshot!(shell.run(&["schema", "--write"]), @"
    exit 0
    ----- stdout
      wrote   .beeuni/beeuni.schema.json
      wrote   .beeuni/beeuni.d.ts
    ");
    assert_eq!(shell.read(".beeuni/beeuni.d.ts"), beeuni_tools::type_declarations());
    insta::assert_snapshot!(shell.run(&["schema", "--write"]), @"
    exit 0
    ----- stdout
      kept    .beeuni/beeuni.schema.json (it is up to date)
      kept    .beeuni/beeuni.d.ts (it is up to date)
    ");
    assert_eq!(Shell::new().run(&["schema", "--write"]).code, 2);
}

/// The README's own commands work in the project that it is in.
#[test]
fn the_readme_names_its_project() {
    let shell = Shell::new();
    assert_eq!(shell.run(&["init", "my shop"]).code, 0);
    assert!(shell.read("my shop/README.md").starts_with("# my shop\n"));
    let ran = shell.run(&["init", "deep/down/here"]);
    assert!(ran.stdout.contains("1. cd deep/down/here\n"), "{ran}");
    let quoted = shell.run(&["init", "it's"]);
    assert!(quoted.stdout.contains("1. cd 'it'\\''s'\n"), "{quoted}");
    assert!(std::fs::read_dir(shell.path("it's")).unwrap().count() > 5);
}
