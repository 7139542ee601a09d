//! PDFs, made here so that nothing binary lies around.

use beeuni_gateway::testing::{Answer, ScriptedServer};
use beeuni_gateway::web::WebRouter;
use serde_json::Value;

use super::{config, scrape};

/// A PDF with a page for each text; an empty one has no text at all.
fn pdf(pages: &[&str]) -> Vec<u8> {
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        String::new(),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_owned(),
        "<< /Title (A small paper) >>".to_owned(),
    ];
    let mut kids = Vec::new();
    for text in pages {
        let drawing = if text.is_empty() {
            "0 0 100 100 re f".to_owned()
        } else {
            format!("BT /F1 12 Tf 72 700 Td ({text}) Tj ET")
        };
        let content = objects.len() + 1;
        objects.push(format!("<< /Length {} >>\nstream\n{drawing}\nendstream", drawing.len()));
        kids.push(format!("{} 0 R", objects.len() + 1));
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {content} 0 R \
             /Resources << /Font << /F1 3 0 R >> >> >>"
        ));
    }
    objects[1] = format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), kids.len());
    let mut file = b"%PDF-1.4\n%\xE2\xE3\xCF\xD3\n".to_vec();
    let mut offsets = Vec::new();
    for (at, object) in objects.iter().enumerate() {
        offsets.push(file.len());
        file.extend(format!("{} 0 obj\n{object}\nendobj\n", at + 1).bytes());
    }
    let start = file.len();
    file.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).bytes());
    for offset in offsets {
        file.extend(format!("{offset:010} 00000 n \n").bytes());
    }
    let trailer = format!(
        "trailer\n<< /Size {} /Root 1 0 R /Info 4 0 R >>\nstartxref\n{start}\n%%EOF\n",
        objects.len() + 1
    );
    file.extend(trailer.bytes());
    file
}

async fn read(answer: Answer) -> Value {
    let server = ScriptedServer::start().await;
    server.on("/paper.pdf", answer);
    let (status, found) = scrape(&WebRouter::new(config(&server)), &format!("{}/paper.pdf", server.url())).await;
    assert_eq!(status, 200, "{found}");
    found
}

#[tokio::test]
async fn web_06_the_text_of_a_pdf_is_read_whatever_its_type_says() {
    for content_type in [
        "application/pdf",
        "text/html; charset=utf-8",
        "application/octet-stream",
    ] {
        let found = read(Answer::new(200, content_type, pdf(&["Bees dance.", "Page two."]))).await;
        assert_eq!(found["data"]["markdown"], "Bees dance.\n\nPage two.", "{content_type}");
        assert_eq!(found["data"]["metadata"]["title"], "A small paper");
    }
}

#[tokio::test]
async fn web_06_a_scanned_pdf_says_that_it_has_no_text() {
    let found = read(Answer::new(200, "application/pdf", pdf(&["", ""]))).await;
    assert_eq!(
        found["data"]["markdown"],
        "PDF, 2 pages, no text layer: its pages are images."
    );
    assert_eq!(found["data"]["warning"], "The PDF has no text layer.");
}

#[tokio::test]
async fn a_broken_pdf_is_an_error_of_that_page_only() {
    let whole = pdf(&["Bees dance."]);
    for body in [b"%PDF-1.7\nnothing".to_vec(), whole[..whole.len() / 2].to_vec()] {
        let found = read(Answer::new(200, "application/pdf", body)).await;
        assert_eq!(
            (found["success"].as_bool(), found["code"].as_str()),
            (Some(false), Some("PAGE_UNREADABLE")),
            "{found}"
        );
        assert!(found["error"].as_str().unwrap().contains("PDF"), "{found}");
    }
}
