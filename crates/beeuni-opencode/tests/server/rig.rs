//! A project, a scripted model and daemon, and a real OpenCode between them.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use beeuni_agent::{AgentDefinition, Setup};
use beeuni_gateway::testing::{Answer, RecordedRequest, ScriptedServer};
use beeuni_opencode::server::{Bridge, Given, HostedTool, Place, Server, find_opencode, find_ripgrep, loopback_client};
use beeuni_tools::{SecretValue, sandbox_env};
use serde_json::value::RawValue;
use serde_json::{Value, json};

pub(crate) const KEY: &str = "bridge-key-of-the-tests";
pub(crate) const MODEL: &str = "tests/m1";
const LONGEST: Duration = Duration::from_secs(60);

pub(crate) struct Rig {
    _folder: tempfile::TempDir,
    pub(crate) daemon: ScriptedServer,
    pub(crate) place: Place,
    pub(crate) given: Given,
}

/// A hosted tool.
pub(crate) fn hosted(name: &str, parameters: &str) -> HostedTool {
    HostedTool {
        name: name.to_owned(),
        description: format!("The hosted tool {name}."),
        parameters: RawValue::from_string(parameters.to_owned()).unwrap(),
    }
}

/// An agent with a prompt of its own, so that a request shows whose it is.
pub(crate) fn agent(name: &str) -> AgentDefinition {
    AgentDefinition::new(name, format!("You are {name}."))
}

impl Rig {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let checkout = root.join("work");
        std::fs::create_dir(&checkout).unwrap();
        let made = std::process::Command::new("git")
            .args(["init", "-q"])
            .arg(&checkout)
            .status();
        assert!(made.unwrap().success());
        let daemon = ScriptedServer::start().await;
        daemon.respond_with(model);
        let runtime = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../runtime")
            .canonicalize()
            .unwrap();
        let place = Place {
            program: find_opencode(&runtime).expect("`make test` installs OpenCode"),
            ripgrep: Some(find_ripgrep(&runtime).expect("`make test` installs ripgrep")),
            guard: PathBuf::from(env!("CARGO_BIN_EXE_beeuni-opencode-test-guard")),
            folder: root.join("opencode"),
            config_source: checkout.join("harnesses/opencode"),
            checkout,
            outside: vec![root.join("outputs")],
            env: sandbox_env(&[]),
            start: LONGEST,
        };
        let given = Given {
            setup: Arc::new(Setup::default()),
            tools: vec![hosted(
                "lookup_order",
                r#"{"type":"object","properties":{"id":{"type":"string"}}}"#,
            )],
            models: Vec::new(),
            default_model: MODEL.to_owned(),
            bridge: Bridge {
                url: daemon.url(),
                key: SecretValue::new(KEY),
            },
        };
        let mut rig = Self {
            _folder: folder,
            daemon,
            place,
            given,
        };
        rig.agents(vec![agent("beeuni")]);
        rig
    }

    /// Declares these agents, the first as the default.
    pub(crate) fn agents(&mut self, agents: Vec<AgentDefinition>) {
        self.setup(|setup| {
            setup.default_agent = agents.first().map(|agent| agent.name.clone());
            setup.agents = agents;
        });
    }

    pub(crate) fn setup(&mut self, change: impl FnOnce(&mut Setup)) {
        change(Arc::make_mut(&mut self.given.setup));
    }

    /// Writes a file of the project.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.place.checkout.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// What the daemon answers to calls of a tool.
    pub(crate) fn answers(&self, tool: &str, answer: Answer) {
        self.daemon.on(&format!("/beeuni/tools/{tool}"), answer);
    }

    pub(crate) async fn start(&self) -> Running {
        Running {
            server: Server::start(&self.place, &self.given).await.unwrap(),
            client: loopback_client(LONGEST).unwrap(),
            checkout: self.place.checkout.clone(),
        }
    }

    /// The requests to the model.
    pub(crate) fn asked(&self) -> Vec<Value> {
        let requests = self.daemon.requests().into_iter();
        requests.filter(is_model).map(|request| request.json()).collect()
    }

    /// The names of the tools in the first request since `before` requests.
    pub(crate) fn offered(&self, before: usize) -> Vec<String> {
        let asked = self.asked();
        let tools = asked[before]["tools"].as_array().cloned().unwrap_or_default();
        tools
            .iter()
            .map(|tool| tool["function"]["name"].as_str().unwrap().to_owned())
            .collect()
    }

    /// The calls that reached the daemon.
    pub(crate) fn calls(&self) -> Vec<RecordedRequest> {
        let requests = self.daemon.requests().into_iter();
        requests
            .filter(|request| request.path().starts_with("/beeuni/tools/"))
            .collect()
    }
}

pub(crate) struct Running {
    pub(crate) server: Server,
    pub(crate) client: reqwest::Client,
    checkout: PathBuf,
}

