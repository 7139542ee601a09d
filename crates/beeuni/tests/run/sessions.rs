//! Where sessions are kept, and going on with one.
use std::os::unix::fs::PermissionsExt as _;

use crate::model::Run;
use crate::support::Ran;

/// The id in the line that says how to go on.
fn id(ran: &Ran) -> String {
    let line = ran.stderr.lines().find(|line| line.contains("--continue ")).unwrap();
    line.split_whitespace().last().unwrap().to_owned()
}

/// The texts of the request number `at`, with who said them.
fn conversation(run: &Run, at: usize) -> Vec<(String, String)> {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let messages = run.messages(at);
    messages
        .iter()
        .skip(1)
        .map(|message| (text(&message["role"]), text(&message["content"])))
        .collect()
}

fn said(role: &str, text: &str) -> (String, String) {
    (role.to_owned(), text.to_owned())
}

#[test]
fn a_session_that_goes_on_remembers_its_turns() {
    let run = Run::new("return 'ok'");
    for text in ["One.", "Two.", "Three.", "Four."] {
        run.says(text);
    }
    let first = id(&run.run(&["First"]));
    let second = id(&run.run(&["--continue", &first, "Second"]));
    assert_eq!(first, second);
    let expected = [said("user", "First"), said("assistant", "One."), said("user", "Second")];
    assert_eq!(conversation(&run, 1), expected);
    // A new one knows nothing of it, and is the last one then.
    let other = id(&run.run(&["Third"]));
    assert_ne!(other, first);
    assert_eq!(conversation(&run, 2), [said("user", "Third")]);
    assert_eq!(id(&run.run(&["--continue", "--prompt", "Fourth"])), other);
    assert_eq!(conversation(&run, 3).len(), 3);
}

#[test]
fn an_id_may_be_shortened_and_words_after_continue_are_the_prompt() {
    let run = Run::new("return 'ok'");
    run.says("One.").says("Two.").says("Three.");
    let first = id(&run.run(&["First"]));
    assert_eq!(id(&run.run(&["--continue", &first[..8], "Second"])), first);
    assert_eq!(id(&run.run(&["--continue", "and now the third"])), first);
    assert_eq!(conversation(&run, 2).last().unwrap().1, "and now the third");
}

#[test]
fn a_session_that_is_not_there_is_wrong_usage() {
    let run = Run::new("return 'ok'");
    insta::assert_snapshot!(run.run(&["--continue", "--prompt", "Hello"]), @"
    exit 2
    ----- stderr
    error: this checkout has no session to continue
      hint: leave out --continue: the first run makes one
    ");
    insta::assert_snapshot!(run.run(&["--continue", "0190", "Hello"]), @"
    exit 2
    ----- stderr
    error: this checkout has no session 0190
      hint: `--continue` alone continues the last one: write a prompt before it, or in quotes behind it
    ");
    assert!(run.asked().is_empty());
}

#[test]
fn sessions_are_the_users_own_and_not_in_the_checkout() {
    let run = Run::new("return 'ok'");
    run.says("One.").says("Two.");
    let before = run.shell.names();
    let first = id(&run.run(&["First"]));
    assert_eq!(run.shell.names(), before, "the checkout is as it was");
    let projects = run.shell.root().join("home/.local/state/beeuni/projects");
    let folder = std::fs::read_dir(&projects).unwrap().next().unwrap().unwrap().path();
    assert!(
        folder.file_name().unwrap().to_str().unwrap().starts_with("project-"),
        "{folder:?}"
    );
    assert!(folder.join("sessions").join(&first).join("log.jsonl").exists());
    for private in [&projects, &folder, &folder.join("sessions")] {
        let mode = std::fs::metadata(private).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{}", private.display());
    }
    let state = run.shell.root().join("elsewhere");
    let ran = run.run(&["--state", state.to_str().unwrap(), "Second"]);
    assert!(
        state.join("sessions").join(id(&ran)).join("log.jsonl").exists(),
        "{ran}"
    );
}

#[test]
fn two_runs_at_once_have_sessions_of_their_own() {
    let run = Run::new("return 'ok'");
    run.says("Yes.").says("Yes.");
    let children = [run.start(&["First"]), run.start(&["Second"])];
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[test]
fn a_session_keeps_its_agent() {
    let run = Run::new("return 'ok'");
    run.shell.write(
        "beeuni.yaml",
        "beeuni_version: 2\ndefault_agent: beeuni\ntools: { probe: tools/probe.ts }\nagents: { beeuni: {}, other: {} }\n",
    );
    run.shell.write(
        "agents/other.md",
        "---\ndescription: Another.\n---\nYou are the other one.\n",
    );
    run.says("One.").says("Two.");
    assert_eq!(run.run(&["--agent", "other", "First"]).code, 0);
    assert_eq!(run.run(&["--continue", "--prompt", "Second"]).code, 0);
    let system = run.messages(1)[0]["content"].clone();
    assert!(system.as_str().unwrap().contains("You are the other one."), "{system}");
    insta::assert_snapshot!(run.run(&["--agent", "othr", "Hello"]), @"
    exit 2
    ----- stderr
    error: no agent named othr
      hint: did you mean `other`?
      hint: the agents of this project are beeuni, other
    ");
}

#[test]
fn a_session_that_runs_already_is_told() {
    let run = Run::new("console.log('started'); await new Promise(() => setTimeout(() => {}, 1e9))");
    run.calls("probe", &serde_json::json!({}));
    let mut child = run.start(&["First"]);
    run.until_asked(1);
    let ran = run.run(&["--continue", "--prompt", "Second"]);
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stderr.contains("in use by another process"), "{ran}");
    crate::model::signal(&child, "-TERM");
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

#[test]
fn with_several_agents_and_no_default_one_is_to_be_named() {
    let run = Run::new("return 'ok'");
    run.shell.write(
        "beeuni.yaml",
        "beeuni_version: 2\ntools: []\nagents: { one: {}, two: {} }\n",
    );
    for agent in ["one", "two"] {
        run.shell.write(
            &format!("agents/{agent}.md"),
            "---\ndescription: An agent.\n---\nYou help.\n",
        );
    }
    let ran = run.run(&["Hello"]);
    assert_eq!(ran.code, 2, "{ran}");
    assert!(ran.stderr.contains("choose one with --agent: one, two"), "{ran}");
    run.says("Yes.").says("Yes.");
    assert_eq!(run.run(&["--agent", "two", "Hello"]).code, 0);
}

#[test]
fn the_command_to_go_on_names_the_folders() {
    let run = Run::new("return 'ok'");
    run.says("Yes.").says("Again.");
    let mut command = run.command(&["-C", "project", "--state", "kept", "Hello"]);
    let ran = run.shell.ran(command.current_dir(run.shell.root()));
    let line = ran.stderr.lines().last().unwrap().to_owned();
    assert!(
        line.contains("Go on with: beeuni run -C project --state kept --continue "),
        "{ran}"
    );
    let id = line.split_whitespace().last().unwrap();
    let mut command = run.command(&["-C", "project", "--state", "kept", "--continue", id, "Hello"]);
    let ran = run.shell.ran(command.current_dir(run.shell.root()));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Again.\n"), "{ran}");
}
