//! Tool calls of a run: what the model gets, what a person sees, which secrets a tool sees.
use serde_json::json;

use crate::model::Run;

const PAGE: &str = "<html><head><title>Bees</title></head><body><article><h1>Bees</h1><p>Bees dance to tell where the flowers are.</p></article></body></html>";

/// The text of the tool's message in the request number `at`.
fn result(run: &Run, at: usize) -> String {
    let messages = run.messages(at);
    let message = messages.last().unwrap();
    assert_eq!(message["role"], "tool", "{message}");
    message["content"].as_str().unwrap().to_owned()
}

#[test]
fn a_call_makes_the_round_and_shows() {
    let run = Run::new("console.log('looking'); return 'in transit, ' + args.id");
    run.calls("probe", &json!({ "id": "A-1042" })).says("It is in transit.");
    let ran = run.run(&["Where is A-1042?"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "It is in transit.\n"), "{ran}");
    assert_eq!(result(&run, 1), "in transit, A-1042");
    let shown = "▸ probe {\"id\":\"A-1042\"}\n  │ looking\n✓ probe [TIME]\n  in transit, A-1042\n";
    assert!(ran.stderr.contains(shown), "{ran}");
}

#[test]
fn a_tools_error_reaches_the_model_and_the_turn_goes_on() {
    let run = Run::new("throw new Error('no such order: ' + args.id)");
    run.calls("probe", &json!({ "id": "A-9" }))
        .says("There is no such order.");
    let ran = run.run(&["Where is A-9?"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "There is no such order.\n"),
        "{ran}"
    );
    assert!(result(&run, 1).contains("no such order: A-9"));
    assert!(
        ran.stderr.contains("✗ probe failed after [TIME]\n  no such order: A-9"),
        "{ran}"
    );
}

#[test]
fn a_long_output_is_shortened_for_the_person_and_whole_for_the_model() {
    let run = Run::new("return Array.from({ length: 40 }, (_, i) => 'line ' + i).join('\\n')");
    run.calls("probe", &json!({})).says("Done.");
    let ran = run.run(&["Count"]);
    assert!(
        ran.stderr
            .contains("  line 4\n  … 35 more lines (the model reads them)\n"),
        "{ran}"
    );
    assert!(!ran.stderr.contains("line 5\n"), "{ran}");
    assert_eq!(result(&run, 1).lines().count(), 40);
}

