//! What OpenCode asks in the middle of a turn: permissions of its own tools, and the model's questions.
use std::collections::HashMap;

use beeuni_agent::kit::{Answered, Kind, Wish, new_id, now, turn_error};
use beeuni_agent::permission::{Access, Permissions, Rules, Verdict};
use beeuni_agent::{OnAsk, StoreError};
use beeuni_protocol::session::QuestionRequest;
use tokio::task::{AbortHandle, JoinSet};

use super::work::Work;
use crate::client::{Permission, Questions};
use crate::link::told;

/// What a question is answered with where nobody is.
const NOBODY_ANSWERS: &str = "(Nobody is there to answer. Choose what is most sensible and say what you chose.)";

/// What waits.
#[derive(Default)]
pub(super) struct Asking {
    tasks: JoinSet<Decided>,
    /// By OpenCode's id: the session, and what ends the wait.
    open: HashMap<String, (String, AbortHandle)>,
    /// Refusals that are not sent yet: OpenCode refuses with one all that wait in its session.
    held: Vec<Refusal>,
}

/// A refusal that is to be sent.
struct Refusal {
    session: String,
    request: String,
    text: String,
}

/// What came of a request.
pub(super) enum Decided {
    Permission {
        request: String,
        session: String,
        call: Option<String>,
        answered: Answered,
    },
    Questions {
        request: String,
        session: String,
        answers: Result<Option<Vec<Vec<String>>>, StoreError>,
    },
}

