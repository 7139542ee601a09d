//! The stand-in's answers in the form in which a provider sends them.

use serde_json::{Value, json};

use super::conversation::Request;
use super::reply::{Call, Reply};

/// Answers are cut into pieces of about this many bytes, so that a stream is one.
const PIECE: usize = 24;

/// An event stream.
pub(super) fn events(request: &Request, reply: &Reply) -> String {
    let mut stream = String::new();
    // Made once: each takes a walk through the whole conversation.
    let id = answer_id(request);
    let mut send = |value: &Value| stream.push_str(&format!("data: {value}\n\n"));
    let chunk = |delta: Value, reason: Option<&str>| {
        envelope(
            &id,
            "chat.completion.chunk",
            json!([{
                "index": 0, "delta": delta, "finish_reason": reason,
            }]),
        )
    };
    send(&chunk(json!({ "role": "assistant", "content": "" }), None));
    match reply {
        Reply::Text(text) => {
            for piece in pieces(text) {
                send(&chunk(json!({ "content": piece }), None));
            }
        }
        Reply::Calls(calls) => {
            for (index, call) in calls.iter().enumerate() {
                let mut begin = call_json(call, "");
                begin["index"] = index.into();
                send(&chunk(json!({ "tool_calls": [begin] }), None));
                for piece in pieces(&call.arguments) {
                    let more = json!({ "index": index, "function": { "arguments": piece } });
                    send(&chunk(json!({ "tool_calls": [more] }), None));
                }
            }
        }
    }
    send(&chunk(json!({}), Some(finish_reason(reply))));
    if request.wants_usage() {
        let mut last = envelope(&id, "chat.completion.chunk", json!([]));
        last["usage"] = usage(request, reply);
        send(&last);
    }
    stream.push_str("data: [DONE]\n\n");
    stream
}

/// One JSON object.
pub(super) fn whole(request: &Request, reply: &Reply) -> String {
    let message = match reply {
        Reply::Text(text) => json!({ "role": "assistant", "content": text }),
        Reply::Calls(calls) => {
            let calls: Vec<Value> = calls.iter().map(|call| call_json(call, &call.arguments)).collect();
            json!({ "role": "assistant", "content": null, "tool_calls": calls })
        }
    };
    let choice = json!({ "index": 0, "message": message, "finish_reason": finish_reason(reply) });
    let mut answer = envelope(&answer_id(request), "chat.completion", json!([choice]));
    answer["usage"] = usage(request, reply);
    answer.to_string()
}

fn answer_id(request: &Request) -> String {
    format!("rehearsal-{:016x}", request.fingerprint())
}

fn envelope(id: &str, object: &str, choices: Value) -> Value {
    json!({
        "id": id,
        "object": object,
        // Always the same: two runs of one conversation are equal byte for byte.
        "created": 0,
        "model": "rehearsal",
        "choices": choices,
    })
}

fn call_json(call: &Call, arguments: &str) -> Value {
    json!({ "id": call.id, "type": "function", "function": { "name": call.tool, "arguments": arguments } })
}

fn finish_reason(reply: &Reply) -> &'static str {
    match reply {
        Reply::Text(_) => "stop",
        Reply::Calls(_) => "tool_calls",
    }
}

/// Counted as a quarter of the bytes: an estimate, as good as any without a tokenizer.
fn usage(request: &Request, reply: &Reply) -> Value {
    let calls = |message: &super::conversation::Message| -> usize {
        message.calls().iter().map(|call| call.function.arguments.len()).sum()
    };
    let tools: usize = request
        .offered()
        .map(|tool| tool.name.len() + tool.parameters.to_string().len())
        .sum();
    let asked: usize = request.messages.iter().map(|it| it.text().len() + calls(it)).sum();
    let said: usize = match reply {
        Reply::Text(text) => text.len(),
        Reply::Calls(calls) => calls.iter().map(|call| call.tool.len() + call.arguments.len()).sum(),
    };
    let (input, output) = ((asked + tools).div_ceil(4), said.div_ceil(4));
    json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output })
}

/// Cuts at character boundaries.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, after) = rest.split_at_checked(rest.ceil_char_boundary(PIECE))?;
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}
