//! A model that answers from a script and remembers what it was asked, and a project whose agent asks it.
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use beeuni_gateway::testing::{Answer, RecordedRequest, ScriptedServer};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::support::{PATIENCE, Ran, Shell, with_bun};

/// The provider's key: it must show nowhere.
pub(crate) const KEY: &str = "sk-test-0123456789abcdef";

/// A project, and a model behind the provider `custom`.
pub(crate) struct Run {
    pub(crate) shell: Shell,
    server: ScriptedServer,
    // After the server, which ends in it.
    runtime: Runtime,
}

impl Run {
    /// A project with the tool `probe`, whose execute has this body, and an agent without rules.
    pub(crate) fn new(body: &str) -> Self {
        Self::with_agent(body, "")
    }

    /// The same with these lines in the head of the agent's file.
    pub(crate) fn with_agent(body: &str, head: &str) -> Self {
        let shell = Shell::with_manifest(
            "beeuni_version: 2\ntools: { probe: tools/probe.ts, memory: 'beeuni:memory' }\nagents: { beeuni: {} }\n",
        );
        shell.write(
            "agents/beeuni.md",
            format!("---\ndescription: An agent.\n{head}---\nYou help.\n"),
        );
        shell.write(
            "tools/probe.ts",
            format!(
                "export default {{\n  description: 'A probe.',\n  parameters: {{ type: 'object', properties: {{}} }},\n  async execute(args: any, context: any) {{\n    {body}\n  }},\n}}\n"
            ),
        );
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let server = runtime.block_on(ScriptedServer::start());
        server.on(
            "/v1/models",
            Answer::json(200, &json!({ "data": [{ "id": "scripted" }] })),
        );
        Self { shell, server, runtime }
    }

    /// The model's next answer.
    pub(crate) fn answers(&self, answer: Answer) -> &Self {
        self.server.push(answer);
        self
    }

    /// Its next answer is this text.
    pub(crate) fn says(&self, text: &str) -> &Self {
        self.answers(Answer::text(text))
    }

    /// Its next answer is a call of this tool.
    pub(crate) fn calls(&self, tool: &str, arguments: &Value) -> &Self {
        self.answers(Answer::tool_calls(&[("call_1", tool, &arguments.to_string())]))
    }

    /// The provider's list of models.
    pub(crate) fn lists(&self, answer: Answer) -> &Self {
        self.server.on("/v1/models", answer);
        self
    }

    /// Puts a page on the web, which is this machine here; its address.
    pub(crate) fn serves(&self, html: &str) -> String {
        self.server
            .on("/page", Answer::new(200, "text/html; charset=utf-8", html.to_owned()));
        format!("{}/page", self.server.url())
    }

    /// What the model was asked so far.
    pub(crate) fn asked(&self) -> Vec<RecordedRequest> {
        let mut requests = self.server.requests();
        requests.retain(|request| request.path() == "/v1/chat/completions");
        requests
    }

    /// The messages of the request number `at`.
    pub(crate) fn messages(&self, at: usize) -> Vec<Value> {
        let asked = self.asked();
        let request = asked
            .get(at)
            .unwrap_or_else(|| panic!("the model was asked {} times", asked.len()));
        request.json()["messages"].as_array().unwrap().clone()
    }

    /// Waits until the model was asked so often.
    pub(crate) fn until_asked(&self, times: usize) {
        until(&format!("{times} requests to the model"), || {
            (self.asked().len() >= times).then_some(())
        });
    }

    /// `beeuni run` with these arguments and the model set up.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.bare(&[&["run"], args].concat());
        command
            .env("BEEUNI_LLM_BASE_URL", self.server.base_url())
            .env("BEEUNI_LLM_API_KEY", KEY)
            .env("BEEUNI_MODEL", "custom/scripted");
        command
    }

    /// `beeuni` with these arguments and no model set up, whatever runs on this machine.
    pub(crate) fn bare(&self, args: &[&str]) -> Command {
        let mut command = self.shell.command(args);
        with_bun(&mut command);
        command.env("BEEUNI_OLLAMA", "off");
        command
    }

    /// Runs a prompt.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.shell.ran(&mut self.command(args)).timeless()
    }

    /// Starts a prompt with its output in pipes.
    pub(crate) fn start(&self, args: &[&str]) -> Child {
        let mut command = self.command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// The events of a run with `--json`, and its last line.
    pub(crate) fn events(ran: &Ran) -> (Vec<beeuni_protocol::session::Event>, Value) {
        let mut lines: Vec<&str> = ran.stdout.lines().collect();
        let last = lines.pop().unwrap_or_else(|| panic!("nothing on stdout: {ran}"));
        let event =
            |line: &&str| serde_json::from_str(line).unwrap_or_else(|error| panic!("no event ({error}): {line}"));
        (lines.iter().map(event).collect(), serde_json::from_str(last).unwrap())
    }

    /// Lets a test wait for what the server does.
    pub(crate) fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }
}

/// Sends a signal.
pub(crate) fn signal(child: &Child, name: &str) {
    let killed = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status()
        .unwrap();
    assert!(killed.success(), "kill {name} failed");
}

/// Waits until `condition` gives something.
pub(crate) fn until<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(begin.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
