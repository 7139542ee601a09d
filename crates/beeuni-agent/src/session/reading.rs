//! What a session shows: messages, events, what waits for a person, how it stands.
use std::ops::Range;

use beeuni_protocol::session::{
    Activity, Message, PermissionAnswer, PermissionRequest, QuestionAnswer, QuestionRequest, SessionState, Usage,
};

use super::{Inner, Session};
use crate::ask::ReplyError;
use crate::store::{EventStream, StoreError};
use crate::view::View;

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
        self.0.engine.journal.messages_of(session, range)
    }

    /// Which of the messages of this session, or of a subagent's, a message is: from 0, oldest first; `None` when
    /// there is no such session or message.
    #[must_use]
    pub fn position_of(&self, session: &str, message: &str) -> Option<usize> {
        self.0.engine.journal.position_of(session, message)
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
        self.0
            .view()
            .state(&self.0.id)
            .unwrap_or_else(|| self.0.unknown_state())
    }

    /// How a subagent's session stands; `None` when this session has none of that id.
    #[must_use]
    pub fn state_of(&self, session: &str) -> Option<SessionState> {
        self.0.view().state(session)
    }

    /// The subagents' sessions, oldest first.
    #[must_use]
    pub fn children(&self) -> Vec<SessionState> {
        self.0.view().children()
    }
}

impl Inner {
    fn view(&self) -> View<'_> {
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
        View {
            journal: &self.engine.journal,
            asks: &self.engine.asks,
            activity,
            turn: flow.running.as_ref().map(|running| running.turn.clone()),
            default_agent: flow.setup.default_agent.clone(),
        }
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
