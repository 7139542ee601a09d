//! The running server, and one connection of it.
use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::answer::Answer;
use crate::connections::Connections;
use crate::listen::Listener;
use crate::stream::{Phase, Watched};

/// What answers requests.
pub(crate) trait Serve: Send + Sync + 'static {
    /// The answer to one request. `over_network` says that a web page could have sent it.
    fn serve(&self, over_network: bool, request: Request<Incoming>) -> impl Future<Output = Answer> + Send;
}

/// The running server. Dropping it cuts every connection.
pub(crate) struct Server {
    task: JoinHandle<()>,
    stop: Arc<Notify>,
    end: Arc<Notify>,
}

impl Server {
    /// Serves on `listener` from now on.
    pub(crate) fn start(listener: Listener, serves: Arc<impl Serve>) -> Self {
        let (stop, end) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let connections = Connections::new(serves);
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
pub(crate) async fn connection<S>(http: http1::Builder, stream: Watched<S>, serves: Arc<impl Serve>, over_network: bool)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let activity = stream.activity.clone();
    let service = service_fn(|request| {
        let (serves, activity) = (&*serves, &activity);
        async move {
            activity.enter(Phase::Busy);
            let mut answer = serves.serve(over_network, request).await;
            answer.body_mut().ends(activity);
            Ok::<_, Infallible>(answer)
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
