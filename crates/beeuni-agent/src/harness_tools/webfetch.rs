//! `webfetch`: one page of the web, through the reader.

use serde_json::json;

use crate::permission::{Access, address_access};

use super::Inner;
use super::arguments::Arguments;
use super::context::{CallContext, PageFormat, ToolFailure, ToolOutput};
use super::spec::Spec;

/// What the model reads about the tool.
pub(super) const SPEC: Spec = Spec {
    name: "webfetch",
    description: "Read one page of the web, as Markdown of its main content (default), as plain text, or as its HTML. The \
        address has to be known: this does not search.",
    parameters: r#"{"type":"object","properties":{"url":{"type":"string","description":"The address, beginning with http:// or https://."},"format":{"type":"string","enum":["markdown","text","html"],"description":"Default: markdown."}},"required":["url"]}"#,
};

/// A call whose arguments are read.
pub(super) struct Call {
    url: String,
    format: PageFormat,
}

pub(super) fn prepare(arguments: &Arguments) -> Result<(Call, Vec<Access>), ToolFailure> {
    let given = arguments.text(&["url"], "the address of the page")?;
    let format = match arguments.word(&["format"], &["markdown", "text", "html"])? {
        "text" => PageFormat::Text,
        "html" => PageFormat::Html,
        _ => PageFormat::Markdown,
    };
    let url = address(&given).ok_or_else(|| {
        ToolFailure::arguments(format!(
            "`url` is no web address: {}. Write it in full, as https://example.com/page.",
            super::arguments::shown(&json!(given))
        ))
    })?;
    let accesses = vec![address_access(&url, SPEC.name)];
    Ok((Call { url, format }, accesses))
}

/// The address in full; `https://` is added where no scheme stands.
fn address(given: &str) -> Option<String> {
    let given = given.trim();
    let whole = if given.contains("://") || given.split_once(':').is_some_and(|(_, rest)| !starts_with_digit(rest)) {
        given.to_owned()
    } else {
        format!("https://{given}")
    };
    let url = url::Url::parse(&whole).ok()?;
    let host = url.host_str().unwrap_or_default();
    let known = matches!(url.scheme(), "http" | "https") && !host.is_empty();
    // A word alone is no host that somebody meant.
    let meant = whole == given || host.contains('.') || host == "localhost";
    (known && meant).then_some(whole)
}

fn starts_with_digit(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

/// Metadata: `{ url, title? }`.
pub(super) async fn run(tools: &Inner, call: Call, context: CallContext<'_>) -> Result<ToolOutput, ToolFailure> {
    let Some(reader) = &tools.reader else {
        return Err(ToolFailure::failed("Pages of the web cannot be read here."));
    };
    let page = tokio::select! {
        biased;
        () = context.stop.cancelled() => return Err(ToolFailure::stopped()),
        page = tokio::time::timeout(tools.limits.search, reader.read(&call.url, call.format)) => page,
    };
    let page = page
        .map_err(|_| {
            let seconds = tools.limits.search.as_secs();
            ToolFailure::failed(format!("{} could not be read: timed out after {seconds} s", call.url))
        })?
        .map_err(ToolFailure::failed)?;
    let mut text = String::new();
    // HTML has its title itself.
    if let Some(title) = page.title.as_deref().filter(|_| call.format != PageFormat::Html) {
        text.push_str(&format!("Title: {title}\n"));
    }
    if page.url != call.url {
        text.push_str(&format!("Address: {}\n", page.url));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(if page.content.trim().is_empty() {
        "[The page has no text. It may be made by scripts: try the format html, or another source.]"
    } else {
        &page.content
    });
    Ok(ToolOutput {
        text: tools.outputs.bounded_later(SPEC.name, text).await,
        title: page.title.clone().unwrap_or_else(|| page.url.clone()),
        metadata: json!({"url": page.url, "title": page.title}),
        ..ToolOutput::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_completed_or_refused() {
        for (given, expected) in [
            ("https://example.com/a?b=1", Some("https://example.com/a?b=1")),
            (" http://localhost:8080/x ", Some("http://localhost:8080/x")),
            ("example.com/page", Some("https://example.com/page")),
            ("example.com:8443/page", Some("https://example.com:8443/page")),
            ("localhost:3000", Some("https://localhost:3000")),
            ("file:///etc/passwd", None),
            ("ftp://example.com", None),
            ("javascript:alert(1)", None),
            ("readme", None),
            ("", None),
            ("https://", None),
        ] {
            assert_eq!(address(given).as_deref(), expected, "{given}");
        }
    }
}
