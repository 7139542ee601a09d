//! A project, a scripted model, tools made of closures, and a session of the standard harness between them.
use std::collections::HashMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use beeuni_agent::harness_tools::BoxFuture;
use beeuni_agent::{AgentDefinition, HostedTools, Setup};
use beeuni_gateway::testing::ScriptedServer;
use beeuni_gateway::{Gateway, GatewayConfig, Limits, ProviderConfig};
use beeuni_manifest::{PermissionAction, PermissionRule, Place, SelectedTool, ToolKind, ToolSource};
use beeuni_opencode::server::{find_opencode, find_ripgrep};
use beeuni_opencode::{Config, OpenCode, Settings};
use beeuni_protocol::session::{
    Event, EventBody, Message, OnAsk, PartBody, PromptAnswer, PromptRequest, ToolCall, TurnEnded,
};
use beeuni_tools::{CallError, LoadReport, LoadedTool, SecretValue, sandbox_env};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::bridge::Bridge;

pub(crate) const KEY: &str = "bridge-key-of-the-tests";
pub(crate) const MODEL: &str = "scripted/m1";
pub(crate) const ID: &str = "s1";
/// How long a test waits for something that should happen at once. OpenCode takes seconds on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Desk {
    folder: tempfile::TempDir,
    pub(crate) server: ScriptedServer,
    pub(crate) tools: Arc<TestTools>,
    pub(crate) setup: Setup,
    pub(crate) settings: Settings,
}

/// An open session, with the bridge that it needs.
pub(crate) struct Open {
    pub(crate) opencode: OpenCode,
    _bridge: Bridge,
}

/// A desk with one agent, `beeuni`, that may use everything.
pub(crate) async fn desk() -> Desk {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("project")).unwrap();
    Desk {
        server: ScriptedServer::start().await,
        tools: TestTools::new(),
        setup: Setup {
            agents: vec![AgentDefinition::new("beeuni", "You are the agent.")],
            default_agent: Some("beeuni".to_owned()),
            model: Some(MODEL.to_owned()),
            ..Setup::default()
        },
        settings: Settings::default(),
        folder,
    }
}

impl Desk {
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let file = self.project().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    pub(crate) fn agent(&mut self, name: &str) -> &mut AgentDefinition {
        if self.setup.agent(name).is_none() {
            let agent = AgentDefinition::new(name, format!("You are {name}."));
            self.setup.agents.push(agent);
        }
        self.setup.agents.iter_mut().find(|agent| agent.name == name).unwrap()
    }

    /// Adds a permission rule to an agent.
    pub(crate) fn rule(&mut self, agent: &str, capability: &str, pattern: &str, action: PermissionAction) {
        let rule = PermissionRule {
            capability: capability.to_owned(),
            pattern: pattern.to_owned(),
            action,
            place: Place {
                file: format!("agents/{agent}.md"),
                line: 7,
                column: 1,
            },
        };
        self.agent(agent).permission.push(rule);
    }

    pub(crate) fn gateway(&self) -> Gateway {
        Gateway::new(GatewayConfig {
            providers: vec![ProviderConfig {
                name: "scripted".to_owned(),
                base_url: self.server.base_url(),
                key: None,
                models: vec!["m1".to_owned(), "m2".to_owned()],
            }],
            limits: Limits {
                first_pause: Duration::from_millis(5),
                ..Limits::default()
            },
            ..GatewayConfig::default()
        })
    }

    pub(crate) fn config(&self, bridge: &str) -> Config {
        let runtime = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runtime");
        let runtime = runtime.canonicalize().unwrap();
        Config {
            id: ID.to_owned(),
            state: self.root().join("state"),
            folder: self.root().join("opencode"),
            outside: Vec::new(),
            checkout: self.project(),
            program: find_opencode(&runtime).expect("`make test` installs OpenCode"),
            ripgrep: Some(find_ripgrep(&runtime).expect("`make test` installs ripgrep")),
            guard: PathBuf::from(env!("CARGO_BIN_EXE_beeuni-opencode-test-guard")),
            config_source: self.project().join("harnesses/opencode"),
            env: sandbox_env(&[]),
            bridge_url: bridge.to_owned(),
            bridge_key: SecretValue::new(KEY),
            gateway: self.gateway(),
            hosted: self.tools.clone(),
            redact: Arc::new(|text| text.replace("s3cr3t-value", "[redacted]")),
            written: Arc::new(|_, _| None),
            home: Some("/home/nobody".to_owned()),
            settings: self.settings.clone(),
        }
    }

