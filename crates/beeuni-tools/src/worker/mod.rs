//! One worker process as the host sees it: what waits for it, whether it takes calls, why it ended.

mod call;
mod channel;
mod deadline;
mod page;
mod start;
mod stop;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::{Notify, oneshot, watch};

pub(crate) use call::{CallEnd, seconds};
use deadline::Deadline;
use page::SharedPage;

use crate::ending::Ending;
use crate::frames::{self, Message, Reply};

enum Answer {
    Reply(Reply),
    Ended { started: bool },
    TimedOut,
}

/// Somebody who waits for an answer of the worker.
struct Waiting {
    answer: oneshot::Sender<Answer>,
    /// Calls have a deadline; loads and pings are timed by those who wait for them.
    deadline: Option<Deadline>,
}

pub(crate) struct Worker {
    /// The tool's name, or `beeuni tools` for the shared worker: for logs and error texts.
    pub(crate) name: String,
    state: Mutex<State>,
    wake_writer: Notify,
    wake_supervisor: Notify,
    /// Nothing waits for this worker any more.
    idle: Notify,
    page: SharedPage,
    memory_mib: u64,
    call_limit: Duration,
    ended: watch::Receiver<bool>,
}

struct State {
    out: Vec<u8>,
    waiting: HashMap<u32, Waiting>,
    next_id: u32,
    env: u64,
    /// Takes no new calls; ends when the last one has.
    retiring: bool,
    /// Set once: why the worker ends or ended.
    ending: Option<Ending>,
    guard: Option<Pid>,
    idle_since: Instant,
    /// The supervisor sleeps for long and must be woken when a call begins.
    dozing: bool,
}

impl Worker {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, message: &Message<'_>) {
        // Strings and numbers always serialise; a failure would leave a frame of length zero, which ends the worker.
        let _ = frames::push(&mut self.state().out, message);
        self.wake_writer.notify_one();
    }

    /// Whether new calls may go to this worker.
    pub(crate) fn is_open(&self) -> bool {
        let state = self.state();
        state.ending.is_none() && !state.retiring
    }

    /// Lets running calls end, then ends the worker.
    pub(crate) fn retire(&self) {
        self.state().retiring = true;
        self.wake_supervisor.notify_one();
    }

    /// Ends the worker now.
    pub(crate) fn kill(&self, ending: Ending) {
        let mut state = self.state();
        if state.ending.is_none() {
            state.ending = Some(ending);
        }
        if let Some(guard) = state.guard {
            let _ = kill_process(guard, Signal::TERM);
        }
        drop(state);
        self.wake_supervisor.notify_one();
    }

    /// Waits until no call runs in this worker, stopped ones included.
    pub(crate) async fn wait_idle(&self) {
        loop {
            let idle = self.idle.notified();
            if self.state().waiting.is_empty() {
                return;
            }
            idle.await;
        }
    }

    /// Waits until the process and everything that it started is gone.
    pub(crate) async fn wait_ended(&self) {
        let _ = self.ended.clone().wait_for(|ended| *ended).await;
    }

    /// What happened, as the end of a sentence about this worker.
    pub(crate) fn ending_text(&self) -> String {
        let state = self.state();
        state
            .ending
            .as_ref()
            .unwrap_or(&Ending::ChannelClosed)
            .text(&self.name, self.memory_mib)
    }

    fn expect_answer(state: &mut State, deadline: Option<Deadline>) -> (u32, oneshot::Receiver<Answer>) {
        let id = state.next_id;
        state.next_id += 1;
        // Ids must keep growing: a worker that served this many calls makes room for a fresh one.
        state.retiring |= id == u32::MAX / 2;
        let (sender, receiver) = oneshot::channel();
        state.waiting.insert(
            id,
            Waiting {
                answer: sender,
                deadline,
            },
        );
        (id, receiver)
    }

    /// Notes when nothing waits any more; whether that is so.
    fn note_idle(&self, state: &mut State) -> bool {
        let idle = state.waiting.is_empty();
        if idle {
            state.idle_since = Instant::now();
            self.idle.notify_one();
        }
        idle
    }

    /// Tells everybody who waits that the process is gone.
    fn finish(&self, status: Option<std::process::ExitStatus>) {
        let started = self.page.last_started();
        let mut state = self.state();
        state.guard = None;
        state.ending.get_or_insert_with(|| Ending::of(status));
        for (id, waiting) in state.waiting.drain() {
            let _ = waiting.answer.send(Answer::Ended { started: id <= started });
        }
        self.idle.notify_one();
    }
}
