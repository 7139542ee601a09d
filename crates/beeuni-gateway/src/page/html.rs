//! A web page: its article, or else all that is not navigation.

use legible::{Article, Options};

use super::about::{Survey, is_any, survey};
use super::tree::{self, Node, change_attribute, find, inner_html, remove, tag, text};
use super::{PageText, Task, markdown};

/// Reads a page.
pub(super) fn read(task: &Task, html: &str, page: &mut PageText) {
    let document = tree::parse(html);
    let survey = survey(&document, &task.url);
    let wants_article = task.main_only && !survey.is_too_deep;
    let article = if wants_article {
        article(&document, &survey)
    } else {
        None
    };

    remove(&document, |node| tag(node) == "head");
    markdown::clean(&document, survey.base.as_ref());
    let whole = text(&document).trim().chars().count();
    let Survey {
        about,
        links,
        forwards_to,
        has_scripts,
        ..
    } = survey;
    page.about = about;
    page.links = links;
    let content = match article.filter(|it| is_most(it, whole)) {
        Some(article) => {
            let about = &mut page.about;
            about.title = about.title.take().or(Some(article.title).filter(|it| !it.is_empty()));
            about.author = article
                .byline
                .filter(|it| !it.trim().is_empty())
                .or(about.author.take());
            about.published = article.published_time.or(about.published.take());
            let content = tree::parse(&article.content);
            // Its addresses are whole already.
            markdown::clean(&content, None);
            remove(&content, is_navigation);
            content
        }
        None => {
            if task.main_only {
                without_surroundings(&document, whole);
            }
            document
        }
    };
    page.html = task
        .html
        .then(|| inner_html(&find(&content, "body").unwrap_or(content.clone())));
    page.markdown = markdown::of(content);
    if page.markdown.trim().is_empty() {
        page.notes.extend(match forwards_to {
            Some(url) => Some(format!("The page sends its readers on to {url}")),
            None if has_scripts => {
                Some("The page shows its content with JavaScript, which this reader does not run.".to_owned())
            }
            None => None,
        });
    }
}

/// The article, where the page has one.
fn article(document: &Node, survey: &Survey) -> Option<Article> {
    shield(document);
    // Classes say the language of a code block, among others.
    let options = Options::new().keep_classes(true);
    let html = inner_html(document);
    legible::parse(&html, survey.base.as_ref().map(url::Url::as_str), Some(options)).ok()
}

/// Keeps headings, code and the like from being judged by their names: whoever looks for the article
/// takes out what is called `header` or `footnote`, and with `<h4 class="code-header">` goes the
/// signature of every function in a manual. What surrounds an article is in boxes, and boxes keep theirs.
fn shield(document: &Node) {
    for (node, _) in tree::walk(document) {
        match tag(&node) {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "p" | "blockquote" | "table" | "ul" | "ol" | "li" | "dl"
            | "dt" | "dd" | "summary" | "details" | "figure" => {
                change_attribute(&node, "class", None);
                change_attribute(&node, "id", None);
            }
            _ => {}
        }
    }
}

/// Whether the article is the page's content, rather than one teaser of many.
fn is_most(article: &Article, whole: usize) -> bool {
    article.length >= 500 || article.length * 3 >= whole
}

fn is_navigation(node: &Node) -> bool {
    tag(node) == "nav" || is_any(node, "role", &["navigation"])
}

/// Takes out navigation and the like, unless nothing would be left.
fn without_surroundings(document: &Node, whole: usize) {
    let surrounds = |node: &Node| {
        matches!(tag(node), "nav" | "header" | "footer" | "aside" | "form")
            || is_any(
                node,
                "role",
                &["navigation", "banner", "contentinfo", "complementary", "search"],
            )
    };
    let outermost: usize = outermost(document, &surrounds)
        .iter()
        .map(|it| text(it).trim().chars().count())
        .sum();
    if outermost < whole {
        remove(document, surrounds);
    }
}

/// The elements that are wanted, without those inside them.
fn outermost(root: &Node, wanted: &impl Fn(&Node) -> bool) -> Vec<Node> {
    let mut found = Vec::new();
    let mut waiting = vec![root.clone()];
    while let Some(node) = waiting.pop() {
        if wanted(&node) {
            found.push(node);
        } else {
            waiting.extend(node.children.borrow().iter().cloned());
        }
    }
    found
}
