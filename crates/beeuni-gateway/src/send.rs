//! Sending a request to a provider, again and again while nothing of the answer has arrived.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body_util::BodyExt;
use tokio::time::timeout;

use crate::classify;
use crate::config::Limits;
use crate::error::{ChatError, ChatErrorKind};
use crate::net::{AnswerBody, ClientError, Clients, collect_up_to, from_reqwest};
use crate::provider::Provider;

/// Of an error's body: more is no message for anybody.
const MAX_ERROR_BYTES: usize = 256 * 1024;

/// A pause is never longer than this, unless the provider asks for it.
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// What a provider answered: a status of success, and a body of which the first bytes are here.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: AnswerBody,
}

/// A refusal: the typed error, and what the provider sent word for word.
pub(crate) struct Refusal {
    pub(crate) error: ChatError,
    /// Headers and body of the provider's answer, when there was one.
    pub(crate) answer: Option<(HeaderMap, Bytes)>,
}

impl From<ChatError> for Refusal {
    fn from(error: ChatError) -> Self {
        Self { error, answer: None }
    }
}

/// A try of a model call that failed and is followed by another.
#[derive(Debug, Clone, Copy)]
pub struct Retry<'a> {
    /// Why it failed.
    pub error: &'a ChatError,
    /// Which try it was, from 1.
    pub attempt: u32,
    /// How long until the next one.
    pub pause: Duration,
}

