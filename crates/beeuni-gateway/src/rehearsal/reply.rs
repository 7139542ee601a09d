//! What the stand-in answers: the next calls of its plan, or what came back from the last.

use super::conversation::{Message, Request};
use super::parser::{self, Offered};
use super::plan::{Plan, PlannedCall};
use super::values::Schema;
use crate::models::REHEARSAL;

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Text(String),
    Calls(Vec<Call>),
}

/// A tool call of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) arguments: String,
}

impl Offered for Request {
    fn has(&self, name: &str) -> bool {
        self.tool(name).is_some()
    }

    fn schema(&self, name: &str) -> Schema<'_> {
        Schema::new(self.tool(name).map(|tool| &tool.parameters))
    }
}

/// Decides on the answer.
pub(super) fn to(request: &Request) -> Reply {
    let (at, instruction) = request.instruction();
    let since = request.messages.get(at + 1..).unwrap_or_default();
    let plan = parser::plan(&instruction, request);
    if plan.steps.is_empty() {
        return Reply::Text(match summary(request, at, &instruction) {
            Some(summary) => summary,
            None => introduction(request),
        });
    }
    let done = since.iter().filter(|message| !message.calls().is_empty()).count();
    match next_calls(request, &plan, done) {
        Ok(calls) => Reply::Calls(calls),
        Err(missing) => {
            let mut parts = outputs(since);
            parts.extend(missing);
            Reply::Text(parts.join("\n\n"))
        }
    }
}

/// The calls of the step that is next; when there is none, what to say about that, if anything.
fn next_calls(request: &Request, plan: &Plan, done: usize) -> Result<Vec<Call>, Option<String>> {
    let step = plan.steps.get(done).ok_or(None)?;
    let missing = |call: &&PlannedCall| !call.anyway && request.tool(&call.tool).is_none();
    if let Some(call) = step.iter().find(missing) {
        return Err(Some(not_offered(request, &call.tool)));
    }
    let fingerprint = request.fingerprint();
    let calls = step.iter().enumerate().map(|(index, call)| Call {
        id: format!("call_{fingerprint:016x}_{index}"),
        tool: call.tool.clone(),
        arguments: call.arguments.clone(),
    });
    Ok(calls.collect())
}

/// What came back since the instruction, call by call: alone as it is, several with their tools' names.
fn outputs(since: &[Message]) -> Vec<String> {
    let calls: Vec<(&str, &str)> = since
        .iter()
        .flat_map(|message| {
            message
                .calls()
                .iter()
                .map(|call| (call.id.as_str(), call.function.name.as_str()))
        })
        .collect();
    let shown = calls.iter().map(|(id, tool)| {
        let result = since
            .iter()
            .find(|message| message.role == "tool" && message.tool_call_id.as_deref() == Some(id));
        match result.map(Message::text) {
            None => format!("The {tool} tool gave no result."),
            Some(text) if is_failure(tool, &text) => format!("The {tool} tool failed: {text}"),
            Some(text) if text.is_empty() => format!("The {tool} tool returned nothing."),
            Some(text) if calls.len() > 1 => format!("{tool}: {text}"),
            Some(text) => text,
        }
    });
    shown.collect()
}

/// Chat completions do not say whether a tool failed: its text does.
fn is_failure(tool: &str, text: &str) -> bool {
    let begins = text.get(..5).is_some_and(|it| it.eq_ignore_ascii_case("error"));
    begins || text.starts_with(&format!("Tool {tool} not found"))
}

fn not_offered(request: &Request, tool: &str) -> String {
    let offered: Vec<&str> = request.offered().map(|tool| tool.name.as_str()).collect();
    let others = match offered.as_slice() {
        [] => "No tool is.".to_owned(),
        names => format!("What is offered: {}.", names.join(", ")),
    };
    format!("The {tool} tool is not offered to me ({REHEARSAL}). {others}")
}

fn introduction(request: &Request) -> String {
    let tools: Vec<&str> = request.offered().map(|tool| tool.name.as_str()).collect();
    let (example, offer) = match tools.as_slice() {
        [] => ("weather_now", "No tool is offered to me now.".to_owned()),
        [first, ..] => (*first, format!("Tools offered to me now: {}.", tools.join(", "))),
    };
    format!(
        "I am {REHEARSAL}, a stand-in that is built into Beeuni. I am not a language model: I understand no \
         questions and write no text of my own. I carry out tool calls that are spelled out, for example: Call the \
         {example} tool once with city Berlin and print its output. {offer} For real answers set up a model \
         provider, for example with OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY, \
         BEEUNI_LLM_BASE_URL or a local Ollama."
    )
}

/// A summary, when one is asked for, as harnesses do before a conversation gets too long: what was
/// asked and which tools ran, without judgement.
fn summary(request: &Request, at: usize, instruction: &str) -> Option<String> {
    let asked = instruction.to_lowercase();
    let wanted = ["summarize", "summarise", "summary"]
        .iter()
        .any(|word| asked.contains(word));
    if !wanted {
        return None;
    }
    let earlier = request.messages.get(..at).unwrap_or_default();
    let mut lines = vec![format!(
        "Summary by {REHEARSAL}, a list of what happened, not a judgement of it."
    )];
    for message in earlier {
        let text: String = message.text().split_whitespace().collect::<Vec<_>>().join(" ");
        let text: String = text.chars().take(300).collect();
        match message.role.as_str() {
            "user" if !text.is_empty() => lines.push(format!("- Asked: {text}")),
            "assistant" => {
                lines.extend(
                    message
                        .calls()
                        .iter()
                        .map(|call| format!("- Called {} with {}", call.function.name, call.function.arguments)),
                );
                if !text.is_empty() {
                    lines.push(format!("- Answered: {text}"));
                }
            }
            _ => {}
        }
    }
    Some(lines.join("\n"))
}
