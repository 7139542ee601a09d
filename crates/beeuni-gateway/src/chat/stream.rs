//! The stream that answers a model call: bytes in, typed events out.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use http_body::Body;
use tokio::runtime::Handle;

use super::answer::Answer;
use super::{ChatEvent, sse::SseParser};
use crate::error::ChatError;
use crate::net::{AnswerBody, BodyError, collect_up_to, full};
use crate::provider::Provider;

/// After the finish reason only usage and `[DONE]` are to come: a server that keeps the connection
/// open beyond this time has forgotten them.
const PATIENCE_AFTER_FINISH: Duration = Duration::from_secs(5);

/// The largest answer of a server that does not stream.
pub(super) const MAX_WHOLE_ANSWER: usize = 32 * 1024 * 1024;

/// A model's answer as it arrives. Dropping it ends the HTTP request.
///
/// After an error, and after [`ChatEvent::Finish`], it yields nothing more.
pub struct ChatStream {
    body: AnswerBody,
    form: Form,
    answer: Answer,
    queue: VecDeque<Result<ChatEvent, ChatError>>,
    over: bool,
}

/// What the body turned out to be.
#[derive(Default)]
pub(super) enum Form {
    /// Nothing but white space so far.
    #[default]
    Unknown,
    Events(SseParser),
    /// JSON or a web page, to be read whole.
    Whole(Vec<u8>),
}

impl Form {
    /// Tells by the next bytes of a body, if it is not known yet.
    pub(super) fn begin(&mut self, bytes: &[u8]) {
        if let Self::Unknown = self {
            *self = match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
                None => Self::Unknown,
                // Neither can begin an event stream.
                Some(b'{' | b'[' | b'<') => Self::Whole(Vec::new()),
                Some(_) => Self::Events(SseParser::default()),
            };
        }
    }
}

impl ChatStream {
    pub(crate) fn new(body: AnswerBody, provider: Arc<Provider>) -> Self {
        Self {
            body,
            form: Form::Unknown,
            answer: Answer::new(provider),
            queue: VecDeque::new(),
            over: false,
        }
    }

    /// The next event; `None` at the end. Cancel-safe: dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Result<ChatEvent, ChatError>> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    fn close(&mut self) {
        self.over = true;
        self.queue.clear();
    }

    /// The answer is whole: reads what is left of the body, so that the connection can be used again
    /// for the next turn instead of being set up anew.
    fn release(&mut self) {
        self.close();
        let mut rest = std::mem::replace(&mut self.body, full(Bytes::new()));
        if let (false, Ok(runtime)) = (rest.is_end_stream(), Handle::try_current()) {
            runtime.spawn(async move {
                let draining = collect_up_to(&mut rest, 64 * 1024);
                tokio::time::timeout(Duration::from_secs(1), draining).await.ok();
            });
        }
    }

    fn take(&mut self, bytes: &Bytes) {
        let Self {
            form, answer, queue, ..
        } = self;
        form.begin(bytes);
        match form {
            Form::Unknown => {}
            Form::Whole(whole) => {
                whole.extend_from_slice(bytes);
                if whole.len() > MAX_WHOLE_ANSWER {
                    queue.push_back(Err(answer.too_large()));
                }
            }
            Form::Events(parser) => {
                let parsed = parser.push(bytes, &mut |event| answer.event(event, queue));
                if parsed.is_err() {
                    queue.push_back(Err(answer.too_large()));
                }
            }
        }
        if self.answer.finished() {
            self.body.limit_idle(PATIENCE_AFTER_FINISH);
        }
    }

    fn end(&mut self, ending: Result<(), BodyError>) {
        let Self {
            form, answer, queue, ..
        } = self;
        match (form, ending) {
            (Form::Events(parser), ending) => {
                parser.finish(&mut |event| answer.leftover(event, queue));
                answer.end(ending, queue);
            }
            (Form::Whole(whole), Ok(())) => answer.whole(whole, queue),
            (_, ending) => answer.end(ending, queue),
        }
        self.over = true;
    }
}

impl Stream for ChatStream {
    type Item = Result<ChatEvent, ChatError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let Some(item) = this.queue.pop_front() {
                match &item {
                    Ok(ChatEvent::Finish(_)) => this.release(),
                    Ok(_) => {}
                    Err(_) => this.close(),
                }
                return Poll::Ready(Some(item));
            }
            if this.over {
                return Poll::Ready(None);
            }
            match ready!(Pin::new(&mut this.body).poll_frame(cx)) {
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data() {
                        this.take(&bytes);
                    }
                }
                Some(Err(error)) => this.end(Err(error)),
                None => this.end(Ok(())),
            }
        }
    }
}

impl fmt::Debug for ChatStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatStream")
            .field("over", &self.over)
            .finish_non_exhaustive()
    }
}
