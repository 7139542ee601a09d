//! Searches on a SearXNG instance.

use std::time::Duration;

use http::StatusCode;
use http::header::ACCEPT;
use serde_json::Value;
use url::Url;

use super::error::WebError;
use super::provider::route_url;
use crate::classify;
use crate::net::{Clients, collect_up_to, from_reqwest};
use crate::provider::clean;
use crate::send::{chain, retry_after};

const MAX_ANSWER: usize = 10 * 1024 * 1024;

/// A SearXNG instance.
#[derive(Debug)]
pub(super) struct Searxng {
    url: Option<Url>,
}

/// What a search found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The results as SearXNG gives them.
    pub(super) results: Vec<Value>,
    /// Short answers: texts, or objects with a text in `answer`.
    pub(super) answers: Vec<Value>,
    /// Boxes about a thing, with a text in `content`.
    pub(super) infoboxes: Vec<Value>,
    /// Engines that did not take part, and why: "google: CAPTCHA".
    pub(super) silent: Vec<String>,
}

impl Searxng {
    pub(super) fn new(base: &str) -> Self {
        Self {
            url: route_url(base, "/search"),
        }
    }

    /// Its address as far as it may be shown.
    pub(super) fn host(&self) -> String {
        self.url
            .as_ref()
            .and_then(Url::host_str)
            .unwrap_or("an invalid address")
            .to_owned()
    }

    /// Searches, page by page, until there are enough results or no more.
    pub(super) async fn search(
        &self,
        clients: &Clients,
        parameters: &[(&str, &str)],
        enough: usize,
        time: Duration,
    ) -> Result<Found, WebError> {
        let searching = async {
            let mut found = self.page(clients, parameters, 1).await?;
            for number in 2..=3 {
                if found.results.is_empty() || found.results.len() >= enough {
                    break;
                }
                // What there is counts: a second page that fails is no reason to lose the first.
                let more = self
                    .page(clients, parameters, number)
                    .await
                    .map_or_else(|_| Vec::new(), |it| it.results);
                if !add_new(&mut found.results, more) {
                    break;
                }
            }
            Ok(found)
        };
        tokio::time::timeout(time, searching).await.unwrap_or_else(|_| {
            let message = format!("SearXNG did not answer within {} s.", time.as_secs_f64());
            Err(WebError::new(StatusCode::GATEWAY_TIMEOUT, "UPSTREAM_TIMEOUT", message))
        })
    }

    async fn page(&self, clients: &Clients, parameters: &[(&str, &str)], number: u32) -> Result<Found, WebError> {
        let Some(mut url) = self.url.clone() else {
            let message = "BEEUNI_SEARXNG_URL is not an address that begins with https:// or http://.";
            return Err(WebError::set_up(message));
        };
        let pageno = number.to_string();
        url.query_pairs_mut()
            .extend_pairs(parameters)
            .extend_pairs([("format", "json"), ("pageno", &pageno)]);
        let client = clients
            .for_url(&url)
            .map_err(|error| WebError::set_up(format!("SearXNG cannot be reached: {}.", chain(&error))))?;
        let unreachable = |what: &str, error: &dyn std::error::Error| {
            WebError::upstream(format!("SearXNG at {} {what}: {}.", self.host(), chain(error)))
        };
        let request = client.get(url).header(ACCEPT, "application/json");
        let response = request
            .send()
            .await
            .map_err(|error| unreachable("cannot be reached", &error.without_url()))?;
        let (parts, body) = http::Response::<reqwest::Body>::from(response).into_parts();
        let mut body = from_reqwest(body);
        let (body, _) = collect_up_to(&mut body, MAX_ANSWER)
            .await
            .map_err(|error| unreachable("broke off", &error))?;
        if !parts.status.is_success() {
            return Err(refused(parts.status, &parts.headers, &body));
        }
        let reply = serde_json::from_slice::<Value>(&body).unwrap_or_default();
        found(&reply).ok_or_else(|| {
            let what = match body.is_empty() {
                true => "an empty body".to_owned(),
                false => clean(&classify::describe(&body).chars().take(200).collect::<String>(), None),
            };
            WebError::upstream(format!(
                "SearXNG answered {} with no list of results but {what}.",
                parts.status
            ))
        })?
    }
}

/// Adds the results that are not there yet; `false`: there were none. Engines without pages repeat.
fn add_new(results: &mut Vec<Value>, more: Vec<Value>) -> bool {
    let before = results.len();
    for result in more {
        let same =
            |known: &Value| known.get("url") == result.get("url") && known.get("img_src") == result.get("img_src");
        if !results.iter().any(same) {
            results.push(result);
        }
    }
    results.len() > before
}

fn refused(status: StatusCode, headers: &http::HeaderMap, body: &[u8]) -> WebError {
    match status.as_u16() {
        // Its answer to `format=json` as long as its settings do not list that format.
        403 => WebError::set_up(
            "SearXNG answered 403 Forbidden: it gives no JSON. Add `json` to `search.formats` in its settings.yml.",
        ),
        429 => {
            let message = "SearXNG answered 429 Too Many Requests: its limiter holds this machine back.";
            let mut error = WebError::new(status, "UPSTREAM_REFUSED", message);
            error.retry_after = retry_after(headers);
            error
        }
        _ => {
            let said = clean(&classify::describe(body).chars().take(200).collect::<String>(), None);
            let said = if said.is_empty() { said } else { format!(": {said}") };
            WebError::upstream(format!("SearXNG answered {status}{said}."))
        }
    }
}

/// What a reply holds; `None` when it is not one of SearXNG's.
fn found(reply: &Value) -> Option<Result<Found, WebError>> {
    let list = |name: &str| reply.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let results = reply.get("results")?.as_array()?.clone();
    let silent: Vec<String> = list("unresponsive_engines")
        .iter()
        .map(|engine| match engine.as_array().map(Vec::as_slice) {
            Some([name, reason, ..]) => format!("{}: {}", words(name), words(reason)),
            _ => words(engine),
        })
        .collect();
    let answers = list("answers");
    if results.is_empty() && answers.is_empty() && !silent.is_empty() {
        // Nothing found because nobody looked is not "no results".
        let message = format!("No search engine answered SearXNG ({}).", silent.join("; "));
        return Some(Err(WebError::upstream(message)));
    }
    Some(Ok(Found {
        results,
        answers,
        infoboxes: list("infoboxes"),
        silent,
    }))
}

fn words(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    clean(&text, None).chars().take(100).collect()
}
