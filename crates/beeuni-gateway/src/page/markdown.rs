//! Markdown out of a cleaned document, and the small repairs that it needs.

use dom_query::{Document, Selection};

/// Elements that hold no content of a page.
const NOISE: &str = "script, style, noscript, template, svg, iframe, object, embed, canvas, button, select, \
                     textarea, input, dialog, [hidden], [aria-hidden='true'], [style*='display:none'], \
                     [style*='display: none']";

/// Text as a code block of a language, or as it is.
pub(super) fn fenced(text: &str, language: Option<&str>) -> String {
    let Some(language) = language.filter(|_| !text.is_empty()) else {
        return text.to_owned();
    };
    // Longer than any fence inside.
    let longest = text.split(|it| it != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}{language}\n{text}\n{fence}")
}

/// Takes out what nobody reads, and gives shape to what Markdown has no word for.
pub(super) fn clean(document: &Document) {
    document.select(NOISE).remove();
    // A picture inside the page is no address.
    document.select("img[src^='data:']").remove();
    for link in document.select("a[href^='javascript:']").iter() {
        link.remove_attr("href");
    }
    for term in document.select("dt, summary").iter() {
        let inside = term.inner_html();
        term.set_html(format!("<strong>{inside}</strong>"));
        term.rename("p");
    }
    document.select("dd").rename("p");
}

/// Links and pictures with whole addresses.
pub(super) fn make_absolute(document: &Document, base: &url::Url) {
    for (selector, attribute) in [("a[href]", "href"), ("img[src]", "src")] {
        for element in document.select(selector).iter() {
            absolute(&element, attribute, base);
        }
    }
}

fn absolute(element: &Selection<'_>, attribute: &str, base: &url::Url) {
    if let Some(value) = element.attr(attribute)
        && let Ok(url) = base.join(value.trim())
    {
        element.set_attr(attribute, url.as_str());
    }
}

/// The document as Markdown.
pub(super) fn of(document: &Document) -> String {
    tidy(&document.md(None))
}

/// Takes the HTML escapes out of addresses (a model would copy them), and superfluous empty lines.
fn tidy(markdown: &str) -> String {
    let mut tidy = String::with_capacity(markdown.len());
    let mut fence: Option<&str> = None;
    let mut empty = 0;
    for line in markdown.lines() {
        let trimmed = line.trim_start();
        let ticks = trimmed
            .get(..trimmed.len() - trimmed.trim_start_matches('`').len())
            .unwrap_or_default();
        match fence {
            Some(open) if ticks.len() >= open.len() => fence = None,
            None if ticks.len() >= 3 => fence = Some(ticks),
            _ => {}
        }
        empty = if line.trim().is_empty() { empty + 1 } else { 0 };
        if fence.is_none() && empty > 1 {
            continue;
        }
        if fence.is_none() && line.contains("&amp;") {
            tidy.push_str(&plain_addresses(line));
        } else {
            tidy.push_str(line);
        }
        tidy.push('\n');
    }
    tidy.trim_matches('\n').to_owned()
}

/// `](https://a/?x=1&amp;y=2)` with a plain `&`.
fn plain_addresses(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("](") {
        let end = after.find(')').unwrap_or(after.len());
        let (address, behind) = after.split_at(end);
        plain.push_str(before);
        plain.push_str("](");
        plain.push_str(&address.replace("&amp;", "&"));
        rest = behind;
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn markdown(html: &str) -> String {
        let document = Document::from(html);
        clean(&document);
        of(&document)
    }

    #[test]
    fn lists_of_terms_and_hidden_things_come_out_readable() {
        let html = "<p>a</p><dl><dt>Term</dt><dd>What it means</dd></dl><details><summary>More</summary>Inside</details>\
                    <p hidden>no</p><p style='display:none'>no</p><button>no</button><script>no()</script><img src='data:x'>";
        assert_eq!(markdown(html), "a\n\n**Term**\n\nWhat it means\n\n**More**\n\nInside");
    }

    #[test]
    fn addresses_have_no_html_escapes_and_code_keeps_them() {
        let html =
            "<p><a href='https://a.example/?x=1&amp;y=2'>l</a> a &amp; b</p><pre><code>](&amp;amp;)</code></pre>";
        assert_eq!(
            markdown(html),
            "[l](https://a.example/?x=1&y=2) a & b\n\n```\n](&amp;)\n```"
        );
    }

    #[test]
    fn text_in_a_fence_cannot_leave_it() {
        assert_eq!(
            fenced("{\"a\":\"```\"}", Some("json")),
            "````json\n{\"a\":\"```\"}\n````"
        );
        assert_eq!(fenced("a", None), "a");
        assert_eq!(fenced("", Some("json")), "");
    }
}
