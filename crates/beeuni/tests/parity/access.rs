//! Who may use which tool, on both harnesses: what the model is offered for each form of an agent's list (A1–A6).
use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::{Project, Talk, offered};

/// The harness tools, on either harness, for an agent that may use everything.
const ALL: &[&str] = &[
    "bash",
    "read",
    "write",
    "edit",
    "glob",
    "grep",
    "webfetch",
    "todowrite",
    "question",
    "skill",
    "task",
];

/// The hosted tools of the project.
const HOSTED: &[&str] = &["memory", "echo", "note"];

/// A form of a list: the agent's name, its line, and what it takes away or leaves of each harness's tools.
struct Form {
    agent: &'static str,
    tools: &'static str,
    hosted: &'static [&'static str],
    harness: [Harness; 2],
}

/// Which harness tools are offered.
enum Harness {
    Only(&'static [&'static str]),
    AllBut(&'static [&'static str]),
}

use Harness::{AllBut, Only};

fn forms() -> Vec<Form> {
    let form = |agent, tools, hosted, ours, standard| Form {
        agent,
        tools,
        hosted,
        harness: [ours, standard],
    };
    vec![
        form("omitted", "", HOSTED, AllBut(&[]), AllBut(&[])),
        form("everything", "tools: all", HOSTED, AllBut(&[]), AllBut(&[])),
        form("nothing", "tools: none", &[], Only(&[]), Only(&[])),
        form(
            "some",
            "tools: [read, grep, echo]",
            &["echo"],
            Only(&["read", "grep"]),
            Only(&["read", "grep"]),
        ),
        form("star", "tools: [read, '*']", HOSTED, AllBut(&[]), AllBut(&[])),
        form(
            "excludes",
            "tools: { exclude: [bash, echo, task] }",
            &["memory", "note"],
            AllBut(&["bash", "task"]),
            AllBut(&["bash", "task"]),
        ),
        form(
            "older",
            "tools: { bash: false, echo: false }",
            &["memory", "note"],
            AllBut(&["bash"]),
            AllBut(&["bash"]),
        ),
        // A3: `show` is not loaded by this project.
        form("absent", "tools: [show, read]", &[], Only(&["read"]), Only(&["read"])),
        // A6: one permission for both on the standard harness, two tools here.
        form(
            "writes",
            "tools: [write]",
            &[],
            Only(&["write"]),
            Only(&["write", "edit"]),
        ),
        form(
            "no_edit",
            "tools: { exclude: [edit] }",
            HOSTED,
            AllBut(&["edit"]),
            AllBut(&["edit", "write"]),
        ),
    ]
}

fn project() -> Project {
    let agents: Vec<String> = forms()
        .iter()
        .map(|form| {
            let tools = if form.tools.is_empty() {
                String::new()
            } else {
                format!("{}, ", form.tools)
            };
            format!("  {}: {{ {tools}file: agents/a.md }}", form.agent)
        })
        .collect();
    let project = Project::with_manifest(&format!(
        "beeuni_version: 2\ndefault_agent: omitted\ntools:\n  memory: beeuni:memory\n  echo: tools/echo.ts\n  note: tools/note.ts\nagents:\n{}\n",
        agents.join("\n")
    ));
    project.tool("note", "require('fs').writeFileSync('ran', 'yes'); return 'noted'");
    project
}

fn set(names: impl IntoIterator<Item = impl Into<String>>) -> BTreeSet<String> {
    names.into_iter().map(Into::into).collect()
}

