//! The async runtime of the commands that need one.
use std::future::Future;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::Exit;
use crate::failure::Failure;

/// Runs `future` on this thread. Workers end with the thread that started them, so it is the
/// process's first one and the runtime has no other.
pub(crate) fn block_on<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::internal("cannot start the runtime").caused_by(&error))?;
    runtime.block_on(future)
}

/// The signals that ask a command to end.
pub(crate) struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Interrupts {
    /// From here on these signals no longer end the process by themselves.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let listen =
            |kind| signal(kind).map_err(|error| Failure::internal("cannot listen for signals").caused_by(&error));
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    /// Waits for the next one: the exit code that tells of it.
    pub(crate) async fn next(&mut self) -> Exit {
        let number = tokio::select! {
            _ = self.interrupt.recv() => 2,
            _ = self.terminate.recv() => 15,
            _ = self.hangup.recv() => 1,
        };
        Exit::signal(number)
    }
}
