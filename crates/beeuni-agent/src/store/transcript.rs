//! What the events of a session add up to: its messages, where their parts stand in the log, what is unfinished.
use std::collections::HashMap;

use beeuni_protocol::session::{
    AllowedPattern, EventBody, Message, Part, PartBody, SessionCreated, ToolStatus, TurnEnded, TurnStarted, Usage,
};
use serde::Deserialize;

use super::log::Place;

/// The conversation of one session, without the texts of its parts: those are read from the log when needed.
#[derive(Debug)]
pub struct Transcript {
    /// How the session began.
    pub created: SessionCreated,
    /// When.
    pub at: u64,
    /// When something last happened.
    pub updated: u64,
    /// Its title.
    pub title: Option<String>,
    /// Its messages in order.
    pub messages: Vec<Entry>,
    /// The last turn.
    pub turn: Option<TurnStarted>,
    /// Whether the last turn has not ended.
    pub running: bool,
    /// What the turns that ended used.
    pub usage: Usage,
    /// Permission requests without a reply.
    pub permissions: Vec<String>,
    /// Questions without an answer.
    pub questions: Vec<String>,
    /// What a person said "always" to.
    pub allowed: Vec<AllowedPattern>,
    /// Where the last todo list stands.
    pub(crate) todos: Option<Place>,
    index: HashMap<String, usize>,
}

/// One message.
#[derive(Debug)]
pub struct Entry {
    /// The message without its parts.
    pub message: Message,
    /// Its parts in order.
    pub(crate) parts: Vec<Slot>,
}

/// One stored part.
#[derive(Debug)]
pub(crate) struct Slot {
    /// Its id.
    pub(crate) id: String,
    /// Its latest form.
    pub(crate) place: Place,
    /// Where it stands, when it is a tool call.
    pub(crate) status: Option<ToolStatus>,
    /// Whether it marks a compaction.
    pub(crate) compaction: bool,
}

impl Transcript {
    /// A session that began.
    pub(crate) fn new(created: SessionCreated, at: u64) -> Self {
        Self {
            created,
            at,
            updated: at,
            title: None,
            messages: Vec::new(),
            turn: None,
            running: false,
            usage: Usage::default(),
            permissions: Vec::new(),
            questions: Vec::new(),
            allowed: Vec::new(),
            todos: None,
            index: HashMap::new(),
        }
    }

    /// The place of a message.
    #[must_use]
    pub fn position(&self, message: &str) -> Option<usize> {
        self.index.get(message).copied()
    }

    /// The last message that marks a compaction, with its mark.
    pub(crate) fn last_compaction(&self) -> Option<(usize, &Slot)> {
        self.messages
            .iter()
            .enumerate()
            .rev()
            .find_map(|(at, entry)| Some((at, entry.parts.iter().find(|slot| slot.compaction)?)))
    }

    /// Adds what an event changed.
    pub(crate) fn apply(&mut self, time: u64, change: Change) {
        self.updated = time;
        match change {
            Change::Titled(title) => self.title = Some(title),
            Change::TurnStarted(turn) => (self.turn, self.running) = (Some(turn), true),
            Change::TurnEnded(ended) => {
                self.running = false;
                self.usage.add(&ended.usage);
            }
            Change::Message(message) => self.message(message),
            Change::Part(part) => self.part(part),
            Change::PermissionAsked(id) => self.permissions.push(id),
            Change::PermissionReplied(id, mut always) => {
                self.permissions.retain(|open| *open != id);
                self.allowed.append(&mut always);
            }
            Change::QuestionAsked(id) => self.questions.push(id),
            Change::QuestionAnswered(id) => self.questions.retain(|open| *open != id),
            Change::Other => {}
        }
    }

    fn message(&mut self, message: Message) {
        if let Some(at) = self.position(&message.id) {
            self.messages[at].message = message;
        } else {
            self.index.insert(message.id.clone(), self.messages.len());
            self.messages.push(Entry {
                message,
                parts: Vec::new(),
            });
        }
    }

    fn part(&mut self, part: PartHead) {
        let Some(at) = self.position(&part.message) else {
            tracing::warn!(part = part.id, message = part.message, "a part without its message");
            return;
        };
        if part.todos {
            self.todos = Some(part.place);
        }
        let slots = &mut self.messages[at].parts;
        let slot = Slot {
            id: part.id,
            place: part.place,
            status: part.status,
            compaction: part.compaction,
        };
        // Parts end in any order; their ids say in which they began.
        match slots.binary_search_by(|other| other.id.cmp(&slot.id)) {
            Ok(at) => slots[at] = slot,
            Err(at) => slots.insert(at, slot),
        }
    }
}

