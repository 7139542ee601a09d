//! Which tools an agent's model is offered (tools.md, section 8).
use beeuni_agent::{AgentDefinition, Skill};
use beeuni_manifest::{AgentMode, Grant, ToolAccess};
use serde_json::json;

use super::rig::{Rig, agent, call, hosted, outcomes};

const ALL: [&str; 13] = [
    "bash",
    "edit",
    "glob",
    "grep",
    "lookup_order",
    "memory",
    "question",
    "read",
    "skill",
    "task",
    "todowrite",
    "webfetch",
    "write",
];

fn only(names: &[&str]) -> ToolAccess {
    ToolAccess::Only(names.iter().map(|name| (*name).to_owned()).collect())
}

fn except(names: &[&str]) -> ToolAccess {
    ToolAccess::Except(names.iter().map(|name| (*name).to_owned()).collect())
}

fn without<'a>(names: &[&str]) -> Vec<&'a str> {
    ALL.into_iter().filter(|name| !names.contains(name)).collect()
}

#[tokio::test]
async fn a1_to_a6_each_kind_of_list_offers_what_it_says() {
    let cases: Vec<(&str, ToolAccess, Vec<&str>)> = vec![
        ("all", ToolAccess::All, ALL.to_vec()),
        ("none", ToolAccess::None, vec![]),
        (
            "listed",
            only(&["read", "grep", "memory", "lookup_order"]),
            vec!["grep", "lookup_order", "memory", "read"],
        ),
        ("nothing_listed", only(&[]), vec![]),
        // A6: one of the three shows all three; a model has either the first two or `apply_patch`.
        ("one_that_edits", only(&["apply_patch"]), vec!["edit", "write"]),
        (
            "excluded",
            except(&["bash", "task", "memory"]),
            without(&["bash", "task", "memory"]),
        ),
        ("excluded_writing", except(&["write"]), without(&["edit", "write"])),
        // A3: a list cannot add what the project does not load.
        ("not_loaded", only(&["show", "read"]), vec!["read"]),
        (
            "no_question",
            except(&["question", "skill"]),
            without(&["question", "skill"]),
        ),
    ];
    let mut rig = Rig::new().await;
    rig.given.tools.push(hosted("memory", r#"{"type":"object"}"#));
    rig.agents(
        cases
            .iter()
            .map(|(name, tools, _)| AgentDefinition {
                tools: tools.clone(),
                ..agent(name)
            })
            .collect(),
    );
    let running = rig.start().await;
    for (name, _, expected) in &cases {
        let before = rig.asked().len();
        running.prompt(name, &[]).await;
        assert_eq!(rig.offered(before), *expected, "agent {name}");
    }
    // The choice between `edit` with `write` and `apply_patch` is the model's kind, not the list's.
    let mut patching = rig.given.clone();
    patching.default_model = "tests/gpt-5".to_owned();
    assert_eq!(
        running.server.update(&patching).await.unwrap(),
        beeuni_opencode::server::Change::Dispose
    );
    running.server.dispose().await.unwrap();
    for (name, expected) in [
        ("one_that_edits", vec!["apply_patch"]),
        ("excluded_writing", without(&["edit", "write"])),
    ] {
        let before = rig.asked().len();
        running.prompt(name, &[]).await;
        assert_eq!(rig.offered(before), expected, "agent {name}");
        assert!(
            rig.asked()[before]["reasoning_effort"].is_null(),
            "how hard a model thinks is its own affair"
        );
    }
    running.server.stop(std::time::Duration::from_secs(5)).await;
}

#[tokio::test]
async fn a2_a_hidden_tool_is_refused_when_it_is_called_all_the_same() {
    let mut rig = Rig::new().await;
    rig.agents(vec![AgentDefinition {
        tools: only(&["read"]),
        ..agent("reader")
    }]);
    rig.answers(
        "lookup_order",
        beeuni_gateway::testing::Answer::json(200, &json!({"output": "found"})),
    );
    let running = rig.start().await;
    let steps = [
        call("lookup_order", &json!({"id": "1"})),
        call("bash", &json!({"command": "touch ran", "description": "x"})),
    ];
    let parts = running.prompt("reader", &steps).await;
    assert!(parts.iter().all(|part| part["tool"] == "invalid"), "{parts:#?}");
    assert!(outcomes(&parts)["invalid"].contains("unavailable tool"), "{parts:#?}");
    assert!(rig.calls().is_empty());
    assert!(!rig.place.checkout.join("ran").exists());
    running.server.stop(std::time::Duration::from_secs(5)).await;
}

#[tokio::test]
async fn a4_a_subagent_has_the_tools_of_its_own_list_and_may_not_ask() {
    let mut rig = Rig::new().await;
    rig.agents(vec![
        AgentDefinition {
            tools: only(&["task"]),
            mode: AgentMode::Primary,
            ..agent("lead")
        },
        AgentDefinition {
            tools: only(&["read", "lookup_order", "question"]),
            mode: AgentMode::Subagent,
            ..agent("helper")
        },
        AgentDefinition {
            enabled: false,
            ..agent("retired")
        },
        AgentDefinition {
            mode: AgentMode::Primary,
            ..agent("chief")
        },
    ]);
    let running = rig.start().await;
    let order = |to: &str| json!({"description": "look", "prompt": "Look it up.", "subagent_type": to});
    let parts = running.prompt("lead", &[call("task", &order("helper"))]).await;
    assert!(outcomes(&parts)["task"].contains("All done."), "{parts:#?}");
    let asked = rig.asked();
    let says = |at: usize| asked[at]["messages"][0]["content"].as_str().unwrap().to_owned();
    assert_eq!(rig.offered(0), ["task"]);
    let description = asked[0]["tools"][0]["function"]["description"].as_str().unwrap();
    let startable: Vec<&str> = description
        .lines()
        .filter_map(|line| line.strip_prefix("- ")?.split_once(": ").map(|(name, _)| name))
        .filter(|name| !name.contains(' '))
        .collect();
    assert_eq!(startable, ["explore", "general", "helper"], "{description}");
    assert!(says(1).starts_with("You are helper."), "{}", says(1));
    assert_eq!(rig.offered(1), ["lookup_order", "read"]);
    // The two that every project has.
    for (name, offered) in [
        ("explore", vec!["glob", "grep", "read", "webfetch"]),
        (
            "general",
            vec![
                "bash",
                "edit",
                "glob",
                "grep",
                "lookup_order",
                "read",
                "skill",
                "todowrite",
                "webfetch",
                "write",
            ],
        ),
    ] {
        let before = rig.asked().len();
        running.prompt("lead", &[call("task", &order(name))]).await;
        assert_eq!(rig.offered(before + 1), offered, "{name}");
    }
    running.server.stop(std::time::Duration::from_secs(5)).await;
}

#[tokio::test]
async fn s9_skills_are_offered_as_they_are_granted() {
    let mut rig = Rig::new().await;
    rig.write(
        "skills/alpha/SKILL.md",
        "---\nname: alpha\ndescription: The first.\n---\nAlpha says so.\n",
    );
    rig.write(
        "skills/beta/SKILL.md",
        "---\ndescription: Without a name.\n---\nBeta says so.\n",
    );
    let skill = |name: &str, folder: Option<&str>| Skill {
        name: name.to_owned(),
        description: format!("About \"{name}\": a skill."),
        text: format!("{name} in full."),
        folder: folder.map(str::to_owned),
        files: Vec::new(),
    };
    rig.setup(|setup| {
        setup.skills = vec![
            skill("alpha", Some("skills/alpha")),
            skill("beeuni-memory", None),
            skill("beta", Some("skills/beta")),
        ];
    });
    rig.agents(vec![
        AgentDefinition {
            skills: Grant::Only(vec!["alpha".to_owned(), "beeuni-memory".to_owned()]),
            ..agent("some")
        },
        agent("every"),
        AgentDefinition {
            skills: Grant::None,
            ..agent("no")
        },
    ]);
    let running = rig.start().await;
    for (name, expected) in [
        ("some", vec!["alpha", "beeuni-memory"]),
        ("every", vec!["alpha", "beeuni-memory", "beta"]),
        ("no", vec![]),
    ] {
        let before = rig.asked().len();
        running.prompt(name, &[]).await;
        let system = rig.asked()[before]["messages"][0]["content"]
            .as_str()
            .unwrap()
            .to_owned();
        let listed: Vec<&str> = system
            .lines()
            .filter_map(|line| line.trim().strip_prefix("<name>")?.strip_suffix("</name>"))
            .collect();
        assert_eq!(listed, expected, "{name}");
        assert!(
            rig.offered(before).contains(&"skill".to_owned()),
            "{name}: it follows the list of tools"
        );
    }
    let steps =
        ["alpha", "beeuni-memory", "beta", "customize-opencode"].map(|name| call("skill", &json!({"name": name})));
    let parts = running.prompt("some", &steps).await;
    let said: Vec<String> = parts
        .iter()
        .map(|part| format!("{}{}", part["state"]["output"], part["state"]["error"]))
        .collect();
    assert!(
        said[0].contains("Alpha says so.") && said[0].contains("work/skills/alpha"),
        "{said:#?}"
    );
    assert!(said[1].contains("beeuni-memory in full."), "{said:#?}");
    assert!(
        said[2].contains("prevents you") && said[3].contains("prevents you"),
        "{said:#?}"
    );
    let parts = running
        .prompt("every", &[call("skill", &json!({"name": "beta"}))])
        .await;
    let said = parts[0]["state"]["output"].to_string();
    assert!(
        said.contains("beta in full.") && said.contains("work/skills/beta"),
        "{said}"
    );
    running.server.stop(std::time::Duration::from_secs(5)).await;
}
