//! The standard harness: OpenCode as a child process.
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use beeuni_agent::Setup;
use beeuni_opencode::{BridgedCall as OpenCodeCall, Config, OpenCode, OpenCodeError, Settings, StartError};
use beeuni_protocol::session::{
    MessageList, PermissionAnswer, PermissionRequest, PromptAnswer, PromptRequest, QuestionAnswer, QuestionRequest,
    SessionState,
};
use beeuni_tools::{LoadReport, ToolHost};

use super::journal::JournalEvents;
use super::{BoxFuture, BridgedCall, EventSource, Given, Harness, HarnessError, HarnessPlace, HarnessStatus, Replaced};
use crate::error::DaemonError;
use crate::local::project::Reading;

/// How long ending OpenCode may take beyond the time that a running turn is given.
const CLOSING: Duration = Duration::from_secs(4);

/// OpenCode as a child process.
pub(crate) struct Standard {
    /// What it is started from; taken when it is.
    ingredients: Mutex<Option<(Config, Setup)>>,
    /// There once it has started.
    running: OnceLock<OpenCode>,
    host: ToolHost,
}

impl Standard {
    /// What `place` gives, not started yet.
    pub(crate) fn new(place: HarnessPlace<'_>) -> Result<Self, DaemonError> {
        let missing = |what| DaemonError::Harness(HarnessError::Failed(format!("the standard harness has no {what}")));
        let programs = place.programs.ok_or_else(|| missing("program"))?;
        let port = place.port.ok_or_else(|| missing("bridge"))?;
        let (options, hosting) = (place.options, place.hosting);
        let host = hosting.host.clone();
        let config = Config {
            id: place.id.to_owned(),
            state: absolute(&options.state)?,
            folder: absolute(&place.folder)?,
            outside: vec![hosting.output_dir.clone()],
            checkout: hosting.found.root.clone(),
            program: programs.opencode,
            ripgrep: programs.ripgrep,
            guard: options.guard.clone(),
            config_source: hosting.found.root.join(&place.reading.manifest.opencode_config_dir),
            env: hosting.command_env.clone(),
            bridge_url: port.url().to_owned(),
            bridge_key: port.key().clone(),
            gateway: place.gateway.clone(),
            hosted: Arc::new(host.clone()),
            redact: Arc::new({
                let host = host.clone();
                move |text| host.redact(text)
            }),
            written: Arc::new({
                let arguments = Arc::clone(&hosting.arguments);
                move |call, told| arguments.exact(call, told).map(|text| text.to_string())
            }),
            home: hosting.command_env.get("HOME").cloned(),
            settings: Settings {
                steps: options.settings.steps,
                ..Settings::default()
            },
        };
        Ok(Self {
            ingredients: Mutex::new(Some((config, place.reading.setup.clone()))),
            running: OnceLock::new(),
            host,
        })
    }

    async fn begin(&self, loading: BoxFuture<'_, Arc<LoadReport>>) -> Result<Arc<LoadReport>, HarnessError> {
        let ingredients = self.ingredients.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((config, setup)) = ingredients else {
            return Err(HarnessError::Failed("OpenCode was started already".to_owned()));
        };
        let opencode = OpenCode::start_while(config, setup, loading).await?;
        // Nobody else sets it: the ingredients are taken once.
        let _ = self.running.set(opencode);
        Ok(self.host.report())
    }

    fn running(&self) -> Result<&OpenCode, HarnessError> {
        self.running
            .get()
            .ok_or_else(|| HarnessError::Unavailable("OpenCode is still starting".to_owned()))
    }

    async fn allow(&self, call: BridgedCall<'_>) -> Result<String, String> {
        let opencode = self.running().map_err(|error| error.to_string())?;
        let origin = |part: fn(&beeuni_protocol::CallOrigin<'_>) -> String| call.origin.map(part).unwrap_or_default();
        let asked = OpenCodeCall {
            session: origin(|origin| origin.session.to_string()),
            message: origin(|origin| origin.message.to_string()),
            call: origin(|origin| origin.id.to_string()),
            agent: call.agent.to_owned(),
            tool: call.tool.to_owned(),
            args: call.args.to_owned(),
        };
        let permitted = opencode.permit(asked).await.map_err(|refusal| refusal.0)?;
        Ok(permitted.agent)
    }
}

impl Harness for Standard {
    fn status(&self) -> HarnessStatus {
        let Some(opencode) = self.running.get() else {
            return HarnessStatus {
                id: "standard",
                state: "starting",
                ready: false,
            };
        };
        let status = opencode.status();
        HarnessStatus {
            id: "standard",
            state: status.state,
            ready: status.ready,
        }
    }

    fn start<'a>(&'a self, loading: BoxFuture<'a, Arc<LoadReport>>) -> Given<'a, Arc<LoadReport>> {
        Box::pin(self.begin(loading))
    }

