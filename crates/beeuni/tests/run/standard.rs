//! A run on the standard harness: the real OpenCode, as a user and a program see it.
use serde_json::{Value, json};

use crate::model::{Run, signal, until};
use crate::support::Ran;
use crate::terminal::Terminal;

/// The id in the line that says how to go on.
fn id(ran: &Ran) -> String {
    let line = ran.stderr.lines().find(|line| line.contains("--continue ")).unwrap();
    line.split_whitespace().last().unwrap().to_owned()
}

/// Whether OpenCode has worked for this checkout's session.
fn has_used_opencode(run: &Run) -> bool {
    let found = run.shell.sh("ls -d $HOME/.local/state/beeuni/projects/*/opencode/*");
    !found.stdout.trim().is_empty()
}

#[test]
fn the_answer_goes_to_stdout_and_the_calls_to_stderr() {
    let run = Run::new("return 'in transit'");
    run.calls("probe", &json!({ "id": "A-1042" })).says("It is in transit.");
    let ran = run.run(&["--harness", "standard", "Where is it?"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "It is in transit.\n"), "{ran}");
    for part in [
        "▸ probe {\"id\":\"A-1042\"}",
        "✓ probe",
        "in transit",
        "custom/scripted · 2 steps",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {ran}");
    }
    assert!(has_used_opencode(&run));
    // Nothing of it is in the checkout.
    let files = run
        .shell
        .sh("find . -name '.opencode' -o -name 'opencode*' -o -name node_modules")
        .stdout;
    assert!(
        !files.contains("opencode.json") && !files.contains("/.opencode"),
        "{files}"
    );
}

#[test]
fn json_lines_are_the_same_events_as_on_the_other_harness() {
    let run = Run::new("return 'ok'");
    let kinds = |harness: &str| {
        run.calls("probe", &json!({})).says("Done.");
        let ran = run.run(&["--harness", harness, "--json", "Work"]);
        assert_eq!(ran.code, 0, "{ran}");
        let (events, last) = Run::events(&ran);
        assert_eq!(
            (
                &last["outcome"],
                &last["answer"],
                &last["steps"],
                &last["agent"],
                &last["model"]
            ),
            (
                &json!("done"),
                &json!("Done."),
                &json!(2),
                &json!("beeuni"),
                &json!("custom/scripted")
            ),
            "{ran}"
        );
        // How often a part is told of while it grows is the harness's own.
        let mut kinds: Vec<Value> = events
            .iter()
            .map(|event| serde_json::to_value(event).unwrap()["type"].clone())
            .filter(|kind| kind != "part.delta" && kind != "part.updated" && kind != "message.updated")
            .collect();
        kinds.dedup();
        kinds
    };
    assert_eq!(kinds("standard"), kinds("experimental"));
}

