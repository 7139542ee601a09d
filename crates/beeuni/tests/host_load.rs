//! Loading: what loads, what is left out and with which reason, and that every load reads the files afresh.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

#[path = "support/host.rs"]
mod host;

use std::fs::FileTimes;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

use beeuni_tools::{SelectedTool, ToolKind, ToolSource, beeuni_tool_source};
use host::{TestHost, module, project, project_tool};
use serde_json::Value;

/// Modules that are no tools, each with words of the reason (M7, LOAD-03, SCH-02, SCH-05).
const BROKEN: &[(&str, &str, &str)] = &[
    (
        "named",
        "export const tool = { description: 'd', parameters: {}, execute() {} }",
        "no default export (found named export `tool`)",
    ),
    ("empty", "", "no default export"),
    ("null", "export default null", "the default export is null"),
    (
        "function",
        "export default function () {}",
        "the default export is a function",
    ),
    ("list", "export default []", "the default export is a list"),
    (
        "promise",
        "export default Promise.resolve({})",
        "the default export is a promise",
    ),
    (
        "no_execute",
        "export default { description: 'd', parameters: { type: 'object' } }",
        "`execute` must be a function; found nothing",
    ),
    (
        "execute_text",
        "export default { description: 'd', parameters: { type: 'object' }, execute: 'nope' }",
        "found the string \"nope\"",
    ),
    (
        "no_description",
        "export default { parameters: { type: 'object' }, execute() {} }",
        "`description` must be a non-empty string",
    ),
    (
        "blank_description",
        "export default { description: ' ', parameters: { type: 'object' }, execute() {} }",
        "`description` must be a non-empty string",
    ),
    (
        "no_parameters",
        "export default { description: 'd', execute() {} }",
        "`parameters` must be an object schema; found nothing",
    ),
    (
        "empty_parameters",
        "export default { description: 'd', parameters: {}, execute() {} }",
        "`type` must be 'object'; found nothing",
    ),
    (
        "array_schema",
        "export default { description: 'd', parameters: { type: 'array' }, execute() {} }",
        "`type` must be 'object'; found the string \"array\"",
    ),
    (
        "null_properties",
        "export default { description: 'd', parameters: { type: 'object', properties: null }, execute() {} }",
        "`parameters.properties` must be an object",
    ),
    (
        "odd_required",
        "export default { description: 'd', parameters: { type: 'object', required: true }, execute() {} }",
        "`parameters.required` must be a list of names",
    ),
    (
        "cyclic",
        "const p = { type: 'object', properties: {} }; p.properties.self = p; export default { description: 'd', parameters: p, execute() {} }",
        "refers to itself",
    ),
    (
        "validator",
        "class ZodString {}; export default { description: 'd', parameters: { type: 'object', properties: { town: new ZodString() } }, execute() {} }",
        "`parameters.properties.town` must be JSON Schema; got an instance of ZodString",
    ),
    (
        "throws",
        "throw new Error('not today')",
        "error at import: not today (at tools/throws.ts:1:",
    ),
    ("throws_object", "throw { code: 1 }", "\"code\": 1"),
    ("throws_null", "throw null", "the tool threw null"),
    (
        "syntax",
        "export default { description: 'd' parameters",
        "Expected \"}\" but found \"parameters\" (at tools/syntax.ts:1:35)",
    ),
    (
        "no_package",
        "import pad from 'left-padd-typo-zz9'; export default { pad }",
        "Cannot find package 'left-padd-typo-zz9'",
    ),
    (
        "no_file",
        "import './nowhere.ts'; export default {}",
        "Cannot find module './nowhere.ts'",
    ),
    (
        "exits",
        "process.exit(0)",
        "while the module was loaded, the worker of exits exited (code 0)",
    ),
    (
        "never",
        "await new Promise(() => {}); export default {}",
        "did not finish loading within 0.7 s",
    ),
    ("spins", "while (true) {}", "did not finish loading within 0.7 s"),
];

