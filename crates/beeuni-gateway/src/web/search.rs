//! Tavily's search: passed through with a key, or answered from SearXNG.

use std::time::Instant;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{Response, StatusCode};
use serde_json::{Map, Value, json};

use super::WebRouter;
use super::error::WebError;
use super::provider::{Upstream, ask};
use super::searxng::{Found, Searxng};
use crate::net::AnswerBody;
use crate::pass::json_response;

/// How many results Tavily gives when nobody says, and at most.
const RESULTS: (usize, usize) = (5, 20);

pub(super) async fn answer(router: &WebRouter, body: Bytes) -> Result<Response<AnswerBody>, WebError> {
    let request = super::object(&body)?;
    let query = query_of(&request, "query")?;
    let Some(provider) = &router.config.tavily else {
        let Some(searxng) = &router.searxng else {
            return Err(not_set_up("Web search", "TAVILY_API_KEY"));
        };
        return from_searxng(router, searxng, &request, &query, None).await;
    };
    let upstream = Upstream {
        name: "Tavily",
        provider,
        path: "/search",
        key_header: (AUTHORIZATION, "Bearer "),
    };
    let failed = match ask(&router.clients, &upstream, body, router.config.timeout).await {
        Ok(response) => return Ok(response),
        Err(failed) => failed,
    };
    match &router.searxng {
        Some(searxng) if failed.elsewhere => {
            let instead = from_searxng(router, searxng, &request, &query, Some(&failed.error.message)).await;
            // Where neither works, the first reason is the one to act on.
            instead.or_else(|_| failed.pass_on())
        }
        _ => failed.pass_on(),
    }
}

/// The error where there is neither a key nor an instance.
pub(super) fn not_set_up(what: &str, variable: &str) -> WebError {
    WebError::set_up(format!(
        "{what} is not set up. Set one of two in the environment of the process that answers here: {variable} (a \
         provider's key: `export {variable}=…`), or BEEUNI_SEARXNG_URL (a SearXNG instance of your own: `export \
         BEEUNI_SEARXNG_URL=http://127.0.0.1:8080`). Then start it again."
    ))
}

/// The words to search for.
pub(super) fn query_of(request: &Map<String, Value>, name: &str) -> Result<String, WebError> {
    let query = request.get(name).and_then(Value::as_str).unwrap_or_default().trim();
    if query.is_empty() {
        return Err(WebError::bad_request(format!(
            "The request needs `{name}`, the text to search for."
        )));
    }
    Ok(query.to_owned())
}

/// A number of results: what was asked for, within the provider's bounds.
pub(super) fn count_of(request: &Map<String, Value>, name: &str, (usual, most): (usize, usize)) -> usize {
    let asked = request.get(name).and_then(Value::as_u64);
    asked.map_or(usual, |it| usize::try_from(it).unwrap_or(most).clamp(1, most))
}

/// What to say about an answer that did not come from the usual provider.
pub(super) fn warning(searxng: &Searxng, found: &Found, instead_of: Option<&str>, more: &[String]) -> String {
    let mut parts = vec![format!("Results from SearXNG at {}.", searxng.host())];
    parts.extend(instead_of.map(|reason| format!("Used because: {reason}")));
    if !found.silent.is_empty() {
        parts.push(format!("Engines that did not answer: {}.", found.silent.join("; ")));
    }
    parts.extend(more.iter().cloned());
    parts.join(" ")
}

async fn from_searxng(
    router: &WebRouter,
    searxng: &Searxng,
    request: &Map<String, Value>,
    query: &str,
    instead_of: Option<&str>,
) -> Result<Response<AnswerBody>, WebError> {
    let started = Instant::now();
    let text = |name: &str| request.get(name).and_then(Value::as_str).unwrap_or_default();
    let mut notes = Vec::new();
    let category = match text("topic") {
        "news" => "news",
        "finance" => {
            notes.push("SearXNG has no topic finance: searched in general.".to_owned());
            "general"
        }
        _ => "general",
    };
    let query_sent = with_domains(request, query);
    let mut parameters = vec![("q", query_sent.as_str()), ("categories", category)];
    let range = match text("time_range") {
        "d" | "day" => "day",
        "w" | "week" => "week",
        "m" | "month" => "month",
        "y" | "year" => "year",
        _ => "",
    };
    if !range.is_empty() {
        parameters.push(("time_range", range));
    }
    let wanted = count_of(request, "max_results", RESULTS);
    let found = searxng
        .search(&router.clients, &parameters, wanted, router.config.timeout)
        .await?;
    let answer = json!({
        "query": query,
        "answer": short_answer(&found),
        "images": images(&found),
        "results": results(&found, wanted),
        "response_time": started.elapsed().as_secs_f64(),
        "warning": warning(searxng, &found, instead_of, &notes),
    });
    Ok(json_response(StatusCode::OK, &answer))
}

/// The query with `include_domains` and `exclude_domains` in the words that search engines know.
fn with_domains(request: &Map<String, Value>, query: &str) -> String {
    let domains = |name: &str| {
        let list = request.get(name).and_then(Value::as_array);
        list.into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let mut query = query.to_owned();
    let included: Vec<String> = domains("include_domains")
        .iter()
        .map(|it| format!("site:{it}"))
        .collect();
    match included.as_slice() {
        [] => {}
        [one] => query = format!("{query} {one}"),
        many => query = format!("{query} ({})", many.join(" OR ")),
    }
    for domain in domains("exclude_domains") {
        query.push_str(&format!(" -site:{domain}"));
    }
    query
}

fn results(found: &Found, wanted: usize) -> Vec<Value> {
    let score = |result: &Value| result.get("score").and_then(Value::as_f64);
    // SearXNG's scores have no upper end: the best result counts as 1.
    let best = found.results.iter().filter_map(score).fold(0.0, f64::max);
    let results = found
        .results
        .iter()
        .filter(|it| it.get("url").is_some_and(Value::is_string))
        .take(wanted);
    let mapped = results.map(|result| {
        let mut entry = json!({
            "url": result["url"],
            "title": result.get("title").cloned().unwrap_or_else(|| "".into()),
            "content": result.get("content").filter(|it| it.is_string()).cloned().unwrap_or_else(|| "".into()),
            "score": score(result).filter(|_| best > 0.0).map(|it| (it / best * 1000.0).round() / 1000.0),
            "raw_content": null,
        });
        if let Some(date) = result.get("publishedDate").filter(|it| it.is_string()) {
            entry["published_date"] = date.clone();
        }
        entry
    });
    mapped.collect()
}

fn short_answer(found: &Found) -> Option<String> {
    let text = |value: &Value, name: &str| {
        let text = value.as_str().or_else(|| value.get(name)?.as_str())?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    let answer = found.answers.iter().find_map(|it| text(it, "answer"));
    answer.or_else(|| found.infoboxes.iter().find_map(|it| text(it, "content")))
}

/// Pictures that came with the results.
fn images(found: &Found) -> Vec<Value> {
    let images = found.results.iter().filter_map(|result| {
        let url = ["img_src", "thumbnail"]
            .iter()
            .find_map(|name| result.get(*name)?.as_str())?;
        let url = whole_url(url)?;
        Some(json!({ "url": url, "description": result.get("title") }))
    });
    images.take(5).collect()
}

/// An address with its scheme: engines leave it out.
pub(super) fn whole_url(url: &str) -> Option<String> {
    let url = if url.starts_with("//") {
        format!("https:{url}")
    } else {
        url.to_owned()
    };
    url.starts_with("http").then_some(url)
}
