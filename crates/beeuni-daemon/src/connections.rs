//! All connections: how many at once, how long they may take, and their end.
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use hyper::server::conn::http1;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio::time::{Interval, MissedTickBehavior, interval, sleep, timeout};

use crate::listen::{Listener, Socket};
use crate::server::{Serve, connection};
use crate::stream::{Activity, Phase, Watched};

/// Connections at once. Each needs a file descriptor, of which a process has 1,024 by default and the tools'
/// workers need some. Further clients wait in the kernel's queue.
const MOST_CONNECTIONS: usize = 256;
/// How often connections are looked at. Nothing is looked at while there are none.
const SWEEP: Duration = Duration::from_secs(1);
/// The longest that a request's head may take, its connection's start included, in sweeps.
const HEAD_SWEEPS: u32 = 10;
/// For how many sweeps a connection must have been idle, or its request unfinished, to make room for another
/// client. Two, so that one whose request is on its way just now is not closed under it.
const GIVEN_UP_SWEEPS: u32 = 2;
/// The longest that a connection may stand between requests, in sweeps. Long, because a client that sends
/// just when we close sees a reset and cannot know whether its call ran.
const IDLE_SWEEPS: u32 = 600;
/// The largest head of a request, in bytes.
const HEAD_LIMIT: usize = 64 * 1024;
/// How long answers that are ready may take to leave once the daemon ends.
const LAST_WRITES: Duration = Duration::from_secs(1);

/// For how many sweeps a client may take nothing of what is there for it.
const STALLED_SWEEPS: u32 = 30;

/// Every open connection.
pub(crate) struct Connections<S> {
    serves: Arc<S>,
    http: http1::Builder,
    tasks: JoinSet<()>,
    open: HashMap<Id, (Arc<Activity>, AbortHandle)>,
    clock: Arc<AtomicU32>,
}

impl<S: Serve> Connections<S> {
    pub(crate) fn new(serves: Arc<S>) -> Self {
        let mut http = http1::Builder::new();
        // The sweep keeps the time. Head and body in one buffer: for answers of this size copying them is
        // cheaper than a write of two pieces.
        http.header_read_timeout(None)
            .max_buf_size(HEAD_LIMIT)
            .max_header_size(HEAD_LIMIT)
            .writev(false);
        let clock = Arc::new(AtomicU32::new(0));
        Self {
            serves,
            http,
            tasks: JoinSet::new(),
            open: HashMap::new(),
            clock,
        }
    }

    /// Takes connections until `stop`, then waits for those that are left, from `end` on not for long.
    pub(crate) async fn run(mut self, listener: Listener, stop: Arc<Notify>, end: Arc<Notify>) {
        let mut sweep: Interval = interval(SWEEP);
        sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let is_any = !self.open.is_empty();
            tokio::select! {
                biased;
                () = stop.notified() => break,
                Some(ended) = self.tasks.join_next_with_id(), if is_any => self.forget(ended),
                _ = sweep.tick(), if is_any => self.look_around(),
                accepted = listener.accept(), if self.open.len() < MOST_CONNECTIONS => match accepted {
                    Ok(Socket::Tcp(stream)) => self.add(stream, true),
                    Ok(Socket::Unix(stream)) => self.add(stream, false),
                    Err(error) => {
                        // Out of descriptors, mostly: they come back with the connections that end.
                        tracing::warn!(%error, "a connection could not be taken");
                        sleep(Duration::from_millis(50)).await;
                    }
                },
            }
        }
        // From here on a client that connects is refused.
        drop(listener);
        for (activity, _) in self.open.values() {
            activity.close.notify_one();
        }
        tokio::select! {
            biased;
            () = self.all_ended() => return,
            () = end.notified() => {}
        }
        if timeout(LAST_WRITES, self.all_ended()).await.is_err() {
            self.tasks.shutdown().await;
        }
    }

    fn add<T>(&mut self, socket: T, over_network: bool)
    where
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let activity = Arc::new(Activity::new(self.clock.clone()));
        let stream = Watched {
            socket,
            activity: activity.clone(),
        };
        let task = connection(self.http.clone(), stream, self.serves.clone(), over_network);
        let handle = self.tasks.spawn(task);
        self.open.insert(handle.id(), (activity, handle));
        self.make_room();
    }

    async fn all_ended(&mut self) {
        while let Some(ended) = self.tasks.join_next_with_id().await {
            self.forget(ended);
        }
    }

    fn forget(&mut self, ended: Result<(Id, ()), JoinError>) {
        let id = match ended {
            Ok((id, ())) => id,
            Err(error) => error.id(),
        };
        self.open.remove(&id);
    }

    /// Ends connections that take too long.
    fn look_around(&mut self) {
        self.clock.fetch_add(1, Relaxed);
        for (activity, handle) in self.open.values() {
            if activity.stalled() > STALLED_SWEEPS {
                tracing::debug!("a client did not read: closed its connection");
                handle.abort();
            }
            match activity.look() {
                (Phase::Fresh | Phase::Reading, sweeps) if sweeps > HEAD_SWEEPS => {
                    tracing::debug!("a request's head took too long: closed its connection");
                    handle.abort();
                }
                (Phase::Waiting, sweeps) if sweeps > IDLE_SWEEPS => handle.abort(),
                _ => {}
            }
        }
        self.make_room();
    }

    /// With every place taken, gives up the connection that has done nothing for longest, so that the next
    /// client need not wait for it; else a request that is still not whole.
    fn make_room(&self) {
        if self.open.len() < MOST_CONNECTIONS {
            return;
        }
        let lasting = |wanted: fn(Phase) -> bool| {
            let looked = self
                .open
                .values()
                .map(|(activity, handle)| (activity.look(), activity, handle));
            looked
                .filter(|((phase, sweeps), ..)| wanted(*phase) && *sweeps >= GIVEN_UP_SWEEPS)
                .max_by_key(|((_, sweeps), ..)| *sweeps)
        };
        if let Some((_, activity, _)) = lasting(|phase| matches!(phase, Phase::Fresh | Phase::Waiting)) {
            activity.close.notify_one();
        } else if let Some((.., handle)) = lasting(|phase| phase == Phase::Reading) {
            handle.abort();
        }
    }
}
