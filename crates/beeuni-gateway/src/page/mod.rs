//! A fetched page as text: what kind of thing it is, and its content as Markdown.
//!
//! Nothing here touches the network. Pages come from strangers, and the parsers for them can be
//! driven into minutes of work, gigabytes or a stack overflow: [`process`] runs them in a process of
//! their own.

mod about;
mod charset;
mod html;
mod kind;
mod markdown;
mod pdf;
mod process;
mod tree;

pub(crate) use process::{Converter, LONGEST};
pub use process::{ReaderProgram, page_reader_main};

use serde::{Deserialize, Serialize};

use kind::Kind;

/// The note of a page that holds nothing.
pub(crate) const EMPTY: &str = "The page is empty.";

/// What to make of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Task {
    /// Where the page is: relative links are resolved against it.
    pub(crate) url: String,
    /// Its `Content-Type`, as sent.
    pub(crate) content_type: Option<String>,
    /// There was more of it than was read.
    pub(crate) cut: bool,
    /// How many bytes its server announced.
    pub(crate) announced: Option<u64>,
    /// Only the article, without what surrounds it.
    pub(crate) main_only: bool,
    /// Also as HTML.
    pub(crate) html: bool,
    /// How many seconds of processor time it may take.
    pub(crate) seconds: u64,
}

/// A page as text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PageText {
    /// The content as Markdown. For a file that is no text: what it is, in a sentence.
    pub markdown: String,
    /// The content as HTML, when it was asked for and the page is HTML.
    pub html: Option<String>,
    /// The addresses that it links to, absolute, each once, in order.
    pub links: Vec<String>,
    /// What the page says about itself.
    pub about: AboutPage,
    /// What a reader should know: it was cut, its text was guessed, it needs JavaScript.
    pub notes: Vec<String>,
}

/// What a page says about itself. Absent: it does not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AboutPage {
    /// Its title.
    pub title: Option<String>,
    /// What it is about, in its own words.
    pub description: Option<String>,
    /// Its language, as in `en` or `de-AT`.
    pub language: Option<String>,
    /// The address that it wants to be known by.
    pub canonical_url: Option<String>,
    /// Who wrote it.
    pub author: Option<String>,
    /// When it appeared, as it says.
    pub published: Option<String>,
    /// The name of its site.
    pub site: Option<String>,
    /// How many different addresses it links to.
    pub link_count: usize,
    /// How many images it shows.
    pub image_count: usize,
}

/// Turns a page into text.
pub(crate) fn convert(task: &Task, body: &[u8]) -> Result<PageText, String> {
    let mut page = PageText::default();
    match kind::of(task.content_type.as_deref(), body) {
        Kind::Empty => {}
        Kind::Pdf if task.cut => return Err("it is a PDF of more than 10 MiB, which is not read".to_owned()),
        Kind::Pdf => pdf::read(body, &mut page)?,
        Kind::Binary(what) => {
            let size = match (task.announced, task.cut) {
                (Some(size), _) => format!("{size} bytes"),
                (None, true) => format!("more than {} bytes", body.len()),
                (None, false) => format!("{} bytes", body.len()),
            };
            page.markdown = format!("{what}, {size}: no text to read.");
            return Ok(page);
        }
        Kind::Html => {
            let text = charset::decode(task.content_type.as_deref(), body, &mut page.notes);
            html::read(task, &text, &mut page);
        }
        Kind::Text(fence) => {
            let text = charset::decode(task.content_type.as_deref(), body, &mut page.notes);
            page.markdown = markdown::fenced(text.trim_end(), fence);
        }
    }
    if task.cut {
        page.notes
            .push("The page is larger than 10 MiB: only its beginning was read.".to_owned());
    }
    if page.markdown.trim().is_empty() && page.notes.is_empty() {
        page.notes.push(EMPTY.to_owned());
    }
    Ok(page)
}
