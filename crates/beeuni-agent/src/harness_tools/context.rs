//! What a call of a harness tool is given and what it gives back: the traits that the session implements, the
//! output, and the failure.

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::permission::Access;

/// A boxed future: the traits of this module are used behind `dyn`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One tool as the model is offered it. Names, texts and schemas never differ between two calls, so that the
/// start of a request stays the same bytes.
#[derive(Debug, Clone)]
pub struct ToolSpec {
    /// The tool's name.
    pub name: &'static str,
    /// What the model reads about it.
    pub description: &'static str,
    /// JSON Schema of the arguments, as compact JSON text.
    pub parameters: Box<RawValue>,
}

/// What a call knows about where it comes from.
#[derive(Clone, Copy)]
pub struct CallContext<'a> {
    /// The session that calls (a subagent's calls carry the child session): todos, background jobs and what was
    /// read are kept per session.
    pub session: &'a str,
    /// The calling agent.
    pub agent: &'a str,
    /// The call's id, for questions and permission requests.
    pub call: &'a str,
    /// Stops the call: it then ends within two seconds with what it has. Dropping the call's future stops it too,
    /// without a result.
    pub stop: &'a CancellationToken,
    /// Decides what the call may do, asking a person where the rules say so.
    pub gate: &'a dyn Gate,
    /// Where `question` asks; `None` where nobody can answer.
    pub asker: Option<&'a dyn Asker>,
    /// Receives the last lines of what a long call has printed so far, a few times a second.
    pub progress: Option<&'a (dyn Fn(&str) + Send + Sync)>,
}

/// Decides whether a call may do something. See [`Permissions`](crate::permission::Permissions) for the rules.
pub trait Gate: Send + Sync {
    /// Waits until all of `accesses` are allowed, or says why not.
    ///
    /// Called once per call, before it does anything, with everything that it is going to do.
    fn permit<'a>(&'a self, accesses: &'a [Access]) -> BoxFuture<'a, Result<(), Refusal>>;

    /// Which files `grep` may show that it came upon while it searched a folder, where nobody can be asked about each:
    /// those whose reading the rules allow. See [`Permissions::read_rule`](crate::permission::Permissions::read_rule).
    /// `None`: all of them.
    fn read_rule(&self) -> Option<ReadRule> {
        None
    }
}

/// Whether an access is allowed without asking.
pub type ReadRule = Arc<dyn Fn(&Access) -> bool + Send + Sync>;

/// A call was not allowed; the text is for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub String);

/// One question of the tool `question`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The question itself.
    pub question: String,
    /// A label of a few words.
    pub header: String,
    /// What can be chosen. A person may always write an answer instead.
    pub options: Vec<QuestionOption>,
    /// Whether several options may be chosen.
    pub multiple: bool,
}

/// One option of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionOption {
    /// What is chosen: unique within its question.
    pub label: String,
    /// What choosing it means; may be empty.
    pub description: String,
}

/// Puts questions to a person.
pub trait Asker: Send + Sync {
    /// Waits for the answers: for each question the chosen labels, or the person's own text.
    fn ask<'a>(&'a self, questions: &'a [Question]) -> BoxFuture<'a, Result<Vec<Vec<String>>, Unanswered>>;
}

/// No answer will come; the text is for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unanswered(pub String);

/// What `webfetch` wants of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageFormat {
    /// The article as Markdown.
    Markdown,
    /// The article as plain text.
    Text,
    /// The page's own HTML.
    Html,
}

/// A page that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Where it was found in the end, after redirects.
    pub url: String,
    /// Its title, if it has one.
    pub title: Option<String>,
    /// Its content in the wanted form.
    pub content: String,
}

/// Reads web pages. What may be reached (private addresses, limits) is its affair.
pub trait Reader: Send + Sync {
    /// Reads one `http` or `https` page; an error is a text for the model. Dropping the future ends the request.
    fn read<'a>(&'a self, url: &'a str, format: PageFormat) -> BoxFuture<'a, Result<Page, String>>;
}

/// A skill that was loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillText {
    /// The text of its `SKILL.md` without the frontmatter.
    pub text: String,
    /// Its folder: the files it speaks of are there.
    pub folder: PathBuf,
    /// Files in its folder besides `SKILL.md`, relative to it, sorted.
    pub files: Vec<String>,
}

/// The skills of the project.
pub trait Skills: Send + Sync {
    /// The names that `agent` may load, sorted.
    fn names(&self, agent: &str) -> Vec<String>;
    /// Loads one of them; an error is a text for the model.
    fn load(&self, agent: &str, name: &str) -> Result<SkillText, String>;
}

/// What a call gave.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolOutput {
    /// The text for the model: at most 51,200 bytes and 2,000 lines, without control characters.
    pub text: String,
    /// A few words for a person: the file, the command's description.
    pub title: String,
    /// Images for the model.
    pub attachments: Vec<Attachment>,
    /// For views: what each tool puts here is written at its function.
    pub metadata: serde_json::Value,
}

/// An image in an output.
#[derive(Clone, PartialEq, Eq)]
pub struct Attachment {
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub mime: &'static str,
    /// The file it came from, relative to the checkout where it is inside.
    pub name: String,
    /// The bytes.
    pub data: Vec<u8>,
}

impl fmt::Debug for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({} bytes)", self.mime, self.name, self.data.len())
    }
}

/// A call gave no output. `Display` is the text for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolFailure {
    /// What kind of failure it is.
    pub kind: FailureKind,
    /// What is wrong and what to do, within the bound of outputs.
    pub message: String,
}

/// Kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// There is no such tool.
    NotFound,
    /// The arguments are not what the tool takes.
    Arguments,
    /// The gate or the person said no.
    Refused,
    /// It was stopped before it had anything to show.
    Stopped,
    /// Anything else: a missing file, a text that does not match.
    Failed,
}

impl ToolFailure {
    /// A failure of kind [`FailureKind::Failed`].
    pub fn failed(message: impl Into<String>) -> Self {
        Self {
            kind: FailureKind::Failed,
            message: message.into(),
        }
    }

    /// The arguments are wrong.
    pub fn arguments(message: impl Into<String>) -> Self {
        Self {
            kind: FailureKind::Arguments,
            message: message.into(),
        }
    }

    /// The call was stopped.
    pub fn stopped() -> Self {
        Self {
            kind: FailureKind::Stopped,
            message: "the call was stopped".to_owned(),
        }
    }
}

impl From<Refusal> for ToolFailure {
    fn from(refusal: Refusal) -> Self {
        Self {
            kind: FailureKind::Refused,
            message: refusal.0,
        }
    }
}
