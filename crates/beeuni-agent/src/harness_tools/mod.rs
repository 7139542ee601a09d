//! The tools of the experimental harness: `bash`, `read`, `write`, `edit`, `glob`, `grep`, `webfetch`,
//! `todowrite`, `question` and `skill`. (`task` belongs to the loop.)
//!
//! [`HarnessTools`] is made once per daemon and shared by all of its sessions. A call parses its arguments, lists
//! everything it is going to do, asks the [`Gate`] once, and only then does it.

mod arguments;
mod bash;
mod config;
mod context;
mod edit;
mod nearest;
mod outputs;
mod paths;
mod question;
mod read;
mod search;
mod sessions;
mod skill;
mod spec;
mod todowrite;
mod webfetch;
mod write;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

pub use config::{HarnessLimits, HarnessToolsConfig, PrepareError};
pub use context::{
    Asker, Attachment, BoxFuture, CallContext, FailureKind, Gate, Page, PageFormat, Question, QuestionOption, ReadRule,
    Reader, Refusal, SkillText, Skills, ToolFailure, ToolOutput, ToolSpec, Unanswered,
};
pub use todowrite::{Todo, TodoPriority, TodoStatus};

use arguments::Arguments;
use outputs::Outputs;
use paths::Paths;
use sessions::Sessions;
use spec::Spec;

use crate::permission::Access;

/// The names of the harness tools in the order in which the model is offered them.
pub const HARNESS_TOOL_NAMES: [&str; 10] = [
    "bash",
    "read",
    "write",
    "edit",
    "glob",
    "grep",
    "webfetch",
    "todowrite",
    "question",
    "skill",
];

/// The harness tools of one daemon. Cheap to clone; the last clone's end ends every background job.
#[derive(Clone)]
pub struct HarnessTools {
    inner: Arc<Inner>,
    specs: Arc<[ToolSpec]>,
}

/// What the tools share.
struct Inner {
    paths: Paths,
    outputs: Outputs,
    sessions: Sessions,
    /// One change of a file at a time: two edits of one file must not undo each other.
    changes: Arc<Mutex<()>>,
    env: BTreeMap<String, String>,
    guard: PathBuf,
    reader: Option<Arc<dyn Reader>>,
    skills: Option<Arc<dyn Skills>>,
    limits: HarnessLimits,
}

const SPECS: [&Spec; 10] = [
    &bash::SPEC,
    &read::SPEC,
    &write::SPEC,
    &edit::SPEC,
    &search::glob::SPEC,
    &search::grep::SPEC,
    &webfetch::SPEC,
    &todowrite::SPEC,
    &question::SPEC,
    &skill::SPEC,
];

impl HarnessTools {
    /// Prepares the folder for outputs. Commands need a Tokio runtime, this function does not.
    pub fn new(config: HarnessToolsConfig) -> Result<Self, PrepareError> {
        private_folder(&config.output_dir).map_err(|source| PrepareError {
            path: config.output_dir.clone(),
            source,
        })?;
        let offered = |spec: &&&Spec| match spec.name {
            "webfetch" => config.reader.is_some(),
            "skill" => config.skills.is_some(),
            _ => true,
        };
        let specs = SPECS.iter().filter(offered).filter_map(|spec| spec.offered()).collect();
        let home = config.env.get("HOME").map(String::as_str);
        let readable = std::slice::from_ref(&config.output_dir);
        Ok(Self {
            specs,
            inner: Arc::new(Inner {
                paths: Paths::new(&config.checkout, &config.free_folders, readable, home),
                outputs: Outputs {
                    folder: config.output_dir,
                    redact: config.redact,
                },
                sessions: Sessions::default(),
                changes: Arc::default(),
                env: config.env,
                guard: config.guard,
                reader: config.reader,
                skills: config.skills,
                limits: config.limits,
            }),
        })
    }

    /// The tools in the order of [`HARNESS_TOOL_NAMES`]; always the same bytes. Leave `question` out for subagents.
    pub fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    /// Whether `name` is one of these tools and can be called.
    pub fn has(&self, name: &str) -> bool {
        self.specs.iter().any(|spec| spec.name == name)
    }

    /// What a call would do, without doing it: for a dry run of the rules.
    pub fn accesses(&self, name: &str, args: &str) -> Result<Vec<Access>, ToolFailure> {
        self.prepare(name, args).map(|(_, accesses)| accesses)
    }

    /// Runs one call. `args` is the arguments' JSON text as the model wrote it; it may be malformed.
    pub async fn call(&self, name: &str, args: &str, context: CallContext<'_>) -> Result<ToolOutput, ToolFailure> {
        let outputs = &self.inner.outputs;
        match self.call_unredacted(name, args, context).await {
            // The text is clean already: it was redacted before it was cut.
            Ok(output) => Ok(ToolOutput {
                title: outputs.line(output.title),
                metadata: outputs.json(output.metadata),
                ..output
            }),
            Err(failure) => Err(ToolFailure {
                message: outputs.failure(failure.message),
                ..failure
            }),
        }
    }

