//! One turn: the model is asked, its calls are run, and so on until it is done.
pub(crate) mod compaction;
mod repeats;
mod said;
mod step;
mod summary_source;
mod writer;

use std::sync::{Arc, Mutex, PoisonError};

use repeats::{Circle, Repeats};
pub use said::{is_unread, said};
use step::{Answer, Step};
pub use summary_source::text as conversation_text;

use beeuni_protocol::session::{
    EventBody, Finish, Message, MessageTime, Origin, Part, PartBody, Role, ToolStatus, TurnEnded, TurnError,
    TurnOutcome, Usage,
};
use tokio_util::sync::CancellationToken;

use crate::actor::Actor;
use crate::conversation::{Conversation, Head};
use crate::engine::{Engine, OnAsk};
use crate::offer::Offer;
use crate::permission::Permissions;
use crate::setup::Setup;
use crate::store::StoreError;
use crate::{calls, clock, ids, turn_error};

/// What the model is told when it has used up its steps.
const SUM_UP: &str = "The step limit of this turn is reached: no more tools can be used. Say briefly what is done, what \
    is not, and what the next steps are.";

/// What a call gets that comes after the last step.
const NO_STEP_LEFT: &str = "the step limit of this turn was reached: this call was not run";

/// A turn of a session, or of a subagent.
pub(crate) struct Turn {
    pub(crate) engine: Arc<Engine>,
    /// The session: the subagent's own for a subagent.
    pub(crate) session: String,
    pub(crate) id: String,
    pub(crate) actor: Actor,
    pub(crate) setup: Arc<Setup>,
    pub(crate) model: String,
    pub(crate) on_ask: OnAsk,
    pub(crate) permissions: Permissions,
    pub(crate) head: Head,
    pub(crate) offer: Offer,
    pub(crate) stop: CancellationToken,
    pub(crate) progress: Mutex<Progress>,
}

/// How far a turn is.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// How often the model was asked.
    pub(crate) asked: u32,
    /// What was used.
    pub(crate) usage: Usage,
}

/// How a turn ended.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) outcome: TurnOutcome,
    pub(crate) error: Option<TurnError>,
}

impl End {
    pub(crate) fn of(outcome: TurnOutcome) -> Self {
        Self { outcome, error: None }
    }

    pub(crate) fn failed(error: TurnError) -> Self {
        Self {
            outcome: TurnOutcome::Failed,
            error: Some(error),
        }
    }
}

impl From<StoreError> for End {
    fn from(error: StoreError) -> Self {
        Self::failed(turn_error::of_store(&error))
    }
}

impl Turn {
    /// Asks and runs until the model is done or cannot go on. Called again when a message came in the last moment.
    pub(crate) async fn work(&self, conversation: &mut Conversation) -> End {
        self.try_work(conversation).await.unwrap_or_else(|end| end)
    }

    async fn try_work(&self, conversation: &mut Conversation) -> Result<End, End> {
        let limit = self.actor.agent.steps.unwrap_or(self.engine.settings.steps);
        let mut left = limit;
        let mut repeats = Repeats::default();
        loop {
            if self.stop.is_cancelled() {
                return Ok(End::of(TurnOutcome::Aborted));
            }
            // Who says something has the whole limit for it.
            if self.has_unread() {
                left = limit;
                repeats = Repeats::default();
            }
            let sum_up = left == 0;
            if sum_up {
                self.tell(SUM_UP)?;
            }
            match self.answer(conversation, !sum_up).await? {
                Answer::Calls(parts) if sum_up => {
                    self.refuse(parts)?;
                    return Ok(End::of(TurnOutcome::Steps));
                }
                Answer::Calls(parts) => {
                    left -= 1;
                    let ran = calls::run(self, parts).await?;
                    if let Some(end) = ran.end {
                        return Ok(end);
                    }
                    match repeats.round(&ran.parts) {
                        Circle::None => {}
                        Circle::Tell => self.tell(&repeats::reminder())?,
                        Circle::End => {
                            let reason = repeats::reason(&ran.parts);
                            return Ok(End::failed(turn_error::of_kind("repeated_call", reason)));
                        }
                    }
                }
                Answer::Said if sum_up => return Ok(End::of(TurnOutcome::Steps)),
                Answer::Said if self.has_unread() => {}
                Answer::Said => return Ok(End::of(TurnOutcome::Done)),
                Answer::Cut(outcome) => return Ok(End::of(outcome)),
                Answer::Failed(error) => return Ok(End::failed(error)),
                Answer::Aborted => return Ok(End::of(TurnOutcome::Aborted)),
            }
        }
    }

