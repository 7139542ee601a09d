//! Providers of a run: what the model is asked with, what goes wrong, and the stand-in.
use beeuni_gateway::testing::{Answer, chunk};
use serde_json::json;

use crate::model::{KEY, Run};

#[test]
fn the_key_goes_to_the_provider_and_shows_nowhere() {
    let run = Run::new("return 'ok'");
    run.answers(Answer::json(
        401,
        &json!({ "error": { "message": format!("Incorrect key {KEY}"), "code": "invalid_api_key" } }),
    ));
    let ran = run.run(&["Hello"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran}");
    assert_eq!(run.asked()[0].header("authorization"), format!("Bearer {KEY}"));
    assert!(ran.stderr.contains("error: ") && ran.stderr.contains("401"), "{ran}");
    assert!(
        ran.stderr.contains("BEEUNI_LLM_API_KEY"),
        "it names the variable: {ran}"
    );
    assert!(!format!("{ran}").contains(KEY), "{ran}");
    let transcript = run
        .shell
        .sh("cat home/.local/state/beeuni/projects/*/sessions/*/log.jsonl 2>/dev/null");
    assert!(!transcript.stdout.contains(KEY));
}

#[test]
fn a_provider_that_fails_is_tried_again_and_then_told() {
    let run = Run::new("return 'ok'");
    for _ in 0..2 {
        run.answers(Answer::json(500, &json!({ "error": { "message": "overloaded" } })).header("retry-after", "0"));
    }
    run.says("Here I am.");
    let ran = run.run(&["Hello"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str(), run.asked().len()),
        (0, "Here I am.\n", 3),
        "{ran}"
    );
    for _ in 0..4 {
        run.answers(Answer::json(500, &json!({ "error": { "message": "overloaded" } })).header("retry-after", "0"));
    }
    let ran = run.run(&["Hello"]);
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stderr.contains("500") && ran.stderr.contains("overloaded"), "{ran}");
}

#[test]
fn a_cut_stream_is_an_error_and_keeps_what_came() {
    let run = Run::new("return 'ok'");
    let answer = Answer::events(&[chunk(&json!({ "content": "The first half" }), None)]);
    let whole = answer.body().len();
    run.answers(answer.cut_at(whole - "data: [DONE]\n\n".len()));
    let ran = run.run(&["Hello"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, "The first half\n"), "{ran}");
    assert!(ran.stderr.contains("error: "), "{ran}");
}

#[test]
fn a_provider_that_is_not_there_is_told_with_its_address() {
    let run = Run::new("return 'ok'");
    let mut command = run.command(&["Hello"]);
    let ran = run
        .shell
        .ran(command.env("BEEUNI_LLM_BASE_URL", "http://127.0.0.1:1/v1"));
    assert_eq!(ran.code, 1, "{ran}");
    assert!(ran.stderr.contains("custom"), "{ran}");
}

#[test]
fn a_model_of_no_provider_is_wrong_usage() {
    let run = Run::new("return 'ok'");
    let ran = run.run(&["--model", "nowhere/model", "Hello"]);
    assert_eq!(ran.code, 2, "{ran}");
    assert!(ran.stderr.contains("nowhere"), "{ran}");
    assert!(ran.stderr.contains("`beeuni models`"), "{ran}");
}

#[test]
fn the_model_of_the_command_line_comes_first() {
    let run = Run::with_agent("return 'ok'", "model: custom/of-the-agent\n");
    run.says("Yes.").says("Yes.");
    assert_eq!(run.run(&["Hello"]).code, 0);
    assert_eq!(run.run(&["--model", "custom/of-the-line", "Hello"]).code, 0);
    let models: Vec<_> = run
        .asked()
        .iter()
        .map(|request| request.json()["model"].clone())
        .collect();
    assert_eq!(models, ["of-the-agent", "of-the-line"]);
}

/// The issue's own example: no key, no network, one call.
#[test]
fn with_no_provider_the_rehearsal_model_answers_and_says_so() {
    let run = Run::new("return 'status: in transit, order ' + args.id");
    run.shell.write(
        "tools/probe.ts",
        run.shell
            .read("tools/probe.ts")
            .replace("properties: {}", "properties: { id: { type: 'string' } }"),
    );
    let prompt = "Call the probe tool once with id A-1042 and print its output.";
    let ran = run.shell.ran(&mut run.bare(&["run", "--prompt", prompt]));
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stdout.contains("status: in transit, order A-1042"), "{ran}");
    assert_eq!(ran.stderr.matches("✓ probe").count(), 1, "{ran}");
    for said in [
        "note: No model provider is set up.",
        "beeuni/rehearsal",
        "not a language model",
        "OPENAI_API_KEY",
    ] {
        assert!(ran.stderr.contains(said), "{said}: {ran}");
    }
    let ran = run.shell.ran(&mut run.bare(&["run", "--json", "--prompt", prompt]));
    let (_, last) = Run::events(&ran);
    assert_eq!(last["model"], "beeuni/rehearsal");
    assert!(ran.stderr.contains("note: "), "{ran}");
}