/// Posts `body` to the provider's chat completions and waits for the answer's first bytes.
///
/// A 408, 409, 425, 429 or 5xx, a connection that fails and one that breaks before the first byte of
/// the body are tried again. A wait that took too long is not: the provider may still be at work, and
/// the same wait would follow. `on_retry` is told of each try that another one follows.
pub(crate) async fn post_chat(
    clients: &Clients,
    provider: &Provider,
    limits: &Limits,
    mut headers: HeaderMap,
    body: Bytes,
    on_retry: &(dyn Fn(Retry<'_>) + Send + Sync),
) -> Result<Reply, Refusal> {
    let url = provider.url("chat/completions")?;
    let client = clients.for_url(&url).map_err(|error| no_client(provider, &error))?;
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(authorization) = provider.authorization()? {
        headers.insert(AUTHORIZATION, authorization);
    }
    let mut paused = Duration::ZERO;
    let mut tries = 1;
    loop {
        let request = client.post(url.clone()).headers(headers.clone()).body(body.clone());
        let Ok(outcome) = timeout(limits.first_byte, attempt(provider, limits, request)).await else {
            return Err(no_first_byte(provider, limits).into());
        };
        let Err(refusal) = outcome else { return outcome };
        let pause = refusal
            .error
            .retry_after()
            .unwrap_or_else(|| back_off(limits.first_pause, tries));
        paused += pause;
        let again = refusal.error.retryable() && !forbids_retry(&refusal);
        if !again || tries >= limits.tries || paused > limits.retry_time {
            return Err(Refusal {
                error: refusal.error.after_tries(tries),
                answer: refusal.answer,
            });
        }
        tracing::debug!(provider = provider.name, tries, ?pause, error = %refusal.error, "trying again");
        on_retry(Retry {
            error: &refusal.error,
            attempt: tries,
            pause,
        });
        tokio::time::sleep(pause).await;
        tries += 1;
    }
}

/// One request, up to the first bytes of its answer.
async fn attempt(provider: &Provider, limits: &Limits, request: reqwest::RequestBuilder) -> Result<Reply, Refusal> {
    let response = request.send().await.map_err(|error| unreachable(provider, error))?;
    let (parts, body) = http::Response::<reqwest::Body>::from(response).into_parts();
    let mut body = from_reqwest(body);
    if !parts.status.is_success() {
        // An error whose text is cut or late is still that error.
        let reading = timeout(Duration::from_secs(10), collect_up_to(&mut body, MAX_ERROR_BYTES));
        let text = match reading.await {
            Ok(Ok((text, _))) => text,
            _ => Bytes::new(),
        };
        let error = classify::refusal(provider, parts.status, &text).wait(retry_after(&parts.headers));
        let answer = Some((parts.headers, text));
        return Err(Refusal { error, answer });
    }
    let first = match body.frame().await {
        Some(Ok(frame)) => frame.into_data().ok(),
        None => None,
        Some(Err(error)) => {
            let message = format!("{} broke off before it answered: {}.", provider.name, chain(&error));
            return Err(ChatError::new(ChatErrorKind::Unavailable, message)
                .of_provider(&provider.name)
                .into());
        }
    };
    Ok(Reply {
        status: parts.status,
        headers: parts.headers,
        body: body.starting_with(first).with_idle_timeout(limits.idle),
    })
}

/// Not even a request: TLS could not be set up.
pub(crate) fn no_client(provider: &Provider, error: &ClientError) -> ChatError {
    let message = format!("{} cannot be reached: {}.", provider.name, chain(error));
    ChatError::new(ChatErrorKind::Unavailable, message)
        .of_provider(&provider.name)
        .retry_if(false)
}

/// No answer: no connection, or one that was cut.
pub(crate) fn unreachable(provider: &Provider, error: reqwest::Error) -> ChatError {
    // The address is said by ourselves, where it helps: reqwest's would come with its query.
    let connect = error.is_connect();
    let mut message = format!("{} cannot be reached: {}.", provider.name, chain(&error.without_url()));
    if let (true, Ok(url)) = (connect, provider.url("")) {
        message = format!("{message} Its address is {}.", url.as_str().trim_end_matches('/'));
        if provider.name == "ollama" {
            message.push_str(" Start it with `ollama serve`, or set OLLAMA_HOST.");
        }
    }
    ChatError::new(ChatErrorKind::Unavailable, provider.clean(&message)).of_provider(&provider.name)
}

fn no_first_byte(provider: &Provider, limits: &Limits) -> ChatError {
    let message = format!(
        "{} did not begin to answer within {} s.",
        provider.name,
        limits.first_byte.as_secs_f64()
    );
    ChatError::new(ChatErrorKind::TimedOut, message).of_provider(&provider.name)
}

/// The provider's own word on whether to try again (OpenAI's and Anthropic's servers send it).
fn forbids_retry(refusal: &Refusal) -> bool {
    let answer = refusal.answer.as_ref();
    answer.is_some_and(|(headers, _)| headers.get("x-should-retry").is_some_and(|it| it == "false"))
}

/// Half a second, one, two … each up to a quarter longer or shorter, so that clients which were
/// refused together do not come back together.
pub(crate) fn back_off(first: Duration, tries: u32) -> Duration {
    let doubled = first
        .saturating_mul(1 << tries.saturating_sub(1).min(16))
        .min(LONGEST_PAUSE);
    let random = getrandom::u32().unwrap_or(u32::MAX / 2);
    doubled.mul_f64(0.75 + 0.5 * f64::from(random) / f64::from(u32::MAX))
}

/// How long an answer asks to wait: milliseconds, seconds, or an HTTP date.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok().filter(|it| it.is_finite() && *it >= 0.0);
    if let Some(millis) = text("retry-after-ms").and_then(number) {
        return Duration::try_from_secs_f64(millis / 1000.0).ok();
    }
    let text = text(RETRY_AFTER.as_str())?;
    if let Some(seconds) = number(text) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(SystemTime::now()).unwrap_or_default())
}

/// An error and its causes, on one line: here the causes are the message ("connection refused").
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut cause = Some(error);
    while let Some(error) = cause {
        let text = error.to_string();
        // The client's own words for "it did not work" say nothing that the causes do not.
        let empty = text.starts_with("error sending request") || text.starts_with("client error (");
        let said = parts.last().is_some_and(|last| last.ends_with(&text));
        if !said && (!empty || error.source().is_none()) {
            parts.push(text);
        }
        cause = error.source();
    }
    parts.join(": ")
}