    /// One answer of the model; the conversation is made shorter first when it is near the window, and once more
    /// when the provider says that it is too long.
    async fn answer(&self, conversation: &mut Conversation, with_tools: bool) -> Result<Answer, End> {
        self.engine.models.learn(&self.model);
        if compaction::is_due(self, conversation)? {
            compaction::run(self, conversation, compaction::Reason::Window, None).await?;
            if self.stop.is_cancelled() {
                return Ok(Answer::Aborted);
            }
        }
        let message = self.begin_answer()?;
        let mut shortened = false;
        loop {
            match step::run(self, conversation, message.clone(), with_tools).await? {
                // The images are out now.
                Step::NoImages => {}
                Step::Overflow(error) => {
                    let reason = compaction::Reason::Overflow;
                    let again = !shortened && compaction::run(self, conversation, reason, Some(&message.id)).await?;
                    shortened = true;
                    if self.stop.is_cancelled() {
                        step::end_without_answer(self, message, Finish::Aborted, None)?;
                        return Ok(Answer::Aborted);
                    }
                    if !again {
                        step::end_without_answer(self, message, Finish::Error, Some(error.clone()))?;
                        return Ok(Answer::Failed(error));
                    }
                }
                Step::Ended(answer) => return Ok(answer),
            }
        }
    }

    fn begin_answer(&self) -> Result<Message, StoreError> {
        let message = Message {
            id: ids::new(ids::Kind::Message),
            session: self.session.clone(),
            turn: self.id.clone(),
            role: Role::Assistant,
            origin: None,
            agent: self.actor.agent.name.clone(),
            model: Some(self.model.clone()),
            time: MessageTime {
                created: clock::now(),
                completed: None,
            },
            finish: None,
            error: None,
            usage: None,
            parts: Vec::new(),
        };
        self.publish(EventBody::MessageCreated {
            message: message.clone(),
        })?;
        Ok(message)
    }

    /// Whether a person said something that the model has not answered yet.
    fn has_unread(&self) -> bool {
        self.engine.journal.with(&self.session, is_unread).unwrap_or(false)
    }

    /// Tells the model something on the harness's own behalf.
    fn tell(&self, text: &str) -> Result<(), StoreError> {
        let said = said(
            &self.session,
            &self.id,
            &self.actor.agent.name,
            Origin::Harness,
            text,
            Vec::new(),
        );
        self.engine.journal.publish_all(&self.session, said.1)
    }

    /// Ends calls that cannot be run any more.
    fn refuse(&self, parts: Vec<Part>) -> Result<(), StoreError> {
        for mut part in parts {
            if let PartBody::Tool(call) = &mut part.body {
                call.status = ToolStatus::Error;
                call.error = Some(NO_STEP_LEFT.to_owned());
                call.time.ended = Some(clock::now());
            }
            self.publish(EventBody::PartUpdated { part })?;
        }
        Ok(())
    }

    pub(crate) fn publish(&self, body: EventBody) -> Result<(), StoreError> {
        self.engine.journal.publish(&self.session, body)
    }

    /// Adds what was used.
    pub(crate) fn used(&self, usage: &Usage) {
        self.progress
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .usage
            .add(usage);
    }

    /// Counts a request to the model.
    pub(crate) fn asked(&self) {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).asked += 1;
    }

    /// What is told about the turn's end.
    pub(crate) fn ended(&self, end: End) -> TurnEnded {
        let progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        TurnEnded {
            turn: self.id.clone(),
            outcome: end.outcome,
            steps: progress.asked,
            usage: progress.usage,
            error: end.error,
        }
    }
}
