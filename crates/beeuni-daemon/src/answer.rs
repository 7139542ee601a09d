//! Answers: JSON bodies, each made in one buffer, and streams.
use beeuni_protocol::ErrorAnswer;
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use serde::Serialize;

use crate::answer_body::AnswerBody;

/// What every route gives.
pub(crate) type Answer = Response<AnswerBody>;

/// The status of a call that its client left: nobody reads it, but the log does.
pub(crate) const CLIENT_CLOSED_REQUEST: u16 = 499;

/// `value` as JSON.
pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Answer {
    match serde_json::to_vec(value) {
        Ok(body) => with_body(status, body),
        // Nothing that the daemon sends has keys that are no strings or a failing serializer.
        Err(error) => {
            tracing::error!(%error, "an answer could not be written as JSON");
            with_body(
                StatusCode::INTERNAL_SERVER_ERROR,
                br#"{"error":"the answer could not be written"}"#.to_vec(),
            )
        }
    }
}

/// `{ "error": text }`.
pub(crate) fn error(status: StatusCode, text: impl Into<String>) -> Answer {
    json(status, &ErrorAnswer { error: text.into() })
}

/// `{ "output": text }`, written without an intermediate value.
pub(crate) fn output(text: &str) -> Answer {
    // Room for the frame and a few escapes.
    let mut body = Vec::with_capacity(text.len() + text.len() / 16 + 32);
    body.extend_from_slice(br#"{"output":"#);
    if let Err(problem) = serde_json::to_writer(&mut body, text) {
        tracing::error!(error = %problem, "an output could not be written as JSON");
        return error(StatusCode::INTERNAL_SERVER_ERROR, "the output could not be written");
    }
    body.push(b'}');
    with_body(StatusCode::OK, body)
}

/// 401, with the scheme to use.
pub(crate) fn unauthorized() -> Answer {
    let answer = error(
        StatusCode::UNAUTHORIZED,
        "this needs `Authorization: Bearer` with the session token or the tool-bridge key",
    );
    with_header(answer, WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
}

/// 405, with the methods that the path has.
pub(crate) fn wrong_method(allow: &str) -> Answer {
    let answer = error(StatusCode::METHOD_NOT_ALLOWED, format!("this path takes {allow} only"));
    match HeaderValue::from_str(allow) {
        Ok(value) => with_header(answer, ALLOW, value),
        Err(_) => answer,
    }
}

/// 503, worth another try after a second.
pub(crate) fn unavailable(text: &str) -> Answer {
    let answer = error(StatusCode::SERVICE_UNAVAILABLE, text);
    with_header(answer, RETRY_AFTER, HeaderValue::from_static("1"))
}

pub(crate) fn with_header(mut answer: Answer, name: HeaderName, value: HeaderValue) -> Answer {
    answer.headers_mut().insert(name, value);
    answer
}

fn with_body(status: StatusCode, body: Vec<u8>) -> Answer {
    let mut answer = Response::new(AnswerBody::Whole(Full::new(Bytes::from(body))));
    *answer.status_mut() = status;
    with_header(answer, CONTENT_TYPE, HeaderValue::from_static("application/json"))
}
