//! A call of `task`: its session, its turn, its result.
use std::sync::{Arc, Mutex};

use beeuni_protocol::session::{EventBody, Origin, Role, SessionCreated, TurnOutcome, TurnStarted};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::{TOOL, startable};
use crate::actor::Actor;
use crate::calls::{CallGate, Gave, RunningCall, metadata};
use crate::conversation::Conversation;
use crate::harness_tools::{BoxFuture, Gate, ToolOutput};
use crate::permission::accesses_of;
use crate::store::{FORMAT, StoreError};
use crate::turn::{self, Progress, Turn};
use crate::{engine, ids};

#[derive(Deserialize)]
struct Task {
    description: String,
    prompt: String,
    subagent_type: String,
    #[serde(default)]
    task_id: Option<String>,
}

/// Runs a call of `task`.
pub(crate) async fn run(call: &RunningCall<'_>, arguments: &str) -> Gave {
    let task: Task = match serde_json::from_str(arguments) {
        Ok(task) => task,
        Err(error) => return Gave::Error(format!("The arguments of task are wrong: {error}")),
    };
    if task.prompt.trim().is_empty() {
        return Gave::Error("The `prompt` of task is empty: say what the subagent is to do".to_owned());
    }
    let turn = call.turn;
    let Some(actor) = Actor::of_task(&turn.setup, &turn.actor.agent, &task.subagent_type) else {
        let names: Vec<String> = startable(&turn.setup).into_iter().map(|(name, _)| name).collect();
        let (wrong, names) = (&task.subagent_type, names.join(", "));
        return Gave::Error(format!("There is no subagent `{wrong}`. The subagents are: {names}"));
    };
    let earlier = task.task_id.as_deref().filter(|id| !id.is_empty());
    if let Some(reason) = earlier.and_then(|id| unusable(turn, &actor, id)) {
        return Gave::Error(reason);
    }
    // A person may be asked, and may stop the turn meanwhile.
    let gate = CallGate::new(call);
    let accesses = accesses_of(TOOL, arguments, &turn.engine.checkout);
    let permitted = tokio::select! {
        biased;
        () = turn.stop.cancelled() => return Gave::Stopped,
        permitted = gate.permit(&accesses) => permitted,
    };
    if let Err(refusal) = permitted {
        return Gave::Error(refusal.0);
    }
    let child = match earlier.map_or_else(|| new_session(turn, &actor), |id| Ok(id.to_owned())) {
        Ok(child) => child,
        Err(error) => return Gave::Error(error.to_string()),
    };
    let Some(_busy) = Busy::take(turn, &child) else {
        return Gave::Error(format!(
            "The task {child} is still running: wait for its result before you continue it"
        ));
    };
    let linked = call.change(|part| {
        part.title = Some(task.description.clone());
        part.metadata = metadata([("session", child.clone()), ("agent", actor.agent.name.clone())]);
    });
    if let Err(reason) = linked {
        return Gave::Error(reason);
    }
    work(call, actor, &child, &task).await
}

/// The session of a new task.
fn new_session(turn: &Turn, actor: &Actor) -> Result<String, StoreError> {
    let journal = &turn.engine.journal;
    let id = ids::new(ids::Kind::Session);
    let environment = journal.with(&turn.session, |parent| parent.created.environment.clone());
    let created = SessionCreated {
        format: FORMAT,
        parent: Some(turn.session.clone()),
        agent: actor.agent.name.clone(),
        environment: environment.unwrap_or_default(),
    };
    journal.publish(&id, EventBody::SessionCreated(created))?;
    Ok(id)
}

/// Why an earlier task cannot be continued by `actor`.
fn unusable(turn: &Turn, actor: &Actor, id: &str) -> Option<String> {
    let of = |child: &crate::store::Transcript| (child.created.parent.clone(), child.created.agent.clone());
    match turn.engine.journal.with(id, of) {
        Some((Some(parent), agent)) if parent == turn.session => (agent != actor.agent.name)
            .then(|| format!("The task {id} belongs to the subagent `{agent}`: continue it with that `subagent_type`")),
        _ => Some(format!(
            "There is no task {id} in this session: leave `task_id` out to start a new one"
        )),
    }
}

/// Runs the child's turn. Boxed, because a turn runs calls and a call runs a turn.
fn work<'a>(call: &'a RunningCall<'a>, actor: Actor, child: &'a str, task: &'a Task) -> BoxFuture<'a, Gave> {
    Box::pin(async move {
        match try_work(call, actor, child, task).await {
            Ok(gave) => gave,
            Err(error) => Gave::Error(format!("The task could not be run: {error}")),
        }
    })
}