#[test]
fn a_tool_that_is_not_there_fails_and_shows() {
    let run = Run::new("return 'ok'");
    run.calls("show", &json!({})).says("There is no such tool.");
    let ran = run.run(&["Show it"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(result(&run, 1), "Tool show not found");
    assert!(ran.stderr.contains("✗ show"), "{ran}");
}

#[test]
fn integers_above_2_to_the_53_arrive_unchanged() {
    let run = Run::new("return JSON.stringify(args)");
    let call = r#"{"id":7301444403212345679}"#;
    run.answers(beeuni_gateway::testing::Answer::tool_calls(&[(
        "call_1", "probe", call,
    )]))
    .says("Done.");
    let ran = run.run(&["Look"]);
    assert!(ran.stderr.contains(&format!("▸ probe {call}")), "{ran}");
    let history = run.messages(1);
    assert_eq!(
        history[history.len() - 2]["tool_calls"][0]["function"]["arguments"],
        call
    );
}

#[test]
fn a_tool_that_does_not_load_is_told_and_left_out() {
    let run = Run::new("return 'ok'");
    run.shell
        .write("tools/probe.ts", "export default { description: 'x' }\n");
    run.says("Hello.");
    let ran = run.run(&["Hello"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("warning: probe did not load: "), "{ran}");
    let tools = run.asked()[0].json()["tools"].clone();
    let names: Vec<&str> = tools
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"memory") && !names.contains(&"probe"), "{names:?}");
}

#[test]
fn a_secret_is_for_the_agents_tools_and_shows_nowhere() {
    let run = Run::new("console.log('key', context.env.PROBE_KEY); return 'the key is ' + context.env.PROBE_KEY");
    run.calls("probe", &json!({})).says("Done.");
    let mut command = run.command(&["--env", "PROBE_KEY", "Call the probe"]);
    let ran = run.shell.ran(command.env("PROBE_KEY", "value-0123456789"));
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(result(&run, 1), "the key is [secret PROBE_KEY]");
    assert!(!format!("{ran}").contains("value-0123456789"), "{ran}");
    assert!(
        ran.stderr
            .contains("a session would not give PROBE_KEY to the agent beeuni"),
        "{ran}"
    );
    assert_eq!(run.run(&["--env", "NOT_SET_ANYWHERE", "Hello"]).code, 2);
}

/// The web tools work with no key: a router of this process's own reads the page.
#[test]
fn a_page_is_read_with_no_key() {
    let run = Run::new("return 'ok'");
    run.shell.write(
        "beeuni.yaml",
        "beeuni_version: 2\ntools: { scrape_webpage: 'beeuni:scrape_webpage' }\nagents: { beeuni: {} }\n",
    );
    let page = run.serves(PAGE);
    run.calls("scrape_webpage", &json!({ "urls": page }))
        .says("It is about bees.");
    let mut command = run.command(&["Read it"]);
    let ran = run.shell.ran(command.env("BEEUNI_WEB_ALLOW", "127.0.0.1"));
    assert_eq!(ran.code, 0, "{ran}");
    assert!(result(&run, 1).contains("Bees dance"), "{}", result(&run, 1));
}

#[test]
fn a_page_is_read_with_no_key_by_tools_call_too() {
    let run = Run::new("return 'ok'");
    run.shell.write(
        "beeuni.yaml",
        "beeuni_version: 2\ntools: { scrape_webpage: 'beeuni:scrape_webpage' }\nagents: { beeuni: {} }\n",
    );
    let page = run.serves(PAGE);
    let args = json!({ "urls": page }).to_string();
    let call = ["tools", "call", "scrape_webpage", "--args", &args];
    let ran = run.shell.ran(run.bare(&call).env("BEEUNI_WEB_ALLOW", "127.0.0.1"));
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stdout.contains("Bees dance"), "{ran}");
    // This machine is no web page, unless somebody says so.
    let ran = run.shell.ran(&mut run.bare(&call));
    assert_eq!(ran.code, 1, "{ran}");
    assert!(!format!("{ran}").contains("Bees dance"), "{ran}");
}

#[test]
fn a_subagents_calls_show_and_its_answer_is_the_calls_output() {
    let run = Run::new("return 'found'");
    run.calls(
        "task",
        &json!({ "description": "Look around", "prompt": "Find it", "subagent_type": "general" }),
    );
    run.calls("probe", &json!({ "id": 1 }))
        .says("It is behind the door.")
        .says("Behind the door.");
    let ran = run.run(&["Find it"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Behind the door.\n"), "{ran}");
    assert!(ran.stderr.contains("▸ task Look around\n"), "{ran}");
    assert!(ran.stderr.contains("  ✓ general: probe {\"id\":1}\n"), "{ran}");
    assert!(result(&run, 3).contains("It is behind the door."));
    let ran = run.calls(
        "task",
        &json!({ "description": "Look", "prompt": "Find it", "subagent_type": "general" }),
    );
    ran.says("Here.").says("There.");
    let (events, last) = Run::events(&run.run(&["--json", "Find it"]));
    let sessions: std::collections::BTreeSet<&str> = events.iter().map(|event| event.session.as_str()).collect();
    assert_eq!((sessions.len(), &last["answer"]), (2, &json!("There.")));
}

#[test]
fn calls_at_the_same_time_each_show() {
    let run = Run::new("await new Promise((ok) => setTimeout(ok, 100 * args.id)); return 'result ' + args.id");
    run.answers(beeuni_gateway::testing::Answer::tool_calls(&[
        ("call_1", "probe", r#"{"id":2}"#),
        ("call_2", "probe", r#"{"id":1}"#),
    ]));
    run.says("Both.");
    let ran = run.run(&["Look twice"]);
    assert_eq!(ran.code, 0, "{ran}");
    let at = |text: &str| ran.stderr.find(text).unwrap_or_else(|| panic!("no {text:?}: {ran}"));
    assert!(
        at("▸ probe {\"id\":1}") < at("  result 1") && at("  result 1") < at("  result 2"),
        "{ran}"
    );
    let messages = run.messages(1);
    let results: Vec<&str> = messages
        .iter()
        .rev()
        .take(2)
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert_eq!(results, ["result 1", "result 2"], "in the order of the calls");
}
