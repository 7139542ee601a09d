//! The project's own OpenCode folder (tools.md, section 10).
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use beeuni_agent::AgentDefinition;
use beeuni_gateway::testing::Answer;
use beeuni_manifest::{PermissionAction, PermissionRule, Place, ToolAccess};
use beeuni_opencode::server::{Change, Overridden};
use serde_json::json;

use super::rig::{Rig, agent, call, outcomes};

const FOLDER: &str = "harnesses/opencode";

/// A folder with one of everything that people put into it.
fn fill(rig: &Rig) {
    let write = |path: &str, text: &str| rig.write(&format!("{FOLDER}/{path}"), text);
    rig.write("lib/outside.ts", "export const outside: string = 'outside'\n");
    write("lib/inside.ts", "export const inside: string = 'inside'\n");
    write(
        "node_modules/beside/package.json",
        r#"{"name":"beside","main":"index.js"}"#,
    );
    write(
        "node_modules/beside/index.js",
        "module.exports = { beside: 'beside' }\n",
    );
    write(
        "tools/mine.ts",
        r#"import { tool } from "@opencode-ai/plugin"
import { beside } from "beside"
import { outside } from "../../../lib/outside"
import { inside } from "../lib/inside"
export default tool({
  description: "Mine.",
  args: { a: tool.schema.string().describe("an a"), b: tool.schema.number().optional() },
  async execute(args, context) { return [outside, inside, beside, args.a, context.agent].join(" ") },
})
export const second = { description: "Second.", args: {}, async execute() { return "second" } }
export const helper = () => 1
"#,
    );
    write(
        "tools/lookup_order.js",
        "export default { description: 'Own.', args: {}, async execute() { return 'by the folder' } }\n",
    );
    write(
        "plugins/own.ts",
        "import { inside } from '../lib/inside'\nexport const Own = async () => ({ tool: { own_thing: { description: inside, args: {}, \
         async execute() { return 'own thing' } } } })\n",
    );
    write(
        "agents/scout.md",
        "---\ndescription: Scouts.\nmode: subagent\n---\nYou are scout.\n",
    );
    write("command/greet.md", "---\ndescription: Greets.\n---\nGreet {file:no}.\n");
    write(
        "skills/folder-skill/SKILL.md",
        "---\nname: folder-skill\ndescription: Of the folder.\n---\nBody.\n",
    );
    write("prompts/p.txt", "From a file.");
    write(
        "opencode.jsonc",
        r#"{
  // What is Beeuni's to say it does not say.
  "model": "anthropic/other", "share": "auto", "autoupdate": true, "default_agent": "plan",
  "provider": { "anthropic": { "options": { "apiKey": "x" } } },
  "permission": { "webfetch": "deny", "*": "allow" },
  "agent": {
    "beeuni": { "permission": { "*": "deny" }, "prompt": "Not this." },
    "reader": { "mode": "subagent", "description": "Reads.", "prompt": "{file:./prompts/p.txt}" },
  },
}"#,
    );
}

/// Every file below a folder with its content; links with where they lead.
fn content(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            } else {
                found.insert(entry.path().display().to_string(), std::fs::read(entry.path()).unwrap());
            }
        }
    }
    found
}

