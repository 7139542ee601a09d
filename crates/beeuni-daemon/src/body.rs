//! Request bodies: read with a size and a time limit, or read past.
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::StatusCode;
use hyper::body::{Body, Incoming};
use hyper::header::{EXPECT, HeaderMap};

use crate::answer::{self, Answer};

/// The largest body, in bytes: 10 MiB.
pub(crate) const BODY_LIMIT: usize = 10 * 1024 * 1024;

/// How long a client may take to send a body.
const BODY_TIME: Duration = Duration::from_secs(10);

/// How much of a refused body is read past, and for how long, so that the client gets to the answer.
const DISCARD_LIMIT: usize = 32 * 1024 * 1024;
const DISCARD_TIME: Duration = Duration::from_secs(5);

/// The most room made on the word of a `Content-Length`: a client that announces 10 MiB and sends
/// nothing must not cost them.
const TRUSTED_LENGTH: usize = 64 * 1024;

/// The whole body, of at most [`BODY_LIMIT`], or the answer that refuses it.
pub(crate) async fn collect(headers: &HeaderMap, body: Incoming) -> Result<Bytes, Answer> {
    collect_up_to(BODY_LIMIT, headers, body).await
}

/// The whole body, of at most `limit` bytes, or the answer that refuses it.
pub(crate) async fn collect_up_to(limit: usize, headers: &HeaderMap, mut body: Incoming) -> Result<Bytes, Answer> {
    // For a body without `Content-Length` the lower bound is 0: then the loop below counts.
    if body.size_hint().lower() > limit as u64 {
        return Err(too_large(limit, headers, body).await);
    }
    match tokio::time::timeout(BODY_TIME, gather(limit, &mut body)).await {
        Ok(Ok(Some(bytes))) => Ok(bytes),
        Ok(Ok(None)) => Err(too_large(limit, headers, body).await),
        Ok(Err(error)) => {
            tracing::debug!(%error, "a request body broke off");
            Err(answer::error(
                StatusCode::BAD_REQUEST,
                "the body ended too early or is badly framed",
            ))
        }
        Err(_) => Err(answer::error(
            StatusCode::REQUEST_TIMEOUT,
            format!("the body did not arrive within {} s", BODY_TIME.as_secs()),
        )),
    }
}

/// The body's bytes; `None` once it is over the limit. A body in one piece, the usual case, is not copied.
async fn gather(limit: usize, body: &mut Incoming) -> Result<Option<Bytes>, hyper::Error> {
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        if first.len() + rest.len() + data.len() > limit {
            return Ok(None);
        }
        if first.is_empty() && rest.is_empty() {
            first = data;
        } else {
            if rest.is_empty() {
                let announced = first.len() as u64 + body.size_hint().lower();
                rest.reserve(usize::try_from(announced).unwrap_or(0).min(TRUSTED_LENGTH));
                rest.extend_from_slice(&first);
                first = Bytes::new();
            }
            rest.extend_from_slice(&data);
        }
    }
    Ok(Some(if rest.is_empty() { first } else { rest.freeze() }))
}

async fn too_large(limit: usize, headers: &HeaderMap, body: Incoming) -> Answer {
    let text = format!("the body is over {} MiB", limit / 1024 / 1024);
    refuse(headers, body, answer::error(StatusCode::PAYLOAD_TOO_LARGE, text)).await
}

/// Gives `answer` to a request whose body nobody wants. Reads past the body first: closing a socket
/// with unread bytes resets it, and a client that writes before it reads would see the reset only.
pub(crate) async fn refuse(headers: &HeaderMap, mut body: Incoming, answer: Answer) -> Answer {
    // A client that asked first is told no, and has sent nothing.
    if body.is_end_stream() || headers.contains_key(EXPECT) {
        return answer;
    }
    if body.size_hint().lower() <= DISCARD_LIMIT as u64 {
        let past = async {
            let mut read = 0;
            while let Some(Ok(frame)) = body.frame().await {
                read += frame.data_ref().map_or(0, Bytes::len);
                if read > DISCARD_LIMIT {
                    break;
                }
            }
        };
        let _ = tokio::time::timeout(DISCARD_TIME, past).await;
    }
    answer
}