    async fn call_unredacted(
        &self,
        name: &str,
        args: &str,
        context: CallContext<'_>,
    ) -> Result<ToolOutput, ToolFailure> {
        let (call, accesses) = self.prepare(name, args)?;
        if context.stop.is_cancelled() {
            return Err(ToolFailure::stopped());
        }
        tokio::select! {
            biased;
            () = context.stop.cancelled() => return Err(ToolFailure::stopped()),
            permitted = context.gate.permit(&accesses) => permitted?,
        }
        let tools = &*self.inner;
        match call {
            Prepared::Bash(call) => bash::run(tools, call, context).await,
            Prepared::Read(call) => read::run(tools, call, context).await,
            Prepared::Write(call) => write::run(tools, call, context).await,
            Prepared::Edit(call) => edit::run(tools, call, context).await,
            Prepared::Glob(call) => search::glob::run(tools, call, context).await,
            Prepared::Grep(call) => search::grep::run(tools, call, context).await,
            Prepared::Webfetch(call) => webfetch::run(tools, call, context).await,
            Prepared::Todowrite(todos) => Ok(todowrite::run(tools, todos, context)),
            Prepared::Question(questions) => question::run(tools, questions, context).await,
            Prepared::Skill(name) => skill::run(tools, &name, context),
        }
    }

    /// Reads a call's arguments and lists what it is going to do.
    fn prepare(&self, name: &str, args: &str) -> Result<(Prepared, Vec<Access>), ToolFailure> {
        let Some(spec) = self.specs.iter().find(|spec| spec.name == name) else {
            return Err(ToolFailure {
                kind: FailureKind::NotFound,
                message: format!("Tool {name} not found"),
            });
        };
        let arguments = Arguments::parse(spec.name, args)?;
        let tools = &*self.inner;
        fn of<T>(call: impl Fn(T) -> Prepared) -> impl Fn((T, Vec<Access>)) -> (Prepared, Vec<Access>) {
            move |(prepared, accesses)| (call(prepared), accesses)
        }
        match spec.name {
            "bash" => bash::prepare(tools, &arguments).map(of(Prepared::Bash)),
            "read" => read::prepare(tools, &arguments).map(of(Prepared::Read)),
            "write" => write::prepare(tools, &arguments).map(of(Prepared::Write)),
            "edit" => edit::prepare(tools, &arguments).map(of(Prepared::Edit)),
            "glob" => search::glob::prepare(tools, &arguments).map(of(Prepared::Glob)),
            "grep" => search::grep::prepare(tools, &arguments).map(of(Prepared::Grep)),
            "webfetch" => webfetch::prepare(&arguments).map(of(Prepared::Webfetch)),
            "todowrite" => todowrite::prepare(&arguments).map(of(Prepared::Todowrite)),
            "question" => question::prepare(&arguments).map(of(Prepared::Question)),
            _ => skill::prepare(&arguments).map(of(Prepared::Skill)),
        }
    }

    /// The todo list of a session.
    pub fn todos(&self, session: &str) -> Vec<Todo> {
        self.inner.sessions.todos(session)
    }

    /// Gives a resumed session its todo list back.
    pub fn set_todos(&self, session: &str, todos: Vec<Todo>) {
        self.inner.sessions.set_todos(session, todos);
    }

    /// Forgets a session: ends its background jobs and waits until they are gone.
    pub async fn end_session(&self, session: &str) {
        if let Some(jobs) = self.inner.sessions.remove(session) {
            jobs.end().await;
        }
    }

    /// Ends the background jobs of every session and waits until they are gone. Calls that run are ended by their
    /// own `stop`.
    pub async fn shutdown(&self) {
        for jobs in self.inner.sessions.all_jobs() {
            jobs.end().await;
        }
    }
}

/// A call whose arguments are read.
enum Prepared {
    Bash(bash::Call),
    Read(read::Call),
    Write(write::Call),
    Edit(edit::Call),
    Glob(search::glob::Call),
    Grep(search::grep::Call),
    Webfetch(webfetch::Call),
    Todowrite(Vec<Todo>),
    Question(Vec<Question>),
    Skill(String),
}

/// Runs what waits for the disk off the runtime's thread. It looks at its own `stop`.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolFailure> + Send + 'static,
) -> Result<T, ToolFailure> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(_) => Err(ToolFailure::failed(
            "The tool failed unexpectedly: this is a fault of Beeuni.",
        )),
    }
}

fn private_folder(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))
}