#[tokio::test]
async fn o1_the_folder_works_as_opencode_s_own_and_its_tools_win_and_nothing_is_written_into_it() {
    let mut rig = Rig::new().await;
    fill(&rig);
    rig.agents(vec![
        agent("beeuni"),
        AgentDefinition {
            tools: ToolAccess::Only(vec!["mine".to_owned(), "own_thing".to_owned()]),
            ..agent("listed")
        },
        AgentDefinition {
            tools: ToolAccess::Except(vec!["mine_second".to_owned(), "own_thing".to_owned()]),
            ..agent("excepting")
        },
    ]);
    let before = content(&rig.place.checkout);
    let running = rig.start().await;
    assert_eq!(running.server.left_out(), []);
    assert_eq!(
        running.server.overridden(),
        [Overridden {
            name: "lookup_order".to_owned(),
            file: rig.place.config_source.join("tools/lookup_order.js"),
        }]
    );
    let calls = [
        call("mine", &json!({"a": "A"})),
        call("mine_second", &json!({})),
        call("lookup_order", &json!({})),
        call("own_thing", &json!({})),
        call("skill", &json!({"name": "folder-skill"})),
    ];
    let said = outcomes(&running.prompt("beeuni", &calls).await);
    assert_eq!(said["mine"], "completed: outside inside beside A beeuni");
    assert_eq!(said["mine_second"], "completed: second");
    assert_eq!(said["lookup_order"], "completed: by the folder");
    assert_eq!(said["own_thing"], "completed: own thing");
    assert!(
        said["skill"].contains("harnesses/opencode/skills/folder-skill"),
        "{}",
        said["skill"]
    );
    assert!(rig.calls().is_empty(), "no call of a hosted tool");
    let asked = &rig.asked()[0];
    assert!(
        asked["messages"][0]["content"]
            .as_str()
            .unwrap()
            .starts_with("You are beeuni."),
        "{asked}"
    );
    assert_eq!(asked["model"], "tests/m1");
    let mine = asked["tools"]
        .as_array()
        .unwrap()
        .iter()
        .find(|tool| tool["function"]["name"] == "mine")
        .unwrap();
    assert_eq!(mine["function"]["parameters"]["required"], json!(["a"]), "{mine}");
    assert_eq!(
        mine["function"]["parameters"]["properties"]["a"]["description"], "an a",
        "{mine}"
    );
    for (name, expected) in [("listed", vec!["mine", "own_thing"]), ("excepting", vec![])] {
        let before = rig.asked().len();
        running.prompt(name, &[]).await;
        let offered = rig.offered(before);
        if name == "listed" {
            assert_eq!(offered, expected);
        } else {
            assert!(offered.contains(&"mine".to_owned()), "{offered:?}");
            assert!(
                !offered.iter().any(|tool| tool == "mine_second" || tool == "own_thing"),
                "{offered:?}"
            );
        }
    }
    // The agents of the folder alone; hosted tools would refuse them, so they are out of sight.
    let agents = running.get("/agent").await;
    let found = |name: &str| {
        agents
            .as_array()
            .unwrap()
            .iter()
            .find(|agent| agent["name"] == name)
            .cloned()
    };
    assert_eq!(found("reader").unwrap()["prompt"], "From a file.");
    assert_eq!(found("scout").unwrap()["description"], "Scouts.");
    assert!(found("plan").is_none() && found("build").is_none());
    assert!(running.get("/command").await.to_string().contains("Greets."));
    let config = running.get("/config").await;
    assert_eq!(
        (&config["share"], &config["autoupdate"]),
        (&json!("disabled"), &json!(false))
    );
    assert_eq!(config["enabled_providers"], json!(["beeuni"]));
    assert!(config["provider"]["anthropic"].is_null(), "{config}");
    running.server.stop(Duration::from_secs(5)).await;
    assert_eq!(
        before,
        content(&rig.place.checkout),
        "nothing is written into the project"
    );
}

