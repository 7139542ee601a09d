//! `beeuni tools new`: a module from a template and its line in the manifest.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod support;

use support::{MANIFEST, Shell};

#[test]
fn a_module_is_written_and_declared_beside_the_others() {
    let shell = Shell::with_manifest(MANIFEST);
    insta::assert_snapshot!(shell.run(&["tools", "new", "lookup_order"]), @r#"
    exit 0
    ----- stdout
      ✓  Created lookup_order
      wrote   tools/lookup_order.ts (works as it is: it counts the words of a text)
      set     beeuni.yaml: tools.lookup_order: tools/lookup_order.ts
      wrote   .beeuni/beeuni.d.ts (the types that your editor shows)

    Next:
      1. Edit tools/lookup_order.ts. Keep the default export: { description, parameters, execute(args, context) }.
      2. beeuni tools call lookup_order --args '{"text":"one two three"}'
      3. beeuni validate && beeuni tools check lookup_order
      4. git add tools/lookup_order.ts beeuni.yaml .beeuni/beeuni.d.ts && git commit -m "Add the lookup_order tool"
      5. Open a change request: git push origin HEAD && beeuni cr open --title "Add the lookup_order tool"
    Sessions load the tool after the change request merges.
    "#);
    assert_eq!(
        shell.read("beeuni.yaml"),
        format!("{MANIFEST}  lookup_order: tools/lookup_order.ts\n")
    );
    insta::assert_snapshot!(shell.read("tools/lookup_order.ts"), @r#"
    // lookup_order: a tool of this project. The model reads the description and the parameters to decide when
    // and how to call it. Try it: beeuni tools call lookup_order --args '{"text":"one two three"}'
    import type { Tool } from '../.beeuni/beeuni.d.ts'

    export default {
      description: 'Count the characters, words and lines of a text.',
      parameters: {
        type: 'object',
        properties: {
          text: { type: 'string', description: 'The text to count, e.g. "one two three"' },
        },
        required: ['text'],
      },
      // execute(args, context): arguments come as the model sent them, so check what matters. The model
      // reads the message of an error that you throw: say what to change. Secrets are in context.env,
      // files under context.directory, and context.signal fires when the user stops the turn.
      execute(args) {
        const text = args.text
        if (typeof text !== 'string') throw new Error('text must be a string, e.g. "one two three"')
        return {
          characters: [...text].length,
          words: text.split(/\s+/).filter(Boolean).length,
          lines: text === '' ? 0 : text.split('\n').length,
        }
      },
    } satisfies Tool
    "#);
    assert_eq!(shell.read(".beeuni/beeuni.d.ts"), beeuni_tools::type_declarations());
    assert_eq!(shell.run(&["validate"]).code, 0);
}

/// The first tool of one's own must not remove the five (V2 is about exactly that slip).
#[test]
fn the_first_tool_of_a_project_without_a_key_keeps_the_five() {
    let shell = Shell::with_manifest("beeuni_version: 2\n");
    let ran = shell.run(&["tools", "new", "lookup_order"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stdout.contains("so that none is lost"), "{ran}");
    insta::assert_snapshot!(shell.read("beeuni.yaml"), @"
    beeuni_version: 2
    tools:
      web_search: beeuni:web_search
      image_search: beeuni:image_search
      scrape_webpage: beeuni:scrape_webpage
      memory: beeuni:memory
      show: beeuni:show
      lookup_order: tools/lookup_order.ts
    ");
    insta::assert_snapshot!(shell.run(&["tools", "ls"]).stdout, @"
    NAME            KIND     SOURCE
    web_search      beeuni   beeuni:web_search
    image_search    beeuni   beeuni:image_search
    scrape_webpage  beeuni   beeuni:scrape_webpage
    memory          beeuni   beeuni:memory
    show            beeuni   beeuni:show
    lookup_order    project  tools/lookup_order.ts
    ");
}

#[test]
fn javascript_and_other_folders() {
    let shell = Shell::with_manifest(MANIFEST);
    assert_eq!(shell.run(&["tools", "new", "one", "--js"]).code, 0);
    assert!(
        shell
            .read("tools/one.js")
            .contains("@type {import('../.beeuni/beeuni.d.ts').Tool}")
    );
    assert_eq!(
        shell
            .run(&["tools", "new", "two", "--path", "./integrations/crm/note.ts"])
            .code,
        0
    );
    assert!(
        shell
            .read("integrations/crm/note.ts")
            .contains("from '../../.beeuni/beeuni.d.ts'")
    );
    assert_eq!(shell.run(&["tools", "new", "three", "--path", "three.mjs"]).code, 0);
    assert!(shell.read("three.mjs").contains("import('./.beeuni/beeuni.d.ts')"));
    assert_eq!(shell.run(&["validate"]).code, 0);
    assert_eq!(
        shell.run(&["tools", "new", "four", "--js", "--path", "four.ts"]).code,
        2
    );
}

#[test]
fn names_by_the_rules_of_the_manifest() {
    let shell = Shell::with_manifest(&format!("{MANIFEST}  mine: tools/mine.ts\n"));
    shell.write("tools/mine.ts", "// mine\n");
    let before = shell.snapshot();
    for name in [
        "Find Orders",
        "bash",
        "pty_open",
        "web_search",
        "mine",
        "-dash",
        "",
        "工具",
    ] {
        let ran = shell.run(&["tools", "new", "--", name]);
        assert_eq!(ran.code, 1, "{name}: {ran}");
    }
    insta::assert_snapshot!(shell.run(&["tools", "new", "FindOrders"]), @r#"
    exit 1
    ----- stderr
    error: "FindOrders" is no tool name: use a-z, 0-9 and _, begin with a letter, at most 64 characters
      note: nothing was written
      hint: e.g. `find_orders`
    "#);
    insta::assert_snapshot!(shell.run(&["tools", "new", "bash"]), @"
    exit 1
    ----- stderr
    error: bash is a tool of the harness
      note: nothing was written
      hint: choose another name, e.g. `my_bash`
    ");
    insta::assert_snapshot!(shell.run(&["tools", "new", "web_search"]), @"
    exit 1
    ----- stderr
    error: web_search is a Beeuni tool
      note: nothing was written
      hint: `beeuni tools eject web_search` writes its source for you to change
    ");
    insta::assert_snapshot!(shell.run(&["tools", "new", "mine"]), @"
    exit 1
    ----- stderr
    error: mine is declared already in beeuni.yaml:8
      note: nothing was written
      hint: edit tools/mine.ts
    ");
    assert_eq!(shell.snapshot(), before);
}

#[test]
fn paths_by_the_rules_of_the_manifest() {
    let shell = Shell::with_manifest(MANIFEST);
    shell.write("tools/there.ts", "// mine\n");
    let before = shell.snapshot();
    let outside = shell.root().join("outside.ts");
    let paths = [
        "/etc/x.ts",
        "../x.ts",
        "a/../../x.ts",
        "tools\\x.ts",
        "tools/x.txt",
        "tools/there.ts",
        "",
        outside.to_str().unwrap(),
    ];
    for path in paths {
        let ran = shell.run(&["tools", "new", "x", "--path", path]);
        assert_eq!(ran.code, 1, "{path}: {ran}");
        assert!(ran.stderr.contains("nothing was written"), "{path}: {ran}");
    }
    insta::assert_snapshot!(shell.run(&["tools", "new", "x", "--path", "../x.ts"]), @"
    exit 1
    ----- stderr
    error: cannot declare x: ../x.ts
      caused by: must not contain `..`: the file has to be inside the repository
      note: nothing was written
    ");
    insta::assert_snapshot!(shell.run(&["tools", "new", "x", "--path", "tools/there.ts"]), @"
    exit 1
    ----- stderr
    error: tools/there.ts exists already
      note: nothing was written
      hint: `--path` writes the module elsewhere
    ");
    assert_eq!(shell.snapshot(), before);
    assert!(!outside.exists() && !shell.root().join("x.ts").exists());
}

#[test]
fn a_write_that_fails_takes_the_others_back() {
    let shell = Shell::with_manifest(MANIFEST);
    shell.write(".beeuni", "a file where the types belong");
    let before = shell.snapshot();
    insta::assert_snapshot!(shell.run(&["tools", "new", "x"]), @"
    exit 1
    ----- stderr
    error: nothing was written
      caused by: cannot write [DIR]/project/.beeuni/beeuni.d.ts
      caused by: Not a directory (os error 20)
    ");
    assert_eq!(shell.snapshot(), before);
}
