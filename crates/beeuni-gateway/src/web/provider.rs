//! The pass-through to a provider: the body as it came, the key put in, the answer as it is.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use serde_json::Value;
use url::Url;

use super::config::WebProvider;
use super::error::WebError;
use crate::classify;
use crate::net::{AnswerBody, Clients, collect_up_to, from_reqwest, full};
use crate::provider::{clean, without_key};
use crate::send::{chain, retry_after};

/// The tools accept no more.
const MAX_ANSWER: usize = 10 * 1024 * 1024;

/// One route of one provider.
pub(super) struct Upstream<'a> {
    pub(super) name: &'static str,
    pub(super) provider: &'a WebProvider,
    pub(super) path: &'static str,
    /// The header that carries the key, and what stands before it there.
    pub(super) key_header: (HeaderName, &'static str),
}

/// A provider that did not do what was asked.
pub(super) struct Failed {
    /// What to answer when nothing else can help.
    pub(super) error: WebError,
    /// The provider's own answer, to be passed on.
    pub(super) answer: Option<Box<Response<AnswerBody>>>,
    /// Whether another source may do it: the key, the credit or the provider is the problem, not the
    /// request.
    pub(super) elsewhere: bool,
}

impl Failed {
    /// The provider's own answer, or ours about it.
    pub(super) fn pass_on(self) -> Result<Response<AnswerBody>, WebError> {
        self.answer.map(|answer| *answer).ok_or(self.error)
    }
}

/// Asks a provider.
pub(super) async fn ask(
    clients: &Clients,
    upstream: &Upstream<'_>,
    body: Bytes,
    time: Duration,
) -> Result<Response<AnswerBody>, Failed> {
    let asking = tokio::time::timeout(time, ask_once(clients, upstream, body));
    asking.await.unwrap_or_else(|_| {
        let message = format!("{} did not answer within {} s.", upstream.name, time.as_secs_f64());
        Err(Failed {
            error: WebError::new(StatusCode::GATEWAY_TIMEOUT, "UPSTREAM_TIMEOUT", message),
            answer: None,
            elsewhere: true,
        })
    })
}

async fn ask_once(clients: &Clients, upstream: &Upstream<'_>, body: Bytes) -> Result<Response<AnswerBody>, Failed> {
    let name = upstream.name;
    let key = &upstream.provider.key;
    let set_up = |message: String| Failed {
        error: WebError::set_up(message),
        answer: None,
        elsewhere: true,
    };
    let url = route_url(&upstream.provider.base_url, upstream.path).ok_or_else(|| {
        set_up(format!(
            "{name}'s address is not one that begins with https:// or http://."
        ))
    })?;
    let client = clients
        .for_url(&url)
        .map_err(|error| set_up(format!("{name} cannot be reached: {}.", chain(&error))))?;
    let (header, before) = &upstream.key_header;
    let value = HeaderValue::try_from(format!("{before}{}", key.expose())).ok();
    let Some(mut value) = value.filter(|_| key.expose().is_ascii()) else {
        let variable = key.variable();
        return Err(set_up(format!(
            "{variable} holds a line break or a non-ASCII character: set it again."
        )));
    };
    value.set_sensitive(true);
    let mut headers = HeaderMap::new();
    headers.insert(header, value);
    let json = HeaderValue::from_static("application/json");
    headers.insert(CONTENT_TYPE, json.clone());
    headers.insert(ACCEPT, json.clone());

    let broken = |what: &str, error: &dyn std::error::Error| Failed {
        error: WebError::upstream(format!("{name} {what}: {}.", clean(&chain(error), Some(key)))),
        answer: None,
        elsewhere: true,
    };
    let sent = client.post(url).headers(headers).body(body).send().await;
    let response = sent.map_err(|error| broken("cannot be reached", &error.without_url()))?;
    let (parts, body) = http::Response::<reqwest::Body>::from(response).into_parts();
    let mut body = from_reqwest(body);
    let (body, cut) = collect_up_to(&mut body, MAX_ANSWER)
        .await
        .map_err(|error| broken("broke off", &error))?;

    let is_object = !cut && serde_json::from_slice::<Value>(&body).is_ok_and(|it| it.is_object());
    if parts.status.is_success() && is_object {
        return Ok(answer(parts.status, &parts.headers, body));
    }
    let said = words(&body, cut)
        .map(|it| clean(&it, Some(key)))
        .filter(|it| !it.is_empty());
    let mut message = format!("{name} answered {}", parts.status);
    if let Some(said) = said {
        message = format!("{message}: {}", said.trim_end_matches('.'));
    }
    let mut error = match parts.status.as_u16() {
        // For the caller these would mean its own token.
        401 | 403 => {
            let variable = key.variable();
            WebError::set_up(format!("{message}. Check the key in {variable}."))
        }
        200..=399 => WebError::upstream(format!("{message}.")),
        _ => WebError::new(parts.status, "UPSTREAM_REFUSED", format!("{message}.")),
    };
    error.retry_after = retry_after(&parts.headers);
    let keep = is_object && error.code == "UPSTREAM_REFUSED";
    let shown = || Bytes::from(without_key(&String::from_utf8_lossy(&body), key));
    Err(Failed {
        answer: keep.then(|| Box::new(answer(parts.status, &parts.headers, shown()))),
        // 432 and 433 are Tavily's for a plan that is used up.
        elsewhere: !matches!(parts.status.as_u16(), 400 | 404 | 405 | 413 | 415 | 422),
        error,
    })
}

fn answer(status: StatusCode, headers: &HeaderMap, body: Bytes) -> Response<AnswerBody> {
    let mut response = Response::new(full(body));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    if let Some(wait) = headers.get(RETRY_AFTER) {
        response.headers_mut().insert(RETRY_AFTER, wait.clone());
    }
    response
}

fn words(body: &[u8], cut: bool) -> Option<String> {
    if cut {
        return Some("more than 10 MiB".to_owned());
    }
    let value = serde_json::from_slice::<Value>(body).unwrap_or_default();
    let inside = value.pointer("/detail/error").and_then(Value::as_str);
    inside
        .map(str::to_owned)
        .or_else(|| classify::words_of_body(body).message)
        .or_else(|| (!body.is_empty()).then(|| classify::describe(body)))
        .or_else(|| Some("an empty body".to_owned()))
}

/// A base address with a route behind its path.
pub(super) fn route_url(base: &str, path: &str) -> Option<Url> {
    let mut url = Url::parse(base.trim()).ok()?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return None;
    }
    let whole = format!("{}{path}", url.path().trim_end_matches('/'));
    url.set_path(&whole);
    url.set_fragment(None);
    Some(url)
}
