//! Stands between a call and what it wants to do: the rules, and a person where they say "ask".
use beeuni_protocol::session::{
    PermissionReply, PermissionRequest, Question as WireQuestion, QuestionOption as WireOption, QuestionRequest,
    RequestedAccess,
};

use super::RunningCall;
use crate::ask;
use crate::engine::OnAsk;
use crate::harness_tools::{Asker, BoxFuture, Gate, Question, Refusal, Unanswered};
use crate::permission::{Access, Asked, Verdict};
use crate::{clock, ids, turn_error};

/// What the model reads where nobody can be asked.
const NOBODY: &str = "Not allowed: this needs a person's permission and nobody is there to give it. Go on without it, \
    or say what you need it for.";
/// What the model reads when a person said no without a word.
const REFUSED: &str = "Not allowed: the user refused it.";

/// Decides what one call may do.
pub(crate) struct CallGate<'a>(&'a RunningCall<'a>);

impl<'a> CallGate<'a> {
    pub(crate) fn new(call: &'a RunningCall<'a>) -> Self {
        Self(call)
    }

    async fn decide(&self, accesses: &[Access]) -> Result<(), Refusal> {
        let turn = self.0.turn;
        match turn.permissions.check(accesses) {
            Verdict::Allow => {}
            Verdict::Deny(reason) => return Err(Refusal(reason)),
            Verdict::Ask(asked) => match turn.on_ask {
                OnAsk::Allow => {}
                OnAsk::Deny => return Err(Refusal(NOBODY.to_owned())),
                OnAsk::Fail => {
                    let what: Vec<String> = asked.iter().map(|one| one.access.subject.clone()).collect();
                    let message = format!("{} needs a permission: {}", self.0.tool(), what.join(", "));
                    self.0.block(turn_error::of_kind("blocked", message));
                    return Err(Refusal(NOBODY.to_owned()));
                }
                OnAsk::Wait => self.ask(accesses, asked).await?,
            },
        }
        self.0.started().map_err(Refusal)
    }

    async fn ask(&self, accesses: &[Access], asked: Vec<Asked>) -> Result<(), Refusal> {
        let turn = self.0.turn;
        let always: Vec<_> = asked.iter().map(|one| one.always.clone()).collect();
        let request = PermissionRequest {
            id: ids::new(ids::Kind::Permission),
            session: turn.session.clone(),
            agent: turn.actor.agent.name.clone(),
            message: self.0.message(),
            call: self.0.call_id(),
            tool: self.0.tool(),
            accesses: asked
                .iter()
                .map(|one| RequestedAccess {
                    capability: one.access.capability.clone(),
                    subject: one.access.subject.clone(),
                    rule: one.decision.by.clone(),
                })
                .collect(),
            always: always.iter().map(ask::allowed).collect(),
            created: clock::now(),
        };
        let asking = turn
            .engine
            .asks
            .permission(request, accesses, &turn.permissions, always);
        let answer = tokio::select! {
            biased;
            () = turn.stop.cancelled() => return Err(Refusal("the turn was stopped".to_owned())),
            answer = asking => answer.map_err(|error| Refusal(error.to_string()))?,
        };
        match (
            answer.reply,
            answer.message.filter(|message| !message.trim().is_empty()),
        ) {
            (PermissionReply::Once | PermissionReply::Always, _) => Ok(()),
            (PermissionReply::Reject, Some(message)) => Err(Refusal(format!("{REFUSED} They say: {message}"))),
            (PermissionReply::Reject, None) => {
                let message = format!("{} was refused permission", self.0.tool());
                self.0.block(turn_error::of_kind("blocked", message));
                Err(Refusal(REFUSED.to_owned()))
            }
        }
    }
}

impl Gate for CallGate<'_> {
    fn permit<'a>(&'a self, accesses: &'a [Access]) -> BoxFuture<'a, Result<(), Refusal>> {
        Box::pin(self.decide(accesses))
    }
}

/// Puts the questions of one call to a person.
pub(crate) struct CallAsker<'a>(&'a RunningCall<'a>);

impl<'a> CallAsker<'a> {
    pub(crate) fn new(call: &'a RunningCall<'a>) -> Self {
        Self(call)
    }

    /// Whether there may be somebody who answers. Under [`OnAsk::Fail`] the question itself ends the turn.
    pub(crate) fn can_ask(&self) -> bool {
        matches!(self.0.turn.on_ask, OnAsk::Wait | OnAsk::Fail)
    }

    async fn put(&self, questions: &[Question]) -> Result<Vec<Vec<String>>, Unanswered> {
        let turn = self.0.turn;
        if turn.on_ask == OnAsk::Fail {
            let first = questions
                .first()
                .map_or("a question", |question| question.question.as_str());
            self.0.block(turn_error::of_kind(
                "blocked",
                format!("a question waits for a person: {first}"),
            ));
            return Err(Unanswered("Nobody is there to answer.".to_owned()));
        }
        let request = QuestionRequest {
            id: ids::new(ids::Kind::Question),
            session: turn.session.clone(),
            message: self.0.message(),
            call: self.0.call_id(),
            questions: questions.iter().map(wire).collect(),
            created: clock::now(),
        };
        let asking = turn.engine.asks.question(request);
        let answers = tokio::select! {
            biased;
            () = turn.stop.cancelled() => return Err(Unanswered("the turn was stopped".to_owned())),
            answers = asking => answers.map_err(|error| Unanswered(error.to_string()))?,
        };
        answers.ok_or_else(|| {
            self.0
                .block(turn_error::of_kind("blocked", "the question was rejected"));
            Unanswered("The user dismissed this question.".to_owned())
        })
    }
}

fn wire(question: &Question) -> WireQuestion {
    WireQuestion {
        question: question.question.clone(),
        header: question.header.clone(),
        options: question
            .options
            .iter()
            .map(|option| WireOption {
                label: option.label.clone(),
                description: option.description.clone(),
            })
            .collect(),
        multiple: question.multiple,
    }
}

impl Asker for CallAsker<'_> {
    fn ask<'a>(&'a self, questions: &'a [Question]) -> BoxFuture<'a, Result<Vec<Vec<String>>, Unanswered>> {
        Box::pin(self.put(questions))
    }
}