/// What a stored event changes in a transcript.
#[derive(Debug)]
pub(crate) enum Change {
    Titled(String),
    TurnStarted(TurnStarted),
    TurnEnded(TurnEnded),
    Message(Message),
    Part(PartHead),
    PermissionAsked(String),
    PermissionReplied(String, Vec<AllowedPattern>),
    QuestionAsked(String),
    QuestionAnswered(String),
    Other,
}

/// What a transcript keeps of a part.
#[derive(Debug)]
pub(crate) struct PartHead {
    id: String,
    message: String,
    place: Place,
    status: Option<ToolStatus>,
    compaction: bool,
    todos: bool,
}

impl PartHead {
    fn of(part: &Part, place: Place) -> Self {
        let call = match &part.body {
            PartBody::Tool(call) => Some(call),
            _ => None,
        };
        Self {
            id: part.id.clone(),
            message: part.message.clone(),
            place,
            status: call.map(|call| call.status),
            compaction: matches!(part.body, PartBody::Compaction(_)),
            todos: call.is_some_and(|call| call.tool == TODOS && call.status == ToolStatus::Completed),
        }
    }
}

/// The tool whose last output is the todo list.
const TODOS: &str = "todowrite";

impl Change {
    /// What an event that was just stored at `place` changes.
    pub(crate) fn of(body: &EventBody, place: Place) -> Self {
        match body {
            EventBody::SessionTitled { title } => Self::Titled(title.clone()),
            EventBody::TurnStarted(turn) => Self::TurnStarted(turn.clone()),
            EventBody::TurnEnded(ended) => Self::TurnEnded(ended.clone()),
            EventBody::MessageCreated { message } | EventBody::MessageUpdated { message } => {
                Self::Message(message.clone())
            }
            EventBody::PartUpdated { part } => Self::Part(PartHead::of(part, place)),
            EventBody::PermissionAsked { request } => Self::PermissionAsked(request.id.clone()),
            EventBody::PermissionReplied { request, always, .. } => {
                Self::PermissionReplied(request.clone(), always.clone())
            }
            EventBody::QuestionAsked { request } => Self::QuestionAsked(request.id.clone()),
            EventBody::QuestionAnswered { request, .. } => Self::QuestionAnswered(request.clone()),
            _ => Self::Other,
        }
    }

    /// What a record of the log changes. The texts of parts, which make up most of a log, are passed over.
    pub(crate) fn read(record: &Record<'_>, place: Place) -> serde_json::Result<Self> {
        #[derive(Deserialize)]
        struct PartUpdated<'a> {
            #[serde(borrow)]
            part: StoredPart<'a>,
        }
        #[derive(Deserialize)]
        struct StoredPart<'a> {
            id: String,
            message: String,
            #[serde(borrow, rename = "type")]
            kind: &'a str,
            #[serde(default)]
            tool: Option<String>,
            #[serde(default)]
            status: Option<ToolStatus>,
        }
        if record.kind == "part.updated" {
            let PartUpdated { part } = serde_json::from_str(record.data.get())?;
            return Ok(Self::Part(PartHead {
                id: part.id,
                message: part.message,
                place,
                status: part.status,
                compaction: part.kind == "compaction",
                todos: part.tool.as_deref() == Some(TODOS) && part.status == Some(ToolStatus::Completed),
            }));
        }
        // `type` and `data` again as one value: the enum's own reader.
        let body: EventBody = serde_json::from_str(&format!(
            "{{\"type\":{:?},\"data\":{}}}",
            record.kind,
            record.data.get()
        ))?;
        Ok(Self::of(&body, place))
    }
}

/// A record of the log with its content still as text.
#[derive(Debug, Deserialize)]
pub(crate) struct Record<'a> {
    pub(crate) id: u64,
    #[serde(borrow)]
    pub(crate) session: &'a str,
    pub(crate) time: u64,
    #[serde(borrow, rename = "type")]
    pub(crate) kind: &'a str,
    #[serde(borrow)]
    pub(crate) data: &'a serde_json::value::RawValue,
}
