//! The loop with real tools: modules in Bun, commands, files.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod support;

use std::time::{Duration, Instant};

use beeuni_agent::{OnAsk, PromptOptions, Session};
use beeuni_gateway::testing::Answer;
use beeuni_manifest::Grant;
use beeuni_protocol::session::{DeltaField, EventBody, QuestionAnswer, ToolStatus, TurnOutcome};
use serde_json::json;
use support::{calls, ended, history, last_text, prompt, prompt_with, results, rig, say, wait_until};

/// Lets the model call these tools in one answer, then say "ok".
fn call(rig: &support::Rig, wanted: &[(&str, serde_json::Value)]) {
    let ids: Vec<String> = (0..wanted.len()).map(|at| format!("c{at}")).collect();
    let args: Vec<String> = wanted.iter().map(|(_, args)| args.to_string()).collect();
    let all: Vec<(&str, &str, &str)> = (0..wanted.len())
        .map(|at| (ids[at].as_str(), wanted[at].0, args[at].as_str()))
        .collect();
    rig.server.push(Answer::tool_calls(&all));
    rig.server.push(Answer::text("ok"));
}

#[tokio::test]
async fn the_rehearsal_model_calls_the_tool_once_and_prints_its_output() {
    let mut rig = rig().await;
    rig.module("lookup_order", "return { id: args.id, status: 'shipped' }");
    rig.setup.model = Some("beeuni/rehearsal".to_owned());
    let (session, host) = rig.open_real().await;
    say(
        &session,
        "Call the lookup_order tool once with id A-1042 and print its output.",
    )
    .await;
    let calls = calls(&session);
    assert_eq!(calls.len(), 1);
    assert_eq!(
        calls[0].output.as_deref(),
        Some("{\n  \"id\": \"A-1042\",\n  \"status\": \"shipped\"\n}")
    );
    assert!(
        last_text(&session).contains("\"status\": \"shipped\""),
        "{}",
        last_text(&session)
    );
    host.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn run_02_a_stop_fires_the_signal_of_a_module_and_ends_a_busy_one() {
    let mut rig = rig().await;
    rig.module(
        "listens",
        "const fs = require('node:fs'); fs.writeFileSync(context.directory + '/started', ''); \
         return new Promise((resolve, reject) => { \
           const late = setTimeout(() => { fs.writeFileSync(context.directory + '/too-late', ''); resolve('late') }, 3000); \
           context.signal.addEventListener('abort', () => { clearTimeout(late); \
             fs.writeFileSync(context.directory + '/stopped', ''); reject(context.signal.reason) }) })",
    );
    rig.module(
        "spins",
        "require('node:fs').writeFileSync(context.directory + '/spinning', ''); while (true) {}",
    );
    call(&rig, &[("listens", json!({})), ("spins", json!({}))]);
    let (session, host) = rig.open_real().await;
    let mut turn = session.prompt("go", PromptOptions::default()).unwrap();
    let project = rig.project();
    let exists = |name: &str| project.join(name).exists();
    wait_until("both modules to run", || exists("started") && exists("spinning")).await;
    let stopped = Instant::now();
    session.abort();
    assert_eq!(ended(&mut turn).await.outcome, TurnOutcome::Aborted);
    assert!(stopped.elapsed() < Duration::from_secs(1), "{:?}", stopped.elapsed());
    wait_until("the signal", || exists("stopped")).await;
    assert!(
        calls(&session)
            .iter()
            .all(|call| call.status == ToolStatus::Interrupted)
    );
    // Afterwards the same tools can be called again.
    rig.module("spins", "return 'turned over'");
    session.reload(rig.setup.clone()).await.unwrap();
    while rig.server.unused() > 0 {
        // The answer that the stopped turn did not fetch.
        say(&session, "rest").await;
    }
    call(&rig, &[("spins", json!({}))]);
    say(&session, "again").await;
    assert_eq!(calls(&session).pop().unwrap().output.as_deref(), Some("turned over"));
    assert!(!exists("too-late"));
    host.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn args_05_and_out_02_digits_and_half_pairs_survive_the_whole_way_and_a_restart() {
    let mut rig = rig().await;
    rig.module("text", "return '{\"id\": 7301444403212345679} a\\ud800b'");
    rig.module("echo", "return JSON.stringify(args)");
    rig.server.push(Answer::tool_calls(&[
        ("c1", "text", r#"{"id": 7301444403212345679}"#),
        ("c2", "echo", r#"{"name": "x\ud800y"}"#),
    ]));
    rig.server.push(Answer::text("ok"));
    let (session, host) = rig.open_real().await;
    say(&session, "go").await;
    let told = results(&rig.bodies()[1]);
    assert_eq!(told[0].1, "{\"id\": 7301444403212345679} a\u{fffd}b");
    assert_eq!(told[1].1, "{\"name\":\"x\u{fffd}y\"}");
    let sent = rig.bodies()[1]["messages"][2]["tool_calls"].clone();
    assert_eq!(sent[0]["function"]["arguments"], r#"{"id": 7301444403212345679}"#);
    assert_eq!(sent[1]["function"]["arguments"], r#"{"name": "x\ufffdy"}"#);
    session.close().await;
    drop(session);
    let (session, _host) = rig.open_real().await;
    for _ in 0..3 {
        rig.server.push(Answer::text("ok"));
        say(&session, "more").await;
    }
    host.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn c2_an_edited_module_is_loaded_afresh_and_a_removed_one_is_gone() {
    let mut rig = rig().await;
    rig.write("tools/lib/text.ts", "export const text = 'v1'\n");
    rig.write(
        "tools/speak.ts",
        "import { text } from './lib/text'\nexport default { description: 'speaks', parameters: { type: 'object', \
         properties: {} }, execute: () => text }\n",
    );
    rig.setup.tools = vec![support::tool("speak", beeuni_manifest::ToolKind::Project)];
    let (session, host) = rig.open_real().await;
    call(&rig, &[("speak", json!({}))]);
    say(&session, "one").await;
    rig.write("tools/lib/text.ts", "export const text = 'v2'\n");
    session.reload(rig.setup.clone()).await.unwrap();
    call(&rig, &[("speak", json!({}))]);
    say(&session, "two").await;
    rig.setup.tools.clear();
    session.reload(rig.setup.clone()).await.unwrap();
    call(&rig, &[("speak", json!({}))]);
    say(&session, "three").await;
    let told: Vec<String> = calls(&session)
        .into_iter()
        .map(|call| call.output.or(call.error).unwrap())
        .collect();
    assert_eq!(told, ["v1", "v2", "Tool speak not found"]);
    host.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn files_are_written_edited_and_searched_and_a_command_sees_them() {
    let rig = rig().await;
    let (session, _host) = rig.open_real().await;
    call(
        &rig,
        &[("write", json!({ "path": "notes/bees.md", "content": "one bee\n" }))],
    );
    call(
        &rig,
        &[(
            "edit",
            json!({ "path": "notes/bees.md", "old_string": "one bee", "new_string": "two bees" }),
        )],
    );
    call(
        &rig,
        &[
            ("grep", json!({ "pattern": "two" })),
            ("bash", json!({ "command": "cat notes/bees.md" })),
        ],
    );
    for _ in 0..3 {
        say(&session, "go").await;
    }
    let calls = calls(&session);
    let told: Vec<(&str, Option<&str>)> = calls
        .iter()
        .map(|call| (call.tool.as_str(), call.output.as_deref().or(call.error.as_deref())))
        .collect();
    assert!(
        calls.iter().all(|call| call.status == ToolStatus::Completed),
        "{told:#?}"
    );
    assert!(
        told[2].1.unwrap().contains("notes/bees.md") && told[3].1 == Some("two bees\n"),
        "{told:#?}"
    );
}

#[tokio::test]
async fn a_stop_ends_a_command_within_a_second_and_keeps_what_it_printed() {
    let rig = rig().await;
    let (session, _host) = rig.open_real().await;
    call(
        &rig,
        &[(
            "bash",
            json!({ "command": "for i in 1 2 3 4 5 6 7 8 9; do echo begun $i; sleep 0.2; done; sleep 600" }),
        )],
    );
    let mut turn = session.prompt("go", PromptOptions::default()).unwrap();
    let printed = |session: &Session| {
        history(session).iter().any(|event| {
            matches!(&event.body, EventBody::PartDelta(delta)
                if delta.field == DeltaField::Output && delta.text.contains("begun"))
        })
    };
    wait_until("the command's progress", || printed(&session)).await;
    let stopped = Instant::now();
    session.abort();
    assert_eq!(ended(&mut turn).await.outcome, TurnOutcome::Aborted);
    assert!(stopped.elapsed() < Duration::from_secs(1), "{:?}", stopped.elapsed());
    let call = calls(&session).remove(0);
    assert_eq!(call.status, ToolStatus::Interrupted);
    assert!(call.output.as_ref().unwrap().starts_with("begun"), "{call:?}");
}

#[tokio::test]
async fn a_path_outside_of_the_checkout_is_asked_about_before_it_is_read() {
    let rig = rig().await;
    std::fs::write(rig.folder.path().join("secret.txt"), "outside").unwrap();
    let path = rig.folder.path().canonicalize().unwrap().join("secret.txt");
    let (session, _host) = rig.open_real().await;
    call(&rig, &[("read", json!({ "path": path }))]);
    let mut turn = session.prompt("go", PromptOptions::default()).unwrap();
    wait_until("the request", || !session.permissions().is_empty()).await;
    let request = session.permissions().remove(0);
    assert_eq!(request.accesses[0].capability, "external_directory", "{request:?}");
    assert_eq!(calls(&session)[0].status, ToolStatus::Pending);
    session
        .reply_permission(&request.id, serde_json::from_value(json!({ "reply": "once" })).unwrap())
        .unwrap();
    assert_eq!(ended(&mut turn).await.outcome, TurnOutcome::Done);
    assert!(calls(&session)[0].output.as_ref().unwrap().contains("outside"));
}

fn a_question() -> serde_json::Value {
    json!({ "questions": [{ "question": "Which colour?", "header": "Colour",
        "options": [{ "label": "Blue", "description": "like the sky" }, { "label": "Red", "description": "" }] }] })
}

#[tokio::test]
async fn a_question_waits_for_its_answer() {
    let rig = rig().await;
    let (session, _host) = rig.open_real().await;
    call(&rig, &[("question", a_question())]);
    let mut turn = session.prompt("go", PromptOptions::default()).unwrap();
    wait_until("the question", || !session.questions().is_empty()).await;
    let request = session.questions().remove(0);
    assert_eq!(
        (request.call.as_str(), request.questions[0].options[0].label.as_str()),
        ("c0", "Blue")
    );
    let answers = |answers: &[&[&str]]| QuestionAnswer {
        answers: answers
            .iter()
            .map(|one| one.iter().map(|text| (*text).to_owned()).collect())
            .collect(),
    };
    let error = session
        .answer_question(&request.id, answers(&[]))
        .unwrap_err()
        .to_string();
    assert!(error.contains("1 questions were asked and 0 answered"), "{error}");
    session.answer_question(&request.id, answers(&[&["Blue"]])).unwrap();
    assert_eq!(ended(&mut turn).await.outcome, TurnOutcome::Done);
    assert!(results(&rig.bodies()[1])[0].1.contains("Blue"));
}

#[tokio::test]
async fn a_question_that_is_dismissed_ends_the_turn_and_one_that_nobody_can_answer_is_said_so() {
    let rig = rig().await;
    let (session, _host) = rig.open_real().await;
    rig.server
        .push(Answer::tool_calls(&[("c0", "question", &a_question().to_string())]));
    let mut turn = session.prompt("go", PromptOptions::default()).unwrap();
    wait_until("the question", || !session.questions().is_empty()).await;
    session.reject_question(&session.questions()[0].id.clone()).unwrap();
    assert_eq!(ended(&mut turn).await.outcome, TurnOutcome::Blocked);
    for (on_ask, outcome) in [(OnAsk::Deny, TurnOutcome::Done), (OnAsk::Fail, TurnOutcome::Blocked)] {
        rig.server
            .push(Answer::tool_calls(&[("c0", "question", &a_question().to_string())]));
        rig.server.push(Answer::text("then I choose"));
        let options = PromptOptions {
            on_ask,
            ..PromptOptions::default()
        };
        assert_eq!(prompt_with(&session, "go", options).await.outcome, outcome);
        assert_eq!(calls(&session).pop().unwrap().status, ToolStatus::Error);
    }
}

#[tokio::test]
async fn a_todo_list_outlives_the_process() {
    let rig = rig().await;
    let todos = json!({ "todos": [{ "content": "Count the bees", "status": "in_progress" }] });
    call(&rig, &[("todowrite", todos)]);
    let (session, _host) = rig.open_real().await;
    say(&session, "go").await;
    session.close().await;
    drop(session);
    let stored = rig.config();
    let harness = stored.harness.clone();
    let _session = Session::open(stored, rig.setup.clone()).unwrap();
    assert_eq!(harness.todos("s1")[0].content, "Count the bees");
}

#[tokio::test]
async fn an_image_reaches_the_model_behind_the_results() {
    let rig = rig().await;
    // The smallest PNG: one transparent pixel.
    let png =
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\0\x01\0\
        \0\x05\0\x01\r\n-\xb4\0\0\0\0IEND\xaeB`\x82";
    std::fs::write(rig.project().join("bee.png"), png).unwrap();
    let (session, _host) = rig.open_real().await;
    call(
        &rig,
        &[
            ("read", json!({ "path": "bee.png" })),
            ("glob", json!({ "pattern": "*.png" })),
        ],
    );
    say(&session, "look").await;
    let body = &rig.bodies()[1];
    assert_eq!(
        support::roles(body),
        ["system", "user", "assistant", "tool", "tool", "user"]
    );
    let url = body["messages"][5]["content"][1]["image_url"]["url"].as_str().unwrap();
    assert!(url.starts_with("data:image/png;base64,iVBORw0KGgo"), "{url}");
    assert_eq!(calls(&session)[0].attachments[0].name.as_deref(), Some("bee.png"));
}

#[tokio::test]
async fn a_skill_is_loaded_by_who_may_and_by_nobody_else() {
    let mut rig = rig().await;
    let tree = beeuni_manifest::Folder::new(rig.project());
    rig.write("beeuni.yaml", "beeuni_version: 2\nagents:\n  beeuni: { skills: all }\n");
    rig.write("agents/beeuni.md", "x");
    let manifest = beeuni_manifest::load(&tree, "beeuni.yaml").manifest.unwrap();
    rig.setup.skills = beeuni_agent::Setup::read(&manifest, &tree).0.skills;
    rig.agent("beeuni").skills = Grant::Only(vec!["beeuni-memory".to_owned()]);
    call(
        &rig,
        &[
            ("skill", json!({ "name": "beeuni-memory" })),
            ("skill", json!({ "name": "beeuni-tools" })),
        ],
    );
    let (session, _host) = rig.open_real().await;
    say(&session, "go").await;
    let calls = calls(&session);
    assert!(calls[0].output.as_ref().unwrap().contains("memory/MEMORY.md"));
    assert!(
        calls[1]
            .error
            .as_ref()
            .unwrap()
            .contains("There is no skill beeuni-tools"),
        "{:?}",
        calls[1]
    );
}

#[tokio::test]
async fn a_tool_that_ends_its_process_is_an_error_and_the_turn_goes_on() {
    let mut rig = rig().await;
    rig.module("dies", "process.exit(3)");
    rig.module("lives", "return 'alive'");
    call(&rig, &[("dies", json!({})), ("lives", json!({}))]);
    let (session, host) = rig.open_real().await;
    let ended = prompt(&session, "go").await;
    assert_eq!(ended.outcome, TurnOutcome::Done);
    let calls = calls(&session);
    assert_eq!(
        (calls[0].status, calls[1].output.as_deref()),
        (ToolStatus::Error, Some("alive"))
    );
    host.shutdown(Duration::ZERO).await;
}
