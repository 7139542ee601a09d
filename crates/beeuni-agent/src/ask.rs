//! What a turn waits for a person to answer: permission requests and questions.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use beeuni_protocol::session::{
    AllowedPattern, EventBody, PermissionAnswer, PermissionReply, PermissionRequest, QuestionAnswer, QuestionRequest,
    RequestedAccess, TurnError,
};
use tokio::sync::oneshot;

use crate::engine::OnAsk;
use crate::permission::{Access, Asked, Permissions, Remembered, Verdict};
use crate::store::{Journal, StoreError};
use crate::{clock, ids, turn_error};

/// What the model reads where nobody can be asked.
pub const NOBODY: &str = "Not allowed: this needs a person's permission and nobody is there to give it. Go on without \
    it, or say what you need it for.";
/// What the model reads when a person said no without a word.
pub const REFUSED: &str = "Not allowed: the user refused it.";

/// Why an answer was not taken.
#[derive(Debug, thiserror::Error)]
pub enum ReplyError {
    /// Nothing of that id waits: it was answered already, or its turn has ended.
    #[error("nothing with the id {0} waits for an answer: it was answered already, or its turn has ended")]
    NotWaiting(String),
    /// The answers do not fit the questions.
    #[error("{asked} questions were asked and {given} answered: give one list of answers for each question")]
    Count {
        /// How many questions there are.
        asked: usize,
        /// How many answers came.
        given: usize,
    },
    /// The answer could not be stored; the request still waits.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A call that wants to do something.
#[derive(Debug)]
pub struct Wish<'a> {
    /// The session whose turn makes it.
    pub session: &'a str,
    /// The agent.
    pub agent: &'a str,
    /// The message that holds the call.
    pub message: &'a str,
    /// The call's id.
    pub call: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// What it is going to do.
    pub accesses: &'a [Access],
    /// The rules.
    pub permissions: &'a Permissions,
    /// What happens where a person would be asked.
    pub on_ask: OnAsk,
}

/// What becomes of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered {
    /// It may run.
    Allowed,
    /// It may not, and the model goes on.
    Refused {
        /// For the model.
        text: String,
    },
    /// It may not, and the turn ends when its calls have.
    Blocked {
        /// For the model.
        text: String,
        /// Why the turn ends.
        error: TurnError,
    },
}

/// Everything that waits in a session and its subagents.
#[derive(Debug)]
pub struct Asks {
    journal: Arc<Journal>,
    permissions: Mutex<BTreeMap<String, WaitingCall>>,
    questions: Mutex<BTreeMap<String, WaitingQuestion>>,
}

#[derive(Debug)]
struct WaitingCall {
    request: PermissionRequest,
    accesses: Vec<Access>,
    permissions: Permissions,
    always: Vec<Remembered>,
    reply: oneshot::Sender<PermissionAnswer>,
}

#[derive(Debug)]
struct WaitingQuestion {
    request: QuestionRequest,
    reply: oneshot::Sender<Option<Vec<Vec<String>>>>,
}

impl Asks {
    /// Nothing waits yet.
    #[must_use]
    pub fn new(journal: Arc<Journal>) -> Self {
        Self {
            journal,
            permissions: Mutex::default(),
            questions: Mutex::default(),
        }
    }

    /// Decides a call: by the rules, and by a person where they say "ask". Dropping the future takes the request back.
    pub async fn decide(&self, wish: Wish<'_>) -> Answered {
        let asked = match wish.permissions.check(wish.accesses) {
            Verdict::Allow => return Answered::Allowed,
            Verdict::Deny(text) => return Answered::Refused { text },
            Verdict::Ask(asked) => asked,
        };
        match wish.on_ask {
            OnAsk::Allow => Answered::Allowed,
            OnAsk::Deny => Answered::Refused {
                text: NOBODY.to_owned(),
            },
            OnAsk::Fail => {
                let what: Vec<&str> = asked.iter().map(|one| one.access.subject.as_str()).collect();
                let message = format!("{} needs a permission: {}", wish.tool, what.join(", "));
                Answered::Blocked {
                    text: NOBODY.to_owned(),
                    error: turn_error::of_kind("blocked", message),
                }
            }
            OnAsk::Wait => self.put(&wish, &asked).await,
        }
    }

