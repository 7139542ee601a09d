//! What the events of a turn add up to: its answer, how it ended, which calls run.
use std::collections::HashMap;

use beeuni_protocol::session::{
    Delta, DeltaField, Event, EventBody, Message, Part, PartBody, Role, ToolCall, ToolStatus, TurnEnded, TurnStarted,
};

/// The turn as far as its events have told.
#[derive(Debug)]
pub(super) struct Follow {
    /// The session that was prompted: its subagents have others.
    session: String,
    /// How the turn began.
    pub(super) started: Option<TurnStarted>,
    /// How it ended.
    pub(super) ended: Option<TurnEnded>,
    /// The agents of subagents' sessions.
    agents: HashMap<String, String>,
    /// The model's message that is being written, or was last.
    message: Option<String>,
    /// Its text parts in order.
    texts: Vec<(String, String)>,
    /// The calls that have begun and not ended, oldest first.
    running: Vec<Running>,
}

/// A call that runs.
#[derive(Debug)]
pub(super) struct Running {
    part: String,
    /// The tool.
    pub(super) tool: String,
    /// When it began, in milliseconds since 1970.
    pub(super) since: u64,
    /// The last line that it has printed.
    pub(super) line: Option<String>,
}

/// What an event means to somebody who watches.
#[derive(Debug)]
pub(super) enum Step<'a> {
    /// The model goes on with its text.
    Text(&'a str),
    /// A text is complete.
    TextEnds,
    /// The model's message is complete; whether calls follow it, and its text.
    MessageEnds {
        /// Whether tools are called: the message is not the answer then.
        calls: bool,
    },
    /// A call begins to run.
    CallBegins(&'a ToolCall),
    /// A call has ended.
    CallEnds(&'a ToolCall),
    /// Nothing that shows.
    Nothing,
}

impl Follow {
    pub(super) fn new(session: &str) -> Self {
        Self {
            session: session.to_owned(),
            started: None,
            ended: None,
            agents: HashMap::new(),
            message: None,
            texts: Vec::new(),
            running: Vec::new(),
        }
    }

    /// Takes an event in.
    pub(super) fn take<'a>(&mut self, event: &'a Event) -> Step<'a> {
        let own = event.session == self.session;
        match &event.body {
            EventBody::TurnStarted(started) if own => self.started = Some(started.clone()),
            EventBody::TurnStarted(started) => {
                self.agents.insert(event.session.clone(), started.agent.clone());
            }
            EventBody::TurnEnded(ended) if own => self.ended = Some(ended.clone()),
            EventBody::MessageCreated { message } if own && message.role == Role::Assistant => {
                self.message = Some(message.id.clone());
                self.texts.clear();
            }
            EventBody::MessageUpdated { message } if own => return self.message_ends(message),
            EventBody::PartDelta(delta) => return self.grow(delta, own),
            EventBody::PartUpdated { part } => return self.part(part, own),
            _ => {}
        }
        Step::Nothing
    }

    /// The text of the model's last message.
    pub(super) fn answer(&self) -> String {
        let texts: Vec<&str> = self
            .texts
            .iter()
            .map(|(_, text)| text.trim_end())
            .filter(|text| !text.is_empty())
            .collect();
        texts.join("\n\n")
    }

    /// The subagent whose event this is.
    pub(super) fn subagent(&self, event: &Event) -> Option<&str> {
        let own = event.session == self.session;
        (!own).then(|| self.agents.get(&event.session).map_or("subagent", String::as_str))
    }

    /// The call that has been running for the longest time.
    pub(super) fn longest(&self) -> Option<&Running> {
        self.running.first()
    }

    /// How many calls run.
    pub(super) fn calls(&self) -> usize {
        self.running.len()
    }

    /// A line that a tool has printed.
    pub(super) fn printed(&mut self, tool: &str, line: &str) {
        for running in self.running.iter_mut().filter(|running| running.tool == tool) {
            running.line = Some(line.to_owned());
        }
    }

    fn message_ends(&self, message: &Message) -> Step<'static> {
        use beeuni_protocol::session::Finish;
        match &message.finish {
            Some(finish) if self.message.as_ref() == Some(&message.id) => Step::MessageEnds {
                calls: *finish == Finish::ToolCalls,
            },
            _ => Step::Nothing,
        }
    }

    fn grow<'a>(&mut self, delta: &'a Delta, own: bool) -> Step<'a> {
        match delta.field {
            DeltaField::Text if own => {
                // A part of another kind is not among the texts: what the model thinks is no answer.
                if let Some((_, text)) = self.texts.iter_mut().find(|(part, _)| *part == delta.part) {
                    text.push_str(&delta.text);
                    return Step::Text(&delta.text);
                }
            }
            DeltaField::Output => {
                let line = delta.text.lines().rev().find(|line| !line.trim().is_empty());
                if let (Some(line), Some(running)) =
                    (line, self.running.iter_mut().find(|running| running.part == delta.part))
                {
                    running.line = Some(line.to_owned());
                }
            }
            _ => {}
        }
        Step::Nothing
    }

    fn part<'a>(&mut self, part: &'a Part, own: bool) -> Step<'a> {
        match &part.body {
            PartBody::Text(text) if own && self.message.as_ref() == Some(&part.message) => {
                let Some((_, known)) = self.texts.iter_mut().find(|(id, _)| *id == part.id) else {
                    self.texts.push((part.id.clone(), text.text.clone()));
                    return if text.text.is_empty() {
                        Step::Nothing
                    } else {
                        Step::Text(&text.text)
                    };
                };
                // The whole part: what its deltas did not bring is new.
                let rest = text.text.strip_prefix(known.as_str()).unwrap_or_default();
                known.clone_from(&text.text);
                if rest.is_empty() {
                    Step::TextEnds
                } else {
                    Step::Text(rest)
                }
            }
            PartBody::Tool(call) => self.call(part, call),
            _ => Step::Nothing,
        }
    }

    fn call<'a>(&mut self, part: &Part, call: &'a ToolCall) -> Step<'a> {
        let known = self.running.iter().position(|running| running.part == part.id);
        match (call.status, known) {
            (ToolStatus::Running, None) => {
                self.running.push(Running {
                    part: part.id.clone(),
                    tool: call.tool.clone(),
                    since: call.time.started.unwrap_or(call.time.created),
                    line: None,
                });
                Step::CallBegins(call)
            }
            (ToolStatus::Completed | ToolStatus::Error | ToolStatus::Interrupted, known) => {
                if let Some(at) = known {
                    self.running.remove(at);
                }
                Step::CallEnds(call)
            }
            _ => Step::Nothing,
        }
    }
}