    /// Opens the session: the first time a new one, then the stored one.
    pub(crate) async fn open(&self) -> Open {
        let bridge = Bridge::start(self.gateway(), self.tools.clone()).await;
        let opencode = OpenCode::start(self.config(&bridge.url), self.setup.clone()).await;
        let opencode = opencode.unwrap();
        bridge.serve(&opencode);
        Open {
            opencode,
            _bridge: bridge,
        }
    }

    /// The bodies of the chat requests so far.
    pub(crate) fn bodies(&self) -> Vec<Value> {
        let requests = self.server.requests().into_iter();
        requests
            .filter(|request| request.path() == "/v1/chat/completions")
            .map(|request| request.json())
            .collect()
    }

    /// Waits until this many chat requests came.
    pub(crate) async fn wait_for_chats(&self, number: usize) -> Vec<Value> {
        until(&format!("{number} chat requests"), || self.bodies().len() >= number).await;
        self.bodies()
    }
}

impl Open {
    pub(crate) async fn prompt(&self, prompt: PromptRequest) -> PromptAnswer {
        self.opencode.prompt(ID, prompt).await.unwrap()
    }

    /// Prompts and waits for the end.
    pub(crate) async fn say(&self, text: &str) -> TurnEnded {
        self.say_with(text, |_| {}).await
    }

    pub(crate) async fn say_with(&self, text: &str, change: impl FnOnce(&mut PromptRequest)) -> TurnEnded {
        let mut prompt = said(text);
        change(&mut prompt);
        let answer = self.prompt(prompt).await;
        self.ended(&answer.turn).await
    }

    /// Waits for the end of a turn.
    pub(crate) async fn ended(&self, turn: &str) -> TurnEnded {
        let ended = |event: &Event| match &event.body {
            EventBody::TurnEnded(ended) if ended.turn == turn => Some(ended.clone()),
            _ => None,
        };
        self.event("the turn's end", ended).await
    }

    /// Waits for an event, from the beginning of the session on.
    pub(crate) async fn event<T>(&self, what: &str, wanted: impl Fn(&Event) -> Option<T>) -> T {
        let mut events = self.opencode.events(Some(0));
        let finding = async {
            loop {
                let event = events.next().await.unwrap().expect("the session is open");
                if let Some(found) = wanted(&event) {
                    return found;
                }
            }
        };
        tokio::time::timeout(PATIENCE, finding)
            .await
            .unwrap_or_else(|_| panic!("waited in vain for {what}"))
    }

    /// Everything that happened so far.
    pub(crate) fn history(&self) -> Vec<Arc<Event>> {
        let mut stream = self.opencode.events(Some(0));
        std::iter::from_fn(|| stream.try_next().unwrap()).collect()
    }

    pub(crate) fn messages(&self) -> Vec<Message> {
        self.messages_of(ID)
    }

    pub(crate) fn messages_of(&self, session: &str) -> Vec<Message> {
        self.opencode.messages(session, None, usize::MAX).unwrap().messages
    }

    /// Every tool call of the session, in order.
    pub(crate) fn calls(&self) -> Vec<ToolCall> {
        calls_of(&self.messages())
    }

    pub(crate) fn last_text(&self) -> String {
        text_of(self.messages().last().unwrap())
    }

    pub(crate) async fn close(self) {
        self.opencode.close(Duration::ZERO).await;
    }
}

pub(crate) fn said(text: &str) -> PromptRequest {
    PromptRequest {
        text: text.to_owned(),
        ..PromptRequest::default()
    }
}

pub(crate) fn asked(text: &str, on_ask: OnAsk) -> PromptRequest {
    PromptRequest {
        on_ask: Some(on_ask),
        ..said(text)
    }
}

pub(crate) fn calls_of(messages: &[Message]) -> Vec<ToolCall> {
    let parts = messages.iter().flat_map(|message| &message.parts);
    parts
        .filter_map(|part| match &part.body {
            PartBody::Tool(call) => Some(call.clone()),
            _ => None,
        })
        .collect()
}

