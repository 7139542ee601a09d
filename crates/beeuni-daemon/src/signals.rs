//! The signals that stop a daemon.
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::DaemonError;

/// SIGTERM and SIGINT.
pub(crate) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    /// From here on the two no longer end the process by themselves.
    pub(crate) fn listen() -> Result<Self, DaemonError> {
        let listen = |kind| signal(kind).map_err(DaemonError::Signals);
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next one; its name.
    pub(crate) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