#[tokio::test]
async fn m7_each_broken_module_is_left_out_with_its_reason_and_every_other_loads() {
    let mut builder = project()
        .tool("good_a", "return 'a'")
        .tool("good_z", "return 'z'")
        .limits(|limits| limits.load = Duration::from_millis(700));
    for (name, text, _) in BROKEN {
        builder = builder.file(&format!("tools/{name}.ts"), text);
    }
    let host = builder.start().await;
    let mut selection = vec![project_tool("good_a", "tools/good_a.ts")];
    selection.extend(
        BROKEN
            .iter()
            .map(|(name, ..)| project_tool(name, &format!("tools/{name}.ts"))),
    );
    selection.push(project_tool("missing", "tools/missing.ts"));
    selection.push(project_tool("good_z", "tools/good_z.ts"));
    let report = host.host.load(&selection).await;

    assert_eq!(
        report
            .tools
            .iter()
            .map(|tool| tool.tool.name.as_str())
            .collect::<Vec<_>>(),
        ["good_a", "good_z"]
    );
    assert_eq!(report.failed.len(), BROKEN.len() + 1);
    for ((name, _, expected), failed) in BROKEN.iter().zip(&report.failed) {
        assert_eq!(*name, failed.tool.name, "the order is the selection's");
        assert!(failed.error.contains(expected), "{name}: {}", failed.error);
    }
    assert_eq!(
        report.failed.last().unwrap().error,
        "the file tools/missing.ts does not exist"
    );
    assert_eq!(
        host.output("good_a", "{}").await + &host.output("good_z", "{}").await,
        "az"
    );
    assert_eq!(host.error("named", "{}").await, "no tool named named is loaded");
    assert!(
        host.processes().is_empty() || host.processes().len() <= 4,
        "only the two called workers run"
    );
}