#[test]
fn the_manifest_says_which_harness_where_it_says_one() {
    let run = Run::new("return 'ok'");
    run.says("One.");
    assert_eq!(run.run(&["First"]).code, 0);
    assert!(
        !has_used_opencode(&run),
        "without the key it is the one that starts at once"
    );
    let manifest = run.shell.read("beeuni.yaml");
    run.shell.write("beeuni.yaml", format!("{manifest}harness: standard\n"));
    run.says("Two.");
    assert_eq!(run.run(&["--harness", "experimental", "Second"]).code, 0);
    assert!(!has_used_opencode(&run), "the option comes first");
    run.says("Three.");
    let ran = run.run(&["Third"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Three.\n"), "{ran}");
    assert!(has_used_opencode(&run));
}

#[test]
fn what_the_projects_own_folder_replaces_or_cannot_load_is_told() {
    let run = Run::new("return 'hosted'");
    let own = "export default { description: 'Own.', args: {}, async execute() { return 'of the folder' } }\n";
    run.shell.write("harnesses/opencode/tools/probe.js", own);
    run.shell
        .write("harnesses/opencode/tools/broken.js", "throw new Error('not today')\n");
    run.calls("probe", &json!({})).says("Done.");
    let ran = run.run(&["--harness", "standard", "Go"]);
    assert_eq!(ran.code, 0, "{ran}");
    for part in [
        "probe of harnesses/opencode/tools/probe.js takes the place of the hosted tool of that name",
        "harnesses/opencode/tools/broken.js is left out: not today",
        "of the folder",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {ran}");
    }
}

#[test]
fn a_session_goes_on_with_either_harness() {
    let run = Run::new("return 'ok'");
    for text in ["One.", "Two.", "Three.", "Four."] {
        run.says(text);
    }
    let first = id(&run.run(&["--harness", "experimental", "The word is heron."]));
    for harness in ["standard", "standard", "experimental"] {
        let ran = run.run(&["--harness", harness, "--continue", &first, "Which word?"]);
        assert_eq!((ran.code, id(&ran)), (0, first.clone()), "{harness}: {ran}");
    }
    for at in 1..4 {
        let messages = Value::from(run.messages(at)).to_string();
        assert!(messages.contains("The word is heron."), "request {at}: {messages}");
        assert_eq!(messages.matches("Which word?").count(), at, "request {at}: {messages}");
    }
}

#[test]
fn two_runs_of_one_checkout_do_not_disturb_each_other() {
    let run = Run::new(
        "const fs = require('fs'); fs.writeFileSync('there-' + args.n, ''); while (!fs.existsSync('there-' + (3 - args.n))) await Bun.sleep(5); return 'met'",
    );
    run.calls("probe", &json!({ "n": 1 }));
    let first = run.start(&["--harness", "standard", "One"]);
    run.until_asked(1);
    run.calls("probe", &json!({ "n": 2 }));
    let second = run.start(&["--harness", "standard", "Two"]);
    run.until_asked(2);
    run.says("Done.").says("Done.");
    for child in [first, second] {
        let out = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(
            (out.status.code(), String::from_utf8_lossy(&out.stdout).into_owned()),
            (Some(0), "Done.\n".to_owned()),
            "{said}"
        );
    }
}

#[test]
fn where_nobody_can_be_asked_a_hosted_tools_permission_is_exit_3() {
    let run = Run::with_agent("return 'ok'", "permission:\n  probe: ask\n");
    run.calls("probe", &json!({}));
    let ran = run.run(&["--harness", "standard", "Work"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{ran}");
    assert!(ran.stderr.contains("error: probe needs a permission"), "{ran}");
    run.calls("probe", &json!({})).says("Then not.");
    let ran = run.run(&["--harness", "standard", "--on-ask", "deny", "Work"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Then not.\n"), "{ran}");
    run.calls("probe", &json!({})).says("Done.");
    let ran = run.run(&["--harness", "standard", "--on-ask", "allow", "Work"]);
    assert!(ran.code == 0 && ran.stderr.contains("✓ probe"), "{ran}");
}

#[test]
fn the_step_limit_of_the_command_line_counts() {
    let run = Run::with_agent("return 'again'", "steps: 9\n");
    run.calls("probe", &json!({})).says("One thing is done, one is not.");
    let ran = run.run(&["--harness", "standard", "--steps", "1", "Work"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str(), run.asked().len()),
        (0, "One thing is done, one is not.\n", 2),
        "{ran}"
    );
    assert!(ran.stderr.contains("warning: the limit of "), "{ran}");
}

#[test]
fn the_first_interrupt_stops_the_turn_and_nothing_is_left() {
    let run = Run::new(
        "console.log('started'); await new Promise<void>((ok) => context.signal.addEventListener('abort', () => { require('fs').writeFileSync(context.directory + '/stopped', 'yes'); ok() })); return 'late'",
    );
    run.calls("probe", &json!({}));
    let terminal = Terminal::start(run.command(&["--harness", "standard", "Work"]));
    terminal.wait_for("Starting OpenCode");
    terminal.wait_for("started");
    signal(&terminal.child, "-INT");
    let (code, screen) = terminal.end();
    assert_eq!(code, 130, "{screen}");
    assert!(
        screen.contains("Stopping the turn.") && screen.contains("stopped after"),
        "{screen}"
    );
    assert_eq!(run.shell.read("stopped"), "yes");
    let home = run.shell.path("home").display().to_string();
    until("every process of the run to be gone", || {
        let left = run
            .shell
            .sh("cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep '^XDG_DATA_HOME='");
        (!left.stdout.contains(&home)).then_some(())
    });
    run.says("Where were we?");
    let ran = run.run(&["--harness", "standard", "--continue", "--prompt", "Go on"]);
    assert_eq!(ran.code, 0, "{ran}");
}

#[test]
fn an_interrupt_while_opencode_starts_ends_the_run() {
    let run = Run::new("return 'ok'");
    let terminal = Terminal::start(run.command(&["--harness", "standard", "Work"]));
    terminal.wait_for("Starting OpenCode");
    signal(&terminal.child, "-INT");
    let (code, screen) = terminal.end();
    assert_eq!(code, 130, "{screen}");
    assert!(screen.contains("Stopped before the turn began."), "{screen}");
    assert!(run.asked().is_empty());
}

#[test]
fn a_missing_opencode_names_the_command_that_installs_it() {
    let run = Run::new("return 'ok'");
    let mut command = run.command(&["--harness", "standard", "Work"]);
    command.env("BEEUNI_OPENCODE", "/nonexistent/opencode");
    let ran = run.shell.ran(&mut command);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran}");
    assert!(
        ran.stderr.contains("error: OpenCode was not found") && ran.stderr.contains("`beeuni setup`"),
        "{ran}"
    );
}

#[test]
fn a_person_at_the_terminal_is_asked_about_hosted_tools_and_opencodes_own() {
    let run = Run::with_agent("return 'found'", "permission:\n  probe: ask\n  bash: ask\n");
    let command = json!({ "command": "touch made", "description": "Make a file" });
    run.calls("probe", &json!({})).calls("bash", &command).says("Done.");
    let mut terminal = Terminal::start(run.command(&["--harness", "standard", "Work"]));
    terminal.wait_for("probe asks for permission");
    terminal.types("y\n");
    terminal.wait_for("bash asks for permission");
    assert!(!run.shell.path("made").exists());
    terminal.types("y\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("touch made") && screen.contains("Done."), "{screen}");
    assert!(run.shell.path("made").exists());
}
