//! The running server, and one connection of it.
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::connections::Connections;
use crate::listen::Listener;
use crate::serve::serve;
use crate::session::Session;
use crate::stream::{Activity, Phase, Watched};

/// The running server. Dropping it cuts every connection.
pub(crate) struct Server {
    task: JoinHandle<()>,
    stop: Arc<Notify>,
    end: Arc<Notify>,
}

impl Server {
    /// Serves `session` on `listener` from now on.
    pub(crate) fn start(listener: Listener, session: Arc<Session>) -> Self {
        let (stop, end) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let connections = Connections::new(session);
        let task = tokio::spawn(connections.run(listener, stop.clone(), end.clone()));
        Self { task, stop, end }
    }

    /// Takes no further connection; those there are end after the request at hand.
    pub(crate) fn stop(&self) {
        self.stop.notify_one();
    }

    /// Waits until the last answers are written, but not long.
    pub(crate) async fn ended(mut self) {
        self.end.notify_one();
        let _ = (&mut self.task).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Serves one connection, from its first request to its last.
pub(crate) async fn connection<S>(http: http1::Builder, stream: Watched<S>, session: Arc<Session>, over_network: bool)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let activity = stream.activity.clone();
    let service = service_fn(|request| {
        let (session, activity): (&Session, &Activity) = (&session, &activity);
        async move {
            activity.enter(Phase::Busy);
            let answer = serve(session, over_network, request).await;
            activity.enter(Phase::Waiting);
            answer
        }
    });
    let mut served = std::pin::pin!(http.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        biased;
        ended = served.as_mut() => ended,
        () = activity.close.notified() => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = ended {
        // A client that left or sent no HTTP: its own business.
        tracing::debug!(%error, "a connection broke off");
    }
}
