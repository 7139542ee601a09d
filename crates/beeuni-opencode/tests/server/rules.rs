//! Permission rules of agents in OpenCode (A2): what runs, what asks, what is refused.
use std::time::Duration;

use beeuni_agent::AgentDefinition;
use beeuni_manifest::{PermissionAction, PermissionRule, Place};
use serde_json::{Value, json};

use super::rig::{Rig, Running, agent, call, script};

fn rules(text: &str) -> Vec<PermissionRule> {
    let mut lines = 0;
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|line| {
            let mut words = line.splitn(3, ' ');
            let (capability, action, pattern) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
            lines += 1;
            PermissionRule {
                capability: capability.to_owned(),
                pattern: pattern.to_owned(),
                action: match action {
                    "allow" => PermissionAction::Allow,
                    "ask" => PermissionAction::Ask,
                    "deny" => PermissionAction::Deny,
                    other => panic!("{other} is no action"),
                },
                place: Place {
                    file: "agents/x.md".to_owned(),
                    line: lines,
                    column: 1,
                },
            }
        })
        .collect()
}

/// What becomes of one call: `ran`, `denied`, or `asked CAPABILITY PATTERN` (which is then refused).
async fn fate(running: &Running, agent: &str, call: &Value) -> String {
    let session = running.session().await;
    let body = Running::body(agent, &script(std::slice::from_ref(call)));
    let (status, _) = running
        .send("POST", &format!("/session/{session}/prompt_async"), Some(body))
        .await;
    assert_eq!(status, 204);
    let mut asked = Vec::new();
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    loop {
        assert!(std::time::Instant::now() < deadline, "no fate of {call}");
        for request in running.get("/permission").await.as_array().unwrap() {
            if request["sessionID"] == session.as_str() {
                let pattern = request["patterns"][0].as_str().unwrap();
                asked.push(format!("{} {pattern}", request["permission"].as_str().unwrap()));
                let path = format!("/permission/{}/reply", request["id"].as_str().unwrap());
                running.send("POST", &path, Some(json!({"reply": "reject"}))).await;
            }
        }
        let parts = running.tool_parts(&session).await;
        let state = parts.first().map(|part| part["state"].clone()).unwrap_or_default();
        if state["status"] == "completed" || state["status"] == "error" {
            let said = format!("{}{}", state["output"], state["error"]);
            // Its next request to the model would be taken for another turn's.
            let idle = || async { running.get("/session/status").await[&session].is_null() };
            running.until("the turn has ended", idle).await;
            return match asked.first() {
                Some(asked) => format!("asked {asked}"),
                None if said.contains("prevents you") => "denied".to_owned(),
                None => "ran".to_owned(),
            };
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// An agent, its rules, and its calls with what becomes of them.
type Case<'a> = (&'a str, String, Vec<(Value, &'a str)>);

fn bash(command: &str) -> Value {
    call("bash", &json!({"command": command, "description": "x"}))
}

fn read(path: &str) -> Value {
    call("read", &json!({"filePath": path}))
}

fn write(path: &str) -> Value {
    call("write", &json!({"filePath": path, "content": "x"}))
}

#[tokio::test]
async fn a2_rules_decide_as_on_the_experimental_harness() {
    let mut rig = Rig::new().await;
    let work = rig.place.checkout.display().to_string();
    let outside = rig.place.checkout.with_file_name("elsewhere");
    let outputs = rig.place.outside[0].clone();
    for folder in [&outside, &outputs] {
        std::fs::create_dir(folder).unwrap();
        std::fs::write(folder.join("f.txt"), "x").unwrap();
    }
    for file in ["a.txt", ".env", ".env.example", "docs/a.md", "docs/private/a.md"] {
        rig.write(file, "x");
    }
    let (elsewhere, saved) = (outside.join("f.txt"), outputs.join("f.txt"));
    let (elsewhere, saved) = (elsewhere.to_str().unwrap(), saved.to_str().unwrap());
    let external = format!("asked external_directory {}/*", outside.display());
    let absolute = format!("{work}/docs/a.md");
    let fetch = call("webfetch", &json!({"url": "http://127.0.0.1:9/x", "format": "text"}));
    let cases: Vec<Case<'_>> = vec![
        (
            "silent",
            String::new(),
            vec![
                (bash("true"), "ran"),
                (read("a.txt"), "ran"),
                (read(".env"), "asked read .env"),
                (read(".env.example"), "ran"),
                (read(elsewhere), &external),
                (read(saved), "ran"),
                (fetch.clone(), "ran"),
            ],
        ),
        (
            "weighed",
            "bash deny git push *\n bash allow git *\n bash ask *\n edit deny docs/private/*\n edit allow docs/**\n edit ask *"
                .to_owned(),
            vec![
                (bash("git push origin"), "denied"),
                (bash("git --version"), "ran"),
                (bash("true"), "asked bash true"),
                (write("docs/b.md"), "ran"),
                (write("docs/private/b.md"), "denied"),
                (write("b.md"), "asked edit b.md"),
            ],
        ),
        (
            "by_absolute_paths",
            format!("read deny {work}/docs/*\n external_directory allow {}\n webfetch deny *", outside.display()),
            vec![
                (read(&absolute), "denied"),
                (read("a.txt"), "ran"),
                (read(elsewhere), "ran"),
                (fetch.clone(), "denied"),
            ],
        ),
        (
            "all_denied",
            "* deny *\n read allow *.txt".to_owned(),
            vec![(bash("true"), "denied"), (read("a.txt"), "ran"), (read("docs/a.md"), "denied")],
        ),
        (
            "all_allowed",
            "* allow *".to_owned(),
            vec![(read(".env"), "ran"), (read(elsewhere), "ran"), (bash("true"), "ran")],
        ),
    ];
    rig.agents(
        cases
            .iter()
            .map(|(name, text, _)| AgentDefinition {
                permission: rules(text),
                ..agent(name)
            })
            .collect(),
    );
    let running = rig.start().await;
    for (name, _, calls) in &cases {
        for (call, expected) in calls {
            assert_eq!(fate(&running, name, call).await, *expected, "{name}: {call}");
        }
    }
    // Denied is not hidden.
    let before = rig.asked().len();
    running.prompt("all_denied", &[]).await;
    let offered = rig.offered(before);
    assert!(
        ["bash", "edit", "webfetch", "lookup_order"]
            .iter()
            .all(|tool| offered.iter().any(|name| name == tool)),
        "{offered:?}"
    );
    running.server.stop(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn rules_of_the_folder_s_configuration_hold_where_the_agent_s_are_silent() {
    let mut rig = Rig::new().await;
    rig.write(
        "harnesses/opencode/opencode.json",
        r#"{ "permission": { "bash": { "*": "ask", "true": "deny" }, "read": "deny", "skill": "allow", "lookup_order": "deny" } }"#,
    );
    rig.write("a.txt", "x");
    rig.agents(vec![
        agent("silent"),
        AgentDefinition {
            permission: rules("bash allow false\n read allow *.txt"),
            ..agent("speaking")
        },
        AgentDefinition {
            tools: beeuni_manifest::ToolAccess::Except(vec!["bash".to_owned()]),
            ..agent("without")
        },
    ]);
    let running = rig.start().await;
    for (agent, call, expected) in [
        ("silent", bash("true"), "denied"),
        ("silent", bash("false"), "asked bash false"),
        ("silent", read("a.txt"), "denied"),
        ("speaking", bash("false"), "ran"),
        ("speaking", bash("true"), "denied"),
        ("speaking", read("a.txt"), "ran"),
    ] {
        assert_eq!(fate(&running, agent, &call).await, expected, "{agent}: {call}");
    }
    let before = rig.asked().len();
    running.prompt("without", &[]).await;
    let offered = rig.offered(before);
    assert!(!offered.contains(&"bash".to_owned()), "{offered:?}");
    assert!(
        offered.contains(&"lookup_order".to_owned()),
        "a hosted tool is the daemon's to refuse: {offered:?}"
    );
    running.server.stop(Duration::from_secs(5)).await;
}
