//! Pages for `webfetch`, through the built-in reader.
use std::sync::Arc;

use beeuni_agent::harness_tools::{BoxFuture, Page, PageFormat, Reader};
use beeuni_gateway::web::{PageRequest, WebRouter};

/// Reads pages with the built-in reader.
pub(super) struct PageReader(pub(super) Arc<WebRouter>);

impl Reader for PageReader {
    fn read<'a>(&'a self, url: &'a str, format: PageFormat) -> BoxFuture<'a, Result<Page, String>> {
        Box::pin(self.page(url, format))
    }
}

impl PageReader {
    async fn page(&self, url: &str, format: PageFormat) -> Result<Page, String> {
        let request = PageRequest {
            main_only: format != PageFormat::Html,
            html: format == PageFormat::Html,
            ..PageRequest::new(url)
        };
        let read = self.0.read_page(request).await;
        let page = read.map_err(|error| format!("{url} could not be read: {error}"))?;
        // A page that says that there is nothing is not what was asked for.
        if !page.status.is_success() {
            let title = page
                .text
                .about
                .title
                .map(|title| format!(" ({title})"))
                .unwrap_or_default();
            return Err(format!("{} answered {}{title}", page.url, page.status));
        }
        let mut content = match (format, page.text.html) {
            (PageFormat::Html, Some(html)) => html,
            (PageFormat::Text, _) => plain(&page.text.markdown),
            _ => page.text.markdown,
        };
        for note in &page.text.notes {
            content.push_str(&format!("\n\n[{note}]"));
        }
        Ok(Page {
            url: page.url,
            title: page.text.about.title,
            content,
        })
    }
}

/// Markdown without the marks that are no text: of headings, links, images and emphasis. Code stays as it is.
fn plain(markdown: &str) -> String {
    let mut text = String::with_capacity(markdown.len());
    let mut in_code = false;
    for line in markdown.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if in_code {
            text.push_str(line);
        } else {
            let heading = line.trim_start_matches('#');
            let is_heading = heading.len() < line.len() && heading.starts_with(' ');
            plain_line(if is_heading { heading.trim_start() } else { line }, &mut text);
        }
    }
    text
}

fn plain_line(line: &str, text: &mut String) {
    let mut rest = line;
    while let Some(at) = rest.find(['[', '*', '!']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let image = rest.starts_with("![");
        let link = if image { &rest[1..] } else { rest };
        if let Some((label, after)) = link.strip_prefix('[').and_then(label_of) {
            plain_line(label, text);
            rest = after;
        } else if let Some(after) = rest.strip_prefix("**") {
            rest = after;
        } else {
            text.push_str(&rest[..1]);
            rest = &rest[1..];
        }
    }
    text.push_str(rest);
}

/// The label of a link whose `[` is gone, and what follows its address.
fn label_of(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' if depth > 0 => depth -= 1,
            b']' => {
                let address = text[at + 1..].strip_prefix('(')?;
                let (_, after) = address.split_once(')')?;
                return Some((&text[..at], after));
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn plain_text_is_what_a_person_reads() {
        let markdown = "# Bees\n\nA **bee** is an [insect](https://example.com/insect) ![wing](w.png), 2 * 3!\n\n```\n# not [a](link)\n```\n[1] #tag\n";
        assert_eq!(
            plain(markdown),
            "Bees\n\nA bee is an insect wing, 2 * 3!\n\n# not [a](link)\n[1] #tag\n"
        );
        assert_eq!(
            plain("[![alt](i.png)](https://example.com) é[unfinished"),
            "alt é[unfinished"
        );
    }
}
