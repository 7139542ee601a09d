//! A web page: its article, what it says about itself, and where it leads.

use dom_query::Document;
use dom_smoothie::{Article, Config, Readability};
use url::Url;

use super::{AboutPage, PageText, Task, markdown};

/// Nested deeper than this, a page is no article but an attack or an accident, and finding the article
/// in it would take minutes.
const MAX_DEPTH: usize = 300;

/// What surrounds the content of a page where nothing better is known.
const SURROUNDINGS: &str = "nav, header, footer, aside, form, [role='navigation'], [role='banner'], \
                            [role='contentinfo'], [role='complementary'], [role='search']";

/// Reads a page.
pub(super) fn read(task: &Task, text: &str, page: &mut PageText) {
    let document = Document::from(text);
    let base = base_of(&document, task);
    page.about = about(&document, base.as_ref());
    page.links = links(&document, base.as_ref());
    page.about.link_count = page.links.len();
    page.about.image_count = document.select("img[src], img[srcset], img[data-src]").length();
    let scripts = document.select("script").length();
    let waiting = forwards_to(&document, base.as_ref());
    let shallow = is_shallow(&document);
    let article = if task.main_only && shallow {
        article(text, base.as_ref(), task)
    } else {
        None
    };

    markdown::clean(&document);
    if let Some(base) = &base {
        markdown::make_absolute(&document, base);
    }
    let whole = document.select("body").text().trim().chars().count();
    match article.filter(|it| is_most(it, whole)) {
        Some(article) => {
            let content = Document::from(article.content.as_ref());
            markdown::clean(&content);
            content.select("nav, [role='navigation']").remove();
            page.markdown = markdown::of(&content);
            page.html = task.html.then(|| content.select("body").inner_html().to_string());
            let about = &mut page.about;
            about.title = about.title.take().or(Some(article.title).filter(|it| !it.is_empty()));
            about.author = article.byline.filter(|it| !it.trim().is_empty());
            about.published = article.published_time.or(about.published.take());
        }
        None => {
            if task.main_only {
                without_surroundings(&document);
            }
            document.select("head").remove();
            page.markdown = markdown::of(&document);
            page.html = task.html.then(|| document.select("body").inner_html().to_string());
        }
    }
    if page.markdown.trim().is_empty() {
        page.notes.extend(match waiting {
            Some(url) => Some(format!("The page sends its readers on to {url}")),
            None if scripts > 0 => {
                Some("The page shows its content with JavaScript, which this reader does not run.".to_owned())
            }
            None => None,
        });
    }
}

/// The article, where the page has one.
fn article(text: &str, base: Option<&Url>, task: &Task) -> Option<Article> {
    let config = Config {
        // `language-rust` of a code block, among others.
        keep_classes: true,
        ..Config::default()
    };
    let url = base.map_or(task.url.as_str(), Url::as_str);
    Readability::new(text, Some(url), Some(config)).ok()?.parse().ok()
}

/// Whether the article is the page's content, rather than one teaser of many.
fn is_most(article: &Article, whole: usize) -> bool {
    article.length >= 500 || article.length * 3 >= whole
}

/// Takes out navigation and the like, unless nothing would be left.
fn without_surroundings(document: &Document) {
    let body = document.select("body");
    let surroundings = document.select(SURROUNDINGS);
    let kept = body
        .text()
        .trim()
        .len()
        .saturating_sub(surroundings.text().trim().len());
    if kept > 0 {
        surroundings.remove();
    }
}

fn base_of(document: &Document, task: &Task) -> Option<Url> {
    let url = Url::parse(&task.url).ok()?;
    match document.select("base[href]").attr("href") {
        Some(base) => url.join(&base).ok().or(Some(url)),
        None => Some(url),
    }
}

fn about(document: &Document, base: Option<&Url>) -> AboutPage {
    let attr = |selector: &str, name: &str| {
        let elements = document.select(selector);
        let mut values = elements.iter().filter_map(|it| it.attr(name));
        values.find_map(|value| one_line(&value))
    };
    let meta = |selector: &str| attr(selector, "content");
    AboutPage {
        title: one_line(&document.select_single("head title, title").text())
            .or_else(|| meta("meta[property='og:title']")),
        description: meta("meta[name='description' i], meta[property='og:description']"),
        language: attr("html[lang]", "lang").or_else(|| meta("meta[http-equiv='content-language' i]")),
        canonical_url: attr("link[rel='canonical' i]", "href").and_then(|href| Some(base?.join(&href).ok()?.into())),
        author: meta("meta[name='author' i]"),
        published: meta("meta[property='article:published_time']"),
        site: meta("meta[property='og:site_name']"),
        link_count: 0,
        image_count: 0,
    }
}

fn one_line(text: &str) -> Option<String> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then_some(line)
}

/// The web addresses that a page links to, without the places inside them.
fn links(document: &Document, base: Option<&Url>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    let mut links = Vec::new();
    for element in document.select("a[href]").iter() {
        let href = element.attr("href").unwrap_or_default();
        if href.starts_with('#') {
            continue;
        }
        let Some(Ok(mut url)) = base.map(|base| base.join(href.trim())) else {
            continue;
        };
        url.set_fragment(None);
        let is_page = matches!(url.scheme(), "http" | "https");
        if is_page && seen.insert(url.to_string()) {
            links.push(url.into());
        }
    }
    links
}

/// `<meta http-equiv="refresh" content="0; url=…">`.
fn forwards_to(document: &Document, base: Option<&Url>) -> Option<String> {
    let content = document.select("meta[http-equiv='refresh' i]").attr("content")?;
    let at = content.to_ascii_lowercase().find("url=")?;
    let target = content.get(at + 4..)?.trim().trim_matches(['"', '\'']);
    Some(base?.join(target).ok()?.into())
}

fn is_shallow(document: &Document) -> bool {
    let mut level: Vec<_> = document.root().children();
    for _ in 0..MAX_DEPTH {
        level = level.iter().flat_map(dom_query::NodeRef::children).collect();
        if level.is_empty() {
            return true;
        }
    }
    false
}