    fn permit<'a>(&'a self, call: BridgedCall<'a>) -> BoxFuture<'a, Result<Option<String>, String>> {
        Box::pin(async move { self.allow(call).await.map(Some) })
    }

    fn asks_no_more(&self, session: &str) -> bool {
        self.running
            .get()
            .is_some_and(|opencode| opencode.asks_no_more(session))
    }

    fn replaced(&self) -> Vec<Replaced> {
        let overridden = self.running.get().map(OpenCode::overridden).unwrap_or_default();
        let replaced = overridden.into_iter().map(|tool| Replaced {
            tool: tool.name,
            file: tool.file,
        });
        replaced.collect()
    }

    fn notices(&self) -> Vec<String> {
        self.running
            .get()
            .map(|opencode| opencode.status().notices)
            .unwrap_or_default()
    }

    fn idle(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Some(opencode) = self.running.get() {
                opencode.idle().await;
            }
        })
    }

    fn reload(&self, reading: Arc<Reading>) -> Given<'_, Arc<LoadReport>> {
        Box::pin(async move { Ok(self.running()?.reload(reading.setup.clone()).await?) })
    }

    fn prompt<'a>(&'a self, session: &'a str, prompt: PromptRequest) -> Given<'a, PromptAnswer> {
        Box::pin(async move { Ok(self.running()?.prompt(session, prompt).await?) })
    }

    fn abort<'a>(&'a self, session: &'a str) -> Given<'a, bool> {
        Box::pin(async move { Ok(self.running()?.abort(session).await?) })
    }

    fn messages<'a>(&'a self, session: &'a str, after: Option<&'a str>, limit: usize) -> Given<'a, MessageList> {
        Box::pin(async move { Ok(self.running()?.messages(session, after, limit)?) })
    }

    fn state<'a>(&'a self, session: &'a str) -> Given<'a, SessionState> {
        Box::pin(async move { Ok(self.running()?.state(session)?) })
    }

    fn children<'a>(&'a self, session: &'a str) -> Given<'a, Vec<SessionState>> {
        Box::pin(async move { Ok(self.running()?.children(session)?) })
    }

    fn events(&self, after: Option<u64>) -> Given<'_, Box<dyn EventSource>> {
        Box::pin(async move {
            let source: Box<dyn EventSource> = Box::new(JournalEvents(self.running()?.events(after)));
            Ok(source)
        })
    }

    fn permissions<'a>(&'a self, session: &'a str) -> Given<'a, Vec<PermissionRequest>> {
        Box::pin(async move { Ok(self.running()?.permissions(session)?) })
    }

    fn reply<'a>(&'a self, session: &'a str, request: &'a str, answer: PermissionAnswer) -> Given<'a, ()> {
        Box::pin(async move { Ok(self.running()?.reply(session, request, answer)?) })
    }

    fn questions<'a>(&'a self, session: &'a str) -> Given<'a, Vec<QuestionRequest>> {
        Box::pin(async move { Ok(self.running()?.questions(session)?) })
    }

    fn answer<'a>(&'a self, session: &'a str, request: &'a str, answer: Option<QuestionAnswer>) -> Given<'a, ()> {
        Box::pin(async move { Ok(self.running()?.answer(session, request, answer)?) })
    }

    fn close(&self, grace: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let Some(opencode) = self.running.get() else { return };
            // It may be in the middle of a start, which nobody waits for any more: what it has written is with the
            // system, and the process ends with this one.
            if tokio::time::timeout(grace + CLOSING, opencode.close(grace))
                .await
                .is_err()
            {
                tracing::warn!("OpenCode did not end in time");
            }
        })
    }
}

/// A path as a process with another working folder finds it.
fn absolute(path: &Path) -> Result<PathBuf, DaemonError> {
    std::path::absolute(path).map_err(|source| DaemonError::State {
        action: "find",
        path: path.to_owned(),
        source,
    })
}

impl From<OpenCodeError> for HarnessError {
    fn from(error: OpenCodeError) -> Self {
        match error {
            OpenCodeError::NoSession(id) => Self::NoSession(id),
            OpenCodeError::NotFound(text) => Self::NotFound(text),
            OpenCodeError::Invalid(text) => Self::Invalid(text),
            OpenCodeError::Busy(text) => Self::Busy(text),
            OpenCodeError::Unavailable(text) => Self::Unavailable(text),
            OpenCodeError::Failed(text) => Self::Failed(text),
        }
    }
}

impl From<StartError> for HarnessError {
    fn from(error: StartError) -> Self {
        // With its causes: whoever shows it sees the text only.
        let mut text = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(error) = cause {
            text.push_str(&format!(": {error}"));
            cause = error.source();
        }
        Self::Failed(text)
    }
}
