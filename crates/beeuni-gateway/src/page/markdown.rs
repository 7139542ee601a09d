//! Markdown out of a page's tree, and what has to be set right before and after.

use htmd::element_handler::{HandlerResult, Handlers};
use htmd::options::{BulletListMarker, HrStyle, Options};
use htmd::{Element, HtmlToMarkdown};
use url::Url;

use super::about::is_any;
use super::tree::{Node, attribute, change_attribute, remove, tag, text, walk};

/// Elements that hold no content of a page.
const NOISE: [&str; 17] = [
    "script", "style", "noscript", "template", "svg", "iframe", "object", "embed", "canvas", "button", "select",
    "textarea", "input", "dialog", "audio", "video", "math",
];

/// Text as a code block of a language, or as it is.
pub(super) fn fenced(text: &str, language: Option<&str>) -> String {
    match language.filter(|_| !text.is_empty()) {
        Some(language) => code_block(text, language),
        None => text.to_owned(),
    }
}

fn code_block(text: &str, language: &str) -> String {
    // Longer than any fence inside.
    let longest = text.split(|it| it != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}{language}\n{text}\n{fence}")
}

/// Takes out what nobody reads, and makes addresses whole.
pub(super) fn clean(document: &Node, base: Option<&Url>) {
    remove(document, is_noise);
    for (node, _) in walk(document) {
        let name = match tag(&node) {
            "a" => "href",
            "img" => "src",
            _ => continue,
        };
        // What a mouse shows: mostly the text again, at the price of tokens.
        change_attribute(&node, "title", None);
        let Some(value) = attribute(&node, name) else { continue };
        if value.starts_with('#') {
            // A place on the same page leads nowhere from here.
            change_attribute(&node, name, None);
            continue;
        }
        let whole = match base {
            Some(base) => base.join(value.trim()).ok().map(String::from),
            None => Some(value.trim().to_owned()),
        };
        // Brackets would need escapes that a model copies.
        let whole = whole.filter(|it| !it.starts_with("javascript:"));
        let plain = whole.map(|it| it.replace('(', "%28").replace(')', "%29").replace(' ', "%20"));
        change_attribute(&node, name, plain.as_deref());
    }
}

fn is_noise(node: &Node) -> bool {
    let hidden = attribute(node, "hidden").is_some()
        || is_any(node, "aria-hidden", &["true"])
        || attribute(node, "style").is_some_and(|it| it.replace(' ', "").to_ascii_lowercase().contains("display:none"));
    // A picture inside the page is no address.
    let inline = || tag(node) == "img" && attribute(node, "src").is_some_and(|it| it.starts_with("data:"));
    // The sign beside a heading that links to it.
    let anchor = || tag(node) == "a" && matches!(text(node).trim(), "§" | "¶" | "#" | "🔗");
    NOISE.contains(&tag(node)) || hidden || inline() || anchor()
}

/// A tree as Markdown. The tree is used up: making Markdown takes it apart.
pub(super) fn of(document: Node) -> String {
    let options = Options {
        bullet_list_marker: BulletListMarker::Dash,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        hr_style: HrStyle::Dashes,
        ..Options::default()
    };
    let term = |handlers: &dyn Handlers, element: Element<'_>| -> Option<HandlerResult> {
        let inside = handlers.walk_children(element.node).content;
        let inside = inside.trim();
        // One that holds a heading or several lines has shape enough.
        let plain = inside.contains('\n') || inside.starts_with('#');
        let stars = if plain { "" } else { "**" };
        (!inside.is_empty()).then(|| format!("\n\n{stars}{inside}{stars}\n\n").into())
    };
    let code = |_: &dyn Handlers, element: Element<'_>| -> Option<HandlerResult> {
        let text = text(element.node);
        let text = text.trim_start_matches(['\n', '\r']).trim_end();
        (!text.is_empty()).then(|| format!("\n\n{}\n\n", code_block(text, &language(element.node))).into())
    };
    let block = |handlers: &dyn Handlers, element: Element<'_>| -> Option<HandlerResult> {
        Some(format!("\n\n{}\n\n", handlers.walk_children(element.node).content.trim()).into())
    };
    let converter = HtmlToMarkdown::builder()
        .options(options)
        .add_handler(vec!["dt", "summary"], term)
        .add_handler(vec!["dd", "figcaption"], block)
        .add_handler(vec!["pre"], code)
        .build();
    tidy(&converter.tree_to_markdown(&document))
}

