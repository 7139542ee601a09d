//! What a call of a hosted tool may do, decided before the tool host sees it.
use std::sync::Arc;
use std::time::Duration;

use beeuni_agent::harness_tools::Refusal;
use beeuni_agent::kit::{Actor, Answered, NOBODY, Wish, not_found};
use beeuni_agent::permission::{Permissions, Verdict, accesses_of};
use beeuni_agent::{OnAsk, Setup};
use tokio_util::sync::CancellationToken;

use crate::inner::Inner;
use crate::scribe::Scribe;

/// How long the event that a subagent began may be behind its first call.
const BEHIND: Duration = Duration::from_secs(2);
/// And that of a call behind the call.
const SEEN: Duration = Duration::from_millis(500);

/// A call of a hosted tool, as the bridge brings it.
#[derive(Debug, Clone)]
pub struct BridgedCall {
    /// OpenCode's session: the one that carries this session, or a subagent's. Empty for a call that comes from
    /// elsewhere: where a person would be asked it is refused.
    pub session: String,
    /// The message that holds the call.
    pub message: String,
    /// The call's id.
    pub call: String,
    /// The agent that called.
    pub agent: String,
    /// The tool.
    pub tool: String,
    /// The arguments' JSON text.
    pub args: String,
}

/// A call that may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permitted {
    /// The agent on whose behalf it runs: its secrets are the ones that the tool sees. A subagent that every project
    /// has works for the agent that started it.
    pub agent: String,
}

/// Whether an agent has a tool: by its own list (A4); one that every project has also by that of the agent for which it
/// works.
fn has(actor: &Actor, tool: &str) -> bool {
    if actor.built_in {
        actor.sees(tool)
    } else {
        actor.agent.tools.allows(tool)
    }
}

impl Inner {
    pub(crate) async fn permit(&self, call: BridgedCall) -> Result<Permitted, Refusal> {
        let setup = Arc::clone(&self.flow().setup);
        if call.session.is_empty() {
            return self.permit_foreign(&setup, &call);
        }
        let Some((stop, on_ask)) = self.running() else {
            return Err(Refusal("the turn was stopped".to_owned()));
        };
        let acting = self.acting(&setup, &call);
        let acting = tokio::select! {
            biased;
            () = stop.cancelled() => return Err(Refusal("the turn was stopped".to_owned())),
            acting = acting => acting,
        };
        let Some((actor, permissions)) = acting.filter(|(actor, _)| has(actor, &call.tool)) else {
            // To this model it does not exist (S7).
            return Err(Refusal(not_found(&call.tool)));
        };
        let session = self.scribe().id_of(&call.session);
        let accesses = accesses_of(&call.tool, &call.args, &self.config.checkout);
        // Its event may be behind: the call stands in the transcript before anybody is asked, and before it does anything.
        self.until(SEEN, |scribe| {
            scribe.find_call(&call.session, Some(&call.call), None).is_some()
        })
        .await;
        let deciding = self.asks.decide(Wish {
            session: &session,
            agent: &actor.agent.name,
            message: &call.message,
            call: &call.call,
            tool: &call.tool,
            accesses: &accesses,
            permissions: &permissions,
            on_ask,
        });
        let answered = tokio::select! {
            biased;
            () = stop.cancelled() => return Err(Refusal("the turn was stopped".to_owned())),
            answered = deciding => answered,
        };
        match answered {
            Answered::Allowed => {}
            Answered::Refused { text } => return Err(Refusal(text)),
            Answered::Blocked { text, error } => {
                self.block(&call.session, error);
                return Err(Refusal(text));
            }
        }
        // From here on it counts as run: stored before it does anything.
        let stored = self.scribe().permit(&call.session, &call.call);
        stored.map_err(|error| Refusal(error.to_string()))?;
        Ok(Permitted {
            agent: actor.on_behalf_of().name.clone(),
        })
    }

    /// A call that no turn waits for.
    fn permit_foreign(&self, setup: &Setup, call: &BridgedCall) -> Result<Permitted, Refusal> {
        let actor = Actor::of_session(setup, Some(&call.agent)).ok();
        let Some(actor) = actor.filter(|actor| actor.sees(&call.tool)) else {
            return Err(Refusal(not_found(&call.tool)));
        };
        let permissions = self.permissions.with_rules(self.rules(&actor.agent));
        match permissions.check(&accesses_of(&call.tool, &call.args, &self.config.checkout)) {
            Verdict::Allow => Ok(Permitted {
                agent: actor.agent.name,
            }),
            Verdict::Deny(text) => Err(Refusal(text)),
            Verdict::Ask(_) => Err(Refusal(NOBODY.to_owned())),
        }
    }

    fn running(&self) -> Option<(CancellationToken, OnAsk)> {
        let flow = self.flow();
        flow.running
            .as_ref()
            .map(|running| (running.stop.clone(), running.on_ask))
    }

    /// Who calls. A subagent's first call may be here before the event that it began.
    async fn acting(&self, setup: &Setup, call: &BridgedCall) -> Option<(Actor, Permissions)> {
        // One that is not known by then is not of this conversation.
        self.until(BEHIND, |scribe| scribe.talk(&call.session).is_some()).await;
        self.actor(setup, &call.session)
    }

    /// Waits for an event that may be behind, but not long.
    async fn until(&self, limit: Duration, is_so: impl Fn(&Scribe) -> bool) {
        let waiting = async {
            loop {
                let mut heard = std::pin::pin!(self.heard.notified());
                heard.as_mut().enable();
                if is_so(&self.scribe()) {
                    return;
                }
                heard.await;
            }
        };
        let _ = tokio::time::timeout(limit, waiting).await;
    }
}
