//! What a session shows, whichever harness writes it: how it stands, its subagents, pages of messages.
use std::ops::Range;

use beeuni_protocol::session::{Activity, Message, MessageList, PermissionRequest, QuestionRequest, SessionState};

use crate::ask::Asks;
use crate::store::{Journal, StoreError};

/// A look at a session.
#[derive(Debug)]
pub struct View<'a> {
    /// What happened in it.
    pub journal: &'a Journal,
    /// What waits for a person.
    pub asks: &'a Asks,
    /// What it is doing.
    pub activity: Activity,
    /// The turn that runs.
    pub turn: Option<String>,
    /// The agent of a prompt that names none.
    pub default_agent: Option<String>,
}

impl View<'_> {
    /// How the session stands, or a subagent's; `None` when there is none of that id.
    #[must_use]
    pub fn state(&self, session: &str) -> Option<SessionState> {
        let root = session == self.journal.root();
        let waiting = self.waiting(session);
        // Before the transcript is looked at: a reader that asks for what came later must miss nothing.
        let last_event = self.journal.last();
        self.journal.with(session, |transcript| {
            let last = transcript.turn.as_ref();
            let running = last.filter(|_| transcript.running);
            SessionState {
                id: session.to_owned(),
                parent: transcript.created.parent.clone(),
                title: transcript.title.clone(),
                agent: last
                    .map(|turn| turn.agent.clone())
                    .or(self.default_agent.clone().filter(|_| root))
                    .unwrap_or_else(|| transcript.created.agent.clone()),
                model: last.map(|turn| turn.model.clone()),
                activity: match running {
                    _ if root => self.activity,
                    Some(_) => Activity::Running,
                    None => Activity::Idle,
                },
                turn: if root {
                    self.turn.clone()
                } else {
                    running.map(|turn| turn.turn.clone())
                },
                waiting,
                messages: transcript.messages.len(),
                usage: transcript.usage,
                created: transcript.at,
                updated: transcript.updated,
                last_event,
            }
        })
    }

    /// The subagents' sessions, oldest first.
    #[must_use]
    pub fn children(&self) -> Vec<SessionState> {
        let mut ids = self.journal.sessions();
        ids.retain(|id| id != self.journal.root());
        let mut children: Vec<SessionState> = ids.iter().filter_map(|id| self.state(id)).collect();
        children.sort_by(|a, b| (a.created, &a.id).cmp(&(b.created, &b.id)));
        children
    }

    fn waiting(&self, session: &str) -> usize {
        let permissions = self.asks.waiting_permissions();
        let questions = self.asks.waiting_questions();
        permissions.iter().filter(|request| request.session == session).count()
            + questions.iter().filter(|request| request.session == session).count()
    }

    /// The permission requests that are answered through `session`: the root's are all, a subagent's its own.
    #[must_use]
    pub fn permissions(&self, session: &str) -> Vec<PermissionRequest> {
        let mut waiting = self.asks.waiting_permissions();
        waiting.retain(|request| session == self.journal.root() || session == request.session);
        waiting
    }

    /// The questions that are answered through `session`.
    #[must_use]
    pub fn questions(&self, session: &str) -> Vec<QuestionRequest> {
        let mut waiting = self.asks.waiting_questions();
        waiting.retain(|request| session == self.journal.root() || session == request.session);
        waiting
    }
}

impl Journal {
    /// The messages of a session; `None` when there is none of that id.
    ///
    /// # Errors
    /// The transcript could not be read.
    pub fn messages_of(&self, session: &str, range: Range<usize>) -> Result<Option<Vec<Message>>, StoreError> {
        match self.with(session, |_| ()) {
            Some(()) => self.messages(session, range).map(Some),
            None => Ok(None),
        }
    }

    /// Which of a session's messages a message is: from 0, oldest first; `None` when there is no such session or
    /// message.
    #[must_use]
    pub fn position_of(&self, session: &str, message: &str) -> Option<usize> {
        self.with(session, |transcript| transcript.position(message)).flatten()
    }

    /// At most `limit` messages after the message `after`, oldest first; `None` when there is no such message.
    ///
    /// # Errors
    /// The transcript could not be read.
    pub fn page(&self, session: &str, after: Option<&str>, limit: usize) -> Result<Option<MessageList>, StoreError> {
        let start = match after.map(|message| self.position_of(session, message)) {
            None => 0,
            Some(Some(place)) => place + 1,
            Some(None) => return Ok(None),
        };
        let count = self.with(session, |transcript| transcript.messages.len()).unwrap_or(0);
        let messages = self.messages(session, start..start.saturating_add(limit))?;
        Ok(Some(MessageList {
            more: start + messages.len() < count,
            messages,
        }))
    }
}
