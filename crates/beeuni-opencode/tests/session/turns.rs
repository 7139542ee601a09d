//! Turns: what a prompt becomes, what is written of the answers, how turns end.
use beeuni_gateway::testing::Answer;
use beeuni_protocol::session::{
    Activity, Attachment, EventBody, Finish, Origin, PartBody, Role, ToolStatus, TurnOutcome,
};

use crate::desk::*;

#[tokio::test]
async fn a_turn_with_calls_of_both_kinds_is_written_as_on_the_other_harness() {
    let desk = desk().await;
    desk.tools.echo("lookup_order");
    desk.write("notes.txt", "one\ntwo\n");
    let open = desk.open().await;
    desk.server.push(Answer::tool_calls(&[
        ("call_1", "lookup_order", r#"{"id":"A-1042"}"#),
        ("call_2", "read", r#"{"filePath":"notes.txt"}"#),
        ("call_3", "lookup_nothing", r#"{"id":7}"#),
    ]));
    desk.server.push(Answer::text("It has shipped."));
    let ended = open.say("Where is\nmy order?").await;
    assert_eq!((ended.outcome, ended.steps), (TurnOutcome::Done, 2), "{ended:?}");
    assert_eq!((ended.usage.input, ended.usage.output), (22, 14));

    let messages = open.messages();
    let roles: Vec<(Role, Option<Finish>)> = messages.iter().map(|it| (it.role, it.finish)).collect();
    assert_eq!(
        roles,
        [
            (Role::User, None),
            (Role::Assistant, Some(Finish::ToolCalls)),
            (Role::Assistant, Some(Finish::Stop))
        ]
    );
    assert_eq!(messages[0].origin, Some(Origin::Prompt));
    assert_eq!(text_of(&messages[0]), "Where is\nmy order?");
    assert_eq!(messages[1].model.as_deref(), Some(MODEL));
    assert_eq!(text_of(&messages[2]), "It has shipped.");
    assert!(
        messages
            .iter()
            .all(|message| message.turn == ended.turn && message.session == ID)
    );

    let calls = open.calls();
    assert_eq!(calls.len(), 3);
    assert_eq!(
        (calls[0].tool.as_str(), calls[0].arguments.as_str(), calls[0].status),
        ("lookup_order", r#"{"id":"A-1042"}"#, ToolStatus::Completed)
    );
    assert_eq!(calls[0].output.as_deref(), Some(r#"{"id":"A-1042"}"#));
    assert!(calls[1].output.as_ref().unwrap().contains("2: two"), "{:?}", calls[1]);
    assert_eq!(
        (calls[2].tool.as_str(), calls[2].status, calls[2].error.as_deref()),
        (
            "lookup_nothing",
            ToolStatus::Error,
            Some("Tool lookup_nothing not found")
        )
    );
    // What the model read is what the transcript says.
    let bodies = desk.bodies();
    let read = results(&bodies[1]);
    assert_eq!(read[0], ("call_1".to_owned(), r#"{"id":"A-1042"}"#.to_owned()));
    assert_eq!(Some(&read[1].1), calls[1].output.as_ref());
    assert_eq!(
        *desk.tools.called.lock().unwrap(),
        [(
            "lookup_order".to_owned(),
            r#"{"id":"A-1042"}"#.to_owned(),
            "beeuni".to_owned()
        )]
    );

    let state = open.opencode.state(ID).unwrap();
    assert_eq!(
        (state.activity, state.title.as_deref(), state.messages),
        (Activity::Idle, Some("Where is"), 3)
    );
    // Readers of events get the same: parts as they are written, then whole.
    let history = open.history();
    let kinds: Vec<&str> = history
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::TurnStarted(_) => Some("started"),
            EventBody::MessageCreated { message } if message.role == Role::Assistant => Some("answer"),
            EventBody::PartDelta(_) => Some("delta"),
            EventBody::TurnEnded(_) => Some("ended"),
            _ => None,
        })
        .collect();
    assert_eq!(kinds.first(), Some(&"started"));
    assert_eq!(kinds.last(), Some(&"ended"));
    assert!(kinds.contains(&"delta"), "{kinds:?}");
    open.close().await;
}

#[tokio::test]
async fn a_hosted_call_shows_as_pending_running_completed() {
    let desk = desk().await;
    desk.tools.echo("lookup_order");
    let open = desk.open().await;
    desk.server
        .push(Answer::tool_calls(&[("call_1", "lookup_order", "{}")]))
        .push(Answer::text("Done."));
    open.say("Go").await;
    let mut statuses: Vec<ToolStatus> = open
        .history()
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::PartUpdated { part } => match &part.body {
                PartBody::Tool(call) => Some(call.status),
                _ => None,
            },
            _ => None,
        })
        .collect();
    statuses.dedup();
    assert_eq!(
        statuses,
        [ToolStatus::Pending, ToolStatus::Running, ToolStatus::Completed]
    );
    open.close().await;
}

#[tokio::test]
async fn the_next_prompt_goes_on_and_errors_of_tools_keep_their_text() {
    let desk = desk().await;
    desk.tools
        .add("broken", |_| async { Err("line one\n  line two".to_owned()) });
    let open = desk.open().await;
    desk.server
        .push(Answer::tool_calls(&[("call_1", "broken", "{}")]))
        .push(Answer::text("It broke."))
        .push(Answer::text("Still here."));
    open.say("First").await;
    assert_eq!(open.calls()[0].error.as_deref(), Some("line one\n  line two"));
    open.say("Second").await;
    let bodies = desk.bodies();
    assert_eq!(results(&bodies[1])[0].1, "line one\n  line two");
    assert_eq!(user_texts(&bodies[2]), ["First", "Second"]);
    assert_eq!(open.last_text(), "Still here.");
    open.close().await;
}

#[tokio::test]
async fn an_empty_output_is_told_as_none_and_kept_as_empty() {
    let desk = desk().await;
    desk.tools.add("quiet", |_| async { Ok(String::new()) });
    let open = desk.open().await;
    desk.server
        .push(Answer::tool_calls(&[("call_1", "quiet", "{}")]))
        .push(Answer::text("Done."));
    open.say("Go").await;
    assert_eq!(results(&desk.bodies()[1])[0].1, "(no output)");
    assert_eq!(open.calls()[0].output.as_deref(), Some(""));
    open.close().await;
}

#[tokio::test]
async fn what_is_said_to_a_running_turn_is_read_at_its_next_step() {
    let desk = desk().await;
    let (gate, passed) = tokio::sync::watch::channel(false);
    desk.tools.add("slow", move |_| {
        let mut passed = passed.clone();
        async move {
            passed.wait_for(|open| *open).await.unwrap();
            Ok("slow is done".to_owned())
        }
    });
    let open = desk.open().await;
    desk.server
        .push(Answer::tool_calls(&[("call_1", "slow", "{}")]))
        .push(Answer::text("Both."));
    let first = open.prompt(said("Begin")).await;
    until("the call runs", || !desk.tools.names_called().is_empty()).await;
    let second = open.prompt(said("And this")).await;
    assert!(second.steering && second.turn == first.turn);
    let other = open.opencode.prompt(ID, {
        let mut prompt = said("x");
        prompt.model = Some("scripted/m2".to_owned());
        prompt
    });
    let refused = other.await.unwrap_err().to_string();
    assert!(refused.contains("a turn runs with beeuni"), "{refused}");
    gate.send_replace(true);
    let ended = open.ended(&first.turn).await;
    assert_eq!((ended.outcome, ended.steps), (TurnOutcome::Done, 2), "{ended:?}");
    assert_eq!(user_texts(&desk.bodies()[1]), ["Begin", "And this"]);
    let origins: Vec<_> = open.messages().iter().filter_map(|message| message.origin).collect();
    assert_eq!(origins, [Origin::Prompt, Origin::Steering]);
    assert_eq!(open.last_text(), "Both.");
    open.close().await;
}

#[tokio::test]
async fn a_word_in_the_last_moment_is_answered_by_the_same_turn() {
    let desk = desk().await;
    let open = desk.open().await;
    let gate = beeuni_gateway::testing::Gate::closed();
    let answer = Answer::text("The first answer.");
    let end = answer.body().len();
    desk.server
        .push(answer.hold_at(end / 2, &gate))
        .push(Answer::text("The second answer."));
    let first = open.prompt(said("One")).await;
    desk.wait_for_chats(1).await;
    let second = open.prompt(said("Two")).await;
    gate.open();
    let ended = open.ended(&first.turn).await;
    assert_eq!((ended.outcome, second.steering), (TurnOutcome::Done, true));
    assert_eq!(user_texts(&desk.bodies()[1]), ["One", "Two"]);
    assert_eq!(open.last_text(), "The second answer.");
    open.close().await;
}

#[tokio::test]
async fn a_model_that_refuses_or_fails_ends_the_turn_with_its_kind() {
    let desk = desk().await;
    let open = desk.open().await;
    let error =
        |message: &str, code: &str| serde_json::json!({ "error": { "message": message, "type": "x", "code": code } });
    for (status, code, kind) in [
        (400, "invalid_value", "bad_request"),
        (401, "", "auth"),
        (404, "model_not_found", "unknown_model"),
        (429, "rate_limit_exceeded", "rate_limited"),
        (503, "", "unavailable"),
    ] {
        let answer = Answer::json(status, &error("The provider says why", code));
        desk.server.on("/v1/chat/completions", answer);
        let ended = open.say("Go").await;
        let error = ended.error.expect("an error");
        assert_eq!(
            (ended.outcome, error.kind.as_str()),
            (TurnOutcome::Failed, kind),
            "{error:?}"
        );
        assert!(error.message.contains("The provider says why"), "{error:?}");
        if status == 429 || status == 503 {
            assert_eq!(error.status, Some(status));
        }
        let last = open.messages().pop().unwrap();
        assert_eq!(
            (last.finish, last.error.map(|error| error.kind)),
            (Some(Finish::Error), Some(kind.to_owned()))
        );
    }
    open.close().await;
}

#[tokio::test]
async fn an_answer_that_breaks_off_ends_the_turn_at_once() {
    let desk = desk().await;
    let open = desk.open().await;
    let answer = Answer::text("It begins and never comes to its end.");
    let middle = answer.body().len() / 2;
    desk.server.push(answer.cut_at(middle));
    let begun = std::time::Instant::now();
    let ended = open.say("Go").await;
    assert_eq!(ended.outcome, TurnOutcome::Failed);
    let error = ended.error.unwrap();
    assert_eq!(error.kind, "cut_stream", "{error:?}");
    assert!(begun.elapsed().as_secs() < 10);
    assert_eq!(desk.bodies().len(), 1, "it is not asked again");
    open.close().await;
}

#[tokio::test]
async fn answers_that_are_cut_or_filtered_end_the_turn_so() {
    let desk = desk().await;
    let open = desk.open().await;
    for (reason, outcome, finish) in [
        ("length", TurnOutcome::Length, Finish::Length),
        ("content_filter", TurnOutcome::ContentFilter, Finish::ContentFilter),
    ] {
        let delta = serde_json::json!({ "content": "As far as" });
        let none = serde_json::json!({});
        let chunks = [
            beeuni_gateway::testing::chunk(&delta, None),
            beeuni_gateway::testing::chunk(&none, Some(reason)),
        ];
        desk.server.push(Answer::events(&chunks));
        let ended = open.say("Go").await;
        assert_eq!(ended.outcome, outcome, "{ended:?}");
        let last = open.messages().pop().unwrap();
        assert_eq!((last.finish, text_of(&last)), (Some(finish), "As far as".to_owned()));
    }
    open.close().await;
}

#[tokio::test]
async fn a_turn_ends_at_its_step_limit() {
    let mut desk = desk().await;
    desk.tools.echo("lookup");
    desk.agent("beeuni").steps = Some(2);
    let open = desk.open().await;
    for number in 0..3 {
        let id = format!("call_{number}");
        let args = format!("{{\"number\":{number}}}");
        desk.server.push(Answer::tool_calls(&[(&id, "lookup", &args)]));
    }
    // The third answer should have summed up; nothing comes after it.
    let ended = open.say("Go").await;
    assert_eq!((ended.outcome, ended.steps), (TurnOutcome::Steps, 3), "{ended:?}");
    desk.server
        .push(Answer::tool_calls(&[("call_4", "lookup", "{}")]))
        .push(Answer::tool_calls(&[("call_5", "lookup", "{}")]))
        .push(Answer::text("In short."));
    let ended = open.say("Again").await;
    assert_eq!((ended.outcome, ended.steps), (TurnOutcome::Steps, 3), "{ended:?}");
    assert_eq!(open.last_text(), "In short.");
    open.close().await;
}

#[tokio::test]
async fn a_model_that_is_named_for_the_first_time_is_used_and_kept() {
    let desk = desk().await;
    let open = desk.open().await;
    desk.server
        .push(Answer::text("One"))
        .push(Answer::text("Two"))
        .push(Answer::text("Three"));
    open.say("With the default").await;
    open.say_with("With another", |prompt| prompt.model = Some("scripted/m2".to_owned()))
        .await;
    open.say("Once more").await;
    let models: Vec<String> = desk
        .bodies()
        .iter()
        .map(|body| body["model"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(models, ["m1", "m2", "m2"]);
    assert_eq!(open.opencode.state(ID).unwrap().model.as_deref(), Some("scripted/m2"));
    open.close().await;
}

const PIXEL: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

#[tokio::test]
async fn images_and_secrets_of_a_prompt_reach_nobody_who_should_not_have_them() {
    let desk = desk().await;
    desk.tools
        .add("leak", |_| async { Ok("it is s3cr3t-value".to_owned()) });
    let open = desk.open().await;
    desk.server
        .push(Answer::tool_calls(&[("call_1", "leak", r#"{"say":"s3cr3t-value"}"#)]))
        .push(Answer::text("The value is s3cr3t-value."));
    open.say_with("Look: s3cr3t-value", |prompt| {
        prompt.files.push(Attachment {
            mime: "image/png".to_owned(),
            name: Some("a.png".to_owned()),
            url: PIXEL.to_owned(),
        });
    })
    .await;
    let log = std::fs::read_to_string(desk.root().join("state/sessions/s1/log.jsonl")).unwrap();
    assert!(!log.contains("s3cr3t-value"), "{log}");
    assert!(log.contains("it is [redacted]"), "{log}");
    let first = &open.messages()[0];
    assert!(
        first
            .parts
            .iter()
            .any(|part| matches!(&part.body, PartBody::File(file) if file.name.as_deref() == Some("a.png")))
    );
    open.close().await;
}

#[tokio::test]
async fn prompts_that_make_no_sense_are_refused_with_a_reason() {
    let mut desk = desk().await;
    desk.agent("helper").mode = beeuni_manifest::AgentMode::Subagent;
    let open = desk.open().await;
    let with_agent = |name: &str| {
        let mut prompt = said("x");
        prompt.agent = Some(name.to_owned());
        prompt
    };
    for (prompt, part) in [
        (said("  "), "the prompt is empty"),
        (with_agent("nobody"), "there is no agent `nobody`"),
        (with_agent("helper"), "is a subagent"),
    ] {
        let error = open.opencode.prompt(ID, prompt).await.unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
    let error = open.opencode.prompt("other", said("x")).await.unwrap_err().to_string();
    assert!(error.contains("there is no session \"other\" here"), "{error}");
    assert!(open.opencode.messages(ID, Some("msg_x"), 5).is_err());
    open.close().await;
}

#[tokio::test]
async fn a_conversation_that_nears_the_window_is_summed_up_and_goes_on() {
    let desk = desk().await;
    let open = desk.open().await;
    let full = [
        beeuni_gateway::testing::chunk(&serde_json::json!({ "content": "A long story." }), Some("stop")),
        serde_json::json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [],
            "usage": { "prompt_tokens": 127_000, "completion_tokens": 5, "total_tokens": 127_005 } }),
    ];
    desk.server
        .push(Answer::events(&full))
        .push(Answer::text("It was told a long story."))
        .push(Answer::text("And so on."));
    let ended = open.say("Tell me a story").await;
    assert_eq!(ended.outcome, TurnOutcome::Done, "{ended:?}");
    let messages = open.messages();
    let mark = messages
        .iter()
        .find(|message| message.origin == Some(Origin::Compaction))
        .unwrap();
    assert_eq!(mark.parts.len(), 1, "{messages:#?}");
    let PartBody::Compaction(compaction) = &mark.parts[0].body else {
        panic!("{mark:?}")
    };
    assert_eq!(
        (compaction.reason.as_str(), compaction.summary.as_str()),
        ("window", "It was told a long story.")
    );
    desk.server.push(Answer::text("Nothing more."));
    assert_eq!(open.say("And then?").await.outcome, TurnOutcome::Done);
    open.close().await;
}
