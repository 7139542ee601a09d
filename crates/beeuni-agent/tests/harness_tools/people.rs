//! A reader of pages, a shelf of skills and a person that tests play.
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::desk::{Desk, SECRET, desk_with};
use beeuni_agent::harness_tools::{
    Asker, BoxFuture, Page, PageFormat, Question, Reader, SkillText, Skills, Unanswered,
};

/// Answers from memory, and remembers what it was asked.
#[derive(Default)]
pub(super) struct Library {
    pub(super) asked: Mutex<Vec<(String, PageFormat)>>,
}

impl Reader for Library {
    fn read<'a>(&'a self, url: &'a str, format: PageFormat) -> BoxFuture<'a, Result<Page, String>> {
        self.asked.lock().unwrap().push((url.to_owned(), format));
        Box::pin(async move {
            match url {
                "https://example.com/slow" => std::future::pending().await,
                "https://example.com/gone" => Err("https://example.com/gone answered 404".to_owned()),
                "https://example.com/long" => Ok(page("x\n".repeat(30_000))),
                "https://example.com/blank" => Ok(page(" ".to_owned())),
                _ => Ok(page(format!("Text with {SECRET}"))),
            }
        })
    }
}

pub(super) fn page(content: String) -> Page {
    Page {
        url: "https://example.com/final".to_owned(),
        title: Some("A page".to_owned()),
        content,
    }
}

pub(super) struct Shelf;

impl Skills for Shelf {
    fn names(&self, _: &str) -> Vec<String> {
        vec!["deploy".to_owned()]
    }

    fn load(&self, agent: &str, name: &str) -> Result<SkillText, String> {
        if (agent, name) != ("beeuni", "deploy") {
            return Err(format!("There is no skill {name}. The skills are: deploy"));
        }
        Ok(SkillText {
            text: "Do it\ncarefully.\n".to_owned(),
            folder: PathBuf::from("skills/deploy"),
            files: vec!["check.sh".to_owned(), "notes.md".to_owned()],
        })
    }
}

pub(super) struct Person(pub(super) Result<Vec<Vec<String>>, Unanswered>);

impl Asker for Person {
    fn ask<'a>(&'a self, _: &'a [Question]) -> BoxFuture<'a, Result<Vec<Vec<String>>, Unanswered>> {
        Box::pin(async move { self.0.clone() })
    }
}

pub(super) fn full() -> (Desk, Arc<Library>) {
    let library = Arc::new(Library::default());
    let reader = Arc::clone(&library);
    let desk = desk_with(|config| {
        config.reader = Some(reader);
        config.skills = Some(Arc::new(Shelf));
        config.limits.search = Duration::from_millis(500);
    });
    (desk, library)
}
