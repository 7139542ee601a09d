//! Every form of the conversation, pinned: a change here is a change for every client.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use beeuni_protocol::session::{
    Activity, AllowedPattern, Attachment, Compaction, Delta, DeltaField, Event, EventBody, Finish, Message,
    MessageTime, Origin, Part, PartBody, PermissionAnswer, PermissionReply, PermissionRequest, Question,
    QuestionAnswer, QuestionOption, QuestionRequest, Reasoning, RequestedAccess, Retry, Role, SessionCreated,
    SessionState, TextPart, ToolCall, ToolStatus, ToolTime, TurnEnded, TurnError, TurnOutcome, TurnStarted, Usage,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;

/// The form is this JSON, in this order, and reads back as the same.
fn pin<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T, form: &serde_json::Value) {
    let text = serde_json::to_string(value).unwrap();
    assert_eq!(text, form.to_string());
    assert_eq!(&serde_json::from_str::<T>(&text).unwrap(), value);
}

fn message() -> Message {
    Message {
        id: "msg_1".to_owned(),
        session: "s".to_owned(),
        turn: "turn_1".to_owned(),
        role: Role::Assistant,
        origin: None,
        agent: "beeuni".to_owned(),
        model: Some("openai/gpt-5".to_owned()),
        time: MessageTime {
            created: 1,
            completed: Some(2),
        },
        finish: Some(Finish::ToolCalls),
        error: None,
        usage: Some(Usage {
            input: 10,
            output: 5,
            reasoning: 0,
            cached: 4,
            cost: Some(0.5),
        }),
        parts: Vec::new(),
    }
}

fn call() -> ToolCall {
    ToolCall {
        call: "call_1".to_owned(),
        tool: "lookup_order".to_owned(),
        arguments: r#"{"id": 7301444403212345679}"#.to_owned(),
        status: ToolStatus::Completed,
        title: Some("Order".to_owned()),
        output: Some("shipped".to_owned()),
        error: None,
        extra: Some("{\"a\":1}".to_owned()),
        metadata: serde_json::from_value(json!({ "n": 7_301_444_403_212_345_679_i64 })).unwrap(),
        attachments: vec![Attachment {
            mime: "image/png".to_owned(),
            name: Some("a.png".to_owned()),
            url: "data:image/png;base64,AA==".to_owned(),
        }],
        time: ToolTime {
            created: 1,
            started: Some(2),
            ended: Some(3),
        },
    }
}

fn part(body: PartBody) -> Part {
    Part {
        id: "prt_1".to_owned(),
        message: "msg_1".to_owned(),
        body,
    }
}

#[test]
fn messages_have_their_form() {
    pin(
        &message(),
        &json!({ "id": "msg_1", "session": "s", "turn": "turn_1", "role": "assistant", "agent": "beeuni",
            "model": "openai/gpt-5", "time": { "created": 1, "completed": 2 }, "finish": "tool_calls",
            "usage": { "input": 10, "output": 5, "cached": 4, "cost": 0.5 } }),
    );
    let said = Message {
        role: Role::User,
        origin: Some(Origin::Steering),
        model: None,
        time: MessageTime {
            created: 1,
            completed: None,
        },
        finish: None,
        usage: None,
        error: Some(TurnError {
            kind: "auth".to_owned(),
            status: Some(401),
            message: "no".to_owned(),
        }),
        parts: vec![part(PartBody::Text(TextPart { text: "hi".to_owned() }))],
        ..message()
    };
    pin(
        &said,
        &json!({ "id": "msg_1", "session": "s", "turn": "turn_1", "role": "user", "origin": "steering",
            "agent": "beeuni", "time": { "created": 1 }, "error": { "kind": "auth", "status": 401, "message": "no" },
            "parts": [{ "id": "prt_1", "message": "msg_1", "type": "text", "text": "hi" }] }),
    );
    assert_eq!(
        serde_json::from_str::<Finish>("\"a later word\"").unwrap(),
        Finish::Other
    );
}