impl Asking {
    /// The next that was decided; waits for ever when nothing waits.
    pub(super) async fn next(&mut self) -> Option<Decided> {
        loop {
            match self.tasks.join_next().await {
                Some(Ok(decided)) => return Some(decided),
                // It was forgotten.
                Some(Err(_)) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// Somebody else answered it.
    pub(super) fn forget(&mut self, request: &str) {
        if let Some((_, task)) = self.open.remove(request) {
            task.abort();
        }
        self.held.retain(|held| held.request != request);
    }

    /// Takes everything back.
    pub(super) fn clear(&mut self) {
        self.tasks = JoinSet::new();
        self.open.clear();
        self.held.clear();
    }

    fn waits_in(&self, session: &str) -> bool {
        self.open.values().any(|(waiting, _)| waiting == session)
    }
}

impl Work<'_> {
    /// A tool of OpenCode's asks.
    pub(super) fn ask_permission(&mut self, permission: Permission) -> Result<(), StoreError> {
        let is_known = self.with(|scribe| scribe.turn(&permission.session).is_some());
        if self.asking.open.contains_key(&permission.id) || !is_known {
            return Ok(());
        }
        let named = permission.metadata.get("tool").and_then(|tool| tool.as_str());
        let call = permission.tool.as_ref().map(|place| place.call.clone());
        let place = self.with(|scribe| scribe.find_call(&permission.session, call.as_deref(), named));
        if let Some(place) = &place {
            self.with(|scribe| scribe.waits(&permission.session, &place.call, true))?;
        }
        let tool = place.as_ref().map(|place| place.tool.clone());
        let tool = tool.or_else(|| named.map(str::to_owned));
        let tool = tool.unwrap_or_else(|| permission.permission.clone());
        let accesses = accesses(&permission, &tool);
        let (agent, permissions) = self.rules(&permission.session);
        let permissions = that_ask(permissions, &permission.permission, &accesses);
        let (inner, on_ask) = (std::sync::Arc::clone(self.inner), self.wanted.on_ask);
        let session = self.with(|scribe| scribe.id_of(&permission.session));
        let (request, of) = (permission.id.clone(), permission.session.clone());
        let waiting = async move {
            let message = place.as_ref().map(|place| place.message.clone());
            let call = place.map(|place| place.call);
            let answered = inner
                .asks
                .decide(Wish {
                    session: &session,
                    agent: &agent,
                    message: &message.unwrap_or_default(),
                    call: call.as_deref().unwrap_or_default(),
                    tool: &tool,
                    accesses: &accesses,
                    permissions: &permissions,
                    on_ask,
                })
                .await;
            Decided::Permission {
                request: permission.id,
                session: permission.session,
                call,
                answered,
            }
        };
        let task = self.asking.tasks.spawn(waiting);
        self.asking.open.insert(request, (of, task));
        Ok(())
    }

    /// The agent of a session and its rules.
    fn rules(&self, session: &str) -> (String, Permissions) {
        let setup = std::sync::Arc::clone(&self.inner.flow().setup);
        match self.inner.actor(&setup, session) {
            Some((actor, permissions)) => (actor.agent.name, permissions),
            // An agent of the project's own OpenCode folder: the defaults hold for it.
            None => {
                let agent = self.with(|scribe| scribe.talk(session).map(|talk| talk.agent.clone()));
                let permissions = self.inner.permissions.with_rules(Rules::default());
                (agent.unwrap_or_default(), permissions)
            }
        }
    }

    /// The model asks a person.
    pub(super) async fn ask_questions(&mut self, questions: Questions) -> Result<(), StoreError> {
        let is_known = self.with(|scribe| scribe.turn(&questions.session).is_some());
        if self.asking.open.contains_key(&questions.id) || !is_known {
            return Ok(());
        }
        match self.wanted.on_ask {
            OnAsk::Wait => {}
            OnAsk::Deny | OnAsk::Allow => {
                let answers = vec![vec![NOBODY_ANSWERS.to_owned()]; questions.questions.len()];
                self.send_answers(&questions.id, Some(&answers)).await;
                return Ok(());
            }
            OnAsk::Fail => {
                let first = questions.questions.first();
                let first = first.map_or("a question", |question| question.question.as_str());
                let error = turn_error("blocked", format!("a question waits for a person: {first}"));
                self.inner.block(&questions.session, error);
                self.send_answers(&questions.id, None).await;
                return Ok(());
            }
        }
        let call = questions.tool.as_ref().map(|place| place.call.clone());
        let place = self.with(|scribe| scribe.find_call(&questions.session, call.as_deref(), Some("question")));
        let request = QuestionRequest {
            id: new_id(Kind::Question),
            session: self.with(|scribe| scribe.id_of(&questions.session)),
            message: place.as_ref().map(|place| place.message.clone()).unwrap_or_default(),
            call: place.map(|place| place.call).unwrap_or_default(),
            questions: questions.questions,
            created: now(),
        };
        let inner = std::sync::Arc::clone(self.inner);
        let (id, session) = (questions.id.clone(), questions.session.clone());
        let waiting = async move {
            let answers = inner.asks.question(request).await;
            Decided::Questions {
                request: id,
                session,
                answers,
            }
        };
        let task = self.asking.tasks.spawn(waiting);
        self.asking.open.insert(questions.id, (questions.session, task));
        Ok(())
    }

    /// A request was decided: OpenCode is told.
    pub(super) async fn answered(&mut self, decided: Decided) -> Result<(), StoreError> {
        match decided {
            Decided::Permission {
                request,
                session,
                call,
                answered,
            } => {
                self.asking.open.remove(&request);
                match answered {
                    Answered::Allowed => {
                        if let Some(call) = &call {
                            self.with(|scribe| scribe.waits(&session, call, false))?;
                        }
                        self.send_reply(&request, None).await;
                    }
                    Answered::Refused { text } => self.hold(session.clone(), request, text),
                    Answered::Blocked { text, error } => {
                        self.inner.block(&session, error);
                        self.hold(session.clone(), request, text);
                    }
                }
                self.send_refusals(&session).await;
            }
            Decided::Questions {
                request,
                session,
                answers,
            } => {
                self.asking.open.remove(&request);
                let answers = answers?;
                if answers.is_none() {
                    let error = turn_error("blocked", "the question was rejected");
                    self.inner.block(&session, error);
                }
                self.send_answers(&request, answers.as_deref()).await;
                self.send_refusals(&session).await;
            }
        }
        Ok(())
    }

    fn hold(&mut self, session: String, request: String, text: String) {
        self.asking.held.push(Refusal { session, request, text });
    }

    /// Sends what was refused in a session, once nothing else waits there.
    async fn send_refusals(&mut self, session: &str) {
        if self.asking.waits_in(session) {
            return;
        }
        let held = std::mem::take(&mut self.asking.held);
        let (now, later): (Vec<_>, Vec<_>) = held.into_iter().partition(|refusal| refusal.session == session);
        self.asking.held = later;
        for refusal in now {
            self.send_reply(&refusal.request, Some(&refusal.text)).await;
        }
    }

    async fn send_reply(&self, request: &str, refusal: Option<&str>) {
        if let Err(error) = self.up.client.reply(request, refusal).await
            && !error.is_missing()
        {
            tracing::warn!("{}", told(&error));
        }
    }

    async fn send_answers(&self, request: &str, answers: Option<&[Vec<String>]>) {
        if let Err(error) = self.up.client.answer(request, answers).await
            && !error.is_missing()
        {
            tracing::warn!("{}", told(&error));
        }
    }
}

/// What a request is about. Each of its patterns is what the tool is going to touch, and to each belongs what "always"
/// would remember.
fn accesses(permission: &Permission, tool: &str) -> Vec<Access> {
    let capability = permission.permission.as_str();
    let paired = permission.always.len() == permission.patterns.len();
    let always = |at: usize| match permission.always.get(if paired { at } else { 0 }) {
        Some(always) => always.clone(),
        None => "*".to_owned(),
    };
    let patterns = permission.patterns.iter().enumerate();
    let mut accesses: Vec<Access> = patterns
        .map(|(at, pattern)| Access::new(capability, tool, pattern.as_str(), always(at)))
        .collect();
    if accesses.is_empty() {
        accesses.push(Access::new(capability, tool, "", always(0)));
    }
    accesses
}

/// The rules under which a request of OpenCode's is decided. Where the agent's rules are silent OpenCode had a reason of
/// its own to ask, which only a person's "always" answers.
fn that_ask(permissions: Permissions, capability: &str, accesses: &[Access]) -> Permissions {
    let is_silent = permissions.check(accesses) == Verdict::Allow
        && !accesses
            .iter()
            .any(|access| permissions.decide(access).by.starts_with("\"always\""));
    if is_silent {
        permissions.subagent(Rules::default().asking(capability))
    } else {
        permissions
    }
}
