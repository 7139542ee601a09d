//! The stream of events, taken up again whenever it breaks off.
use std::time::Duration;

use bytes::{Buf, BytesMut};
use reqwest::Method;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::happening::{Happening, happening};
use super::{Client, ClientError};

/// The largest event: a tool's output is bounded, an image is not.
const MOST: usize = 64 * 1024 * 1024;

/// How long the first try may take: some requests that are sent early are accepted and never answered.
const FIRST: Duration = Duration::from_secs(2);

/// A stream without a byte for so long is dead: OpenCode sends a heartbeat every 10 s.
const SILENCE: Duration = Duration::from_secs(35);

/// What comes out of the stream.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Incoming {
    /// Something happened.
    Happened(Box<Happening>),
    /// The stream is there again after it had broken off: events are missing.
    Resumed,
}

/// The events of a server, until this is dropped.
#[derive(Debug)]
pub(crate) struct Events {
    events: mpsc::UnboundedReceiver<Incoming>,
    connected: watch::Receiver<u64>,
    reader: JoinHandle<()>,
}

impl Events {
    pub(super) fn open(client: Client) -> Self {
        let (sender, events) = mpsc::unbounded_channel();
        let (counter, connected) = watch::channel(0);
        let reader = tokio::spawn(read(client, sender, counter));
        Self {
            events,
            connected,
            reader,
        }
    }

    /// The next event. It waits for ever once the server is gone. Dropping the future loses none.
    pub(crate) async fn next(&mut self) -> Incoming {
        match self.events.recv().await {
            Some(incoming) => incoming,
            // The reader never ends by itself.
            None => std::future::pending().await,
        }
    }

    /// The next event if there is one already.
    pub(crate) fn try_next(&mut self) -> Option<Incoming> {
        self.events.try_recv().ok()
    }

    /// Waits until the stream began more than `times`.
    pub(crate) async fn begun_after(&mut self, times: u64) {
        // The reader never ends by itself.
        let _ = self.connected.wait_for(|begun| *begun > times).await;
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

async fn read(client: Client, events: mpsc::UnboundedSender<Incoming>, connected: watch::Sender<u64>) {
    let mut pause = Duration::from_millis(20);
    let mut patience = FIRST;
    loop {
        let begun = *connected.borrow();
        let ended = follow(&client, patience, &events, &connected).await;
        if events.is_closed() {
            return;
        }
        if *connected.borrow() > begun {
            (pause, patience) = (Duration::from_millis(20), FIRST);
        } else {
            patience = (patience * 2).min(client.answer);
        }
        if let Err(error) = ended {
            tracing::debug!(%error, "the stream of OpenCode's events broke off");
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_secs(2));
    }
}

/// Reads one stream to its end.
async fn follow(
    client: &Client,
    patience: Duration,
    events: &mpsc::UnboundedSender<Incoming>,
    connected: &watch::Sender<u64>,
) -> Result<(), ClientError> {
    let unreachable = |source| ClientError::Unreachable {
        what: "GET /event".to_owned(),
        source,
    };
    let response = client.request(Method::GET, "/event").send();
    let Ok(response) = tokio::time::timeout(patience, response).await else {
        return Ok(());
    };
    let mut response = response.map_err(unreachable)?;
    if !response.status().is_success() {
        return Err(ClientError::Refused {
            what: "GET /event".to_owned(),
            status: response.status(),
            text: String::new(),
        });
    }
    let mut buffer = BytesMut::new();
    // What was looked through already: a large event comes in many pieces.
    let mut seen = 0;
    loop {
        let Ok(chunk) = tokio::time::timeout(SILENCE, response.chunk()).await else {
            return Ok(());
        };
        let Some(chunk) = chunk.map_err(unreachable)? else {
            return Ok(());
        };
        buffer.extend_from_slice(&chunk);
        while let Some(end) = end_of_event(&buffer, seen) {
            let event = buffer.split_to(end);
            buffer.advance(2);
            seen = 0;
            let text = String::from_utf8_lossy(&event);
            let Some(json) = text.strip_prefix("data:") else {
                continue;
            };
            let incoming = match happening(json.trim()) {
                Happening::Other => continue,
                Happening::Connected => {
                    let before = *connected.borrow();
                    connected.send_replace(before + 1);
                    if before == 0 {
                        continue;
                    }
                    Incoming::Resumed
                }
                other => Incoming::Happened(Box::new(other)),
            };
            if events.send(incoming).is_err() {
                return Ok(());
            }
        }
        seen = buffer.len();
        if buffer.len() > MOST {
            tracing::error!("an event of OpenCode is larger than {MOST} bytes");
            return Ok(());
        }
    }
}

/// Where the first event ends, of which `seen` bytes were looked through.
fn end_of_event(buffer: &[u8], seen: usize) -> Option<usize> {
    let start = seen.saturating_sub(1);
    let rest = buffer.get(start..)?;
    rest.windows(2)
        .position(|window| window == b"\n\n")
        .map(|found| start + found)
}
