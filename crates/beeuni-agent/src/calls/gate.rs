//! Stands between a call and what it wants to do: the rules, and a person where they say "ask".
use beeuni_protocol::session::{Question as WireQuestion, QuestionOption as WireOption, QuestionRequest};

use super::RunningCall;
use crate::ask::{Answered, Wish};
use crate::engine::OnAsk;
use crate::harness_tools::{Asker, BoxFuture, Gate, Question, Refusal, Unanswered};
use crate::permission::Access;
use crate::{clock, ids, turn_error};

/// Decides what one call may do.
pub(crate) struct CallGate<'a>(&'a RunningCall<'a>);

impl<'a> CallGate<'a> {
    pub(crate) fn new(call: &'a RunningCall<'a>) -> Self {
        Self(call)
    }

    async fn decide(&self, accesses: &[Access]) -> Result<(), Refusal> {
        let turn = self.0.turn;
        let (message, call, tool) = (self.0.message(), self.0.call_id(), self.0.tool());
        let deciding = turn.engine.asks.decide(Wish {
            session: &turn.session,
            agent: &turn.actor.agent.name,
            message: &message,
            call: &call,
            tool: &tool,
            accesses,
            permissions: &turn.permissions,
            on_ask: turn.on_ask,
        });
        // What the rules decide does not wait: only a person's answer can come too late.
        let answered = tokio::select! {
            biased;
            answered = deciding => answered,
            () = turn.stop.cancelled() => return Err(Refusal("the turn was stopped".to_owned())),
        };
        match answered {
            Answered::Allowed => self.0.started().map_err(Refusal),
            Answered::Refused { text } => Err(Refusal(text)),
            Answered::Blocked { text, error } => {
                self.0.block(error);
                Err(Refusal(text))
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
