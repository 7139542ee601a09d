//! One turn: from the prompt that is stored to the end that is told.
mod asks;
mod catching_up;
mod earlier;
mod ending;
mod work;

use std::sync::Arc;
use std::time::Duration;

use beeuni_agent::kit::{Actor, is_unread, store_error, turn_error};
use beeuni_agent::{OnAsk, StoreError};
use beeuni_protocol::session::{EventBody, TurnEnded, TurnOutcome, TurnStarted, Usage};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::client::{ClientError, Said, Status};
use crate::inner::{Inner, Steer};
use crate::link::{Link, LinkError, Up, told};
use crate::scribe::{Begun, Closing};
use work::Work;

/// The kind of a failure of OpenCode itself.
const HARNESS: &str = "harness";
/// How long OpenCode may take to leave what it is still doing.
const LEAVE: Duration = Duration::from_secs(3);

/// A turn as it was asked for.
pub(crate) struct Wanted {
    pub(crate) turn: String,
    pub(crate) agent: String,
    pub(crate) model: Option<String>,
    pub(crate) on_ask: OnAsk,
    pub(crate) stop: CancellationToken,
    pub(crate) prompt: Steer,
    pub(crate) steering: mpsc::UnboundedReceiver<Steer>,
}

/// Runs a turn to its end.
pub(crate) async fn run(inner: Arc<Inner>, mut wanted: Wanted) {
    let mut guard = Guard {
        inner: Arc::clone(&inner),
        turn: wanted.turn.clone(),
        ended: false,
    };
    let link = tokio::select! {
        biased;
        () = wanted.stop.cancelled() => None,
        link = Arc::clone(&inner.link).lock_owned() => Some(link),
    };
    match link {
        Some(mut link) => whole(&inner, &mut link, &mut wanted).await,
        None => {
            let aborted = Closing::stopped(TurnOutcome::Aborted, None);
            end(&inner, &without_work(&wanted.turn, aborted), None);
        }
    }
    guard.ended = true;
}

async fn whole(inner: &Arc<Inner>, link: &mut Link, wanted: &mut Wanted) {
    let stop = wanted.stop.clone();
    let preparing = tokio::select! {
        biased;
        () = stop.cancelled() => Err(Closing::stopped(TurnOutcome::Aborted, None)),
        prepared = prepare(inner, link, wanted) => prepared,
    };
    if let Err(closing) = preparing {
        end(inner, &without_work(&wanted.turn, closing), None);
        return;
    }
    let begun = match link.up.as_mut() {
        Some(up) => begin(inner, up, wanted).await.map(|()| up),
        None => Err(not_running()),
    };
    let died = match begun {
        Ok(up) => Work::new(inner, up, wanted).run().await,
        Err(closing) => {
            end(inner, &without_work(&wanted.turn, closing), None);
            return;
        }
    };
    // What died is left as it is for whoever watches it: they wait for the link, and start it again.
    if !died {
        link.works();
    }
}

/// Finds agent, model and OpenCode, tells the start of the turn, and what was said before to an OpenCode that has not
/// heard it.
async fn prepare(inner: &Arc<Inner>, link: &mut Link, wanted: &Wanted) -> Result<(), Closing> {
    let setup = Arc::clone(&inner.flow().setup);
    let failed = |error| Closing::failed(error, "the turn failed");
    let actor = Actor::of_session(&setup, Some(&wanted.agent))
        .map_err(|error| failed(turn_error("no_agent", error.to_string())))?;
    let (named, chosen) = actor.model(&setup, &inner.journal, wanted.model.as_deref());
    let model = match named {
        Some(model) => model,
        None => inner.config.gateway.default_model().await.id,
    };
    if let Some(running) = &mut inner.flow().running {
        running.model = Some(model.clone());
    }
    reach(inner, link, &model)
        .await
        .map_err(|error| failed(turn_error(HARNESS, error.to_string())))?;
    let Some(up) = link.up.as_mut() else {
        return Err(not_running());
    };
    let steps = actor.agent.steps.unwrap_or(inner.config.settings.steps);
    let hosted = inner.hosted();
    while up.events.try_next().is_some() {}
    inner.scribe().begin(
        &Begun {
            turn: &wanted.turn,
            prompt: &wanted.prompt.message,
            agent: &wanted.agent,
            model: &model,
            // One more than have tools: the last one sums up.
            limit: steps.saturating_add(1),
        },
        hosted,
    );
    let started = EventBody::TurnStarted(TurnStarted {
        turn: wanted.turn.clone(),
        agent: wanted.agent.clone(),
        model: model.clone(),
        chosen,
        message: Some(wanted.prompt.message.clone()),
    });
    let root = inner.journal.root();
    inner
        .journal
        .publish(root, started)
        .map_err(|error| failed(store_error(&error)))?;
    earlier::tell(inner, up, wanted, &model)
        .await
        .map_err(|error| match error {
            earlier::Untold::Client(error) => failed(turn_error(HARNESS, told(&error))),
            earlier::Untold::Store(error) => failed(store_error(&error)),
        })
}

