//! Firecrawl's scrape: passed through with a key, or answered by the built-in reader.

use std::time::Duration;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{Response, StatusCode};
use serde_json::{Map, Value, json};

use super::WebRouter;
use super::error::WebError;
use super::provider::{Upstream, ask};
use super::read::{Page, PageError, PageRequest, address};
use crate::net::AnswerBody;
use crate::page::EMPTY;
use crate::pass::json_response;

/// What of Firecrawl's interface the built-in reader does; the rest is named in a warning.
const FORMATS: [&str; 3] = ["markdown", "html", "links"];
const OPTIONS: [&str; 5] = ["url", "formats", "onlyMainContent", "timeout", "origin"];

/// What of it changes nothing that a reader would notice.
const HARMLESS: [&str; 6] = [
    "maxAge",
    "storeInCache",
    "blockAds",
    "removeBase64Images",
    "integration",
    "parsers",
];

pub(super) async fn answer(router: &WebRouter, body: Bytes) -> Result<Response<AnswerBody>, WebError> {
    let request = super::object(&body)?;
    let Some(text) = request.get("url").and_then(Value::as_str) else {
        return Err(WebError::bad_request(
            "The request needs `url`, the address of the page.",
        ));
    };
    let refuse = |reason: String| WebError::new(StatusCode::BAD_REQUEST, "ADDRESS_REFUSED", format!("{reason}."));
    let url = address(text).map_err(|error| refuse(error.to_string()))?;
    let Some(provider) = &router.config.firecrawl else {
        return read(router, &request, text, None).await;
    };
    // A Firecrawl of one's own may stand inside the network that its pages must not come from.
    router
        .fetcher
        .check(&url)
        .await
        .map_err(|refused| refuse(refused.to_string()))?;
    let upstream = Upstream {
        name: "Firecrawl",
        provider,
        path: "/v2/scrape",
        key_header: (AUTHORIZATION, "Bearer "),
    };
    match ask(&router.clients, &upstream, body, router.config.timeout).await {
        Ok(response) => Ok(response),
        Err(failed) if failed.elsewhere => match read(router, &request, text, Some(&failed.error.message)).await {
            Ok(response) if response.status().is_success() => Ok(response),
            _ => failed.pass_on(),
        },
        Err(failed) => failed.pass_on(),
    }
}

async fn read(
    router: &WebRouter,
    request: &Map<String, Value>,
    url: &str,
    instead_of: Option<&str>,
) -> Result<Response<AnswerBody>, WebError> {
    let mut warnings = Vec::new();
    if let Some(reason) = instead_of {
        warnings.push(format!("Read by Beeuni's built-in reader, because: {reason}"));
    }
    let formats = formats(request, &mut warnings);
    let wants = |format: &str| formats.iter().any(|it| it == format);
    let page = PageRequest {
        url: url.to_owned(),
        main_only: request.get("onlyMainContent").and_then(Value::as_bool).unwrap_or(true),
        html: wants("html"),
        timeout: request
            .get("timeout")
            .and_then(Value::as_u64)
            .map(Duration::from_millis),
    };
    let page = match router.read_page(page).await {
        Ok(page) => page,
        Err(PageError::Refused(reason)) => {
            return Err(WebError::new(
                StatusCode::BAD_REQUEST,
                "ADDRESS_REFUSED",
                format!("{reason}."),
            ));
        }
        Err(error) => {
            // No status that the caller would try again: the page is the problem, not the router.
            let code = match error {
                PageError::Unreadable(_) => "PAGE_UNREADABLE",
                _ => "PAGE_UNREACHABLE",
            };
            let answer = json!({ "success": false, "error": error.to_string(), "code": code });
            return Ok(json_response(StatusCode::OK, &answer));
        }
    };
    // The tool says that itself.
    warnings.extend(page.text.notes.iter().filter(|note| *note != EMPTY).cloned());
    let mut data = json!({ "metadata": metadata(url, &page) });
    if wants("markdown") {
        data["markdown"] = page.text.markdown.into();
    }
    if let Some(html) = page.text.html {
        data["html"] = html.into();
    }
    if wants("links") {
        data["links"] = page.text.links.into();
    }
    if !warnings.is_empty() {
        data["warning"] = warnings.join(" ").into();
    }
    Ok(json_response(StatusCode::OK, &json!({ "success": true, "data": data })))
}

/// The formats that are asked for and that there are. Firecrawl takes names, and objects with a `type`.
fn formats(request: &Map<String, Value>, warnings: &mut Vec<String>) -> Vec<String> {
    let name = |format: &Value| {
        format
            .as_str()
            .or_else(|| format.get("type")?.as_str())
            .map(str::to_owned)
    };
    let listed = request.get("formats").and_then(Value::as_array);
    let asked: Vec<String> = listed.map_or_else(Vec::new, |list| list.iter().filter_map(name).collect());
    let (known, unknown): (Vec<String>, Vec<String>) =
        asked.into_iter().partition(|format| FORMATS.contains(&format.as_str()));
    if !unknown.is_empty() {
        let unknown = unknown.join(", ");
        warnings.push(format!("The built-in reader has no format {unknown}."));
    }
    let known_options = |name: &&String| OPTIONS.contains(&name.as_str()) || HARMLESS.contains(&name.as_str());
    let ignored: Vec<&str> = request
        .keys()
        .filter(|it| !known_options(it))
        .map(String::as_str)
        .collect();
    if !ignored.is_empty() {
        let ignored = ignored.join(", ");
        warnings.push(format!("The built-in reader does not know these options: {ignored}."));
    }
    if known.is_empty() {
        vec!["markdown".to_owned()]
    } else {
        known
    }
}

fn metadata(asked: &str, page: &Page) -> Value {
    let about = &page.text.about;
    let mut metadata = Map::new();
    let texts = [
        ("title", &about.title),
        ("description", &about.description),
        ("language", &about.language),
        ("canonicalUrl", &about.canonical_url),
        ("author", &about.author),
        ("publishedTime", &about.published),
        ("siteName", &about.site),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            metadata.insert(name.to_owned(), text.as_str().into());
        }
    }
    metadata.insert("sourceURL".to_owned(), asked.into());
    metadata.insert("url".to_owned(), page.url.as_str().into());
    metadata.insert("statusCode".to_owned(), page.status.as_u16().into());
    if let Some(content_type) = &page.content_type {
        metadata.insert("contentType".to_owned(), content_type.as_str().into());
    }
    if page.status.is_client_error() || page.status.is_server_error() {
        let reason = page.status.canonical_reason().unwrap_or("an error");
        metadata.insert("error".to_owned(), reason.into());
    }
    metadata.insert("linkCount".to_owned(), about.link_count.into());
    metadata.insert("imageCount".to_owned(), about.image_count.into());
    metadata.into()
}