#[test]
fn parts_have_their_forms_and_keep_every_digit() {
    let base = |kind: &str| json!({ "id": "prt_1", "message": "msg_1", "type": kind });
    let form = |kind: &str, more: serde_json::Value| {
        let mut form = base(kind);
        form.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        form
    };
    pin(
        &part(PartBody::Reasoning(Reasoning {
            text: "hm".to_owned(),
            details: Some("[{}]".to_owned()),
        })),
        &form("reasoning", json!({ "text": "hm", "details": "[{}]" })),
    );
    pin(
        &part(PartBody::Tool(call())),
        &form(
            "tool",
            json!({ "call": "call_1", "tool": "lookup_order", "arguments": "{\"id\": 7301444403212345679}",
                "status": "completed", "title": "Order", "output": "shipped", "extra": "{\"a\":1}",
                "metadata": { "n": 7_301_444_403_212_345_679_i64 },
                "attachments": [{ "mime": "image/png", "name": "a.png", "url": "data:image/png;base64,AA==" }],
                "time": { "created": 1, "started": 2, "ended": 3 } }),
        ),
    );
    pin(
        &part(PartBody::File(Attachment {
            mime: "image/png".to_owned(),
            name: None,
            url: "data:,".to_owned(),
        })),
        &form("file", json!({ "mime": "image/png", "url": "data:," })),
    );
    pin(
        &part(PartBody::Compaction(Compaction {
            summary: "s".to_owned(),
            keep_from: Some("msg_2".to_owned()),
            reason: "window".to_owned(),
            error: None,
        })),
        &form(
            "compaction",
            json!({ "summary": "s", "keep_from": "msg_2", "reason": "window" }),
        ),
    );
}

fn pin_event(body: EventBody, kind: &str, data: &serde_json::Value) {
    let event = Event {
        id: 7,
        session: "s".to_owned(),
        time: 1,
        body,
    };
    pin(
        &event,
        &json!({ "id": 7, "session": "s", "time": 1, "type": kind, "data": data }),
    );
}

#[test]
fn events_of_sessions_and_turns_have_their_forms() {
    pin_event(
        EventBody::SessionCreated(SessionCreated {
            format: 1,
            parent: None,
            agent: "beeuni".to_owned(),
            environment: "e".to_owned(),
        }),
        "session.created",
        &json!({ "format": 1, "agent": "beeuni", "environment": "e" }),
    );
    pin_event(
        EventBody::SessionTitled { title: "t".to_owned() },
        "session.titled",
        &json!({ "title": "t" }),
    );
    pin_event(
        EventBody::SessionReloaded {
            tools: vec!["show".to_owned()],
            failed: vec![],
        },
        "session.reloaded",
        &json!({ "tools": ["show"], "failed": [] }),
    );
    pin_event(
        EventBody::TurnStarted(TurnStarted {
            turn: "turn_1".to_owned(),
            agent: "a".to_owned(),
            model: "m".to_owned(),
            chosen: true,
            message: Some("msg_1".to_owned()),
        }),
        "turn.started",
        &json!({ "turn": "turn_1", "agent": "a", "model": "m", "chosen": true, "message": "msg_1" }),
    );
    let ended = TurnEnded {
        turn: "turn_1".to_owned(),
        outcome: TurnOutcome::ContentFilter,
        steps: 2,
        usage: Usage::default(),
        error: None,
    };
    pin_event(
        EventBody::TurnEnded(ended),
        "turn.ended",
        &json!({ "turn": "turn_1", "outcome": "content_filter", "steps": 2, "usage": { "input": 0, "output": 0 } }),
    );
    pin_event(EventBody::Resync {}, "resync", &json!({}));
}

#[test]
fn events_of_messages_have_their_forms() {
    let message = message();
    let form = serde_json::to_value(&message).unwrap();
    let data = json!({ "message": form });
    pin_event(
        EventBody::MessageCreated {
            message: message.clone(),
        },
        "message.created",
        &data,
    );
    pin_event(EventBody::MessageUpdated { message }, "message.updated", &data);
    let part = part(PartBody::Tool(call()));
    let data = json!({ "part": serde_json::to_value(&part).unwrap() });
    pin_event(EventBody::PartUpdated { part }, "part.updated", &data);
    pin_event(
        EventBody::PartDelta(Delta {
            message: "msg_1".to_owned(),
            part: "prt_1".to_owned(),
            field: DeltaField::Arguments,
            text: "{".to_owned(),
        }),
        "part.delta",
        &json!({ "message": "msg_1", "part": "prt_1", "field": "arguments", "text": "{" }),
    );
    pin_event(
        EventBody::ModelRetry(Retry {
            message: "msg_1".to_owned(),
            attempt: 1,
            wait_ms: 500,
            error: TurnError {
                kind: "unavailable".to_owned(),
                status: None,
                message: "no".to_owned(),
            },
        }),
        "model.retry",
        &json!({ "message": "msg_1", "attempt": 1, "wait_ms": 500,
            "error": { "kind": "unavailable", "message": "no" } }),
    );
}

