//! A session on a scripted model server, with tools of the test's own in place of Bun workers.
#![allow(
    dead_code,
    unused_imports,
    unreachable_pub,
    reason = "each test file uses its own part"
)]

pub mod real;
pub mod tools;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use beeuni_agent::harness_tools::{HarnessLimits, HarnessTools, HarnessToolsConfig, Skills};
use beeuni_agent::{AgentDefinition, PromptOptions, Session, SessionConfig, Settings, Setup, SkillShelf, TurnHandle};
use beeuni_gateway::testing::{Answer, RecordedRequest, ScriptedServer};
use beeuni_gateway::{Gateway, GatewayConfig, Limits, ProviderConfig};
use beeuni_protocol::session::{Event, EventBody, Message, PartBody, ToolCall, TurnEnded, TurnOutcome};
use serde_json::{Value, json};

pub use tools::{TestTools, tool};

/// How long a test waits for something that should happen at once.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The model that the scripted server plays.
pub const MODEL: &str = "scripted/m1";

pub struct Rig {
    pub server: ScriptedServer,
    pub folder: tempfile::TempDir,
    pub tools: Arc<TestTools>,
    pub settings: Settings,
    pub setup: Setup,
    pub window: Option<u64>,
}

/// A rig with one agent, `beeuni`, that may use everything.
pub async fn rig() -> Rig {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("project")).unwrap();
    Rig {
        server: ScriptedServer::start().await,
        folder,
        tools: TestTools::new(),
        settings: Settings::default(),
        setup: Setup {
            agents: vec![AgentDefinition::new("beeuni", "You are the agent.")],
            default_agent: Some("beeuni".to_owned()),
            model: Some(MODEL.to_owned()),
            ..Setup::default()
        },
        window: None,
    }
}

impl Rig {
    pub fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    pub fn write(&self, path: &str, text: &str) {
        let file = self.project().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    pub fn agent(&mut self, name: &str) -> &mut AgentDefinition {
        if self.setup.agent(name).is_none() {
            self.setup
                .agents
                .push(AgentDefinition::new(name, format!("You are {name}.")));
        }
        self.setup.agents.iter_mut().find(|agent| agent.name == name).unwrap()
    }

    pub fn config(&self) -> SessionConfig {
        let models = json!({ "data": [{ "id": "m1", "context_length": self.window }] });
        self.server.on("/v1/models", Answer::json(200, &models));
        let skills = SkillShelf::new(self.project());
        SessionConfig {
            id: "s1".to_owned(),
            state: self.folder.path().join("state"),
            checkout: self.project(),
            gateway: gateway(&self.server.base_url()),
            hosted: self.tools.clone(),
            harness: harness(self.folder.path(), &self.project(), &skills),
            skills,
            home: Some("/home/nobody".to_owned()),
            settings: self.settings.clone(),
        }
    }

    /// Opens the session: the first time a new one, then the stored one.
    pub fn open(&self) -> Session {
        Session::open(self.config(), self.setup.clone()).unwrap()
    }

    /// The chat requests so far, as they came.
    pub fn chats(&self) -> Vec<RecordedRequest> {
        let requests = self.server.requests();
        requests
            .into_iter()
            .filter(|request| request.path() == "/v1/chat/completions")
            .collect()
    }

    /// The bodies of the chat requests so far.
    pub fn bodies(&self) -> Vec<Value> {
        self.chats().iter().map(RecordedRequest::json).collect()
    }

    /// Waits until this many chat requests came.
    pub async fn wait_for_chats(&self, number: usize) -> Vec<Value> {
        wait_until(&format!("{number} chat requests"), || self.chats().len() >= number).await;
        self.bodies()
    }
}

pub fn gateway(base_url: &str) -> Gateway {
    Gateway::new(GatewayConfig {
        providers: vec![ProviderConfig {
            name: "scripted".to_owned(),
            base_url: base_url.to_owned(),
            key: None,
            models: Vec::new(),
        }],
        limits: Limits {
            first_pause: Duration::from_millis(5),
            ..Limits::default()
        },
        ..GatewayConfig::default()
    })
}

pub fn harness(folder: &Path, project: &Path, skills: &SkillShelf) -> HarnessTools {
    HarnessTools::new(HarnessToolsConfig {
        checkout: project.to_owned(),
        output_dir: folder.join("outputs"),
        free_folders: Vec::new(),
        env: BTreeMap::new(),
        // Commands need the real binary: their tests are beside it.
        guard: PathBuf::from("/nonexistent/beeuni"),
        redact: Arc::new(|text| text),
        reader: None,
        skills: Some(Arc::new(skills.clone()) as Arc<dyn Skills>),
        limits: HarnessLimits::default(),
    })
    .unwrap()
}

/// Waits for a turn's end.
pub async fn ended(turn: &mut TurnHandle) -> TurnEnded {
    tokio::time::timeout(PATIENCE, turn.ended())
        .await
        .expect("the turn ends")
}

/// Prompts and waits for the end.
pub async fn prompt(session: &Session, text: &str) -> TurnEnded {
    prompt_with(session, text, PromptOptions::default()).await
}

pub async fn prompt_with(session: &Session, text: &str, options: PromptOptions) -> TurnEnded {
    let mut turn = session.prompt(text, options).unwrap();
    ended(&mut turn).await
}

/// Prompts; the model must be done in the end. Gives what it said last.
pub async fn say(session: &Session, text: &str) -> String {
    let ended = prompt(session, text).await;
    assert_eq!(ended.outcome, TurnOutcome::Done, "{ended:?}");
    last_text(session)
}

pub fn messages(session: &Session) -> Vec<Message> {
    session.messages(0..usize::MAX).unwrap()
}

pub fn text_of(message: &Message) -> String {
    message
        .parts
        .iter()
        .filter_map(|part| match &part.body {
            PartBody::Text(part) => Some(part.text.as_str()),
            _ => None,
        })
        .collect()
}

pub fn last_text(session: &Session) -> String {
    text_of(messages(session).last().unwrap())
}

pub fn calls_of(messages: &[Message]) -> Vec<ToolCall> {
    messages
        .iter()
        .flat_map(|message| &message.parts)
        .filter_map(|part| match &part.body {
            PartBody::Tool(call) => Some(call.clone()),
            _ => None,
        })
        .collect()
}

/// Every tool call of the session, in order.
pub fn calls(session: &Session) -> Vec<ToolCall> {
    calls_of(&messages(session))
}

/// The names of the tools that a request offers.
pub fn offered(body: &Value) -> Vec<String> {
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    tools
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap().to_owned())
        .collect()
}

/// The results in a request: call id and content.
pub fn results(body: &Value) -> Vec<(String, String)> {
    let messages = body["messages"].as_array().unwrap();
    messages
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| {
            let text = |key: &str| message[key].as_str().unwrap().to_owned();
            (text("tool_call_id"), text("content"))
        })
        .collect()
}

pub fn roles(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().unwrap();
    messages
        .iter()
        .map(|message| message["role"].as_str().unwrap().to_owned())
        .collect()
}

/// Everything that happened so far.
pub fn history(session: &Session) -> Vec<Arc<Event>> {
    let mut stream = session.events(Some(0));
    std::iter::from_fn(|| stream.try_next().unwrap()).collect()
}

/// The kind of an event, as its wire form names it.
pub fn kind(body: &EventBody) -> String {
    serde_json::to_value(body).unwrap()["type"].as_str().unwrap().to_owned()
}

pub async fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting)
        .await
        .unwrap_or_else(|_| panic!("waited in vain for {what}"));
}
