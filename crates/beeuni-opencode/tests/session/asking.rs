//! Permissions and questions: of hosted tools and of OpenCode's own, the same requests.
use beeuni_gateway::testing::Answer;
use beeuni_manifest::PermissionAction::{Allow, Ask, Deny};
use beeuni_protocol::session::{
    EventBody, OnAsk, PermissionAnswer, PermissionReply, PermissionRequest, QuestionAnswer, ToolStatus, TurnOutcome,
};

use crate::desk::*;

const BASH: &str = r#"{"command":"echo hello","description":"says hello"}"#;

fn reply(reply: PermissionReply, message: Option<&str>) -> PermissionAnswer {
    PermissionAnswer {
        reply,
        message: message.map(str::to_owned),
    }
}

async fn waiting(open: &Open, number: usize) -> Vec<PermissionRequest> {
    let requests = || open.opencode.permissions(ID).unwrap();
    until(&format!("{number} requests"), || requests().len() >= number).await;
    requests()
}

#[tokio::test]
async fn a_hosted_call_waits_for_permission_and_always_is_kept_over_a_restart() {
    let mut desk = desk().await;
    desk.rule("beeuni", "lookup", "*", Ask);
    desk.tools.echo("lookup");
    let open = desk.open().await;
    desk.server
        .push(Answer::tool_calls(&[("call_1", "lookup", r#"{"id": 7}"#)]))
        .push(Answer::text("Done."));
    let turn = open.prompt(asked("Go", OnAsk::Wait)).await.turn;
    let request = waiting(&open, 1).await.remove(0);
    assert_eq!(
        (
            request.tool.as_str(),
            request.call.as_str(),
            request.agent.as_str(),
            request.session.as_str()
        ),
        ("lookup", "call_1", "beeuni", ID)
    );
    assert_eq!(request.accesses[0].subject, r#"{"id":7}"#);
    assert!(
        request.accesses[0].rule.contains("agents/beeuni.md, line 7"),
        "{request:?}"
    );
    let message = open
        .messages()
        .into_iter()
        .find(|message| message.id == request.message)
        .unwrap();
    assert_eq!(calls_of(&[message])[0].status, ToolStatus::Pending);
    assert!(desk.tools.names_called().is_empty());
    let refused = open
        .opencode
        .reply(ID, "per_none", reply(PermissionReply::Once, None))
        .unwrap_err();
    assert!(matches!(refused, beeuni_opencode::OpenCodeError::NotFound(_)));
    open.opencode
        .reply(ID, &request.id, reply(PermissionReply::Always, None))
        .unwrap();
    assert_eq!(open.ended(&turn).await.outcome, TurnOutcome::Done);
    assert_eq!(open.calls()[0].status, ToolStatus::Completed);
    open.close().await;

    let open = desk.open().await;
    desk.server
        .push(Answer::tool_calls(&[("call_2", "lookup", r#"{"id": 8}"#)]))
        .push(Answer::text("Done again."));
    let ended = open.say_with("Go", |prompt| prompt.on_ask = Some(OnAsk::Fail)).await;
    assert_eq!(ended.outcome, TurnOutcome::Done, "{ended:?}");
    assert_eq!(desk.tools.names_called(), ["lookup", "lookup"]);
    open.close().await;
}

#[tokio::test]
async fn opencodes_own_tools_raise_the_same_requests_and_always_is_kept_over_a_restart() {
    let mut desk = desk().await;
    desk.rule("beeuni", "bash", "*", Ask);
    let open = desk.open().await;
    desk.server
        .push(Answer::tool_calls(&[("call_1", "bash", BASH)]))
        .push(Answer::text("Done."));
    let turn = open.prompt(asked("Go", OnAsk::Wait)).await.turn;
    let request = waiting(&open, 1).await.remove(0);
    assert_eq!((request.tool.as_str(), request.call.as_str()), ("bash", "call_1"));
    assert_eq!(
        (
            request.accesses[0].capability.as_str(),
            request.accesses[0].subject.as_str()
        ),
        ("bash", "echo hello")
    );
    assert!(
        request.accesses[0].rule.contains("agents/beeuni.md, line 7"),
        "{request:?}"
    );
    until("the call is shown as waiting", || {
        open.calls()[0].status == ToolStatus::Pending
    })
    .await;
    open.opencode
        .reply(ID, &request.id, reply(PermissionReply::Always, None))
        .unwrap();
    assert_eq!(open.ended(&turn).await.outcome, TurnOutcome::Done);
    let call = open.calls().remove(0);
    assert_eq!(
        (call.status, call.output.as_deref()),
        (ToolStatus::Completed, Some("hello\n"))
    );
    open.close().await;

    let open = desk.open().await;
    desk.server
        .push(Answer::tool_calls(&[("call_2", "bash", BASH)]))
        .push(Answer::text("Done again."));
    let ended = open.say_with("Go", |prompt| prompt.on_ask = Some(OnAsk::Fail)).await;
    assert_eq!(ended.outcome, TurnOutcome::Done, "{ended:?}");
    open.close().await;
}

#[tokio::test]
async fn deny_lets_the_model_go_on_and_fail_blocks_the_turn() {
    let mut desk = desk().await;
    desk.rule("beeuni", "bash", "*", Ask);
    desk.rule("beeuni", "lookup", "*", Ask);
    desk.tools.echo("lookup");
    desk.tools.echo("other");
    let open = desk.open().await;
    let both = [
        ("call_1", "lookup", "{}"),
        ("call_2", "bash", BASH),
        ("call_3", "other", "{}"),
    ];
    desk.server
        .push(Answer::tool_calls(&both))
        .push(Answer::text("Without it, then."));
    let ended = open.say_with("Go", |prompt| prompt.on_ask = Some(OnAsk::Deny)).await;
    assert_eq!(ended.outcome, TurnOutcome::Done, "{ended:?}");
    let read = results(&desk.bodies()[1]);
    let nobody = "Not allowed: this needs a person's permission and nobody is there to give it. Go on without it, or \
                  say what you need it for.";
    assert_eq!(read[0].1, nobody);
    assert!(read[1].1.contains(nobody), "{read:?}");
    assert_eq!(read[2].1, "{}");

    let before = desk.bodies().len();
    for (calls, what) in [
        (&both[..1], "lookup needs a permission: {}"),
        (&both[1..2], "bash needs a permission: echo hello"),
    ] {
        desk.server.push(Answer::tool_calls(calls));
        let ended = open.say_with("Again", |prompt| prompt.on_ask = Some(OnAsk::Fail)).await;
        let error = ended.error.unwrap();
        assert_eq!((ended.outcome, error.kind.as_str()), (TurnOutcome::Blocked, "blocked"));
        assert_eq!(error.message, what);
        let call = open.calls().pop().unwrap();
        assert_eq!(call.status, ToolStatus::Error, "{call:?}");
        assert!(call.error.unwrap().contains(nobody));
    }
    // The model may have been asked in the moment of the stop; nothing of it is in the transcript.
    assert!(desk.bodies().len() >= before + 2);
    assert_eq!(desk.tools.names_called(), ["other"]);
    let last = open.messages().pop().unwrap();
    assert_eq!(calls_of(&[last]).len(), 1);
    open.close().await;
}

#[tokio::test]
async fn a_refusal_with_a_word_goes_on_and_one_without_blocks() {
    let mut desk = desk().await;
    desk.rule("beeuni", "bash", "*", Ask);
    desk.rule("beeuni", "lookup", "*", Ask);
    desk.tools.echo("lookup");
    let open = desk.open().await;
    let both = [("call_1", "lookup", "{}"), ("call_2", "bash", BASH)];
    desk.server
        .push(Answer::tool_calls(&both))
        .push(Answer::text("Another way, then."));
    let turn = open.prompt(asked("Go", OnAsk::Wait)).await.turn;
    for request in waiting(&open, 2).await {
        let no = reply(PermissionReply::Reject, Some("use the index"));
        open.opencode.reply(ID, &request.id, no).unwrap();
    }
    assert_eq!(open.ended(&turn).await.outcome, TurnOutcome::Done);
    for (_, text) in results(&desk.bodies()[1]) {
        assert!(
            text.ends_with("Not allowed: the user refused it. They say: use the index"),
            "{text}"
        );
    }
    for (calls, tool) in [(&both[..1], "lookup"), (&both[1..], "bash")] {
        desk.server.push(Answer::tool_calls(calls));
        let turn = open.prompt(asked("Again", OnAsk::Wait)).await.turn;
        let request = waiting(&open, 1).await.remove(0);
        open.opencode
            .reply(ID, &request.id, reply(PermissionReply::Reject, None))
            .unwrap();
        let ended = open.ended(&turn).await;
        assert_eq!(ended.outcome, TurnOutcome::Blocked, "{ended:?}");
        assert_eq!(ended.error.unwrap().message, format!("{tool} was refused permission"));
    }
    open.close().await;
}

#[tokio::test]
async fn one_refusal_does_not_take_the_other_requests_with_it() {
    let mut desk = desk().await;
    desk.rule("beeuni", "bash", "*", Ask);
    let open = desk.open().await;
    desk.server
        .push(Answer::tool_calls(&[
            ("call_1", "bash", BASH),
            ("call_2", "bash", r#"{"command":"echo other","description":"x"}"#),
        ]))
        .push(Answer::text("Half of it."));
    let turn = open.prompt(asked("Go", OnAsk::Wait)).await.turn;
    let requests = waiting(&open, 2).await;
    let of = |call: &str| requests.iter().find(|request| request.call == call).unwrap().id.clone();
    open.opencode
        .reply(ID, &of("call_1"), reply(PermissionReply::Reject, Some("not that")))
        .unwrap();
    assert_eq!(open.opencode.permissions(ID).unwrap().len(), 1);
    open.opencode
        .reply(ID, &of("call_2"), reply(PermissionReply::Once, None))
        .unwrap();
    assert_eq!(open.ended(&turn).await.outcome, TurnOutcome::Done);
    let calls = open.calls();
    assert_eq!(
        (calls[0].status, calls[1].status),
        (ToolStatus::Error, ToolStatus::Completed),
        "{calls:?}"
    );
    assert!(calls[0].error.as_ref().unwrap().contains("not that"));
    open.close().await;
}

#[tokio::test]
async fn several_denials_at_once_let_the_model_go_on_too() {
    let mut desk = desk().await;
    desk.rule("beeuni", "bash", "*", Ask);
    let open = desk.open().await;
    let other = r#"{"command":"echo other","description":"x"}"#;
    desk.server
        .push(Answer::tool_calls(&[
            ("call_1", "bash", BASH),
            ("call_2", "bash", other),
        ]))
        .push(Answer::text("Without them, then."));
    let ended = open.say_with("Go", |prompt| prompt.on_ask = Some(OnAsk::Deny)).await;
    assert_eq!(ended.outcome, TurnOutcome::Done, "{ended:?}");
    assert_eq!(open.last_text(), "Without them, then.");
    open.close().await;
}

#[tokio::test]
async fn denials_stay_denials_and_allow_answers_what_would_be_asked() {
    let mut desk = desk().await;
    desk.rule("beeuni", "lookup", "*", Deny);
    desk.rule("beeuni", "lookup", "{\"id\":7*", Allow);
    desk.rule("beeuni", "bash", "*", Ask);
    desk.tools.echo("lookup");
    let open = desk.open().await;
    desk.server
        .push(Answer::tool_calls(&[
            ("call_1", "lookup", r#"{"id":1}"#),
            ("call_2", "lookup", r#"{"id":7}"#),
            ("call_3", "bash", BASH),
        ]))
        .push(Answer::text("Done."));
    let ended = open.say_with("Go", |prompt| prompt.on_ask = Some(OnAsk::Allow)).await;
    assert_eq!(ended.outcome, TurnOutcome::Done);
    let read = results(&desk.bodies()[1]);
    assert!(
        read[0]
            .1
            .starts_with("Not allowed: lookup `{\"id\":1}` is denied by the rule"),
        "{read:?}"
    );
    assert_eq!((read[1].1.as_str(), read[2].1.as_str()), (r#"{"id":7}"#, "hello\n"));
    open.close().await;
}

#[tokio::test]
async fn nothing_hangs_what_opencode_asks_by_itself_is_asked_here() {
    let desk = desk().await;
    desk.write(".env", "A=1\n");
    let outside = desk.root().join("outside.txt");
    std::fs::write(&outside, "out\n").unwrap();
    let open = desk.open().await;
    let outside = serde_json::json!({ "filePath": outside }).to_string();
    let same = r#"{"filePath":"same.txt"}"#;
    desk.server
        .push(Answer::tool_calls(&[
            ("call_1", "read", r#"{"filePath":".env"}"#),
            ("call_2", "read", &outside),
        ]))
        .push(Answer::tool_calls(&[
            ("d1", "read", same),
            ("d2", "read", same),
            ("d3", "read", same),
        ]))
        .push(Answer::text("Done."));
    let turn = open.prompt(asked("Go", OnAsk::Wait)).await.turn;
    let requests = waiting(&open, 2).await;
    let mut asked: Vec<(&str, &str)> = requests
        .iter()
        .map(|request| (request.accesses[0].capability.as_str(), request.call.as_str()))
        .collect();
    asked.sort_unstable();
    assert_eq!(asked, [("external_directory", "call_2"), ("read", "call_1")]);
    for request in requests {
        open.opencode
            .reply(ID, &request.id, reply(PermissionReply::Once, None))
            .unwrap();
    }
    let doom = waiting(&open, 1).await.remove(0);
    assert_eq!(
        (doom.accesses[0].capability.as_str(), doom.tool.as_str()),
        ("doom_loop", "read")
    );
    open.opencode
        .reply(ID, &doom.id, reply(PermissionReply::Once, None))
        .unwrap();
    assert_eq!(open.ended(&turn).await.outcome, TurnOutcome::Done);
    open.close().await;
}

const QUESTION: &str = r#"{"questions":[{"question":"Which one?","header":"Pick","options":[{"label":"A","description":"the first"},{"label":"B","description":"the second"}]}]}"#;

#[tokio::test]
async fn questions_are_put_answered_and_dismissed() {
    let desk = desk().await;
    let open = desk.open().await;
    desk.server
        .push(Answer::tool_calls(&[("call_1", "question", QUESTION)]))
        .push(Answer::text("B it is."));
    let turn = open.prompt(asked("Go", OnAsk::Wait)).await.turn;
    until("the question", || !open.opencode.questions(ID).unwrap().is_empty()).await;
    let request = open.opencode.questions(ID).unwrap().remove(0);
    assert_eq!(
        (request.call.as_str(), request.questions[0].question.as_str()),
        ("call_1", "Which one?")
    );
    let answer = QuestionAnswer {
        answers: vec![vec!["B".to_owned()]],
    };
    open.opencode.answer(ID, &request.id, Some(answer)).unwrap();
    assert_eq!(open.ended(&turn).await.outcome, TurnOutcome::Done);
    assert!(results(&desk.bodies()[1])[0].1.contains("\"Which one?\"=\"B\""));

    desk.server
        .push(Answer::tool_calls(&[("call_2", "question", QUESTION)]));
    let turn = open.prompt(asked("Again", OnAsk::Wait)).await.turn;
    until("the question", || !open.opencode.questions(ID).unwrap().is_empty()).await;
    let request = open.opencode.questions(ID).unwrap().remove(0);
    open.opencode.answer(ID, &request.id, None).unwrap();
    let ended = open.ended(&turn).await;
    assert_eq!(ended.outcome, TurnOutcome::Blocked, "{ended:?}");

    desk.server
        .push(Answer::tool_calls(&[("call_3", "question", QUESTION)]))
        .push(Answer::text("A, then."));
    let ended = open.say_with("Alone", |prompt| prompt.on_ask = Some(OnAsk::Deny)).await;
    assert_eq!(ended.outcome, TurnOutcome::Done, "{ended:?}");
    assert_eq!(open.last_text(), "A, then.");
    desk.server
        .push(Answer::tool_calls(&[("call_4", "question", QUESTION)]));
    let ended = open.say_with("Fail", |prompt| prompt.on_ask = Some(OnAsk::Fail)).await;
    assert_eq!(
        ended.error.unwrap().message,
        "a question waits for a person: Which one?"
    );
    let asked = open.history();
    let asked = asked
        .iter()
        .filter(|event| matches!(event.body, EventBody::QuestionAsked { .. }));
    assert_eq!(asked.count(), 2);
    open.close().await;
}

#[tokio::test]
async fn a_tool_that_the_agent_does_not_see_does_not_exist() {
    let mut desk = desk().await;
    desk.tools.echo("lookup");
    desk.tools.echo("secret_tool");
    let tools = vec!["lookup".to_owned(), "read".to_owned()];
    desk.agent("beeuni").tools = beeuni_manifest::ToolAccess::Only(tools);
    let open = desk.open().await;
    desk.server
        .push(Answer::tool_calls(&[("call_1", "secret_tool", "{}")]))
        .push(Answer::text("Done."));
    open.say("Go").await;
    let bodies = desk.bodies();
    let mut offered: Vec<&str> = bodies[0]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    offered.sort_unstable();
    assert_eq!(offered, ["lookup", "read"]);
    assert_eq!(open.calls()[0].error.as_deref(), Some("Tool secret_tool not found"));
    assert!(desk.tools.names_called().is_empty());
    let foreign = |tool: &str| beeuni_opencode::BridgedCall {
        session: String::new(),
        message: String::new(),
        call: String::new(),
        agent: "beeuni".to_owned(),
        tool: tool.to_owned(),
        args: "{}".to_owned(),
    };
    let refused = open.opencode.permit(foreign("secret_tool")).await.unwrap_err();
    assert_eq!(refused.0, "Tool secret_tool not found");
    assert_eq!(open.opencode.permit(foreign("lookup")).await.unwrap().agent, "beeuni");
    open.close().await;
}
