//! What a session shows: messages, events, what waits for a person, how it stands.
use std::ops::Range;

use beeuni_protocol::session::{
    Activity, Message, PermissionAnswer, PermissionRequest, QuestionAnswer, QuestionRequest, SessionState, Usage,
};

use super::{Inner, Session};
use crate::ask::ReplyError;
use crate::store::{EventStream, StoreError};

impl Session {
    /// The messages of this session in `range` (from 0, oldest first), with their parts; a range may go beyond the
    /// end.
    ///
    /// # Errors
    /// The transcript could not be read.
    pub fn messages(&self, range: Range<usize>) -> Result<Vec<Message>, StoreError> {
        self.0.engine.journal.messages(&self.0.id, range)
    }

    /// The messages of a subagent's session; `None` when this session has none of that id.
    ///
    /// # Errors
    /// The transcript could not be read.
    pub fn messages_of(&self, session: &str, range: Range<usize>) -> Result<Option<Vec<Message>>, StoreError> {
        let journal = &self.0.engine.journal;
        match journal.with(session, |_| ()) {
            Some(()) => journal.messages(session, range).map(Some),
            None => Ok(None),
        }
    }

    /// Which of the messages of this session, or of a subagent's, a message is: from 0, oldest first; `None` when
    /// there is no such session or message.
    #[must_use]
    pub fn position_of(&self, session: &str, message: &str) -> Option<usize> {
        self.0
            .engine
            .journal
            .with(session, |transcript| transcript.position(message))
            .flatten()
    }

    /// The events after number `after`, with those of subagents; with `None` those from now on.
    #[must_use]
    pub fn events(&self, after: Option<u64>) -> EventStream {
        EventStream::new(&self.0.engine.journal, after)
    }

    /// The permission requests that wait, oldest first.
    #[must_use]
    pub fn permissions(&self) -> Vec<PermissionRequest> {
        self.0.engine.asks.waiting_permissions()
    }

    /// Answers a permission request.
    ///
    /// # Errors
    /// It does not wait any more, or the answer cannot be stored.
    pub fn reply_permission(&self, request: &str, answer: PermissionAnswer) -> Result<(), ReplyError> {
        self.0.engine.asks.reply(request, answer)
    }

    /// The questions that wait, oldest first.
    #[must_use]
    pub fn questions(&self) -> Vec<QuestionRequest> {
        self.0.engine.asks.waiting_questions()
    }

    /// Answers questions.
    ///
    /// # Errors
    /// They do not wait any more, the number of answers is wrong, or they cannot be stored.
    pub fn answer_question(&self, request: &str, answer: QuestionAnswer) -> Result<(), ReplyError> {
        self.0.engine.asks.answer(request, Some(answer))
    }

    /// Dismisses questions: the turn stops.
    ///
    /// # Errors
    /// They do not wait any more, or it cannot be stored.
    pub fn reject_question(&self, request: &str) -> Result<(), ReplyError> {
        self.0.engine.asks.answer(request, None)
    }

    /// How it stands.
    #[must_use]
    pub fn state(&self) -> SessionState {
        self.0.state(&self.0.id).unwrap_or_else(|| self.0.unknown_state())
    }

    /// How a subagent's session stands; `None` when this session has none of that id.
    #[must_use]
    pub fn state_of(&self, session: &str) -> Option<SessionState> {
        self.0.state(session)
    }

    /// The subagents' sessions, oldest first.
    #[must_use]
    pub fn children(&self) -> Vec<SessionState> {
        let mut ids = self.0.engine.journal.sessions();
        ids.retain(|id| *id != self.0.id);
        ids.sort();
        ids.iter().filter_map(|id| self.0.state(id)).collect()
    }
}

impl Inner {
    fn state(&self, session: &str) -> Option<SessionState> {
        let root = session == self.id;
        let (activity, turn, default) = self.activity();
        let waiting = self.waiting(session);
        let journal = &self.engine.journal;
        // Before the transcript is looked at: a reader that asks for what came later must miss nothing.
        let last_event = journal.last();
        journal.with(session, |transcript| {
            let last = transcript.turn.as_ref();
            let running = last.filter(|_| transcript.running);
            SessionState {
                id: session.to_owned(),
                parent: transcript.created.parent.clone(),
                title: transcript.title.clone(),
                agent: last
                    .map(|turn| turn.agent.clone())
                    .or(default.filter(|_| root))
                    .unwrap_or_else(|| transcript.created.agent.clone()),
                model: last.map(|turn| turn.model.clone()),
                activity: match running {
                    _ if root => activity,
                    Some(_) => Activity::Running,
                    None => Activity::Idle,
                },
                turn: if root {
                    turn
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

    /// What the session itself is doing, the turn that runs, and the agent of a prompt that names none.
    fn activity(&self) -> (Activity, Option<String>, Option<String>) {
        let flow = self.flow();
        let activity = if flow.running.is_some() {
            Activity::Running
        } else if flow.closed {
            Activity::Closed
        } else if flow.reloads > 0 {
            Activity::Reloading
        } else {
            Activity::Idle
        };
        let turn = flow.running.as_ref().map(|running| running.turn.clone());
        (activity, turn, flow.setup.default_agent.clone())
    }

    fn waiting(&self, session: &str) -> usize {
        let asks = &self.engine.asks;
        let permissions = asks.waiting_permissions();
        let questions = asks.waiting_questions();
        permissions.iter().filter(|request| request.session == session).count()
            + questions.iter().filter(|request| request.session == session).count()
    }

    /// For a transcript without its first record, which [`Session::open`] does not accept.
    fn unknown_state(&self) -> SessionState {
        SessionState {
            id: self.id.clone(),
            parent: None,
            title: None,
            agent: String::new(),
            model: None,
            activity: Activity::Idle,
            turn: None,
            waiting: 0,
            messages: 0,
            usage: Usage::default(),
            created: 0,
            updated: 0,
            last_event: self.engine.journal.last(),
        }
    }
}
