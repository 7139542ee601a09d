//! One turn from its prompt to its end: events to the view, questions to the person, signals to the session.
use std::time::Duration;

use beeuni_daemon::local::{HarnessError, LocalSession, ModelInUse};
use beeuni_protocol::session::{Event, EventBody, PermissionRequest, PromptRequest, QuestionRequest, TurnEnded};
use beeuni_tools::LogLine;
use tokio::sync::mpsc::UnboundedReceiver;

use super::ask::{Asked, Asker};
use super::follow::Follow;
use super::view::View;
use super::watch::{Stop, Watch};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{HINT, Output, duration_in_words, visible};

/// How often the line at the bottom of the terminal is written anew.
pub(super) const TICK: Duration = Duration::from_millis(500);

/// The built-in stand-in.
const REHEARSAL: &str = "beeuni/rehearsal";

/// A turn that is being driven.
pub(super) struct Drive<'a> {
    pub(super) local: &'a LocalSession,
    /// The model that answers when the prompt names none.
    pub(super) model: Option<ModelInUse>,
    pub(super) output: &'a mut Output,
    pub(super) view: &'a mut dyn View,
    pub(super) follow: &'a mut Follow,
    pub(super) watch: &'a mut Watch,
    /// Who answers; `None`: nobody is there.
    pub(super) asker: Option<Asker>,
    /// What hosted tools print.
    pub(super) logs: UnboundedReceiver<LogLine>,
}

/// How a turn came to its end.
#[derive(Debug)]
pub(super) enum End {
    /// By itself, or it was stopped and said so.
    Ended(Box<TurnEnded>),
    /// It was not waited for.
    Cut(Stop),
}

impl Drive<'_> {
    /// Prompts and follows the turn to its end.
    pub(super) async fn run(mut self, prompt: PromptRequest) -> Result<End, Failure> {
        let not_followed = |error: &HarnessError| Failure::user("cannot follow the turn").caused_by(error);
        let mut events = self.local.events(None).await.map_err(|error| not_followed(&error))?;
        let turn = self.local.prompt(prompt).await.map_err(|error| not_taken(&error))?;
        let mut ticks = tokio::time::interval(TICK);
        loop {
            let cut = tokio::select! {
                biased;
                stop = self.watch.next() => self.stop(stop).await,
                event = events.next() => {
                    let event = event.map_err(|error| not_followed(&error))?;
                    let Some(event) = event else {
                        return Err(Failure::internal("the session was closed while a turn ran"));
                    };
                    if let Some(ended) = ended(&event, &turn.turn) {
                        self.rest_of_logs();
                        self.view.event(self.output, self.follow, &event);
                        return Ok(End::Ended(Box::new(ended.clone())));
                    }
                    self.event(&event).await
                }
                Some(line) = self.logs.recv() => {
                    self.view.log(self.output, self.follow, &line);
                    None
                }
                _ = ticks.tick() => {
                    self.view.tick(self.output, self.follow);
                    None
                }
            };
            if let Some(stop) = cut {
                return Ok(End::Cut(stop));
            }
        }
    }

    /// Takes an event; gives the reason when the turn is not to be waited for any more.
    async fn event(&mut self, event: &Event) -> Option<Stop> {
        // A line that a tool printed stands before what came of it.
        self.rest_of_logs();
        self.view.event(self.output, self.follow, event);
        if self.output.is_closed() && self.watch.stopped.is_none() {
            return self.stop(Stop::Unread).await;
        }
        match &event.body {
            EventBody::TurnStarted(started) if event.session == self.local.id() => {
                self.tell_model(&started.model);
                None
            }
            EventBody::PermissionAsked { request } => self.permission(request).await,
            EventBody::QuestionAsked { request } => self.questions(request).await,
            _ => None,
        }
    }

    /// Says so when a stand-in answers and no language model.
    fn tell_model(&mut self, id: &str) {
        let known = self.model.take().filter(|model| model.id == id);
        let rehearsal = known.as_ref().map_or(id == REHEARSAL, |model| model.rehearsal);
        let notice = known
            .and_then(|model| model.notice)
            .or_else(|| rehearsal.then(|| format!("{id} answers: a built-in stand-in, not a language model.")));
        if let Some(notice) = notice {
            let label = self.output.err.paint(HINT, "note:");
            self.output.note(&format!("{label} {}", visible(&notice)));
        }
    }

    fn rest_of_logs(&mut self) {
        while let Ok(line) = self.logs.try_recv() {
            self.view.log(self.output, self.follow, &line);
        }
    }

    async fn permission(&mut self, request: &PermissionRequest) -> Option<Stop> {
        let waiting = self.local.permissions().await.unwrap_or_default();
        let waits = waiting.iter().any(|waiting| waiting.id == request.id);
        let asker = self.asker.as_mut().filter(|_| waits && self.watch.stopped.is_none())?;
        self.view.make_room(self.output);
        match asker.permission(self.output, self.watch, request).await {
            Asked::Stop(stop) => self.stop(stop).await,
            Asked::Answer(answer) => {
                let replied = self.local.reply(&request.id, answer).await;
                self.told(replied)
            }
        }
    }

    async fn questions(&mut self, request: &QuestionRequest) -> Option<Stop> {
        let waiting = self.local.questions().await.unwrap_or_default();
        let waits = waiting.iter().any(|waiting| waiting.id == request.id);
        let asker = self.asker.as_mut().filter(|_| waits && self.watch.stopped.is_none())?;
        self.view.make_room(self.output);
        match asker.questions(self.output, self.watch, request).await {
            Asked::Stop(stop) => self.stop(stop).await,
            Asked::Answer(answer) => {
                let replied = self.local.answer(&request.id, answer).await;
                self.told(replied)
            }
        }
    }

    /// An answer that did not arrive was for a turn that ended in this moment; the turn's end says the rest.
    fn told(&self, replied: Result<(), HarnessError>) -> Option<Stop> {
        if let Err(error) = replied {
            self.output.warn(&error.to_string());
        }
        None
    }

    /// Stops the turn; with the second reason it is not waited for.
    async fn stop(&mut self, why: Stop) -> Option<Stop> {
        if !self.watch.stopping(why) {
            return self.watch.stopped;
        }
        self.view.make_room(self.output);
        match why {
            Stop::Signal(exit) if exit == Exit::signal(2) => {
                self.output.note("Stopping the turn. Ctrl-C again ends at once.");
            }
            Stop::Signal(_) => self.output.note("Stopping the turn."),
            Stop::TimedOut(limit) => {
                self.output.note(&format!(
                    "Timed out after {}: stopping the turn.",
                    duration_in_words(limit)
                ));
            }
            Stop::Unread => {}
        }
        if let Err(error) = self.local.abort().await {
            self.output.warn(&error.to_string());
        }
        None
    }
}

/// The end of the turn, when the event is that.
fn ended<'a>(event: &'a Event, turn: &str) -> Option<&'a TurnEnded> {
    match &event.body {
        EventBody::TurnEnded(ended) if ended.turn == turn => Some(ended),
        _ => None,
    }
}

fn not_taken(error: &HarnessError) -> Failure {
    match error {
        HarnessError::Invalid(_) => Failure::usage(error.to_string()),
        _ => Failure::user(error.to_string()),
    }
}
