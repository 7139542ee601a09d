//! `beeuni tools check`: what fails to load and why, and what providers think of the schemas.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod support;

use serde_json::json;
use support::{MANIFEST, Ran, Shell};

fn tool(parameters: &str) -> String {
    format!("export default {{ description: 'A tool.', parameters: {parameters}, execute: () => 'ok' }}\n")
}

fn project() -> Shell {
    let shell = Shell::with_manifest(
        "\
beeuni_version: 2
tools:
  memory: beeuni:memory
  fine: tools/fine.ts
  broken: tools/broken.ts
  advised: tools/advised.ts
  gone: tools/gone.ts
",
    );
    shell.write(
        "tools/fine.ts",
        tool("{ type: 'object', properties: { id: { type: 'string' } } }"),
    );
    shell.write("tools/broken.ts", "export const tool = 1\n");
    shell.write(
        "tools/advised.ts",
        tool("{ type: 'object', properties: { tags: { type: 'array' }, at: { type: 'string', format: 'uri' } }, anyOf: [] }"),
    );
    shell
}

fn check(shell: &Shell, args: &[&str]) -> Ran {
    let mut command = shell.command([&["tools", "check"], args].concat());
    shell.ran(support::with_bun(&mut command)).timeless()
}

#[test]
fn every_tool_has_its_line_its_reason_and_its_advice() {
    let ran = check(&project(), &[]);
    insta::assert_snapshot!(ran, @r#"
    exit 1
    ----- stdout
    ok      memory   beeuni:memory
    ok      fine     tools/fine.ts
    failed  broken   tools/broken.ts
              no default export (found named export `tool`): write `export default { description, parameters, execute(args, context) { … } }`
    ok      advised  tools/advised.ts
    failed  gone     tools/gone.ts
              the file tools/gone.ts does not exist

    Advice for advised:
      parameters.anyOf: `anyOf` at the top level
        refused by OpenAI, Anthropic and Gemini: leave the arguments optional, say in `description` which go together, and check them in execute
      parameters.properties.tags: an array without `items`
        refused by OpenAI and Gemini: say what the array holds, e.g. `items: { type: 'string' }`
      parameters.properties.at.format: the format "uri"
        refused by Gemini, ignored by OpenAI and Anthropic: describe the form with an example in `description`, and check it in execute

    3 tools loaded in [TIME], 2 failed, 3 pieces of advice
    ----- stderr
    warning: beeuni.yaml has 1 error: `beeuni validate` shows what is wrong
    "#);
}

#[test]
fn json_has_the_same() {
    let ran = check(&project(), &["--json", "advised", "broken"]);
    let json = ran.json();
    assert_eq!((ran.code, &json["ok"]), (1, &json!(false)));
    let tools = json["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["broken", "advised"]);
    assert!(tools[0]["error"].as_str().unwrap().contains("no default export"));
    assert_eq!(
        tools[1]["advice"][1],
        json!({
            "path": "parameters.properties.tags",
            "rule": "array-without-items",
            "message": "an array without `items`",
            "refused_by": ["OpenAI", "Gemini"],
            "ignored_by": [],
            "fix": "say what the array holds, e.g. `items: { type: 'string' }`",
        })
    );
}

#[test]
fn advice_alone_is_no_failure() {
    assert_eq!(check(&project(), &["advised"]).code, 0);
    assert_eq!(check(&project(), &["broken"]).code, 1);
    assert_eq!(check(&project(), &["gone"]).code, 1);
}

#[test]
fn a_name_that_is_no_tool_is_exit_2() {
    insta::assert_snapshot!(check(&project(), &["fien"]), @"
    exit 2
    ----- stderr
    warning: beeuni.yaml has 1 error: `beeuni validate` shows what is wrong
    error: no tool named fien
      hint: did you mean `fine`?
      hint: `beeuni tools ls` shows the tools of this project
    ");
}

/// Beeuni's own tools and the template get no advice: what is shown by default is what to copy.
#[test]
fn the_tools_of_beeuni_and_the_template_need_no_advice() {
    let shell = Shell::with_manifest(MANIFEST);
    assert_eq!(shell.run(&["tools", "new", "one"]).code, 0);
    assert_eq!(shell.run(&["tools", "new", "two", "--js"]).code, 0);
    assert_eq!(shell.run(&["tools", "new", "three", "--path", "three.cjs"]).code, 0);
    let ran = check(&shell, &[]);
    insta::assert_snapshot!(ran, @"
    exit 0
    ----- stdout
    ok      web_search      beeuni:web_search
    ok      image_search    beeuni:image_search
    ok      scrape_webpage  beeuni:scrape_webpage
    ok      memory          beeuni:memory
    ok      show            beeuni:show
    ok      one             tools/one.ts
    ok      two             tools/two.js
    ok      three           three.cjs

    8 tools loaded in [TIME]
    ");
}

/// LOAD-05: a module that never ends is told, and the others load.
#[test]
fn a_module_that_never_loads_ends_at_its_limit() {
    let shell = project();
    shell.write("tools/broken.ts", "while (true) {}\n");
    let ran = check(&shell, &["--timeout", "0.5", "broken", "fine"]);
    assert_eq!(ran.code, 1, "{ran}");
    assert!(
        ran.stdout.contains("ok      fine") && ran.stdout.contains("failed  broken"),
        "{ran}"
    );
}

/// What the template's tool says when it is called.
#[test]
fn the_template_computes() {
    let shell = Shell::with_manifest(MANIFEST);
    for (name, flags) in [("one", &[][..]), ("two", &["--js"][..])] {
        assert_eq!(shell.run(&[&["tools", "new", name][..], flags].concat()).code, 0);
        let mut command = shell.command(["tools", "call", name, "--args", r#"{"text":"one two\nthree"}"#]);
        let ran = shell.ran(support::with_bun(&mut command));
        let output: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(output, json!({ "characters": 13, "words": 3, "lines": 2 }));
        let mut command = shell.command(["tools", "call", name]);
        let ran = shell.ran(support::with_bun(&mut command));
        assert!(ran.code == 1 && ran.stderr.contains("text must be a string"), "{ran}");
    }
}

#[test]
fn a_project_without_tools_says_so() {
    let ran = Shell::with_manifest("beeuni_version: 2\ntools: {}\n").run(&["tools", "check"]);
    assert_eq!(ran.code, 0, "{ran}");
}
