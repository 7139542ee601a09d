//! The scripted server: its queue of answers and its record of requests.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::{Answer, RecordedRequest, connection};

type Responder = Box<dyn Fn(&RecordedRequest) -> Option<Answer> + Send + Sync>;

/// A server on a free loopback port that answers from a script. Dropping it closes everything.
///
/// An answer is looked for in this order: [`respond_with`](Self::respond_with),
/// [`on`](Self::on), the queue of [`push`](Self::push). With none left the answer is a 500 that
/// says so.
pub struct ScriptedServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

pub(super) struct Shared {
    script: Mutex<Script>,
    count: watch::Sender<usize>,
}

#[derive(Default)]
struct Script {
    responder: Option<Responder>,
    paths: Vec<(String, Answer)>,
    queue: VecDeque<Answer>,
    requests: Vec<RecordedRequest>,
}

impl ScriptedServer {
    /// Starts it, with an empty script.
    ///
    /// # Panics
    /// When loopback has no free port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free loopback port");
        let address = listener.local_addr().expect("the port that was bound");
        let shared = Arc::new(Shared {
            script: Mutex::default(),
            count: watch::Sender::new(0),
        });
        let accepting = tokio::spawn(connection::accept(listener, Arc::clone(&shared)));
        Self {
            address,
            shared,
            accepting,
        }
    }

    /// Adds an answer to the end of the queue; each is used once.
    pub fn push(&self, answer: Answer) -> &Self {
        self.shared.script().queue.push_back(answer);
        self
    }

    /// Answers every request to this path (`/robots.txt`; with a query only that one) so.
    pub fn on(&self, path: &str, answer: Answer) -> &Self {
        let mut script = self.shared.script();
        script.paths.retain(|(known, _)| known != path);
        script.paths.push((path.to_owned(), answer));
        drop(script);
        self
    }

    /// Asks this function first: for sessions that run at the same time, where the order of their
    /// requests is open. `None` goes on to paths and queue.
    pub fn respond_with(
        &self,
        responder: impl Fn(&RecordedRequest) -> Option<Answer> + Send + Sync + 'static,
    ) -> &Self {
        self.shared.script().responder = Some(Box::new(responder));
        self
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:PORT`, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The base URL to give to a provider: `http://127.0.0.1:PORT/v1`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Every request so far, in the order in which they were complete.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.shared.script().requests.clone()
    }

    /// How many answers the queue still holds.
    pub fn unused(&self) -> usize {
        self.shared.script().queue.len()
    }

    /// Waits until at least this many requests came, and returns all of them.
    ///
    /// # Panics
    /// When they do not within 10 s.
    pub async fn wait_for_requests(&self, number: usize) -> Vec<RecordedRequest> {
        let mut count = self.shared.count.subscribe();
        let waited = tokio::time::timeout(Duration::from_secs(10), count.wait_for(|it| *it >= number)).await;
        let requests = self.requests();
        match waited {
            Ok(Ok(_)) => requests,
            _ => panic!("waited for {number} requests, {} came", requests.len()),
        }
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Shared {
    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a request and finds its answer.
    pub(super) fn answer(&self, request: RecordedRequest) -> Answer {
        let mut script = self.script();
        let answer = script.find(&request);
        script.requests.push(request);
        let number = script.requests.len();
        drop(script);
        self.count.send_replace(number);
        answer.unwrap_or_else(|| {
            Answer::new(
                500,
                "text/plain",
                format!("the script has no answer for request {number}"),
            )
        })
    }
}

impl Script {
    fn find(&mut self, request: &RecordedRequest) -> Option<Answer> {
        if let Some(answer) = self.responder.as_ref().and_then(|responder| responder(request)) {
            return Some(answer);
        }
        let by_path = self
            .paths
            .iter()
            .find(|(path, _)| *path == request.target)
            .or_else(|| self.paths.iter().find(|(path, _)| path == request.path()));
        match by_path {
            Some((_, answer)) => Some(answer.clone()),
            None => self.queue.pop_front(),
        }
    }
}
