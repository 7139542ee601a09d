//! What a run prints where its output is no terminal.
use crate::model::Run;

#[test]
fn the_answer_alone_is_on_stdout() {
    let run = Run::new("return 'ok'");
    run.says("It is a shop.\n");
    let ran = run.run(&["What is this?"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "It is a shop.\n"), "{ran}");
    let facts = "custom/scripted · 1 step · 11 tokens in, 7 out · ";
    assert!(ran.stderr.contains(facts), "{ran}");
    assert!(ran.stderr.contains("Go on with: beeuni run --continue "), "{ran}");
    assert!(!ran.stderr.contains('\u{1b}'), "no colour in a pipe: {ran}");
    let messages = run.messages(0);
    assert_eq!(messages.last().unwrap()["content"], "What is this?");
    assert!(messages[0]["content"].as_str().unwrap().contains("You help."));
}

#[test]
fn what_the_model_says_before_its_calls_is_not_the_answer() {
    let run = Run::new("return 'found it'");
    let call = beeuni_gateway::testing::chunk(
        &serde_json::json!({ "tool_calls": [{ "index": 0, "id": "call_1", "type": "function",
            "function": { "name": "probe", "arguments": "{}" } }] }),
        None,
    );
    let text = beeuni_gateway::testing::chunk(&serde_json::json!({ "content": "Let me look." }), None);
    let end = beeuni_gateway::testing::chunk(&serde_json::json!({}), Some("tool_calls"));
    run.answers(beeuni_gateway::testing::Answer::events(&[text, call, end]));
    run.says("Here it is.");
    let ran = run.run(&["Find it"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Here it is.\n"), "{ran}");
    assert!(ran.stderr.contains("Let me look.\n▸ probe"), "{ran}");
}

#[test]
fn a_prompt_comes_from_words_an_option_or_standard_input() {
    let run = Run::new("return 'ok'");
    for _ in 0..4 {
        run.says("Yes.");
    }
    assert_eq!(run.run(&["two", "words"]).code, 0);
    assert_eq!(run.run(&["--prompt", "--dashes are fine"]).code, 0);
    for args in [&["--prompt", "-"][..], &["-"]] {
        let ran = run.shell.ran_with_input(&mut run.command(args), "from\nstdin\n");
        assert_eq!(ran.code, 0, "{ran}");
    }
    let prompts: Vec<String> = (0..4)
        .map(|at| run.messages(at).last().unwrap()["content"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        prompts,
        ["two words", "--dashes are fine", "from\nstdin", "from\nstdin"]
    );
}

#[test]
fn no_prompt_is_wrong_usage() {
    let run = Run::new("return 'ok'");
    insta::assert_snapshot!(run.run(&[]), @r#"
    exit 2
    ----- stderr
    error: there is no prompt
      hint: e.g. beeuni run "What does this project do?"
      hint: `--prompt -` reads it from standard input
    "#);
    insta::assert_snapshot!(run.run(&["--prompt", " "]), @"
    exit 2
    ----- stderr
    error: the prompt is empty
    ");
    assert_eq!(run.run(&["words", "--prompt", "text"]).code, 2);
    assert_eq!(run.run(&["--on-ask", "maybe", "words"]).code, 2);
    assert_eq!(run.run(&["--harness", "another", "words"]).code, 2);
    assert!(run.asked().is_empty());
}

#[test]
fn outside_of_a_project_there_is_nothing_to_work_on() {
    let run = Run::new("return 'ok'");
    std::fs::remove_file(run.shell.path("beeuni.yaml")).unwrap();
    let ran = run.run(&["Hello"]);
    assert_eq!(ran.code, 2, "{ran}");
    assert!(ran.stderr.contains("`beeuni init` makes a new project"), "{ran}");
}

/// What a model says must not change the terminal's title or move its cursor; a pipe gets it as it is.
#[test]
fn a_pipe_gets_the_answer_as_it_is() {
    let run = Run::new("return 'ok'");
    run.says("a\u{1b}[31mb");
    assert_eq!(run.run(&["Hello"]).stdout, "a\u{1b}[31mb\n");
}

#[test]
fn an_answer_that_was_cut_at_the_limit_is_exit_1() {
    let run = Run::new("return 'ok'");
    let text = beeuni_gateway::testing::chunk(&serde_json::json!({ "content": "The first half" }), None);
    let end = beeuni_gateway::testing::chunk(&serde_json::json!({}), Some("length"));
    run.answers(beeuni_gateway::testing::Answer::events(&[text, end]));
    let ran = run.run(&["Write a lot"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, "The first half\n"), "{ran}");
    assert!(
        ran.stderr
            .contains("error: the answer was cut at the model's output limit"),
        "{ran}"
    );
}

#[test]
fn a_filtered_answer_is_exit_1() {
    let run = Run::new("return 'ok'");
    let end = beeuni_gateway::testing::chunk(&serde_json::json!({}), Some("content_filter"));
    run.answers(beeuni_gateway::testing::Answer::events(&[end]));
    let ran = run.run(&["Hello"]);
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stderr.contains("error: the provider filtered the answer"), "{ran}");
}

#[test]
fn the_step_limit_ends_in_a_summary_and_says_so() {
    let run = Run::new("return 'again'");
    run.calls("probe", &serde_json::json!({}));
    run.says("One thing is done, one is not.");
    let ran = run.run(&["--steps", "1", "Work"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "One thing is done, one is not.\n"),
        "{ran}"
    );
    assert!(ran.stderr.contains("warning: the limit of "), "{ran}");
}

#[test]
fn the_step_limit_of_the_command_line_counts_before_the_agents_own() {
    let run = Run::with_agent("return 'again'", "steps: 1\n");
    let call = serde_json::json!({});
    run.calls("probe", &call).calls("probe", &call).says("That is all.");
    let ran = run.run(&["--steps", "9", "Work"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "That is all.\n"), "{ran}");
    assert!(!ran.stderr.contains("warning: "), "{ran}");
    run.calls("probe", &call).says("A summary.");
    let ran = run.run(&["Work"]);
    assert_eq!((ran.code, run.asked().len()), (0, 5), "{ran}");
    assert!(ran.stderr.contains("warning: the limit of "), "{ran}");
}
