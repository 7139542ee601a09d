//! One connection's bytes, and what it is doing: time limits are kept by looking at that from outside.
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Phase {
    /// Nothing was sent yet.
    Fresh = 0,
    /// Between requests.
    Waiting = 1,
    /// A request's head is arriving.
    Reading = 2,
    /// A request is being answered.
    Busy = 3,
}

/// A connection's phase and since when. hyper's own header timer cannot tell a slow head from an idle
/// connection and arms a timer for every request; here a request costs two stores.
pub(crate) struct Activity {
    phase: AtomicU8,
    since: AtomicU32,
    /// Since when the client has taken nothing of what is there for it; [`TAKES`] while it does.
    stalled: AtomicU32,
    clock: Arc<AtomicU32>,
    /// Asks the connection to end after the request at hand.
    pub(crate) close: Notify,
}

/// The client takes what there is.
const TAKES: u32 = u32::MAX;

impl Activity {
    /// A connection that has yet to send something. `clock` counts sweeps.
    pub(crate) fn new(clock: Arc<AtomicU32>) -> Self {
        let since = AtomicU32::new(clock.load(Relaxed));
        Self {
            phase: AtomicU8::new(Phase::Fresh as u8),
            since,
            stalled: AtomicU32::new(TAKES),
            clock,
            close: Notify::new(),
        }
    }

    /// The phase, and for how many sweeps it has lasted.
    pub(crate) fn look(&self) -> (Phase, u32) {
        let phase = match self.phase.load(Relaxed) {
            0 => Phase::Fresh,
            1 => Phase::Waiting,
            2 => Phase::Reading,
            _ => Phase::Busy,
        };
        (phase, self.clock.load(Relaxed).wrapping_sub(self.since.load(Relaxed)))
    }

    /// Enters `phase`.
    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Relaxed);
        self.since.store(self.clock.load(Relaxed), Relaxed);
    }

    /// For how many sweeps the client has taken nothing of what is there for it.
    pub(crate) fn stalled(&self) -> u32 {
        match self.stalled.load(Relaxed) {
            TAKES => 0,
            since => self.clock.load(Relaxed).wrapping_sub(since),
        }
    }

    fn wrote(&self, pending: bool) {
        match (pending, self.stalled.load(Relaxed)) {
            (true, TAKES) => self.stalled.store(self.clock.load(Relaxed), Relaxed),
            (false, stalled) if stalled != TAKES => self.stalled.store(TAKES, Relaxed),
            _ => {}
        }
    }

    fn bytes_came(&self) {
        let phase = self.phase.load(Relaxed);
        if phase == Phase::Waiting as u8 || phase == Phase::Fresh as u8 {
            self.enter(Phase::Reading);
        }
    }
}

/// A socket that notes the arrival of bytes.
pub(crate) struct Watched<S> {
    pub(crate) socket: S,
    pub(crate) activity: Arc<Activity>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let read = Pin::new(&mut this.socket).poll_read(cx, buffer);
        if read.is_ready() {
            this.activity.bytes_came();
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let wrote = Pin::new(&mut this.socket).poll_write(cx, bytes);
        this.activity.wrote(wrote.is_pending());
        wrote
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let wrote = Pin::new(&mut this.socket).poll_write_vectored(cx, slices);
        this.activity.wrote(wrote.is_pending());
        wrote
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bytes_between_requests_begin_a_head() {
        let clock = Arc::new(AtomicU32::new(7));
        let activity = Activity::new(clock.clone());
        clock.store(9, Relaxed);
        assert_eq!(activity.look(), (Phase::Fresh, 2));
        activity.bytes_came();
        assert_eq!(activity.look(), (Phase::Reading, 0));
        clock.store(10, Relaxed);
        activity.bytes_came();
        assert_eq!(
            activity.look(),
            (Phase::Reading, 1),
            "more bytes of one head buy no time"
        );
        activity.enter(Phase::Busy);
        activity.bytes_came();
        assert_eq!(activity.look(), (Phase::Busy, 0));
        activity.enter(Phase::Waiting);
        clock.store(13, Relaxed);
        assert_eq!(activity.look(), (Phase::Waiting, 3));
        activity.bytes_came();
        assert_eq!(activity.look(), (Phase::Reading, 0));
    }

    #[test]
    fn a_client_that_takes_nothing_is_noticed_until_it_takes_something() {
        let clock = Arc::new(AtomicU32::new(1));
        let activity = Activity::new(clock.clone());
        activity.wrote(false);
        clock.store(3, Relaxed);
        activity.wrote(true);
        clock.store(8, Relaxed);
        activity.wrote(true);
        assert_eq!(activity.stalled(), 5);
        activity.wrote(false);
        assert_eq!(activity.stalled(), 0);
    }
}