#[tokio::test]
async fn load_06_a_mistyped_package_is_never_asked_of_a_registry() {
    let registry = TcpListener::bind("127.0.0.1:0").unwrap();
    registry.set_nonblocking(true).unwrap();
    let mut builder = project()
        .file(
            "tools/typo.ts",
            "import pad from 'left-padd-typo-zz9'; export default { pad }",
        )
        .tool(
            "dynamic",
            "try { await import('left-padd-typo-' + args.end) } catch (error) { return error.message }",
        );
    let url = format!("http://{}", registry.local_addr().unwrap());
    builder.env.insert("BUN_CONFIG_REGISTRY".to_owned(), url);
    let host = builder.start().await;
    let report = host.load_all().await;
    let reason = &report.failed[0].error;
    assert!(
        reason.contains("Cannot find package 'left-padd-typo-zz9'") && reason.contains("node_modules"),
        "{reason}"
    );
    assert!(
        host.output("dynamic", r#"{"end":"zz8"}"#)
            .await
            .contains("Cannot find package")
    );
    assert_eq!(
        registry.accept().unwrap_err().kind(),
        std::io::ErrorKind::WouldBlock,
        "nobody called the registry"
    );
}

#[tokio::test]
async fn a_project_s_env_file_and_bunfig_are_not_read() {
    let host = project()
        .file(".env", "FROM_ENV_FILE=yes")
        .file("bunfig.toml", "preload = ['./preload.ts']")
        .file("preload.ts", "globalThis.preloaded = true")
        .tool("probe", "return [process.env.FROM_ENV_FILE ?? 'no', context.env.FROM_ENV_FILE ?? 'no', globalThis.preloaded ?? 'no'].join()")
        .load()
        .await;
    assert_eq!(host.output("probe", "{}").await, "no,no,no");
}

#[tokio::test]
async fn m7_zod_makes_a_schema_when_it_is_there_and_is_named_when_it_is_not() {
    let text = "import { z } from 'zod';\nexport default { description: 'd', parameters: z.toJSONSchema(z.object({ id: z.string().describe('The id') })), execute: (args) => args.id }";
    let host = project().file("tools/zodded.ts", text).start().await;
    let report = host.load_all().await;
    assert!(
        report.failed[0].error.contains("Cannot find package 'zod'"),
        "{}",
        report.failed[0].error
    );

    // LOAD-01: installing it heals the tool at the next load.
    let zod = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../runtime/node_modules/zod")
        .canonicalize()
        .expect("`make test` installs zod");
    std::fs::create_dir(host.project().join("node_modules")).unwrap();
    symlink(zod, host.project().join("node_modules/zod")).unwrap();
    let report = host.load_all().await;
    assert!(report.failed.is_empty(), "{:?}", report.failed);
    let schema: Value = serde_json::from_str(report.tools[0].parameters.get()).unwrap();
    assert_eq!(schema["properties"]["id"]["description"], "The id");
    assert_eq!(host.output("zodded", r#"{"id":"A-1"}"#).await, "A-1");

    // SCH-05: the validator's own object is refused with the way out.
    host.write(
        "tools/zodded.ts",
        text.replace(
            "z.toJSONSchema(z.object({ id: z.string().describe('The id') }))",
            "z.object({ id: z.string() })",
        ),
    );
    let report = host.load_all().await;
    assert!(
        report.failed[0]
            .error
            .contains("got an instance of ZodObject, convert it first (zod 4: `z.toJSONSchema(schema)`)"),
        "{}",
        report.failed[0].error
    );
}

#[tokio::test]
async fn load_07_unusual_file_names_and_links_load() {
    let builder = project()
        .file("tools/a b.ts", module("return 'space'"))
        .file("tools/a#b.ts", module("return 'hash'"))
        .file("tools/a%20b.ts", module("return 'percent'"))
        .file("tools/工具.ts", module("return 'cjk'"))
        .file(
            "tools/alias.ts",
            format!("import {{ v }} from '@/lib';\n{}", module("return v")),
        )
        .file("src/lib.ts", "export const v = 'alias'")
        .file("tsconfig.json", r#"{ "extends": "./tsconfig.base.json" }"#)
        .file(
            "tsconfig.base.json",
            r#"{ "compilerOptions": { "paths": { "@/*": ["./src/*"] } } }"#,
        )
        .file(
            "shared/linked.ts",
            format!("import v from 'pkg';\n{}", module("return v")),
        )
        .file("shared/node_modules/pkg/index.js", "module.exports = 'linked'");
    symlink("../shared/linked.ts", builder.project().join("tools/linked.ts")).unwrap();
    let host = builder.start().await;
    let names = ["a b", "a#b", "a%20b", "工具", "alias", "linked"];
    let selection: Vec<_> = names
        .iter()
        .enumerate()
        .map(|(i, name)| project_tool(&format!("t{i}"), &format!("tools/{name}.ts")))
        .collect();
    let report = host.host.load(&selection).await;
    assert!(report.failed.is_empty(), "{:?}", report.failed);
    let mut outputs = Vec::new();
    for tool in ["t0", "t1", "t2", "t3", "t4", "t5"] {
        outputs.push(host.output(tool, "{}").await);
    }
    assert_eq!(outputs, ["space", "hash", "percent", "cjk", "alias", "linked"]);
}

#[tokio::test]
async fn load_07_a_linked_module_names_the_real_place_of_its_search() {
    let builder = project()
        .file("shared/linked.ts", "import v from 'pkg'; export default { v }")
        .file("tools/.keep", "")
        .file("node_modules/other/index.js", "");
    symlink("../shared/linked.ts", builder.project().join("tools/linked.ts")).unwrap();
    let host = builder.start().await;
    let error = host.load_all().await.failed[0].error.clone();
    assert!(
        error.contains("Cannot find package 'pkg'") && error.contains("shared/linked.ts"),
        "{error}"
    );
}

async fn reloaded(host: &TestHost) -> String {
    let report = host.load_all().await;
    assert!(report.failed.is_empty(), "{:?}", report.failed);
    host.output("t", "{}").await
}

#[tokio::test]
async fn reload_01_an_edit_is_served_after_the_next_load_whatever_its_time_says() {
    let host = project().tool("t", "return 'v1'").load().await;
    assert_eq!(host.output("t", "{}").await, "v1");
    let file = host.project().join("tools/t.ts");
    let old_time = std::fs::metadata(&file).unwrap().modified().unwrap();
    host.write("tools/t.ts", module("return 'v2'"));
    assert_eq!(reloaded(&host).await, "v2");
    host.write("tools/t.ts", module("return 'v1'"));
    let times = FileTimes::new()
        .set_modified(old_time - Duration::from_secs(60))
        .set_accessed(SystemTime::now());
    std::fs::File::options()
        .write(true)
        .open(&file)
        .unwrap()
        .set_times(times)
        .unwrap();
    assert_eq!(reloaded(&host).await, "v1");
    host.write(
        "tools/t.ts",
        module("return 'v1'")
            .replace("A test tool", "Another text")
            .replace("properties: {}", "properties: { a: {} }"),
    );
    let report = host.load_all().await;
    assert_eq!(report.tools[0].description, "Another text");
    assert_eq!(
        report.tools[0].parameters.get(),
        r#"{"type":"object","properties":{"a":{}}}"#
    );
}

#[tokio::test]
async fn reload_02_an_edit_two_imports_down_is_served_after_the_next_load() {
    let builder = project()
        .file(
            "tools/t.ts",
            format!(
                "import {{ a }} from './lib/a.ts';\nimport util from '@acme/util';\n{}",
                module("return a() + util")
            ),
        )
        .file(
            "tools/lib/a.ts",
            "import { b } from './b.mjs';\nexport const a = () => b;",
        )
        .file("tools/lib/b.mjs", "import c from './c.json';\nexport const b = c.c;")
        .file("tools/lib/c.json", r#"{"c":"c1"}"#)
        .file("packages/util/index.ts", "export default ' u1'");
    let modules = builder.project().join("node_modules/@acme");
    std::fs::create_dir_all(&modules).unwrap();
    symlink("../../packages/util", modules.join("util")).unwrap();
    let host = builder.load().await;
    assert_eq!(host.output("t", "{}").await, "c1 u1");
    host.write("tools/lib/c.json", r#"{"c":"c2"}"#);
    assert_eq!(reloaded(&host).await, "c2 u1");
    host.write("tools/lib/b.mjs", "export const b = 'b3';");
    assert_eq!(reloaded(&host).await, "b3 u1");
    host.write(
        "tools/lib/a.ts",
        "import { d } from './d.ts';\nexport const a = () => d;",
    );
    host.write("tools/lib/d.ts", "export const d = 'd4'");
    assert_eq!(reloaded(&host).await, "d4 u1");
    host.write("tools/lib/d.ts", "export const d = 'd5'");
    host.write("packages/util/index.ts", "export default ' u2'");
    assert_eq!(reloaded(&host).await, "d5 u2");
}

#[tokio::test]
async fn a_reload_lets_running_calls_end_and_serves_new_ones() {
    let host = project()
        .tool("t", "await Bun.sleep(args.ms ?? 0); return 'old'")
        .load()
        .await;
    host.output("t", "{}").await;
    let running = host.spawn("t", r#"{"ms":600}"#);
    tokio::task::yield_now().await;
    host.write("tools/t.ts", module("return 'new'"));
    assert_eq!(reloaded(&host).await, "new");
    assert_eq!(running.await.unwrap().unwrap(), "old");
}

#[tokio::test]
async fn s5_the_five_beeuni_tools_load_from_their_embedded_source() {
    let names = ["web_search", "image_search", "scrape_webpage", "memory", "show"];
    let host = project().file("notes.md", "hello").start().await;
    let mut selection: Vec<SelectedTool> = names
        .iter()
        .map(|name| SelectedTool {
            name: (*name).to_owned(),
            kind: ToolKind::Beeuni,
            source: ToolSource::Beeuni,
        })
        .collect();
    let report = host.host.load(&selection).await;
    assert_eq!(
        report
            .tools
            .iter()
            .map(|tool| tool.tool.name.as_str())
            .collect::<Vec<_>>(),
        names,
        "{:?}",
        report.failed
    );
    let shown = host
        .output("show", r#"{"action":"show","type":"file","path":"notes.md"}"#)
        .await;
    assert_eq!(
        serde_json::from_str::<Value>(&shown).unwrap()["success"],
        true,
        "{shown}"
    );
    let error = host.error("web_search", r#"{"query":"bees"}"#).await;
    assert!(
        error.contains("TAVILY_API_KEY") && error.contains("beeuni secrets set TAVILY_API_KEY=-"),
        "{error}"
    );

    // E1: the ejected copy runs as it is, and replaces the Beeuni tool.
    host.write("tools/show.ts", beeuni_tool_source("show").unwrap());
    selection[4] = SelectedTool {
        name: "show".to_owned(),
        kind: ToolKind::Overridden,
        source: ToolSource::Module("tools/show.ts".to_owned()),
    };
    let report = host.host.load(&selection).await;
    assert!(report.failed.is_empty(), "{:?}", report.failed);
    assert_eq!(report.tools[4].tool.kind, ToolKind::Overridden);
    assert_eq!(
        host.output("show", r#"{"action":"show","type":"file","path":"notes.md"}"#)
            .await,
        shown
    );
}

#[tokio::test]
async fn sch_06_the_schema_keeps_the_author_s_key_order() {
    let parameters = "{ type: 'object', properties: { zebra: { type: 'string' }, apple: { type: 'number', minimum: 1.5 } }, required: ['zebra'], additionalProperties: false, $defs: { x: {} } }";
    let text = module("return 1").replace("{ type: 'object', properties: {} }", parameters);
    let host = project().file("tools/t.ts", text).start().await;
    for _ in 0..3 {
        let report = host.load_all().await;
        assert_eq!(
            report.tools[0].parameters.get(),
            r#"{"type":"object","properties":{"zebra":{"type":"string"},"apple":{"type":"number","minimum":1.5}},"required":["zebra"],"additionalProperties":false,"$defs":{"x":{}}}"#
        );
    }
}

#[tokio::test]
async fn a_selection_without_a_load_pass_loads_each_tool_at_its_first_call() {
    let host = project()
        .tool("good", "return 'good'")
        .file("tools/bad.ts", "export default 1")
        .start()
        .await;
    host.host.select(&[
        project_tool("good", "tools/good.ts"),
        project_tool("bad", "tools/bad.ts"),
        project_tool("gone", "tools/gone.ts"),
    ]);
    assert_eq!(host.output("good", "{}").await, "good");
    assert!(
        host.error("bad", "{}")
            .await
            .starts_with("bad did not load: the default export is the number 1")
    );
    assert_eq!(
        host.error("gone", "{}").await,
        "gone did not load: the file tools/gone.ts does not exist"
    );
}
