//! The built-in reader: fetches a page and turns it into text.

use std::time::{Duration, Instant};

use http::StatusCode;
use url::Url;

use super::WebRouter;
use super::fetch::FetchError;
use crate::page::{self, PageText, Task};

/// A page to read.
#[derive(Debug, Clone)]
pub struct PageRequest {
    /// Its address.
    pub url: String,
    /// Only its main content, without navigation and the like.
    pub main_only: bool,
    /// Also as HTML.
    pub html: bool,
    /// How long it may take: at most what the router allows, which is also what `None` means.
    pub timeout: Option<Duration>,
}

impl PageRequest {
    /// The main content of a page, as Markdown.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            main_only: true,
            html: false,
            timeout: None,
        }
    }
}

/// A page that was read, whatever its status: 404 pages have text, too.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Page {
    /// Where it was in the end, after redirects.
    pub url: String,
    /// The status that it came with.
    pub status: StatusCode,
    /// Its content type, as sent.
    pub content_type: Option<String>,
    /// What it says.
    pub text: PageText,
}

/// A page that could not be read. `Display` is a reason to put behind "could not be read: ".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// The address is none that may be opened: no web address, not public, an odd port. The same
    /// address fails again.
    #[error("{0}")]
    Refused(String),
    /// It cannot be fetched: no such host, no connection, too many redirects, too slow.
    #[error("{0}")]
    Unreachable(String),
    /// It cannot be turned into text.
    #[error("{0}")]
    Unreadable(String),
}

/// Parses an address as people and models write it.
pub(super) fn address(text: &str) -> Result<Url, PageError> {
    let text = text.trim();
    Url::parse(text).map_err(|error| {
        let hint = "write it in full, as in https://example.com/page";
        PageError::Refused(format!("not a web address ({error}): {hint}"))
    })
}

pub(super) async fn read(router: &WebRouter, request: PageRequest) -> Result<Page, PageError> {
    let url = address(&request.url)?;
    let started = Instant::now();
    let most = router.config.page_timeout;
    let time = request.timeout.unwrap_or(most).min(most);
    let fetched = router.fetcher.fetch(url, time).await.map_err(|error| match error {
        FetchError::Refused(_) | FetchError::RefusedRedirect(_) => PageError::Refused(error.to_string()),
        error => PageError::Unreachable(error.to_string()),
    })?;
    let task = Task {
        url: fetched.url.to_string(),
        content_type: fetched.content_type.clone(),
        cut: fetched.cut,
        announced: fetched.announced,
        main_only: request.main_only,
        html: request.html,
        // A page that came late is still worth a second.
        seconds: time
            .saturating_sub(started.elapsed())
            .min(page::LONGEST)
            .as_secs()
            .max(1),
    };
    let text = router
        .converter
        .convert(task, fetched.body)
        .await
        .map_err(PageError::Unreadable)?;
    Ok(Page {
        url: fetched.url.into(),
        status: fetched.status,
        content_type: fetched.content_type,
        text,
    })
}
