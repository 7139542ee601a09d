//! Deadlines of calls, looked after a few times a second: a timer for each call would cost more than the call.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Answer, Worker, seconds};
use crate::frames::{self, Message};

/// How often the calls of a busy worker are looked at, at least.
pub(super) const LOOK: Duration = Duration::from_millis(200);

/// When a call must have ended. It counts from the call's start: one that waits behind a call that blocks has not
/// had its time yet.
pub(super) struct Deadline {
    sent: Instant,
    looked: bool,
    at: Option<Instant>,
}

impl Deadline {
    pub(super) fn of_call_sent_now() -> Self {
        Self {
            sent: Instant::now(),
            looked: false,
            at: None,
        }
    }
}

impl Worker {
    /// Ends the calls whose time is over. Returns how long until the next look.
    pub(super) fn look_at_deadlines(self: &Arc<Self>) -> Duration {
        let now = Instant::now();
        let started = self.page.last_started();
        let mut next = LOOK.min(self.call_limit);
        let mut over = Vec::new();
        let mut state = self.state();
        for (id, waiting) in &mut state.waiting {
            let Some(deadline) = &mut waiting.deadline else {
                continue;
            };
            if deadline.at.is_none() && *id <= started {
                // Found started at the first look: it started when it was sent.
                let begin = if deadline.looked { now } else { deadline.sent };
                deadline.at = Some(begin + self.call_limit);
            }
            deadline.looked = true;
            match deadline.at {
                Some(at) if at <= now => over.push(*id),
                Some(at) => next = next.min(at - now),
                None => {}
            }
        }
        if over.is_empty() {
            return next;
        }
        let reason = format!("timed out after {} s", seconds(self.call_limit));
        for id in over {
            if let Some(waiting) = state.waiting.remove(&id) {
                let _ = waiting.answer.send(Answer::TimedOut);
            }
            let _ = frames::push(&mut state.out, &Message::Abort { i: id, r: &reason });
        }
        self.note_idle(&mut state);
        drop(state);
        self.wake_writer.notify_one();
        let this = Arc::clone(self);
        tokio::spawn(async move {
            this.replace_if_blocked("a call ran out of time and did not yield")
                .await;
        });
        next
    }
}