/// Gives OpenCode the first word. A stop does not cut this off: OpenCode may have the word by then, and would work on it
/// with nobody to watch.
async fn begin(inner: &Inner, up: &mut Up, wanted: &Wanted) -> Result<(), Closing> {
    let model = inner.flow().running.as_ref().and_then(|running| running.model.clone());
    let (client, session) = (up.client.clone(), up.carrier.session.clone());
    let stopped = async {
        wanted.stop.cancelled().await;
        tokio::time::sleep(inner.config.settings.stop_grace).await;
    };
    let model = model.unwrap_or_default();
    let closing = tokio::select! {
        biased;
        posted = post(up, &wanted.agent, &model, &wanted.prompt) => match posted {
            Ok(()) => return Ok(()),
            // A stop makes OpenCode drop what it was being told, and say so as an error.
            Err(_) if wanted.stop.is_cancelled() => Closing::stopped(TurnOutcome::Aborted, None),
            Err(error) => Closing::failed(turn_error(HARNESS, told(&error)), "the turn failed"),
        },
        () = stopped => Closing::stopped(TurnOutcome::Aborted, None),
    };
    // It may have heard all the same.
    tokio::spawn(async move {
        if let Err(error) = client.abort(&session).await {
            tracing::warn!("{}", told(&error));
        }
    });
    Err(closing)
}

/// Makes sure that OpenCode runs, knows the model, and does nothing.
async fn reach(inner: &Arc<Inner>, link: &mut Link, model: &str) -> Result<(), LinkError> {
    inner.connect(link).await?;
    if !link.given.models.iter().any(|known| known.id == model) {
        let report = inner.config.hosted.report();
        link.given = inner.given(&report, &[model.to_owned()]).await;
        inner.apply(link).await?;
    }
    let Some(up) = link.up.as_ref() else { return Ok(()) };
    let deadline = tokio::time::Instant::now() + LEAVE;
    let session = &up.carrier.session;
    loop {
        let is_busy = match up.client.status().await?.get(session) {
            None | Some(Status::Idle) => false,
            Some(_) => true,
        };
        if !is_busy {
            return Ok(());
        }
        if tokio::time::Instant::now() > deadline {
            break;
        }
        up.client.abort(session).await?;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    tracing::warn!("OpenCode does not leave what it is doing: it is started again");
    if let Some(up) = link.up.take() {
        up.server.stop(Duration::from_secs(1)).await;
    }
    inner.connect(link).await.map(drop)
}

/// Gives OpenCode what a person said.
async fn post(up: &mut Up, agent: &str, model: &str, prompt: &Steer) -> Result<(), ClientError> {
    let said = Said {
        message: &prompt.message,
        agent,
        model,
        text: &prompt.text,
        files: &prompt.files,
    };
    up.client.prompt(&up.carrier.session, &said).await?;
    up.known.insert(prompt.message.clone());
    Ok(())
}

fn not_running() -> Closing {
    Closing::failed(turn_error(HARNESS, "OpenCode does not run"), "the turn failed")
}

/// The end of a turn that did not come to its work.
fn without_work(turn: &str, closing: Closing) -> TurnEnded {
    TurnEnded {
        turn: turn.to_owned(),
        outcome: closing.outcome,
        steps: 0,
        usage: Usage::default(),
        error: closing.error,
    }
}

/// Tells the end of a turn and lets the next one begin. With `goes_on` not when something was said in the last moment:
/// what comes out then is no.
fn end(inner: &Inner, ended: &TurnEnded, goes_on: Option<&mpsc::UnboundedReceiver<Steer>>) -> bool {
    // Held throughout, so that a prompt is either seen here or starts a turn of its own.
    let mut flow = inner.flow();
    let root = inner.journal.root();
    if let Some(steering) = goes_on
        && (!steering.is_empty() || inner.journal.with(root, is_unread) == Some(true))
    {
        return false;
    }
    let told = inner.journal.publish(root, EventBody::TurnEnded(ended.clone()));
    if let Err(error) = told {
        tracing::error!(%error, "the end of a turn could not be stored");
        // Readers still have to learn it.
        inner.journal.announce(root, EventBody::TurnEnded(ended.clone()));
    }
    inner.journal.sync_soon();
    if let Some(running) = flow.running.take() {
        running.ended.send_replace(Some(ended.clone()));
    }
    true
}

impl From<StoreError> for Closing {
    fn from(error: StoreError) -> Self {
        Self::failed(store_error(&error), "the transcript could not be written")
    }
}

/// Frees the session when the task of a turn does not come to its end: by a fault of ours, or with the runtime.
struct Guard {
    inner: Arc<Inner>,
    turn: String,
    ended: bool,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        if std::thread::panicking() {
            let message = "the turn ended by a fault of Beeuni's own; its log tells more";
            let closing = Closing::failed(turn_error("internal", message), "the turn failed");
            end(&self.inner, &without_work(&self.turn, closing), None);
        } else {
            // The next opening of the session marks what was running.
            self.inner.flow().running = None;
        }
    }
}
