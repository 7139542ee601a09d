//! A run as a person sees it at a terminal, and what they are asked.
use beeuni_gateway::testing::{Answer, Gate};
use serde_json::json;

use crate::model::{Run, signal};
use crate::terminal::Terminal;

const ASKS: &str = "permission:\n  bash: ask\n";

fn touch(run: &Run, file: &str) {
    run.calls(
        "bash",
        &json!({ "command": format!("touch {file}"), "description": "Make a file" }),
    );
}

#[test]
fn text_shows_as_it_comes_with_colours_and_the_calls_between() {
    let run = Run::new("return 'found'");
    run.calls("probe", &json!({ "id": 7 }));
    let gate = Gate::closed();
    let answer = Answer::text("First second.");
    let middle = String::from_utf8_lossy(answer.body()).find("second").unwrap();
    run.answers(answer.hold_at(middle, &gate));
    let terminal = Terminal::start(run.command(&["Look"]));
    terminal.wait_for("First ");
    assert!(!terminal.screen().contains("second"), "{}", terminal.screen());
    gate.open();
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("\u{1b}[1mprobe\u{1b}[0m"), "{screen:?}");
    assert!(screen.contains("✓"), "{screen}");
    assert!(screen.contains("First second.\r\n"), "{screen:?}");
    assert_eq!(screen.matches("First second.").count(), 1, "{screen}");
}

#[test]
fn no_color_is_heeded_at_a_terminal() {
    let run = Run::new("return 'found'");
    run.calls("probe", &json!({})).says("Done.");
    let mut command = run.command(&["Look"]);
    command.env("NO_COLOR", "1");
    let (code, screen) = Terminal::start(command).end();
    assert_eq!(code, 0, "{screen}");
    assert!(!screen.contains("\u{1b}["), "{screen:?}");
}

/// What a model says must not change the terminal.
#[test]
fn control_characters_of_the_model_are_spelled_out() {
    let run = Run::new("return 'ok'");
    run.says("a\u{1b}]0;owned\u{7}b");
    let (_, screen) = Terminal::start(run.command(&["Hello"])).end();
    assert!(screen.contains("a\\u{1b}]0;owned\\u{7}b"), "{screen:?}");
}

#[test]
fn a_long_call_shows_how_long_it_has_been_running() {
    let run = Run::new("await new Promise((ok) => setTimeout(ok, 3000)); return 'slow'");
    run.calls("probe", &json!({})).says("Done.");
    let terminal = Terminal::start(run.command(&["Look"]));
    terminal.wait_for("  probe 2 s");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("\r\u{1b}[K"), "the line goes away: {screen:?}");
}