/// The language of a code block: `language-rust`, `lang-rust`, `highlight-source-rust` on it or inside.
fn language(pre: &Node) -> String {
    for (node, _) in walk(pre).take(3) {
        let classes = attribute(&node, "class").unwrap_or_default();
        let named = classes.split_whitespace().find_map(|class| {
            let prefixes = ["language-", "lang-", "highlight-source-", "brush:"];
            prefixes.iter().find_map(|it| class.strip_prefix(it))
        });
        if let Some(name) = named.filter(|it| it.chars().all(|it| it.is_ascii_alphanumeric() || "+-#_.".contains(it))) {
            return name.to_owned();
        }
    }
    String::new()
}

/// Outside code: no padding in tables, at most one empty line, no space at the end but for a line break.
fn tidy(markdown: &str) -> String {
    let mut tidy = String::with_capacity(markdown.len());
    let mut fence: Option<usize> = None;
    let mut empty = 0;
    for line in markdown.lines() {
        let trimmed = line.trim_start();
        let ticks = trimmed.len() - trimmed.trim_start_matches('`').len();
        match fence {
            Some(open) if ticks >= open => fence = None,
            None if ticks >= 3 => fence = Some(ticks),
            Some(_) => {
                tidy.push_str(line);
                tidy.push('\n');
                continue;
            }
            None => {}
        }
        empty = if line.trim().is_empty() { empty + 1 } else { 0 };
        if empty > 1 {
            continue;
        }
        match trimmed.starts_with("| ") && line.trim_end().ends_with('|') {
            true => tidy.push_str(&row(line)),
            false if empty == 1 => {}
            false => tidy.push_str(line),
        }
        tidy.push('\n');
    }
    tidy.trim_matches('\n').to_owned()
}

/// A table's row without the spaces and dashes that only line it up: they cost tokens.
fn row(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let cells = line.split_whitespace().map(|word| match word.trim_matches('-') {
        "" => "---",
        _ => word,
    });
    let row = cells.collect::<Vec<_>>().join(" ");
    format!("{}{row}", line.get(..indent).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::tree;

    fn markdown(html: &str) -> String {
        let document = tree::parse(html);
        clean(&document, None);
        of(document)
    }

    #[test]
    fn lists_of_terms_and_hidden_things_come_out_readable() {
        let html = "<p>a</p><dl><dt>Term</dt><dd>What it means</dd></dl><details><summary>More</summary>Inside</details>\
                    <p hidden>no</p><p style='Display: none'>no</p><button>no</button><script>no()</script><img src='data:x'>";
        assert_eq!(markdown(html), "a\n\n**Term**\n\nWhat it means\n\n**More**\n\nInside");
    }

    #[test]
    fn addresses_need_no_escapes_and_code_stays_as_it_is() {
        let html = "<p><a href='https://a.example/x_(y)?x=1&amp;y=2'>l</a> a &amp; b &lt; c</p>\
                    <pre><code class='x language-c++'>if (a &amp;&amp; b)\n\n\n    **c** |  d</code></pre><pre>plain  \n  text</pre>";
        assert_eq!(
            markdown(html),
            "[l](https://a.example/x_%28y%29?x=1&y=2) a & b < c\n\n```c++\nif (a && b)\n\n\n    **c** |  d\n```\n\n```\nplain  \n  text\n```"
        );
    }

    #[test]
    fn tables_are_not_padded() {
        let html = "<table><tr><th>Name</th><th>A long heading</th></tr><tr><td>a</td><td>1</td></tr></table>";
        assert_eq!(markdown(html), "| Name | A long heading |\n| --- | --- |\n| a | 1 |");
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