    /// Asks a person about a call.
    async fn put(&self, wish: &Wish<'_>, asked: &[Asked]) -> Answered {
        let always: Vec<_> = asked.iter().map(|one| one.always.clone()).collect();
        let request = PermissionRequest {
            id: ids::new(ids::Kind::Permission),
            session: wish.session.to_owned(),
            agent: wish.agent.to_owned(),
            message: wish.message.to_owned(),
            call: wish.call.to_owned(),
            tool: wish.tool.to_owned(),
            accesses: asked
                .iter()
                .map(|one| RequestedAccess {
                    capability: one.access.capability.clone(),
                    subject: one.access.subject.clone(),
                    rule: one.decision.by.clone(),
                })
                .collect(),
            always: always.iter().map(allowed).collect(),
            created: clock::now(),
        };
        let answer = match self.permission(request, wish.accesses, wish.permissions, always).await {
            Ok(answer) => answer,
            Err(error) => {
                return Answered::Refused {
                    text: error.to_string(),
                };
            }
        };
        let said = answer.message.filter(|message| !message.trim().is_empty());
        match (answer.reply, said) {
            (PermissionReply::Once | PermissionReply::Always, _) => Answered::Allowed,
            (PermissionReply::Reject, Some(message)) => Answered::Refused {
                text: format!("{REFUSED} They say: {message}"),
            },
            (PermissionReply::Reject, None) => Answered::Blocked {
                text: REFUSED.to_owned(),
                error: turn_error::of_kind("blocked", format!("{} was refused permission", wish.tool)),
            },
        }
    }

    /// Asks for a permission and waits. Dropping the future takes the request back.
    pub(crate) async fn permission(
        &self,
        request: PermissionRequest,
        accesses: &[Access],
        permissions: &Permissions,
        always: Vec<Remembered>,
    ) -> Result<PermissionAnswer, StoreError> {
        let (reply, answer) = oneshot::channel();
        let _waiting = TakeBack {
            asks: self,
            session: request.session.clone(),
            id: request.id.clone(),
            question: false,
        };
        let body = EventBody::PermissionAsked {
            request: request.clone(),
        };
        let session = request.session.clone();
        let waiting = WaitingCall {
            accesses: accesses.to_vec(),
            permissions: permissions.clone(),
            always,
            reply,
            request,
        };
        // Before the event: who reads it may answer at once.
        lock(&self.permissions).insert(waiting.request.id.clone(), waiting);
        self.journal.publish(&session, body)?;
        Ok(answer.await.unwrap_or(PermissionAnswer {
            reply: PermissionReply::Reject,
            message: None,
        }))
    }

    /// Asks questions and waits; `None` when they were rejected. Dropping the future takes them back.
    ///
    /// # Errors
    /// They could not be stored.
    pub async fn question(&self, request: QuestionRequest) -> Result<Option<Vec<Vec<String>>>, StoreError> {
        let (reply, answer) = oneshot::channel();
        let _waiting = TakeBack {
            asks: self,
            session: request.session.clone(),
            id: request.id.clone(),
            question: true,
        };
        let body = EventBody::QuestionAsked {
            request: request.clone(),
        };
        let session = request.session.clone();
        lock(&self.questions).insert(request.id.clone(), WaitingQuestion { request, reply });
        self.journal.publish(&session, body)?;
        Ok(answer.await.unwrap_or(None))
    }

    /// The permission requests that wait, oldest first.
    #[must_use]
    pub fn waiting_permissions(&self) -> Vec<PermissionRequest> {
        lock(&self.permissions)
            .values()
            .map(|waiting| waiting.request.clone())
            .collect()
    }

    /// The questions that wait, oldest first.
    #[must_use]
    pub fn waiting_questions(&self) -> Vec<QuestionRequest> {
        lock(&self.questions)
            .values()
            .map(|waiting| waiting.request.clone())
            .collect()
    }