#[test]
fn yes_allows_one_call() {
    let run = Run::with_agent("return 'ok'", ASKS);
    touch(&run, "one");
    touch(&run, "two");
    run.says("Done.");
    let mut terminal = Terminal::start(run.command(&["Work"]));
    terminal.wait_for("touch one");
    terminal.wait_for("[y] yes, once  [a] always  [n] no: ");
    assert!(!run.shell.path("one").exists());
    terminal.types("what?\ny\n");
    terminal.wait_for("touch two");
    assert!(run.shell.path("one").exists());
    terminal.types("y\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert!(run.shell.path("two").exists(), "{screen}");
}

#[test]
fn always_shows_its_pattern_and_does_not_ask_again() {
    let run = Run::with_agent("return 'ok'", ASKS);
    touch(&run, "one");
    touch(&run, "two");
    run.says("Done.");
    let mut terminal = Terminal::start(run.command(&["Work"]));
    terminal.wait_for("always would allow for this session: bash: touch *");
    terminal.types("a\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert_eq!(screen.matches("[y] yes").count(), 1, "{screen}");
    assert!(run.shell.path("two").exists(), "{screen}");
}

#[test]
fn no_with_a_word_goes_on_and_without_stops() {
    let run = Run::with_agent("return 'ok'", ASKS);
    touch(&run, "one");
    run.says("I did nothing.");
    let mut terminal = Terminal::start(run.command(&["Work"]));
    terminal.wait_for("[n] no: ");
    terminal.types("n\n");
    terminal.wait_for("What should it do instead?");
    terminal.types("do nothing\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    let told = run.messages(1).last().unwrap()["content"].clone();
    assert!(told.as_str().unwrap().contains("do nothing"), "{told}");

    touch(&run, "one");
    let mut terminal = Terminal::start(run.command(&["Work"]));
    terminal.wait_for("[n] no: ");
    terminal.types("n\n");
    terminal.wait_for("What should it do instead?");
    terminal.types("\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, 3, "{screen}");
    assert!(!run.shell.path("one").exists());
}

#[test]
fn the_end_of_input_is_no_consent() {
    let run = Run::with_agent("return 'ok'", ASKS);
    touch(&run, "one");
    let mut terminal = Terminal::start(run.command(&["Work"]));
    terminal.wait_for("[n] no: ");
    terminal.types("\u{4}");
    let (code, screen) = terminal.end();
    assert_eq!(code, 3, "{screen}");
    assert!(!run.shell.path("one").exists());
}

#[test]
fn an_interrupt_at_a_question_stops_the_turn() {
    let run = Run::with_agent("return 'ok'", ASKS);
    touch(&run, "one");
    let terminal = Terminal::start(run.command(&["Work"]));
    terminal.wait_for("[n] no: ");
    signal(&terminal.child, "-INT");
    let (code, screen) = terminal.end();
    assert_eq!(code, 130, "{screen}");
    assert!(!run.shell.path("one").exists());
}

#[test]
fn questions_are_answered_by_number_or_in_words() {
    let run = Run::new("return 'ok'");
    let option = |label: &str| json!({ "label": label, "description": format!("about {label}") });
    run.calls(
        "question",
        &json!({ "questions": [
            { "question": "Which database?", "header": "Database", "options": [option("Postgres"), option("SQLite")] },
            { "question": "Which port?", "header": "Port", "options": [option("5432"), option("5433")] },
        ] }),
    );
    run.says("Fine.");
    let mut terminal = Terminal::start(run.command(&["Work"]));
    terminal.wait_for("Which database?");
    terminal.wait_for("an answer of your own (Enter: dismiss) ");
    terminal.types("2\n");
    terminal.wait_for("Which port?");
    terminal.types("one of yours\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("  2. SQLite"), "{screen}");
    let told = run.messages(1).last().unwrap()["content"].clone();
    let told = told.as_str().unwrap();
    assert!(told.contains("SQLite") && told.contains("one of yours"), "{told}");
}

/// `--on-ask` is an order: nobody is asked, also at a terminal.
#[test]
fn an_order_for_asking_holds_at_a_terminal() {
    let run = Run::with_agent("return 'ok'", ASKS);
    touch(&run, "one");
    let (code, screen) = Terminal::start(run.command(&["--on-ask", "fail", "Work"])).end();
    assert_eq!(code, 3, "{screen}");
    assert!(!screen.contains("[y] yes"), "{screen}");
}

/// The answer goes where standard output goes, and a person is still asked.
#[test]
fn an_answer_in_a_file_leaves_the_calls_on_the_terminal() {
    let run = Run::with_agent("return 'ok'", ASKS);
    touch(&run, "one");
    run.says("Done.");
    let mut command = run.shell.bare("sh");
    let inner = run.command(&["Work"]);
    for (name, value) in inner.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    command
        .arg("-c")
        .arg("\"$BEEUNI\" run Work > answer")
        .env("BEEUNI", env!("CARGO_BIN_EXE_beeuni"));
    let mut terminal = Terminal::start(command);
    terminal.wait_for("[n] no: ");
    terminal.types("y\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, 0, "{screen}");
    assert_eq!(run.shell.read("answer"), "Done.\n");
    assert!(screen.contains("bash"), "{screen}");
}
