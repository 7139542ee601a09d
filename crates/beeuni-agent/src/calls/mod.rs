//! Runs the calls of one answer, all at once; each one's result stands in its own part, in the order of the calls.
mod gate;
mod running;

use std::borrow::Cow;

use beeuni_protocol::session::{Part, PartBody, TurnError, TurnOutcome};
use beeuni_tools::CallError;
use futures_util::future::join_all;

pub(crate) use gate::CallGate;
pub(crate) use running::{Gave, RunningCall, metadata};
pub use running::{STOPPED, STOPPED_BEFORE};

use crate::calls::gate::CallAsker;
use crate::harness_tools::{CallContext, FailureKind, Gate, ToolFailure, ToolOutput};
use crate::json_text;
use crate::offer::{Source, not_found};
use crate::permission::accesses_of;
use crate::store::StoreError;
use crate::subagent;
use crate::turn::{End, Turn};

/// Calls that have ended.
pub(crate) struct Ran {
    /// Their parts, in the order of the calls.
    pub(crate) parts: Vec<Part>,
    /// The turn's end when it ends with them.
    pub(crate) end: Option<End>,
}

/// Runs calls.
pub(crate) async fn run(turn: &Turn, parts: Vec<Part>) -> Result<Ran, StoreError> {
    let outcomes = join_all(parts.into_iter().map(|part| run_one(turn, part))).await;
    let (mut parts, mut block) = (Vec::new(), None);
    for outcome in outcomes {
        let (part, error) = outcome?;
        parts.push(part);
        block = block.or(error);
    }
    let end = if turn.stop.is_cancelled() {
        Some(End::of(TurnOutcome::Aborted))
    } else {
        block.map(|error| End {
            outcome: TurnOutcome::Blocked,
            error: Some(error),
        })
    };
    Ok(Ran { parts, end })
}

/// The part of a call that has ended, and why the turn has to end with it.
async fn run_one(turn: &Turn, part: Part) -> Result<(Part, Option<TurnError>), StoreError> {
    let PartBody::Tool(call) = &part.body else {
        return Ok((part, None));
    };
    let (name, raw) = (call.tool.clone(), call.arguments.clone());
    let running = RunningCall::new(turn, part);
    let gave = match (turn.offer.source(&name), json_text::arguments(&raw)) {
        // To this model the tool does not exist, whatever the arguments are (S7).
        (None, _) => Gave::Error(not_found(&name)),
        (Some(_), Err(problem)) => Gave::Error(problem),
        (Some(source), Ok(arguments)) => running.run(source, &name, arguments).await,
    };
    running.end(gave)
}

impl RunningCall<'_> {
    async fn run(&self, source: Source, name: &str, arguments: Cow<'_, str>) -> Gave {
        match source {
            Source::Harness => self.run_harness(name, &arguments).await,
            Source::Hosted => tokio::select! {
                biased;
                // Dropping the call fires its signal.
                () = self.turn.stop.cancelled() => Gave::Stopped,
                gave = self.run_hosted(name, &arguments) => gave,
            },
            // It ends by itself when the turn is stopped, so that its own transcript is complete.
            Source::Task => subagent::run(self, &arguments).await,
        }
    }

    async fn run_harness(&self, name: &str, arguments: &str) -> Gave {
        let (call, gate, asker) = (self.call_id(), CallGate::new(self), CallAsker::new(self));
        let progress = |text: &str| self.tell_progress(text);
        let context = CallContext {
            session: &self.turn.session,
            agent: &self.turn.actor.on_behalf_of().name,
            call: &call,
            stop: &self.turn.stop,
            gate: &gate,
            asker: asker.can_ask().then_some(&asker),
            progress: Some(&progress),
        };
        let calling = self.turn.engine.harness.call(name, arguments, context);
        let stopped = async {
            self.turn.stop.cancelled().await;
            // It may still say what it has; a call that does not end in time is dropped.
            tokio::time::sleep(self.turn.engine.settings.stop_grace).await;
        };
        tokio::select! {
            biased;
            given = calling => self.judge(given),
            () = stopped => Gave::Stopped,
        }
    }

    fn judge(&self, given: Result<ToolOutput, ToolFailure>) -> Gave {
        let stopped = self.turn.stop.is_cancelled();
        match given {
            Ok(output) if stopped => Gave::StoppedWith(Box::new(output)),
            Ok(output) => Gave::Output(Box::new(output)),
            Err(_) if stopped => Gave::Stopped,
            Err(failure) if failure.kind == FailureKind::Stopped => Gave::Stopped,
            Err(failure) => Gave::Error(failure.message),
        }
    }

    async fn run_hosted(&self, name: &str, arguments: &str) -> Gave {
        let accesses = accesses_of(name, arguments, &self.turn.engine.checkout);
        if let Err(refusal) = CallGate::new(self).permit(&accesses).await {
            return Gave::Error(refusal.0);
        }
        let agent = &self.turn.actor.on_behalf_of().name;
        match self.turn.engine.hosted.call(name, arguments, agent).await {
            Ok(text) => Gave::Output(Box::new(ToolOutput {
                text,
                ..ToolOutput::default()
            })),
            Err(CallError::NotLoaded(name)) => Gave::Error(not_found(&name)),
            Err(error) => Gave::Error(error.to_string()),
        }
    }
}
