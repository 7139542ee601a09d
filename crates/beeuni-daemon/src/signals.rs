//! The signals that a daemon listens to.
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::DaemonError;

/// SIGTERM and SIGINT, which stop a daemon, and SIGHUP, which makes it read the project again.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

/// What a signal asks for.
pub(crate) enum Asked {
    /// To stop: the signal's name.
    Stop(&'static str),
    /// To reload.
    Reload,
}

impl Signals {
    /// From here on the three no longer end the process by themselves.
    pub(crate) fn listen() -> Result<Self, DaemonError> {
        let listen = |kind| signal(kind).map_err(DaemonError::Signals);
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.terminate.recv() => Asked::Stop("SIGTERM"),
            _ = self.interrupt.recv() => Asked::Stop("SIGINT"),
            _ = self.hangup.recv() => Asked::Reload,
        }
    }

    /// Waits for the next one that stops; its name.
    pub(crate) async fn stop(&mut self) -> &'static str {
        loop {
            if let Asked::Stop(name) = self.next().await {
                return name;
            }
        }
    }
}
