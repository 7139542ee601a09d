//! The pass-through for harnesses that speak OpenAI's HTTP interface themselves and hold no key.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};

use crate::chat::{WrittenCall, noting};
use crate::error::{ChatError, ChatErrorKind};
use crate::gateway::{Gateway, Target};
use crate::json::{asked, replace_model};
use crate::net::{AnswerBody, full};
use crate::provider::{Provider, without_key};
use crate::send::{Refusal, Reply};
use crate::{models, rehearsal};

/// The largest request body that a route should accept: conversations with images are this long.
pub const MAX_REQUEST_BYTES: usize = 64 * 1024 * 1024;

/// Headers of the caller that reach the provider. Neither credentials nor what describes the
/// connection between caller and gateway.
const REQUEST_HEADERS: [&str; 8] = [
    "accept",
    "anthropic-beta",
    "http-referer",
    "idempotency-key",
    "openai-beta",
    "user-agent",
    "x-request-id",
    "x-title",
];

/// Headers of the provider that reach the caller. Not its cookies, and nothing of the connection.
const RESPONSE_HEADERS: [&str; 8] = [
    "cache-control",
    "content-encoding",
    "content-type",
    "request-id",
    "retry-after",
    "retry-after-ms",
    "x-request-id",
    "x-should-retry",
];

impl Gateway {
    /// `POST …/chat/completions`: sends the body on to the provider that its `model` names and streams
    /// the answer back.
    ///
    /// Of the body only `model` changes: it loses the provider's name. Errors, the gateway's own too,
    /// have the form `{ "error": { "message", "type", "param", "code" } }`. Tries again as
    /// [`chat`](Gateway::chat) does. Dropping the future or the body ends the request.
    pub async fn completions(&self, headers: &HeaderMap, body: Bytes) -> Response<AnswerBody> {
        match self.pass(headers, &body).await {
            Ok(reply) => {
                let mut response = Response::new(reply.body);
                *response.status_mut() = reply.status;
                *response.headers_mut() = shown(&reply.headers);
                response
            }
            Err(refusal) => refused(refusal),
        }
    }

    /// The same as [`completions`](Gateway::completions), and tells of each tool call in the answer as soon as its
    /// arguments are whole, before the caller has them. An answer that cannot be read passes all the same.
    pub async fn completions_noting(
        &self,
        headers: &HeaderMap,
        body: Bytes,
        note: impl FnMut(WrittenCall) + Send + Unpin + 'static,
    ) -> Response<AnswerBody> {
        let response = self.completions(headers, body).await;
        // Nobody asked for a compressed answer.
        let is_plain = !response.headers().contains_key(header::CONTENT_ENCODING);
        if is_plain && response.status().is_success() {
            response.map(|body| noting(body, note))
        } else {
            response
        }
    }

    /// `GET …/models`: every model, in the form of OpenAI's list, with `context_window` where known.
    pub async fn models_answer(&self) -> Response<AnswerBody> {
        let list = self.models().await;
        let models: Vec<Value> = list
            .models
            .iter()
            .map(|model| {
                let mut entry = json!({
                    "id": model.id, "object": "model", "created": 0, "owned_by": model.provider,
                });
                let numbers = [
                    ("context_window", model.context_window),
                    ("max_output_tokens", model.max_output),
                ];
                for (name, number) in numbers {
                    if let Some(number) = number {
                        entry[name] = number.into();
                    }
                }
                entry
            })
            .collect();
        let problems: Vec<Value> = list
            .problems
            .iter()
            .map(|(provider, error)| json!({ "provider": provider, "message": error.to_string() }))
            .collect();
        let mut answer = json!({ "object": "list", "data": models });
        if !problems.is_empty() {
            answer["problems"] = problems.into();
        }
        json_response(StatusCode::OK, &answer)
    }

