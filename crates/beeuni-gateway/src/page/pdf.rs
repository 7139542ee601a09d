//! The text of a PDF.

use pdf_extract::{Document, Object};

use super::PageText;

/// Reads a PDF's text and title.
pub(super) fn read(body: &[u8], page: &mut PageText) -> Result<(), String> {
    // Some servers put something in front; offsets inside count from the real beginning.
    let start = memchr::memmem::find(body, b"%PDF-").unwrap_or(0);
    let body = body.get(start..).unwrap_or(body);
    let document = Document::load_mem(body).map_err(|error| format!("it is a PDF that cannot be read: {error}"))?;
    let pages = document.get_pages().len();
    if document.is_encrypted() {
        return Err(format!("it is an encrypted PDF of {}", pages_in_words(pages)));
    }
    page.about.title = title(&document);
    let texts = pdf_extract::extract_text_from_mem_by_pages(body).map_err(|error| {
        format!(
            "it is a PDF of {} whose text cannot be read: {error}",
            pages_in_words(pages)
        )
    })?;
    let texts: Vec<String> = texts
        .iter()
        .map(|text| tidy(text))
        .filter(|text| !text.is_empty())
        .collect();
    if texts.is_empty() {
        page.markdown = format!("PDF, {}, no text layer: its pages are images.", pages_in_words(pages));
        page.notes.push("The PDF has no text layer.".to_owned());
        return Ok(());
    }
    page.markdown = texts.join("\n\n");
    Ok(())
}

fn pages_in_words(number: usize) -> String {
    match number {
        1 => "1 page".to_owned(),
        number => format!("{number} pages"),
    }
}

/// Lines without the space around them, at most one empty line between paragraphs.
fn tidy(text: &str) -> String {
    let mut tidy = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.lines().map(str::trim) {
        empty = if line.is_empty() { empty + 1 } else { 0 };
        if empty <= 1 {
            tidy.push_str(line);
            tidy.push('\n');
        }
    }
    tidy.trim().to_owned()
}

fn title(document: &Document) -> Option<String> {
    let info = document.trailer.get(b"Info").ok()?;
    let info = match info {
        Object::Reference(id) => document.get_dictionary(*id).ok()?,
        object => object.as_dict().ok()?,
    };
    let bytes = info.get(b"Title").ok()?.as_str().ok()?;
    let text = match bytes.strip_prefix(b"\xFE\xFF") {
        Some(wide) => encoding_rs::UTF_16BE.decode_without_bom_handling(wide).0.into_owned(),
        None => String::from_utf8_lossy(bytes).into_owned(),
    };
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
