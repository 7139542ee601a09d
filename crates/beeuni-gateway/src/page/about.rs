//! What a page says about itself, and where it leads.

use std::collections::HashSet;

use url::Url;

use super::AboutPage;
use super::tree::{Node, attribute, tag, text, walk};

/// Nested deeper than this, a page is no article but an attack or an accident, and finding the article
/// in it would take minutes.
const MAX_DEPTH: usize = 300;

/// What there is to know of a page before it is changed.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) about: AboutPage,
    pub(super) links: Vec<String>,
    /// Its address, or the one that its `<base>` names.
    pub(super) base: Option<Url>,
    /// Where `<meta http-equiv="refresh">` sends its readers.
    pub(super) forwards_to: Option<String>,
    pub(super) has_scripts: bool,
    pub(super) is_too_deep: bool,
}

/// Looks a page through.
pub(super) fn survey(document: &Node, url: &str) -> Survey {
    let mut survey = Survey {
        base: Url::parse(url).ok(),
        ..Survey::default()
    };
    let mut second = AboutPage::default();
    let mut hrefs = Vec::new();
    let mut canonical = None;
    let mut has_base = false;
    for (node, depth) in walk(document) {
        survey.is_too_deep |= depth > MAX_DEPTH;
        let about = &mut survey.about;
        match tag(&node) {
            // Not one of a drawing inside the page.
            "title" if about.title.is_none() => about.title = one_line(&text(&node)),
            "html" if about.language.is_none() => about.language = line_of(&node, "lang"),
            "meta" => meta(&node, about, &mut second, &mut survey.forwards_to),
            "link" if is_any(&node, "rel", &["canonical"]) => canonical = canonical.or(attribute(&node, "href")),
            "base" if !has_base => {
                if let (Some(url), Some(href)) = (&survey.base, attribute(&node, "href")) {
                    survey.base = url.join(&href).ok().or_else(|| Some(url.clone()));
                    has_base = true;
                }
            }
            "a" => hrefs.extend(attribute(&node, "href")),
            "img" => about.image_count += 1,
            "script" => survey.has_scripts = true,
            _ => {}
        }
    }
    let about = &mut survey.about;
    about.title = about.title.take().or(second.title);
    about.description = about.description.take().or(second.description);
    about.language = about.language.take().or(second.language);
    let join = |href: String| Some(survey.base.as_ref()?.join(href.trim()).ok()?.into());
    about.canonical_url = canonical.and_then(&join);
    survey.forwards_to = survey.forwards_to.take().and_then(&join);
    survey.links = links(&hrefs, survey.base.as_ref());
    survey.about.link_count = survey.links.len();
    survey
}

fn meta(node: &Node, about: &mut AboutPage, second: &mut AboutPage, forwards_to: &mut Option<String>) {
    let Some(content) = line_of(node, "content") else {
        return;
    };
    let name = ["name", "property", "http-equiv"]
        .iter()
        .find_map(|it| attribute(node, it));
    let place = match name.unwrap_or_default().to_ascii_lowercase().as_str() {
        "description" => &mut about.description,
        "author" => &mut about.author,
        "og:site_name" => &mut about.site,
        "article:published_time" => &mut about.published,
        "og:title" => &mut second.title,
        "og:description" => &mut second.description,
        "content-language" => &mut second.language,
        "refresh" => {
            let at = content.to_ascii_lowercase().find("url=");
            let target = at.and_then(|at| content.get(at + 4..));
            *forwards_to = target.map(|it| it.trim().trim_matches(['"', '\'']).to_owned());
            return;
        }
        _ => return,
    };
    if place.is_none() {
        *place = Some(content);
    }
}

fn line_of(node: &Node, name: &str) -> Option<String> {
    one_line(&attribute(node, name)?)
}

fn one_line(text: &str) -> Option<String> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then_some(line)
}

/// Whether an attribute is one of these words, in any case.
pub(super) fn is_any(node: &Node, name: &str, words: &[&str]) -> bool {
    let value = attribute(node, name);
    value.is_some_and(|value| words.iter().any(|word| value.trim().eq_ignore_ascii_case(word)))
}

/// The web addresses that a page links to, each once, without the places inside them.
fn links(hrefs: &[String], base: Option<&Url>) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut links = Vec::new();
    for href in hrefs.iter().map(|it| it.trim()).filter(|it| !it.starts_with('#')) {
        let Some(Ok(mut url)) = base.map(|base| base.join(href)) else {
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