impl Running {
    pub(crate) async fn send(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let separator = if path.contains('?') { '&' } else { '?' };
        let directory = self.checkout.display();
        let url = format!("{}{path}{separator}directory={directory}", self.server.url());
        let mut request = self
            .client
            .request(method.parse().unwrap(), url)
            .basic_auth("opencode", Some(self.server.password().expose()));
        if let Some(body) = body {
            request = request
                .header("content-type", "application/json")
                .body(body.to_string());
        }
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let (status, body) = self.send("GET", path, None).await;
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    pub(crate) async fn session(&self) -> String {
        let (status, body) = self.send("POST", "/session", Some(json!({"title": "t"}))).await;
        assert_eq!(status, 200, "{body}");
        body["id"].as_str().unwrap().to_owned()
    }

    pub(crate) fn body(agent: &str, text: &str) -> Value {
        json!({"agent": agent, "parts": [{"type": "text", "text": text}]})
    }

    /// One prompt in a session of its own; every tool part of it.
    pub(crate) async fn prompt(&self, agent: &str, steps: &[Value]) -> Vec<Value> {
        let session = self.session().await;
        self.prompt_in(&session, agent, steps).await
    }

    pub(crate) async fn prompt_in(&self, session: &str, agent: &str, steps: &[Value]) -> Vec<Value> {
        let body = Self::body(agent, &script(steps));
        let (status, answer) = self
            .send("POST", &format!("/session/{session}/message"), Some(body))
            .await;
        assert_eq!(status, 200, "{answer}\n{}", self.server.last_lines().join("\n"));
        assert!(answer["info"]["error"].is_null(), "{answer}");
        self.tool_parts(session).await
    }

    pub(crate) async fn tool_parts(&self, session: &str) -> Vec<Value> {
        let messages = self.get(&format!("/session/{session}/message")).await;
        let parts = messages
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|message| message["parts"].as_array().unwrap());
        parts.filter(|part| part["type"] == "tool").cloned().collect()
    }

    /// Waits until this is so.
    pub(crate) async fn until<F: Future<Output = bool>>(&self, what: &str, mut is_so: impl FnMut() -> F) {
        until(what, &mut is_so).await;
    }
}

pub(crate) async fn until<F: Future<Output = bool>>(what: &str, is_so: &mut impl FnMut() -> F) {
    let deadline = std::time::Instant::now() + LONGEST;
    while !is_so().await {
        assert!(std::time::Instant::now() < deadline, "waited for this: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A user's text that makes the scripted model call these, one step after the other; a list is several at once.
pub(crate) fn script(steps: &[Value]) -> String {
    let steps = steps.iter().map(|step| format!("STEP {step}\n"));
    std::iter::once("Go.\n".to_owned()).chain(steps).collect()
}

/// A step: one call.
pub(crate) fn call(name: &str, args: &Value) -> Value {
    json!({"name": name, "args": args.to_string()})
}

fn is_model(request: &RecordedRequest) -> bool {
    request.path() == "/beeuni/llm/v1/chat/completions"
}

/// The scripted model: does the steps of the last text of the user's, then says that it is done.
fn model(request: &RecordedRequest) -> Option<Answer> {
    if !is_model(request) {
        return None;
    }
    let body = request.json();
    let messages = body["messages"].as_array().unwrap();
    let last = messages.iter().rposition(|message| message["role"] == "user")?;
    let text = match &messages[last]["content"] {
        Value::String(text) => text.clone(),
        parts => parts
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect(),
    };
    let steps: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("STEP ")).collect();
    let done = messages[last..]
        .iter()
        .filter(|message| !message["tool_calls"].is_null())
        .count();
    let Some(step) = steps.get(done) else {
        return Some(Answer::text("All done."));
    };
    let step: Value = serde_json::from_str(step).unwrap();
    let calls = if step.is_array() {
        step.as_array().unwrap().clone()
    } else {
        vec![step]
    };
    let named: Vec<(String, String, String)> = calls
        .iter()
        .enumerate()
        .map(|(at, call)| {
            let text = |key: &str| call[key].as_str().unwrap().to_owned();
            (format!("call_{done}_{at}"), text("name"), text("args"))
        })
        .collect();
    let calls: Vec<(&str, &str, &str)> = named.iter().map(|(id, name, args)| (&**id, &**name, &**args)).collect();
    Some(Answer::tool_calls(&calls))
}

/// What every part of a list says about itself, for messages.
pub(crate) fn outcomes(parts: &[Value]) -> BTreeMap<String, String> {
    let text = |part: &Value| {
        let state = &part["state"];
        let said = state["output"]
            .as_str()
            .or_else(|| state["error"].as_str())
            .unwrap_or_default();
        format!("{}: {said}", state["status"].as_str().unwrap())
    };
    parts
        .iter()
        .map(|part| (part["tool"].as_str().unwrap().to_owned(), text(part)))
        .collect()
}