pub(crate) fn text_of(message: &Message) -> String {
    let parts = message.parts.iter();
    parts
        .filter_map(|part| match &part.body {
            PartBody::Text(part) => Some(part.text.as_str()),
            _ => None,
        })
        .collect()
}

/// The results in a request: call id and content.
pub(crate) fn results(body: &Value) -> Vec<(String, String)> {
    let messages = body["messages"].as_array().unwrap().iter();
    messages
        .filter(|message| message["role"] == "tool")
        .map(|message| {
            let text = |key: &str| message[key].as_str().unwrap().to_owned();
            (text("tool_call_id"), text("content"))
        })
        .collect()
}

/// Everything that people and harness say in a request.
pub(crate) fn user_texts(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().unwrap().iter();
    messages
        .filter(|message| message["role"] == "user")
        .map(|message| match &message["content"] {
            Value::String(text) => text.clone(),
            parts => parts.to_string(),
        })
        .collect()
}

pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting)
        .await
        .unwrap_or_else(|_| panic!("waited in vain for {what}"));
}

type Body = Arc<dyn Fn(String) -> BoxFuture<'static, Result<String, String>> + Send + Sync>;

/// Tools that a test defines, and what they were called with.
#[derive(Default)]
pub(crate) struct TestTools {
    known: Mutex<HashMap<String, (LoadedTool, Body)>>,
    report: Mutex<Arc<LoadReport>>,
    /// Tool, arguments, agent.
    pub(crate) called: Mutex<Vec<(String, String, String)>>,
}

impl TestTools {
    fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Defines a project tool and loads it.
    pub(crate) fn add<F>(&self, name: &str, body: impl Fn(String) -> F + Send + Sync + 'static) -> &Self
    where
        F: Future<Output = Result<String, String>> + Send + 'static,
    {
        let loaded = LoadedTool {
            description: format!("The tool {name}"),
            parameters: RawValue::from_string(r#"{"type":"object","properties":{}}"#.to_owned()).unwrap(),
            tool: selected(name),
        };
        let mut report = self.report.lock().unwrap();
        let mut tools = report.tools.clone();
        tools.retain(|other| other.tool.name != name);
        tools.push(loaded.clone());
        *report = Arc::new(LoadReport {
            tools,
            failed: Vec::new(),
        });
        let body: Body = Arc::new(move |args| Box::pin(body(args)));
        self.known.lock().unwrap().insert(name.to_owned(), (loaded, body));
        self
    }

    /// A tool that gives back its arguments.
    pub(crate) fn echo(&self, name: &str) -> &Self {
        self.add(name, |args| async move { Ok(args) })
    }

    pub(crate) fn names_called(&self) -> Vec<String> {
        let called = self.called.lock().unwrap();
        called.iter().map(|(tool, ..)| tool.clone()).collect()
    }
}

pub(crate) fn selected(name: &str) -> SelectedTool {
    SelectedTool {
        name: name.to_owned(),
        kind: ToolKind::Project,
        source: ToolSource::Module(format!("tools/{name}.ts")),
    }
}

impl HostedTools for TestTools {
    fn load<'a>(&'a self, tools: &'a [SelectedTool]) -> BoxFuture<'a, Arc<LoadReport>> {
        let known = self.known.lock().unwrap();
        let loaded = tools.iter().filter_map(|tool| known.get(&tool.name));
        let report = Arc::new(LoadReport {
            tools: loaded.map(|(loaded, _)| loaded.clone()).collect(),
            failed: Vec::new(),
        });
        *self.report.lock().unwrap() = Arc::clone(&report);
        Box::pin(async move { report })
    }

    fn report(&self) -> Arc<LoadReport> {
        Arc::clone(&self.report.lock().unwrap())
    }

    fn call<'a>(&'a self, tool: &'a str, args: &'a str, agent: &'a str) -> BoxFuture<'a, Result<String, CallError>> {
        let body = self.known.lock().unwrap().get(tool).map(|(_, body)| Arc::clone(body));
        let called = (tool.to_owned(), args.to_owned(), agent.to_owned());
        self.called.lock().unwrap().push(called);
        Box::pin(async move {
            let body = body.ok_or_else(|| CallError::NotLoaded(tool.to_owned()))?;
            body(args.to_owned()).await.map_err(CallError::Failed)
        })
    }
}
