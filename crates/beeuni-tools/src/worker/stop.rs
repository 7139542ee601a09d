//! Stops a call whose caller went away.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::Worker;
use crate::frames::{self, Message};

/// Stops a call whose caller went away: the signal fires at once, and after the grace time the worker is
/// replaced when it does not answer.
pub(super) struct StopOnDrop<'a> {
    pub(super) worker: &'a Arc<Worker>,
    pub(super) id: u32,
    pub(super) grace: Duration,
    pub(super) armed: bool,
}

impl StopOnDrop<'_> {
    pub(super) fn disarm(mut self) {
        self.armed = false;
    }
}

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        if !self.armed {
            return;
        }
        let (worker, id, grace) = (Arc::clone(self.worker), self.id, self.grace);
        worker.page.mark_stopped(id);
        {
            let mut state = worker.state();
            let _ = frames::push(
                &mut state.out,
                &Message::Abort {
                    i: id,
                    r: "the call was stopped",
                },
            );
        }
        worker.wake_writer.notify_one();
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        runtime.spawn(async move {
            // Still waiting for its answer means that it still runs: the worker is busy with it until then.
            let (sender, receiver) = oneshot::channel();
            match worker.state().waiting.get_mut(&id) {
                Some(waiting) => waiting.answer = sender,
                None => return,
            }
            if tokio::time::timeout(grace, receiver).await.is_err() {
                worker.abandon(id, "the call was stopped");
                worker.replace_if_blocked("a stopped call did not yield").await;
            }
        });
    }
}