/// What is offered for each form, against the table.
fn offers(harness: &str, column: usize) {
    let talk = Talk::on_harness(project(), harness);
    for (at, form) in forms().iter().enumerate() {
        talk.model.says("Hello.");
        talk.prompt(&json!({ "text": "Hello?", "agent": form.agent }));
        let request = talk.model.until_asked(at + 1);
        talk.until_idle();
        let mut wanted = set(form.hosted.iter().copied());
        match &form.harness[column] {
            Only(names) => wanted.extend(set(names.iter().copied())),
            AllBut(names) => {
                let left = ALL.iter().filter(|name| !names.contains(name));
                wanted.extend(set(left.copied()));
            }
        }
        assert_eq!(
            set(offered(&request)),
            wanted,
            "{harness}: {} ({})",
            form.agent,
            form.tools
        );
        if wanted.is_empty() {
            assert_eq!(
                request.get("tools"),
                None,
                "{harness}: an empty list is refused by providers"
            );
        }
    }
    assert_eq!(
        talk.model.asked().len(),
        forms().len(),
        "{harness}: requests beside the prompts'"
    );
}

#[test]
fn a1_to_a6_hold_on_the_experimental_harness() {
    offers("experimental", 0);
}

#[test]
fn a1_to_a6_hold_on_the_standard_harness() {
    offers("standard", 1);
}

/// S6, S7, A2: a hidden tool that is called anyway does not run, and the conversation goes on.
#[test]
fn a_hidden_tool_that_is_called_anyway_does_not_run_on_either_harness() {
    for harness in ["experimental", "standard"] {
        let talk = Talk::on_harness(project(), harness);
        talk.model.calls(&[("c1", "note", json!({}))]).says("Then not.");
        talk.prompt(&json!({ "text": "Note it.", "agent": "some" }));
        let request = talk.model.until_asked(2);
        talk.until_idle();
        assert_eq!(talk.project.read("ran"), None, "{harness}: the hidden tool ran");
        let messages = request["messages"].as_array().unwrap();
        let told = messages.iter().find(|message| message["role"] == "tool").unwrap();
        let text = told["content"].as_str().unwrap();
        match harness {
            "experimental" => assert_eq!(text, "Tool note not found"),
            _ => assert!(text.contains("note"), "{text}"),
        }
        let call = &talk.tool_calls()[0];
        assert_eq!(
            (&call["status"], &call["tool"]),
            (&json!("error"), &json!("note")),
            "{harness}: {call}"
        );
        assert_eq!(last_text(&talk), "Then not.", "{harness}");
    }
}

/// A4: a subagent gets what both lists allow on the experimental harness, its own list on the standard one.
#[test]
fn a4_a_subagent_has_the_tools_that_its_harness_gives_it() {
    for (harness, expected) in [
        ("experimental", vec!["read"]),
        ("standard", vec!["echo", "grep", "read"]),
    ] {
        let project = project();
        project.write(
            "beeuni.yaml",
            "beeuni_version: 2\ndefault_agent: lead\ntools:\n  echo: tools/echo.ts\n  note: tools/note.ts\nagents:\n  lead: { tools: [task, read, note], file: agents/a.md }\n  some: { tools: [read, grep, echo], file: agents/sub.md }\n",
        );
        project.write(
            "agents/sub.md",
            "---\ndescription: A helper\nmode: subagent\n---\nHelp.\n",
        );
        let talk = Talk::on_harness(project, harness);
        let task = json!({ "description": "look", "prompt": "Look.", "subagent_type": "some" });
        talk.model.calls(&[("c1", "task", task)]).says("Looked.").says("Done.");
        talk.prompt(&json!({ "text": "Delegate." }));
        let child = talk.model.until_asked(2);
        assert_eq!(set(offered(&child)), set(expected), "{harness}");
        talk.until_idle();
        let children = talk.get("/children").json();
        let children = children["sessions"].as_array().unwrap();
        assert_eq!(children.len(), 1, "{harness}");
        assert_eq!(children[0]["agent"], "some", "{harness}");
        assert_eq!(last_text(&talk), "Done.", "{harness}");
        let call = &talk.tool_calls()[0];
        assert_eq!(call["metadata"]["session"], children[0]["id"], "{harness}: {call}");
    }
}

fn last_text(talk: &Talk) -> Value {
    let last = talk.messages().pop().unwrap();
    last["parts"].as_array().unwrap().last().unwrap()["text"].clone()
}