#[test]
fn what_waits_for_a_person_has_its_form() {
    let always = vec![AllowedPattern {
        capability: "bash".to_owned(),
        pattern: "git *".to_owned(),
        exact: false,
        level: 2,
        weight: 0,
    }];
    let always_form = json!([{ "capability": "bash", "pattern": "git *", "level": 2, "weight": 0 }]);
    pin_event(
        EventBody::PermissionAsked {
            request: PermissionRequest {
                id: "per_1".to_owned(),
                session: "s".to_owned(),
                agent: "a".to_owned(),
                message: "msg_1".to_owned(),
                call: "call_1".to_owned(),
                tool: "bash".to_owned(),
                accesses: vec![RequestedAccess {
                    capability: "bash".to_owned(),
                    subject: "git push".to_owned(),
                    rule: "the rule".to_owned(),
                }],
                always: always.clone(),
                created: 1,
            },
        },
        "permission.asked",
        &json!({ "request": { "id": "per_1", "session": "s", "agent": "a", "message": "msg_1", "call": "call_1",
            "tool": "bash", "accesses": [{ "capability": "bash", "subject": "git push", "rule": "the rule" }],
            "always": always_form, "created": 1 } }),
    );
    pin_event(
        EventBody::PermissionReplied {
            request: "per_1".to_owned(),
            reply: PermissionReply::Always,
            always,
        },
        "permission.replied",
        &json!({ "request": "per_1", "reply": "always", "always": always_form }),
    );
    pin_event(
        EventBody::QuestionAsked {
            request: QuestionRequest {
                id: "que_1".to_owned(),
                session: "s".to_owned(),
                message: "msg_1".to_owned(),
                call: "call_1".to_owned(),
                questions: vec![Question {
                    question: "Which?".to_owned(),
                    header: "Colour".to_owned(),
                    options: vec![QuestionOption {
                        label: "Blue".to_owned(),
                        description: String::new(),
                    }],
                    multiple: false,
                }],
                created: 1,
            },
        },
        "question.asked",
        &json!({ "request": { "id": "que_1", "session": "s", "message": "msg_1", "call": "call_1", "questions": [
            { "question": "Which?", "header": "Colour", "options": [{ "label": "Blue", "description": "" }] }],
            "created": 1 } }),
    );
    pin_event(
        EventBody::QuestionAnswered {
            request: "que_1".to_owned(),
            answers: Some(vec![vec!["Blue".to_owned()]]),
        },
        "question.answered",
        &json!({ "request": "que_1", "answers": [["Blue"]] }),
    );
    pin(
        &PermissionAnswer {
            reply: PermissionReply::Reject,
            message: Some("use git".to_owned()),
        },
        &json!({ "reply": "reject", "message": "use git" }),
    );
    pin(
        &QuestionAnswer {
            answers: vec![vec!["Blue".to_owned()]],
        },
        &json!({ "answers": [["Blue"]] }),
    );
}

#[test]
fn a_state_has_its_form() {
    pin(
        &SessionState {
            id: "s".to_owned(),
            parent: None,
            title: Some("t".to_owned()),
            agent: "a".to_owned(),
            model: None,
            activity: Activity::Running,
            turn: Some("turn_1".to_owned()),
            waiting: 1,
            messages: 2,
            usage: Usage::default(),
            created: 1,
            updated: 2,
            last_event: 3,
        },
        &json!({ "id": "s", "title": "t", "agent": "a", "activity": "running", "turn": "turn_1", "waiting": 1,
            "messages": 2, "usage": { "input": 0, "output": 0 }, "created": 1, "updated": 2, "last_event": 3 }),
    );
}

#[test]
fn a_kind_of_event_from_a_later_version_is_read_as_unknown() {
    for data in ["", ",\"data\":{\"a\":[1]}", ",\"data\":3"] {
        let text = format!("{{\"id\":1,\"session\":\"s\",\"time\":1,\"type\":\"a.later.one\"{data}}}");
        let event = serde_json::from_str::<Event>(&text).unwrap();
        assert!(matches!(event.body, EventBody::Unknown(_)), "{data}");
        assert_eq!(serde_json::to_string(&event).unwrap(), text);
    }
}
