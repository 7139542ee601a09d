//! Permissions and questions of a run where nobody is at a terminal.
use serde_json::json;

use crate::model::Run;

/// An agent that has to ask before it runs a command.
const ASKS: &str = "permission:\n  bash: ask\n";

fn bash(run: &Run) -> &Run {
    run.calls(
        "bash",
        &json!({ "command": "touch made", "description": "Make a file" }),
    )
}

#[test]
fn where_nobody_can_be_asked_a_permission_is_exit_3() {
    let run = Run::with_agent("return 'ok'", ASKS);
    for args in [&["Work"][..], &["--on-ask", "fail", "Work"]] {
        bash(&run);
        let ran = run.run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{ran}");
        assert!(
            ran.stderr.contains("error: bash needs a permission: touch made"),
            "{ran}"
        );
        assert!(ran.stderr.contains("--on-ask allow"), "{ran}");
        assert!(!run.shell.path("made").exists());
    }
    bash(&run);
    let ran = run.run(&["--json", "Work"]);
    let (_, last) = Run::events(&ran);
    assert_eq!(
        (ran.code, &last["outcome"], &last["error"]["kind"]),
        (3, &json!("blocked"), &json!("blocked")),
        "{ran}"
    );
}

#[test]
fn deny_lets_the_model_go_on_without() {
    let run = Run::with_agent("return 'ok'", ASKS);
    bash(&run).says("Then not.");
    let ran = run.run(&["--on-ask", "deny", "Work"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Then not.\n"), "{ran}");
    assert!(!run.shell.path("made").exists());
    let told = run.messages(1).last().unwrap()["content"].clone();
    assert!(told.as_str().unwrap().contains("permission"), "{told}");
}

#[test]
fn allow_runs_what_asks_and_not_what_is_denied() {
    let run = Run::with_agent("return 'ok'", "permission:\n  bash:\n    '*': ask\n    'rm *': deny\n");
    run.shell.write("kept", "text");
    bash(&run);
    run.calls("bash", &json!({ "command": "rm kept", "description": "Remove a file" }))
        .says("Done.");
    let ran = run.run(&["--on-ask", "allow", "Work"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(
        run.shell.path("made").exists() && run.shell.path("kept").exists(),
        "{ran}"
    );
}

#[test]
fn a_question_that_nobody_answers_is_exit_3_with_the_question() {
    let run = Run::new("return 'ok'");
    run.calls(
        "question",
        &json!({ "questions": [{ "question": "Which database?", "header": "Database",
            "options": [{ "label": "Postgres", "description": "" }, { "label": "SQLite", "description": "" }] }] }),
    );
    let ran = run.run(&["Work"]);
    assert_eq!(ran.code, 3, "{ran}");
    assert!(ran.stderr.contains("Which database?"), "{ran}");
}