#[tokio::test]
async fn what_opencode_would_choke_on_is_left_out_with_the_reason() {
    let rig = Rig::new().await;
    fill(&rig);
    let write = |path: &str, text: &str| rig.write(&format!("{FOLDER}/{path}"), text);
    let tool =
        |args: &str| format!("export default {{ description: 'x', args: {args}, async execute() {{ return '' }} }}\n");
    write("tools/a_package.ts", &format!("import 'not-there'\n{}", tool("{}")));
    write("tools/b_syntax.ts", "export default {");
    write("tools/c_exit.ts", "process.exit(3)");
    write(
        "tools/d_date.ts",
        &format!("import {{ z }} from 'zod'\n{}", tool("{ at: z.date() }")),
    );
    write("tools/e name.ts", &tool("{}"));
    write("plugins/f_throws.ts", "throw new Error('not today')");
    write(
        "plugins/g_tool.ts",
        "export const G = async () => ({ tool: { g: null } })",
    );
    write("agents/h_mode.md", "---\ndescription: x\nmode: 7\n---\nx\n");
    write("opencode.json", r#"{ "model": 5 }"#);
    // One that takes a hosted tool's place, which only shows when OpenCode runs.
    std::fs::remove_file(rig.place.config_source.join("tools/lookup_order.js")).unwrap();
    write(
        "plugins/own.ts",
        "export const Own = async () => ({ tool: { lookup_order: { description: 'x', args: {}, async execute() { return 'by the plugin' } } } })",
    );
    let running = rig.start().await;
    let mut reasons: BTreeMap<String, String> = BTreeMap::new();
    for left in running.server.left_out() {
        reasons.insert(
            left.file.file_name().unwrap().to_string_lossy().into_owned(),
            left.reason,
        );
    }
    for (file, expected) in [
        ("a_package.ts", "Cannot find package 'not-there'"),
        ("b_syntax.ts", ""),
        ("c_exit.ts", "loading it ended the process: it ended with exit code 3"),
        ("d_date.ts", "Date cannot be represented"),
        ("e name.ts", "a tool cannot be called `e name`"),
        ("f_throws.ts", "not today"),
        ("g_tool.ts", "null is not an object"),
        ("h_mode.md", "`mode`: Expected"),
        ("opencode.json", "`model`: Expected string"),
    ] {
        let reason = reasons
            .remove(file)
            .unwrap_or_else(|| panic!("{file} is not left out: {reasons:#?}"));
        assert!(reason.contains(expected), "{file}: {reason}");
    }
    assert_eq!(reasons, BTreeMap::new());
    let overridden = running.server.overridden();
    assert_eq!(overridden.len(), 1, "{overridden:?}");
    assert_eq!(overridden[0].name, "lookup_order");
    let calls = [call("mine", &json!({"a": "A"})), call("lookup_order", &json!({}))];
    let said = outcomes(&running.prompt("beeuni", &calls).await);
    assert_eq!(said["mine"], "completed: outside inside beside A beeuni");
    assert_eq!(said["lookup_order"], "completed: by the plugin");
    running.server.stop(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn o1_a_tool_of_a_plugin_wins_over_a_hosted_one_that_comes_later_and_after_every_change() {
    let mut rig = Rig::new().await;
    let write = |rig: &Rig, path: &str, text: &str| rig.write(&format!("{FOLDER}/{path}"), text);
    write(
        &rig,
        "plugins/own.ts",
        "export const Own = async () => ({ tool: { lookup_order: { description: 'x', args: {}, async execute() { return 'by the plugin' } } } })",
    );
    // As in a session: OpenCode starts while the tools are still loading.
    let tools = std::mem::take(&mut rig.given.tools);
    let running = rig.start().await;
    assert_eq!(running.server.overridden(), []);
    rig.given.tools = tools;
    for change in ["the hosted tool comes", "something else changes"] {
        assert_eq!(
            running.server.update(&rig.given).await.unwrap(),
            Change::Dispose,
            "{change}"
        );
        running.server.dispose().await.unwrap();
        let overridden = running.server.overridden();
        assert_eq!(overridden.len(), 1, "{change}: {overridden:?}");
        let said = outcomes(&running.prompt("beeuni", &[call("lookup_order", &json!({}))]).await);
        assert_eq!(said["lookup_order"], "completed: by the plugin", "{change}");
        write(&rig, "command/greet.md", "---\ndescription: Greets.\n---\nGreet.\n");
    }
    running.server.stop(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn a_changed_folder_asks_for_what_it_needs() {
    let rig = Rig::new().await;
    rig.answers("lookup_order", Answer::json(200, &json!({"output": "hosted"})));
    let running = rig.start().await;
    let write = |path: &str, text: &str| rig.write(&format!("{FOLDER}/{path}"), text);
    let tool = |says: &str| {
        format!(
            "import {{ w }} from '../w'\nexport default {{ description: 'x', args: {{}}, async execute() {{ return '{says}' + w }} }}\n"
        )
    };
    write("w.ts", "export const w = '!'");
    write("tools/lookup_order.ts", &tool("one"));
    assert_eq!(
        running.server.update(&rig.given).await.unwrap(),
        Change::Dispose,
        "a new tool"
    );
    assert_eq!(running.server.overridden().len(), 1);
    running.server.dispose().await.unwrap();
    let lookup = [call("lookup_order", &json!({}))];
    assert_eq!(
        outcomes(&running.prompt("beeuni", &lookup).await)["lookup_order"],
        "completed: one!"
    );
    assert_eq!(running.server.update(&rig.given).await.unwrap(), Change::Nothing);
    write("opencode.json", r#"{ "model": 5 }"#);
    running.server.update(&rig.given).await.unwrap();
    assert_eq!(
        running.server.left_out().len(),
        1,
        "a broken configuration never reaches the checkout"
    );
    running.server.dispose().await.unwrap();
    assert_eq!(
        outcomes(&running.prompt("beeuni", &lookup).await)["lookup_order"],
        "completed: one!"
    );
    std::fs::remove_dir_all(&rig.place.config_source).unwrap();
    assert_eq!(
        running.server.update(&rig.given).await.unwrap(),
        Change::Dispose,
        "the folder is gone"
    );
    assert_eq!(
        (running.server.overridden(), running.server.left_out()),
        (vec![], vec![])
    );
    running.server.dispose().await.unwrap();
    assert_eq!(
        outcomes(&running.prompt("beeuni", &lookup).await)["lookup_order"],
        "completed: hosted"
    );
    // OpenCode has imported it: only a new process sees that it is another.
    write("w.ts", "export const w = '?'");
    write("tools/lookup_order.ts", &tool("one"));
    running.server.update(&rig.given).await.unwrap();
    write("w.ts", "export const w = ':'");
    assert_eq!(
        running.server.update(&rig.given).await.unwrap(),
        Change::Restart,
        "changed code"
    );
    assert_eq!(
        running.server.update(&rig.given).await.unwrap(),
        Change::Restart,
        "still"
    );
    running.server.stop(Duration::from_secs(5)).await;
    let running = rig.start().await;
    assert_eq!(
        outcomes(&running.prompt("beeuni", &lookup).await)["lookup_order"],
        "completed: one:"
    );
    running.server.stop(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn a_rule_that_asks_holds_for_a_tool_of_the_folder_too() {
    let mut rig = Rig::new().await;
    fill(&rig);
    let rule = |pattern: &str, action| PermissionRule {
        capability: "mine".to_owned(),
        pattern: pattern.to_owned(),
        action,
        place: Place {
            file: "agents/beeuni.md".to_owned(),
            line: 3,
            column: 1,
        },
    };
    rig.agents(vec![AgentDefinition {
        permission: vec![
            rule("*", PermissionAction::Ask),
            rule("*\"never\"*", PermissionAction::Deny),
            rule("*\"fine\"*", PermissionAction::Allow),
        ],
        ..agent("beeuni")
    }]);
    let running = rig.start().await;
    let said = outcomes(&running.prompt("beeuni", &[call("mine", &json!({"a": "fine"}))]).await);
    assert!(said["mine"].starts_with("completed"), "{said:?}");
    let said = outcomes(&running.prompt("beeuni", &[call("mine", &json!({"a": "never"}))]).await);
    assert!(said["mine"].contains("prevents you"), "{said:?}");
    let session = running.session().await;
    let prompt = async {
        running
            .prompt_in(&session, "beeuni", &[call("mine", &json!({"a": "ask"}))])
            .await
    };
    let answer = async {
        running
            .until("the question is there", || async {
                !running.get("/permission").await.as_array().unwrap().is_empty()
            })
            .await;
        let asked = running.get("/permission").await[0].clone();
        assert_eq!(
            (&asked["permission"], &asked["patterns"]),
            (&json!("mine"), &json!([r#"{"a":"ask"}"#]))
        );
        let path = format!("/permission/{}/reply", asked["id"].as_str().unwrap());
        running.send("POST", &path, Some(json!({"reply": "once"}))).await;
    };
    let (parts, ()) = tokio::join!(prompt, answer);
    assert!(outcomes(&parts)["mine"].starts_with("completed"), "{parts:?}");
    running.server.stop(Duration::from_secs(5)).await;
}