#[test]
fn a_rehearsal_that_was_asked_for_is_told_in_a_word() {
    let run = Run::new("return 'ok'");
    let ran = run.run(&[
        "--model",
        "beeuni/rehearsal",
        "Call the probe tool once and print its output.",
    ]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(
        ran.stderr
            .contains("note: beeuni/rehearsal answers: a built-in stand-in"),
        "{ran}"
    );
    assert!(run.asked().is_empty());
}

#[test]
fn models_are_listed_with_the_default() {
    let run = Run::new("return 'ok'");
    run.lists(Answer::json(
        200,
        &json!({ "data": [{ "id": "scripted", "context_length": 32_768 }, { "id": "other" }] }),
    ));
    let mut command = run.bare(&["models", "--color", "never"]);
    let url = run
        .command(&[])
        .get_envs()
        .find(|(name, _)| *name == "BEEUNI_LLM_BASE_URL")
        .unwrap()
        .1
        .unwrap()
        .to_owned();
    command
        .env("BEEUNI_LLM_BASE_URL", &url)
        .env("BEEUNI_MODEL", "custom/scripted");
    let ran = run.shell.ran(&mut command);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stdout.contains("* custom/scripted   32,768 tokens\n"), "{ran}");
    assert!(
        ran.stdout
            .contains("  beeuni/rehearsal  a built-in stand-in, not a language model\n"),
        "{ran}"
    );
    let mut command = run.bare(&["models", "--json"]);
    let json = run.shell.ran(command.env("BEEUNI_LLM_BASE_URL", &url)).json();
    assert_eq!(
        json["default"],
        json!({ "id": "custom/scripted", "source": "provider" })
    );
    assert_eq!(json["models"][0]["context_window"], 32_768);
    assert_eq!(json["problems"], json!([]));
}

#[test]
fn models_say_plainly_that_there_are_none() {
    let run = Run::new("return 'ok'");
    let ran = run.shell.ran(&mut run.bare(&["models"]));
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stdout.contains("* beeuni/rehearsal"), "{ran}");
    assert!(ran.stderr.contains("note: No model provider is set up."), "{ran}");
}

#[test]
fn a_provider_that_cannot_list_its_models_is_told_without_its_key() {
    let run = Run::new("return 'ok'");
    run.lists(Answer::json(
        401,
        &json!({ "error": { "message": format!("bad key {KEY}") } }),
    ));
    let mut command = run.command(&[]);
    let url = command
        .get_envs()
        .find(|(name, _)| *name == "BEEUNI_LLM_BASE_URL")
        .unwrap()
        .1
        .unwrap()
        .to_owned();
    command = run.bare(&["models"]);
    let ran = run
        .shell
        .ran(command.env("BEEUNI_LLM_BASE_URL", url).env("BEEUNI_LLM_API_KEY", KEY));
    assert!(ran.stderr.contains("warning: ") && ran.stderr.contains("401"), "{ran}");
    assert!(!format!("{ran}").contains(KEY), "{ran}");
}

#[test]
fn doctor_names_the_providers_and_no_key() {
    let run = Run::new("return 'ok'");
    let line = |ran: &crate::support::Ran| {
        ran.stdout
            .lines()
            .find(|line| line.contains(" models "))
            .unwrap()
            .to_owned()
    };
    let mut command = run.bare(&["doctor"]);
    let ran = run.shell.ran(
        command
            .env("OPENAI_API_KEY", KEY)
            .env("BEEUNI_LLM_BASE_URL", "http://127.0.0.1:1"),
    );
    assert!(line(&ran).starts_with("ok "), "{ran}");
    assert!(line(&ran).ends_with("custom, openai (OPENAI_API_KEY)"), "{ran}");
    assert!(!format!("{ran}").contains(KEY), "{ran}");
    let ran = run.shell.ran(&mut run.bare(&["doctor"]));
    assert!(line(&ran).starts_with("missing "), "{ran}");
    let mut command = run.bare(&["doctor"]);
    let ran = run.shell.ran(command.env("BEEUNI_MODEL", "openai/gpt"));
    assert!(
        line(&ran).contains("BEEUNI_MODEL is openai/gpt, and that provider is not set up"),
        "{ran}"
    );
}
