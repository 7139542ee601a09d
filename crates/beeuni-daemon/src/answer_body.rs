//! What an answer's body is: in one piece, or a stream that lasts.
use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Frame, SizeHint};

use crate::stream::{Activity, Phase};

/// Why a stream ended before its end: the client then sees a cut answer.
pub(crate) type StreamError = Box<dyn Error + Send + Sync>;

/// The body of an answer.
pub(crate) enum AnswerBody {
    /// All of it.
    Whole(Full<Bytes>),
    /// As it comes. Dropped when the client goes away.
    Stream(Stream),
}

/// A body that comes bit by bit.
pub(crate) struct Stream {
    inner: UnsyncBoxBody<Bytes, StreamError>,
    busy: Option<Busy>,
}

/// Says that a connection is at work for as long as its answer is not out.
struct Busy(Arc<Activity>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.enter(Phase::Waiting);
    }
}

impl AnswerBody {
    /// Streams `body`.
    pub(crate) fn stream<B>(body: B) -> Self
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<StreamError>,
    {
        Self::Stream(Stream {
            inner: UnsyncBoxBody::new(body.map_err(Into::into)),
            busy: None,
        })
    }

    /// Notes on `activity` when the answer is out, as far as that is in our hands.
    pub(crate) fn ends(&mut self, activity: &Arc<Activity>) {
        match self {
            Self::Whole(_) => activity.enter(Phase::Waiting),
            Self::Stream(stream) => stream.busy = Some(Busy(Arc::clone(activity))),
        }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = StreamError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, StreamError>>> {
        match self.get_mut() {
            Self::Whole(body) => Pin::new(body).poll_frame(cx).map_err(|never| match never {}),
            Self::Stream(stream) => Pin::new(&mut stream.inner).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(body) => body.is_end_stream(),
            Self::Stream(stream) => stream.inner.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(body) => body.size_hint(),
            Self::Stream(stream) => stream.inner.size_hint(),
        }
    }
}
