//! What goes wrong on a route, in the form of the provider that the caller believes to talk to.

use std::time::Duration;

use http::{Response, StatusCode, header};
use serde_json::json;

use crate::net::AnswerBody;
use crate::pass::json_response;

/// Whose interface a route has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Provider {
    Tavily,
    Serper,
    Firecrawl,
}

/// An error answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WebError {
    pub(super) status: StatusCode,
    /// A word for programs.
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) retry_after: Option<Duration>,
}

impl WebError {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            retry_after: None,
        }
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BAD_REQUEST", message)
    }

    pub(super) fn too_large(bytes: usize) -> Self {
        let limit = super::MAX_REQUEST_BYTES;
        let message = format!("The request has {bytes} bytes; at most {limit} are accepted.");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "TOO_LARGE", message)
    }

    /// Something that who runs this must set right. Not 401 or 403: the caller's own token is fine.
    pub(super) fn set_up(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FAILED_DEPENDENCY, "NOT_SET_UP", message)
    }

    /// A provider that fails.
    pub(super) fn upstream(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_GATEWAY, "UPSTREAM_FAILED", message)
    }

    /// As this provider would say it, with `code` beside it.
    pub(super) fn response(&self, provider: Provider) -> Response<AnswerBody> {
        let body = match provider {
            Provider::Tavily => json!({ "detail": { "error": self.message }, "code": self.code }),
            Provider::Serper => {
                json!({ "message": self.message, "statusCode": self.status.as_u16(), "code": self.code })
            }
            Provider::Firecrawl => json!({ "success": false, "error": self.message, "code": self.code }),
        };
        let mut response = json_response(self.status, &body);
        if let Some(wait) = self.retry_after {
            let seconds = wait.as_secs_f64().ceil() as u64;
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}