    async fn pass(&self, headers: &HeaderMap, body: &Bytes) -> Result<Reply, Refusal> {
        let malformed = |error: serde_json::Error| {
            let message = format!("The request's body is no JSON object: {error}.");
            ChatError::new(ChatErrorKind::BadRequest, message)
        };
        let asked = asked(body).map_err(malformed)?;
        let Some(id) = asked.model else {
            let message = format!(
                "The request names no model. Write \"model\": \"provider/model\", such as \"{}\".",
                models::REHEARSAL
            );
            return Err(ChatError::new(ChatErrorKind::BadRequest, message).into());
        };
        let (provider, model) = match self.target(&id)? {
            Target::Rehearsal(_) => return Ok(rehearsal::answer(body)?),
            Target::Provider(provider, model) => (provider, model),
        };
        let body = replace_model(body, model).map_err(malformed)?;
        let reply = self
            .post_chat(provider, forwarded(headers), body, asked.stream, &|_| {})
            .await;
        reply.map_err(|refusal| without_its_key(provider, refusal))
    }
}

fn forwarded(headers: &HeaderMap) -> HeaderMap {
    let kept = headers
        .iter()
        .filter(|(name, _)| REQUEST_HEADERS.contains(&name.as_str()));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn shown(headers: &HeaderMap) -> HeaderMap {
    let is_shown = |name: &HeaderName| {
        let name = name.as_str();
        RESPONSE_HEADERS.contains(&name) || name.contains("ratelimit") || name.starts_with("openai-")
    };
    let kept = headers.iter().filter(|(name, _)| is_shown(name));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Some providers show the key, or part of it, in their error.
fn without_its_key(provider: &Provider, refusal: Refusal) -> Refusal {
    let Refusal { error, answer } = refusal;
    let answer = answer.map(|(headers, body)| match provider.key() {
        Some(key) => {
            let clean = without_key(&String::from_utf8_lossy(&body), key);
            (headers, clean.into())
        }
        None => (headers, body),
    });
    Refusal { error, answer }
}

/// The provider's own words when they are an error object, else the gateway's about them.
fn refused(refusal: Refusal) -> Response<AnswerBody> {
    let Refusal { error, answer } = refusal;
    if let (Some(status), Some((headers, body))) = (error.status(), answer) {
        let parsed = serde_json::from_slice::<Value>(&body).ok();
        let mut response = if parsed.is_some_and(|it| it.get("error").is_some_and(Value::is_object)) {
            Response::new(full(body))
        } else {
            json_response(status, &error_object(&error))
        };
        *response.status_mut() = status;
        let content_type = response.headers_mut().remove(header::CONTENT_TYPE);
        response.headers_mut().extend(shown(&headers));
        // The body is plain text here, whatever it came in.
        response.headers_mut().remove(header::CONTENT_ENCODING);
        if let Some(content_type) = content_type {
            response.headers_mut().insert(header::CONTENT_TYPE, content_type);
        }
        return response;
    }
    let mut response = json_response(status_of(&error), &error_object(&error));
    if let Some(wait) = error.retry_after() {
        let seconds = wait.as_secs_f64().ceil() as u64;
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

/// The status for an error of the gateway's own.
fn status_of(error: &ChatError) -> StatusCode {
    match error.kind() {
        ChatErrorKind::UnknownModel => StatusCode::NOT_FOUND,
        ChatErrorKind::BadRequest | ChatErrorKind::ContextOverflow => StatusCode::BAD_REQUEST,
        ChatErrorKind::Auth => StatusCode::UNAUTHORIZED,
        ChatErrorKind::RateLimited | ChatErrorKind::QuotaExceeded => StatusCode::TOO_MANY_REQUESTS,
        ChatErrorKind::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        _ => StatusCode::BAD_GATEWAY,
    }
}

fn error_object(error: &ChatError) -> Value {
    let (kind, code) = match error.kind() {
        ChatErrorKind::UnknownModel => ("invalid_request_error", "model_not_found"),
        ChatErrorKind::Auth => ("authentication_error", "invalid_api_key"),
        ChatErrorKind::RateLimited => ("rate_limit_error", "rate_limit_exceeded"),
        ChatErrorKind::QuotaExceeded => ("insufficient_quota", "insufficient_quota"),
        ChatErrorKind::ContextOverflow => ("invalid_request_error", "context_length_exceeded"),
        ChatErrorKind::BadRequest => ("invalid_request_error", "invalid_request"),
        ChatErrorKind::TimedOut => ("api_error", "timeout"),
        _ => ("api_error", "provider_unavailable"),
    };
    json!({ "error": { "message": error.to_string(), "type": kind, "param": null, "code": code } })
}

pub(crate) fn json_response(status: StatusCode, value: &Value) -> Response<AnswerBody> {
    let mut response = Response::new(full(value.to_string()));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}