async fn try_work(call: &RunningCall<'_>, actor: Actor, child: &str, task: &Task) -> Result<Gave, StoreError> {
    let parent = call.turn;
    let name = actor.agent.name.clone();
    let turn = child_turn(parent, actor, child);
    let (message, events) = turn::said(child, &turn.id, &name, Origin::Prompt, &task.prompt, Vec::new());
    let journal = &turn.engine.journal;
    journal.publish_all(child, events)?;
    if journal.with(child, |child| child.title.is_none()).unwrap_or(false) {
        let title = task.description.clone();
        turn.publish(EventBody::SessionTitled { title })?;
    }
    turn.publish(EventBody::TurnStarted(TurnStarted {
        turn: turn.id.clone(),
        agent: name.clone(),
        model: turn.model.clone(),
        chosen: false,
        message: Some(message),
    }))?;
    let end = turn.work(&mut Conversation::new(child)).await;
    let ended = turn.ended(end);
    parent.used(&ended.usage);
    turn.publish(EventBody::TurnEnded(ended.clone()))?;
    let text = last_text(&turn, child)?;
    let said = if text.trim().is_empty() {
        "(the subagent said nothing)"
    } else {
        text.trim()
    };
    let id = format!("[task_id: {child}]");
    let reason = ended
        .error
        .as_ref()
        .map(|error| error.message.clone())
        .unwrap_or_default();
    let output = |text: String| {
        Box::new(ToolOutput {
            text,
            ..ToolOutput::default()
        })
    };
    Ok(match ended.outcome {
        TurnOutcome::Done => Gave::Output(output(format!("{said}\n\n{id}"))),
        TurnOutcome::Steps => Gave::Output(output(format!("{said}\n\n[It reached its step limit] {id}"))),
        TurnOutcome::Length => Gave::Output(output(format!(
            "{said}\n\n[Its answer was cut at the output limit] {id}"
        ))),
        TurnOutcome::ContentFilter => {
            Gave::Output(output(format!("{said}\n\n[The provider filtered its answer] {id}")))
        }
        TurnOutcome::Aborted | TurnOutcome::Interrupted => Gave::StoppedWith(output(format!("{said}\n\n{id}"))),
        TurnOutcome::Blocked => {
            if let Some(error) = ended.error {
                call.block(error);
            }
            Gave::Error(format!("The subagent was stopped: {reason}\n\n{said}\n\n{id}"))
        }
        TurnOutcome::Failed => Gave::Error(format!("The subagent failed: {reason}\n\n{said}\n\n{id}")),
    })
}

fn child_turn(parent: &Turn, actor: Actor, child: &str) -> Turn {
    let engine = Arc::clone(&parent.engine);
    let rules = if actor.built_in {
        crate::permission::Rules::default()
    } else {
        engine.rules(&actor.agent)
    };
    let (head, offer) = engine.surroundings(&parent.setup, &actor, child);
    Turn {
        session: child.to_owned(),
        id: ids::new(ids::Kind::Turn),
        setup: Arc::clone(&parent.setup),
        model: actor.agent.model.clone().unwrap_or_else(|| parent.model.clone()),
        on_ask: parent.on_ask,
        permissions: parent.permissions.subagent(rules),
        head,
        offer,
        stop: CancellationToken::child_token(&parent.stop),
        progress: Mutex::new(Progress::default()),
        actor,
        engine,
    }
}

/// The text of the last message in which the child said something in this turn.
fn last_text(turn: &Turn, child: &str) -> Result<String, StoreError> {
    let journal = &turn.engine.journal;
    let count = journal.with(child, |child| child.messages.len()).unwrap_or(0);
    for at in (0..count).rev() {
        let Some(message) = journal.messages(child, at..at + 1)?.pop() else {
            break;
        };
        if message.turn != turn.id {
            break;
        }
        let text = engine::text_of(&message);
        if message.role == Role::Assistant && !text.trim().is_empty() {
            return Ok(text);
        }
    }
    Ok(String::new())
}

/// Holds a child session while its turn runs: two turns in one would write into each other.
struct Busy<'a> {
    turn: &'a Turn,
    child: String,
}

impl<'a> Busy<'a> {
    fn take(turn: &'a Turn, child: &str) -> Option<Self> {
        turn.engine.busy().insert(child.to_owned()).then(|| Self {
            turn,
            child: child.to_owned(),
        })
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.turn.engine.busy().remove(&self.child);
    }
}
