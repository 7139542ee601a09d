//! `GET /beeuni/events`: what happens in the session, as it happens, as server-sent events.
use std::sync::Arc;
use std::time::Duration;

use beeuni_protocol::session::Event;
use bytes::Bytes;
use futures_util::stream::unfold;
use http_body_util::StreamBody;
use hyper::StatusCode;
use hyper::body::Frame;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue};
use tokio::time::{Instant, sleep_until};

use crate::answer::{self, Answer, with_header};
use crate::answer_body::{AnswerBody, StreamError};
use crate::conversation::refusal;
use crate::harness::EventSource;
use crate::query::Query;
use crate::session::Session;

/// After how long without an event a comment is sent: it shows both sides that the other is there.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Answers the events after the number in `Last-Event-ID` or `?after=`, else those from now on.
///
/// They are taken from the journal when the client has room for them. One that stays behind gets an event `resync`
/// with what it missed, one that takes nothing for long is cut (see `connections`); the session waits for neither.
pub(crate) async fn events(session: &Session, headers: &HeaderMap, query: Option<&str>) -> Answer {
    let after = match after(headers, query) {
        Ok(after) => after,
        Err(text) => return answer::error(StatusCode::BAD_REQUEST, text),
    };
    let source = match session.core.harness.events(after).await {
        Ok(source) => source,
        Err(error) => return refusal(&error),
    };
    let state = Some(Reader {
        source,
        greeted: false,
        heartbeat: Instant::now() + HEARTBEAT,
    });
    let stream = unfold(state, |state| async {
        let mut reader = state?;
        let (piece, goes_on) = reader.next().await?;
        Some((piece.map(Frame::data), goes_on.then_some(reader)))
    });
    let mut answer = Answer::new(AnswerBody::stream(StreamBody::new(stream)));
    answer = with_header(answer, CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    with_header(answer, CACHE_CONTROL, HeaderValue::from_static("no-store"))
}

/// The number of the last event that the client has seen. A browser that reconnects sends the header, so that counts.
fn after(headers: &HeaderMap, query: Option<&str>) -> Result<Option<u64>, String> {
    let query = Query::read(query, &["after"])?;
    match headers.get("last-event-id").filter(|value| !value.is_empty()) {
        Some(value) => {
            let number = value.to_str().ok().and_then(|text| text.parse().ok());
            number
                .map(Some)
                .ok_or_else(|| "Last-Event-ID must be the number of an event".to_owned())
        }
        None => query.number("after"),
    }
}

/// One client's place in the events.
struct Reader {
    source: Box<dyn EventSource>,
    greeted: bool,
    heartbeat: Instant,
}

type Piece = Result<Bytes, StreamError>;

impl Reader {
    /// The next bytes, and whether there may be more; `None` at the end.
    async fn next(&mut self) -> Option<(Piece, bool)> {
        // At once, so that the client sees that it is connected.
        if !std::mem::replace(&mut self.greeted, true) {
            return Some((Ok(Bytes::from_static(b": connected\n\n")), true));
        }
        tokio::select! {
            biased;
            event = self.source.next() => {
                self.heartbeat = Instant::now() + HEARTBEAT;
                match event {
                    Ok(Some(event)) => Some((written(&event), true)),
                    Ok(None) => None,
                    Err(error) => {
                        tracing::error!(%error, "the events of the session cannot be read");
                        Some((Err(Box::new(error)), false))
                    }
                }
            }
            () = sleep_until(self.heartbeat) => {
                self.heartbeat = Instant::now() + HEARTBEAT;
                Some((Ok(Bytes::from_static(b": still here\n\n")), true))
            }
        }
    }
}

/// An event as the stream has it. JSON has no line ends, so it is one `data` line.
fn written(event: &Arc<Event>) -> Piece {
    let json = serde_json::to_string(&**event)?;
    Ok(Bytes::from(format!("id: {}\ndata: {json}\n\n", event.id)))
}