    /// Answers a permission request. `always` also answers every other request that it covers.
    ///
    /// # Errors
    /// It does not wait any more, or the answer cannot be stored.
    pub fn reply(&self, id: &str, answer: PermissionAnswer) -> Result<(), ReplyError> {
        let mut waiting = lock(&self.permissions);
        let call = waiting
            .remove(id)
            .ok_or_else(|| ReplyError::NotWaiting(id.to_owned()))?;
        let always = if answer.reply == PermissionReply::Always {
            call.always.clone()
        } else {
            Vec::new()
        };
        let stored = self.journal.publish(
            &call.request.session,
            EventBody::PermissionReplied {
                request: id.to_owned(),
                reply: answer.reply,
                always: always.iter().map(allowed).collect(),
            },
        );
        if let Err(error) = stored {
            waiting.insert(id.to_owned(), call);
            return Err(error.into());
        }
        call.permissions.remember(always);
        let covered: Vec<String> = waiting
            .iter()
            .filter(|(_, other)| {
                answer.reply == PermissionReply::Always && other.permissions.check(&other.accesses) == Verdict::Allow
            })
            .map(|(id, _)| id.clone())
            .collect();
        // The receiver is gone only when its turn was stopped in this moment.
        let _ = call.reply.send(answer);
        drop(waiting);
        for id in covered {
            let once = PermissionAnswer {
                reply: PermissionReply::Once,
                message: None,
            };
            // It waits no more when its turn was stopped in between.
            let _ = self.reply(&id, once);
        }
        Ok(())
    }

    /// Answers questions; with `None` they are rejected.
    ///
    /// # Errors
    /// They do not wait any more, the number of answers is wrong, or they cannot be stored.
    pub fn answer(&self, id: &str, answer: Option<QuestionAnswer>) -> Result<(), ReplyError> {
        let mut waiting = lock(&self.questions);
        let question = waiting
            .remove(id)
            .ok_or_else(|| ReplyError::NotWaiting(id.to_owned()))?;
        let asked = question.request.questions.len();
        let answers = answer.map(|answer| answer.answers);
        if let Some(given) = answers.as_ref().map(Vec::len).filter(|given| *given != asked) {
            waiting.insert(id.to_owned(), question);
            return Err(ReplyError::Count { asked, given });
        }
        let body = EventBody::QuestionAnswered {
            request: id.to_owned(),
            answers: answers.clone(),
        };
        if let Err(error) = self.journal.publish(&question.request.session, body) {
            waiting.insert(id.to_owned(), question);
            return Err(error.into());
        }
        let _ = question.reply.send(answers);
        Ok(())
    }
}

/// Takes a request back when nobody waits for its answer any more.
struct TakeBack<'a> {
    asks: &'a Asks,
    session: String,
    id: String,
    question: bool,
}

impl Drop for TakeBack<'_> {
    fn drop(&mut self) {
        let request = self.id.clone();
        let body = if self.question {
            lock(&self.asks.questions)
                .remove(&self.id)
                .map(|_| EventBody::QuestionAnswered { request, answers: None })
        } else {
            lock(&self.asks.permissions)
                .remove(&self.id)
                .map(|_| EventBody::PermissionReplied {
                    request,
                    reply: PermissionReply::Reject,
                    always: Vec::new(),
                })
        };
        if let Some(body) = body
            && let Err(error) = self.asks.journal.publish(&self.session, body)
        {
            tracing::error!(%error, "the end of a request could not be stored");
        }
    }
}

/// The stored form of what was said "always" to.
pub(crate) fn allowed(always: &Remembered) -> AllowedPattern {
    let value = serde_json::to_value(always).and_then(serde_json::from_value);
    value.unwrap_or_else(|_| AllowedPattern {
        capability: always.capability.clone(),
        pattern: always.pattern.clone(),
        exact: always.exact,
        level: 0,
        weight: 0,
    })
}

/// What a stored "always" allows.
#[must_use]
pub fn remembered(allowed: &AllowedPattern) -> Option<Remembered> {
    serde_json::to_value(allowed).and_then(serde_json::from_value).ok()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
