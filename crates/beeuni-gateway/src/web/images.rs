//! Serper's image search: passed through with a key, or answered from SearXNG.

use bytes::Bytes;
use http::{HeaderName, Response, StatusCode};
use serde_json::{Map, Value, json};
use url::Url;

use super::WebRouter;
use super::error::WebError;
use super::provider::{Upstream, ask};
use super::search::{count_of, not_set_up, query_of, warning, whole_url};
use super::searxng::Searxng;
use crate::net::AnswerBody;
use crate::pass::json_response;

/// How many images Serper gives when nobody says, and at most.
const IMAGES: (usize, usize) = (10, 100);

pub(super) async fn answer(router: &WebRouter, body: Bytes) -> Result<Response<AnswerBody>, WebError> {
    let request = super::object(&body)?;
    let query = query_of(&request, "q")?;
    let Some(provider) = &router.config.serper else {
        let Some(searxng) = &router.searxng else {
            return Err(not_set_up("Image search", "SERPER_API_KEY"));
        };
        return from_searxng(router, searxng, &request, &query, None).await;
    };
    let upstream = Upstream {
        name: "Serper",
        provider,
        path: "/images",
        key_header: (HeaderName::from_static("x-api-key"), ""),
    };
    let failed = match ask(&router.clients, &upstream, body, router.config.timeout).await {
        Ok(response) => return Ok(response),
        Err(failed) => failed,
    };
    match &router.searxng {
        Some(searxng) if failed.elsewhere => {
            let instead = from_searxng(router, searxng, &request, &query, Some(&failed.error.message)).await;
            instead.or_else(|_| failed.pass_on())
        }
        _ => failed.pass_on(),
    }
}

async fn from_searxng(
    router: &WebRouter,
    searxng: &Searxng,
    request: &Map<String, Value>,
    query: &str,
    instead_of: Option<&str>,
) -> Result<Response<AnswerBody>, WebError> {
    let wanted = count_of(request, "num", IMAGES);
    let parameters = [("q", query), ("categories", "images")];
    let found = searxng
        .search(&router.clients, &parameters, wanted, router.config.timeout)
        .await?;
    let images: Vec<Value> = found.results.iter().filter_map(image).take(wanted).collect();
    let images: Vec<Value> = (1..)
        .zip(images)
        .map(|(position, mut image)| {
            image["position"] = json!(position);
            image
        })
        .collect();
    let answer = json!({
        "searchParameters": { "q": query, "type": "images", "num": wanted, "engine": "searxng" },
        "images": images,
        "warning": warning(searxng, &found, instead_of, &[]),
    });
    Ok(json_response(StatusCode::OK, &answer))
}

fn image(result: &Value) -> Option<Value> {
    let text = |name: &str| result.get(name).and_then(Value::as_str).filter(|it| !it.is_empty());
    let page = text("url").unwrap_or_default();
    let domain = Url::parse(page)
        .ok()
        .and_then(|it| it.host_str().map(str::to_owned))
        .unwrap_or_default();
    let (width, height) = text("resolution").and_then(size).unzip();
    Some(json!({
        "title": text("title").unwrap_or_default(),
        "imageUrl": whole_url(text("img_src")?)?,
        "imageWidth": width,
        "imageHeight": height,
        "thumbnailUrl": text("thumbnail_src").and_then(whole_url),
        "source": text("source").unwrap_or(&domain),
        "domain": domain,
        "link": page,
    }))
}

/// `1920 x 1080`, `1920×1080`.
fn size(text: &str) -> Option<(u32, u32)> {
    let (width, height) = text.split_once(['x', '×', 'X'])?;
    let number = |text: &str| text.trim_matches(|it: char| !it.is_ascii_digit()).parse().ok();
    Some((number(width)?, number(height)?))
}
