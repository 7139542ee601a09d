//! Loads and calls in a worker: their deadlines, and what becomes of them when the worker ends.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::deadline::Deadline;
use super::stop::StopOnDrop;
use super::{Answer, Worker};
use crate::ending::Ending;
use crate::env_of_agent::AgentEnv;
use crate::frames::{self, Kind, Message, Reply};
use crate::{Call, Limits};

/// How long a worker may take to answer a ping before it counts as blocked.
const PING: Duration = Duration::from_millis(150);

/// How one call on one worker ended.
#[derive(Debug)]
pub(crate) enum CallEnd {
    Output(String),
    Error(String),
    /// The worker ended while the call ran: what happened to it.
    Lost(String),
    /// The worker ended before it began the call: it may safely run on another one.
    NeverStarted,
    TimedOut,
}

impl Worker {
    /// Imports one module. The answer is its description and parameters as JSON, or the reason why not.
    pub(crate) async fn load(&self, tool: &str, path: &str, deadline: Duration) -> Result<String, String> {
        let receiver = {
            let mut state = self.state();
            if state.ending.is_some() {
                None
            } else {
                let (id, receiver) = Self::expect_answer(&mut state, None);
                let _ = frames::push(
                    &mut state.out,
                    &Message::Load {
                        i: id,
                        n: tool,
                        p: path,
                    },
                );
                Some(receiver)
            }
        };
        let Some(receiver) = receiver else {
            self.wait_ended().await;
            return Err(self.load_ending_text());
        };
        self.wake_writer.notify_one();
        match tokio::time::timeout(deadline, receiver).await {
            Ok(Ok(Answer::Reply(reply))) if reply.kind == Kind::Loaded => Ok(reply.text),
            Ok(Ok(Answer::Reply(reply))) => Err(reply.text),
            Ok(Ok(Answer::Ended { .. } | Answer::TimedOut) | Err(_)) => Err(self.load_ending_text()),
            Err(_) => {
                let reason = format!("did not finish loading within {} s", seconds(deadline));
                self.kill(Ending::Killed(reason.clone()));
                Err(reason)
            }
        }
    }

    fn load_ending_text(&self) -> String {
        format!("while the module was loaded, {}", self.ending_text())
    }

    /// Runs one call. Dropping the future stops it.
    pub(crate) async fn call(self: &Arc<Self>, call: &Call<'_>, env: &AgentEnv, limits: &Limits) -> CallEnd {
        let (id, receiver, doze) = {
            let mut state = self.state();
            if state.ending.is_some() || state.retiring {
                return CallEnd::NeverStarted;
            }
            if state.env != env.id {
                state.env = env.id;
                state.out.extend_from_slice(&env.frame);
            }
            let (id, receiver) = Self::expect_answer(&mut state, Some(Deadline::of_call_sent_now()));
            if let Err(error) = frames::push_call(&mut state.out, id, call) {
                state.waiting.remove(&id);
                return CallEnd::Error(format!("the call could not be sent: {error}"));
            }
            (id, receiver, std::mem::take(&mut state.dozing))
        };
        self.wake_writer.notify_one();
        if doze {
            self.wake_supervisor.notify_one();
        }
        let stop = StopOnDrop {
            worker: self,
            id,
            grace: limits.stop_grace,
            armed: true,
        };
        let answer = receiver.await;
        stop.disarm();
        self.call_end(answer)
    }

    fn call_end(&self, answer: Result<Answer, oneshot::error::RecvError>) -> CallEnd {
        match answer {
            Ok(Answer::Reply(Reply {
                kind: Kind::Ok, text, ..
            })) => CallEnd::Output(text),
            Ok(Answer::Reply(reply)) => CallEnd::Error(reply.text),
            Ok(Answer::TimedOut) => CallEnd::TimedOut,
            Ok(Answer::Ended { started: false }) => CallEnd::NeverStarted,
            Ok(Answer::Ended { started: true }) | Err(_) => CallEnd::Lost(self.ending_text()),
        }
    }

    /// Fires the call's signal and forgets the call.
    pub(super) fn abandon(&self, id: u32, reason: &str) {
        let mut state = self.state();
        state.waiting.remove(&id);
        self.note_idle(&mut state);
        let _ = frames::push(&mut state.out, &Message::Abort { i: id, r: reason });
        drop(state);
        self.wake_writer.notify_one();
        self.wake_supervisor.notify_one();
    }

    /// Ends the worker when it does not answer: its event loop is blocked, and nothing else would end that.
    pub(super) async fn replace_if_blocked(&self, why: &str) {
        let receiver = {
            let mut state = self.state();
            if state.ending.is_some() {
                return;
            }
            let (id, receiver) = Self::expect_answer(&mut state, None);
            let _ = frames::push(&mut state.out, &Message::Ping { i: id });
            receiver
        };
        self.wake_writer.notify_one();
        if tokio::time::timeout(PING, receiver).await.is_err() {
            self.kill(Ending::Killed(why.to_owned()));
        }
    }
}

/// Seconds as people write them: `10`, `0.5`.
pub(crate) fn seconds(duration: Duration) -> String {
    let text = format!("{:.3}", duration.as_secs_f64());
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
