//! Makes a file durable in the background: many writes, one wait.
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::watch;

/// Syncs a file, one sync at a time. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Syncer(Arc<State>);

#[derive(Debug)]
struct State {
    file: File,
    /// How often a sync was asked for.
    wanted: AtomicU64,
    running: AtomicBool,
    /// Which request the last sync has covered.
    done: watch::Sender<u64>,
}

impl Syncer {
    pub(crate) fn new(file: File) -> Self {
        Self(Arc::new(State {
            file,
            wanted: AtomicU64::new(0),
            running: AtomicBool::new(false),
            done: watch::Sender::new(0),
        }))
    }

    /// Asks for a sync. Requests that come while one runs are served together by the next.
    pub(crate) fn soon(&self) {
        self.0.wanted.fetch_add(1, Ordering::SeqCst);
        if !self.0.running.swap(true, Ordering::SeqCst) {
            let state = Arc::clone(&self.0);
            tokio::task::spawn_blocking(move || state.run());
        }
    }

    /// Waits until everything that was written before is durable.
    pub(crate) async fn wait(&self) {
        self.soon();
        let wanted = self.0.wanted.load(Ordering::SeqCst);
        let mut done = self.0.done.subscribe();
        // The sender lives as long as `self`.
        let _ = done.wait_for(|done| *done >= wanted).await;
    }
}

impl State {
    fn run(&self) {
        loop {
            let wanted = self.wanted.load(Ordering::SeqCst);
            if let Err(error) = self.file.sync_data() {
                tracing::error!(%error, "the transcript could not be made durable");
            }
            self.done.send_replace(wanted);
            self.running.store(false, Ordering::SeqCst);
            // A request between the sync and the line above started no run of its own.
            if self.wanted.load(Ordering::SeqCst) == wanted || self.running.swap(true, Ordering::SeqCst) {
                return;
            }
        }
    }
}
