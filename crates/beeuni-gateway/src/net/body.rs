//! Streaming bodies: one type for what a provider sends and what the gateway makes itself.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use tokio::time::{Instant, Sleep};

/// The body of an answer, as it arrives. Dropping it ends the request behind it.
#[derive(Debug)]
pub struct AnswerBody {
    inner: UnsyncBoxBody<Bytes, BodyError>,
    first: Option<Bytes>,
    idle: Option<(Duration, Pin<Box<Sleep>>)>,
}

/// A body that ended before it was complete.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// The connection broke.
    #[error("the connection to the server broke in the middle of its answer")]
    Broken(#[source] reqwest::Error),
    /// Nothing came for too long.
    #[error("the server sent nothing more for {} s", .0.as_secs_f64())]
    Idle(Duration),
}

impl AnswerBody {
    /// Ends with [`BodyError::Idle`] when no byte comes for this long.
    pub(crate) fn with_idle_timeout(mut self, idle: Duration) -> Self {
        self.idle = Some((idle, Box::pin(tokio::time::sleep(idle))));
        self
    }

    /// Puts bytes that were read already back to the front.
    pub(crate) fn starting_with(mut self, first: Option<Bytes>) -> Self {
        self.first = first.filter(|bytes| !bytes.is_empty());
        self
    }

    /// Shortens the idle time for what is still to come.
    pub(crate) fn limit_idle(&mut self, limit: Duration) {
        if let Some((idle, timer)) = &mut self.idle {
            *idle = limit.min(*idle);
            timer.as_mut().reset(Instant::now() + *idle);
        }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        if let Some(first) = this.first.take() {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        if let Poll::Ready(frame) = Pin::new(&mut this.inner).poll_frame(cx) {
            if let Some((idle, timer)) = &mut this.idle {
                timer.as_mut().reset(Instant::now() + *idle);
            }
            return Poll::Ready(frame);
        }
        if let Some((idle, timer)) = &mut this.idle
            && timer.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready(Some(Err(BodyError::Idle(*idle))));
        }
        Poll::Pending
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_none() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = self.inner.size_hint();
        let first = self.first.as_ref().map_or(0, |bytes| bytes.len() as u64);
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper + first);
        }
        hint.set_lower(hint.lower() + first);
        hint
    }
}

/// A body that is there already.
pub(crate) fn full(bytes: impl Into<Bytes>) -> AnswerBody {
    boxed(Full::new(bytes.into()).map_err(|never| match never {}))
}

/// What a server sends.
pub(crate) fn from_reqwest(body: reqwest::Body) -> AnswerBody {
    // The URL may hold what only its owner should see: Gemini's and SearXNG's do.
    boxed(body.map_err(|error| BodyError::Broken(error.without_url())))
}

/// A body of the gateway's own making.
pub(crate) fn boxed(body: impl Body<Data = Bytes, Error = BodyError> + Send + 'static) -> AnswerBody {
    AnswerBody {
        inner: UnsyncBoxBody::new(body),
        first: None,
        idle: None,
    }
}

/// Reads a body up to a limit. `true`: there was more, and it was left.
pub(crate) async fn collect_up_to(body: &mut AnswerBody, limit: usize) -> Result<(Bytes, bool), BodyError> {
    let mut collected = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        if collected.len() + data.len() > limit {
            collected.extend_from_slice(data.get(..limit - collected.len()).unwrap_or_default());
            return Ok((collected.freeze(), true));
        }
        collected.extend_from_slice(&data);
    }
    Ok((collected.freeze(), false))
}
