//! What a project declares becomes what a session works with.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod support;

use beeuni_agent::harness_tools::Skills;
use beeuni_agent::{Setup, SkillShelf};
use beeuni_gateway::testing::Answer;
use beeuni_manifest::{AgentMode, Folder, Grant, PermissionAction, Severity};
use support::{Rig, rig, say};

fn read(rig: &Rig) -> (Setup, Vec<beeuni_manifest::Issue>) {
    let tree = Folder::new(rig.project());
    let loaded = beeuni_manifest::load(&tree, "beeuni.yaml");
    assert!(loaded.is_valid(), "{:?}", loaded.issues);
    Setup::read(&loaded.manifest.unwrap(), &tree)
}

#[tokio::test]
async fn a_project_is_read_with_its_agents_tools_and_skills() {
    let rig = rig().await;
    rig.write(
        "beeuni.yaml",
        "beeuni_version: 2\ndefault_agent: beeuni\ntools: { show: beeuni:show }\nagents:\n  beeuni: { skills: all }\n  \
         helper: { skills: [beeuni-memory], enabled: false }\n",
    );
    rig.write(
        "agents/beeuni.md",
        "---\ndescription: Does things\nmode: primary\nmodel: openai/gpt-5\ntemperature: 0.5\nsteps: 7\npermission:\n  \
         bash: ask\n---\n\nYou are it.\n",
    );
    rig.write("agents/helper.md", "No frontmatter.");
    rig.write(
        "skills/notes/SKILL.md",
        "---\nname: notes\ndescription: >\n  How to write\n  notes.\n---\n\n# Notes\n",
    );
    rig.write("skills/notes/templates/a.md", "a");
    rig.write("skills/README.md", "no skill");
    rig.write("skills/empty/SKILL.md", "nothing said");
    let (setup, issues) = read(&rig);
    let beeuni = setup.agent("beeuni").unwrap();
    assert_eq!(
        (beeuni.mode, beeuni.steps, beeuni.prompt.as_str()),
        (AgentMode::Primary, Some(7), "You are it.")
    );
    assert_eq!(beeuni.permission[0].action, PermissionAction::Ask);
    let helper = setup.agent("helper").unwrap();
    assert_eq!((helper.mode, helper.enabled), (AgentMode::All, false));
    assert_eq!(setup.tools.len(), 1);
    let names: Vec<&str> = setup.skills.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(names, ["beeuni-memory", "beeuni-tools", "notes"]);
    let notes = &setup.skills[2];
    assert_eq!(
        (notes.description.as_str(), notes.text.as_str()),
        ("How to write notes.", "# Notes")
    );
    assert_eq!(notes.files, ["templates/a.md"]);
    assert_eq!(issues.len(), 1);
    assert_eq!(
        (issues[0].severity, issues[0].place.file.as_str()),
        (Severity::Warning, "skills/empty/SKILL.md")
    );
    assert!(
        issues[0].message.contains("`empty` is left out"),
        "{}",
        issues[0].message
    );
}

#[tokio::test]
async fn s9_a_skill_that_names_a_removed_tool_still_loads() {
    let rig = rig().await;
    rig.write(
        "beeuni.yaml",
        "beeuni_version: 2\ntools: {}\nagents:\n  beeuni: { skills: all }\n",
    );
    rig.write("agents/beeuni.md", "You are it.");
    let (setup, _) = read(&rig);
    assert!(setup.tools.is_empty());
    let text = &setup
        .skills
        .iter()
        .find(|skill| skill.name == "beeuni-memory")
        .unwrap()
        .text;
    assert!(
        text.contains("If you have no such tool") && text.contains("`memory/MEMORY.md`"),
        "{text}"
    );
}

#[tokio::test]
async fn the_prompt_lists_the_skills_that_the_agent_may_load() {
    let mut rig = rig().await;
    rig.write("beeuni.yaml", "beeuni_version: 2\nagents:\n  beeuni: { skills: all }\n");
    rig.write("agents/beeuni.md", "You are it.");
    rig.setup.skills = read(&rig).0.skills;
    for (grant, listed, hidden) in [
        (Grant::All, vec!["beeuni-memory", "beeuni-tools"], vec![]),
        (
            Grant::Only(vec!["beeuni-tools".to_owned()]),
            vec!["beeuni-tools"],
            vec!["beeuni-memory"],
        ),
        (Grant::None, vec![], vec!["<skills>", "beeuni-memory"]),
    ] {
        rig.agent("beeuni").skills = grant;
        rig.server.push(Answer::text("ok"));
        let session = rig.open();
        say(&session, "go").await;
        let system = rig.bodies().pop().unwrap()["messages"][0]["content"]
            .as_str()
            .unwrap()
            .to_owned();
        for name in listed {
            assert!(system.contains(&format!("- {name}: ")), "{system}");
        }
        for name in hidden {
            assert!(!system.contains(name), "{system}");
        }
        session.close().await;
    }
}

#[tokio::test]
async fn the_shelf_gives_an_agent_its_own_skills_and_follows_a_reload() {
    let mut rig = rig().await;
    rig.write("beeuni.yaml", "beeuni_version: 2\nagents:\n  beeuni: { skills: all }\n");
    rig.write("agents/beeuni.md", "You are it.");
    rig.write("skills/notes/SKILL.md", "---\ndescription: d\n---\nold");
    let shelf = SkillShelf::new(rig.project());
    let config = beeuni_agent::SessionConfig {
        skills: shelf.clone(),
        ..rig.config()
    };
    rig.setup.skills = read(&rig).0.skills;
    rig.agent("narrow").skills = Grant::Only(vec!["notes".to_owned()]);
    let session = beeuni_agent::Session::open(config, rig.setup.clone()).unwrap();
    assert_eq!(shelf.names("narrow"), ["notes"]);
    assert_eq!(shelf.names("nobody"), [""; 0]);
    let loaded = shelf.load("narrow", "notes").unwrap();
    assert_eq!(
        (loaded.text.as_str(), loaded.folder),
        ("old", rig.project().join("skills/notes"))
    );
    let refused = shelf.load("narrow", "beeuni-tools").unwrap_err();
    assert_eq!(refused, "There is no skill beeuni-tools. The skills are: notes");
    rig.write("skills/notes/SKILL.md", "---\ndescription: d\n---\nnew");
    rig.setup.skills = read(&rig).0.skills;
    session.reload(rig.setup.clone()).await.unwrap();
    assert_eq!(shelf.load("beeuni", "notes").unwrap().text, "new");
}
