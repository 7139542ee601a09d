//! A daemon with the experimental harness, and the conversation with it over its routes.
use std::process::Command;

use serde_json::{Value, json};

use super::{Daemon, KEY, Model, Project, Reply, until};

/// The session's id.
pub(crate) const SESSION: &str = "s-1";

/// A project, a scripted model, and a daemon that talks to it.
pub(crate) struct Talk {
    pub(crate) daemon: Daemon,
    pub(crate) project: Project,
    pub(crate) model: Model,
}

impl Talk {
    /// A daemon on [`Project::new`] with these tools.
    pub(crate) fn new(tools: &[(&str, &str)]) -> Self {
        Self::on(Project::new(tools))
    }

    /// A daemon on a project.
    pub(crate) fn on(project: Project) -> Self {
        let model = Model::new();
        let daemon = Daemon::start(command(&project, &model));
        Self { daemon, project, model }
    }

    /// A daemon on a project with one of the harnesses.
    pub(crate) fn on_harness(project: Project, harness: &str) -> Self {
        let model = Model::new();
        let mut command = harness_command(&project, harness);
        with_model(&mut command, &model);
        let daemon = Daemon::start(command);
        Self { daemon, project, model }
    }

    /// The same daemon once more, after the first has ended.
    pub(crate) fn again(self) -> Self {
        let Self { daemon, project, model } = self;
        drop(daemon);
        let daemon = Daemon::start(command(&project, &model));
        Self { daemon, project, model }
    }

    /// The same with this harness, after the first has ended.
    pub(crate) fn again_on(self, harness: &str) -> Self {
        let Self { daemon, project, model } = self;
        drop(daemon);
        let mut command = harness_command(&project, harness);
        with_model(&mut command, &model);
        let daemon = Daemon::start(command);
        Self { daemon, project, model }
    }

    /// A request to a route of the session.
    pub(crate) fn get(&self, route: &str) -> Reply {
        self.daemon
            .ask("GET", &format!("/beeuni/sessions/{SESSION}{route}"), "")
    }

    /// A request to a route of the session.
    pub(crate) fn post(&self, route: &str, body: &Value) -> Reply {
        self.daemon
            .ask("POST", &format!("/beeuni/sessions/{SESSION}{route}"), &body.to_string())
    }

    /// Prompts; what came back, which must be a success.
    pub(crate) fn prompt(&self, body: &Value) -> Value {
        let reply = self.post("/prompt", body);
        assert_eq!(reply.status, 202, "{}", reply.body);
        reply.json()
    }

    /// Prompts with a text and waits for the end of its turn; the messages since.
    pub(crate) fn say(&self, text: &str) -> Vec<Value> {
        let before = self.messages().len();
        self.prompt(&json!({ "text": text }));
        self.until_idle();
        self.messages().split_off(before)
    }

    /// Waits until no turn runs.
    pub(crate) fn until_idle(&self) {
        until("the turn to end", || (self.state()["activity"] == "idle").then_some(()));
    }

    /// How the session stands.
    pub(crate) fn state(&self) -> Value {
        self.get("").json()
    }

    /// All messages.
    pub(crate) fn messages(&self) -> Vec<Value> {
        self.get("/messages").json()["messages"].as_array().unwrap().clone()
    }

    /// Every tool call of the session.
    pub(crate) fn tool_calls(&self) -> Vec<Value> {
        parts(&self.messages(), "tool")
    }
}

/// The parts of a kind in messages.
pub(crate) fn parts(messages: &[Value], kind: &str) -> Vec<Value> {
    let parts = messages
        .iter()
        .flat_map(|message| message["parts"].as_array().into_iter().flatten());
    parts.filter(|part| part["type"] == kind).cloned().collect()
}

/// The command of a daemon with the experimental harness and the scripted model.
pub(crate) fn command(project: &Project, model: &Model) -> Command {
    let mut command = harness_command(project, "experimental");
    with_model(&mut command, model);
    command
}

/// The command of a daemon with a harness, and no model but the built-in one.
pub(crate) fn harness_command(project: &Project, harness: &str) -> Command {
    project.command(&["--harness", harness, "--session", SESSION])
}

fn with_model(command: &mut Command, model: &Model) {
    command
        .env("BEEUNI_LLM_BASE_URL", model.server.base_url())
        .env("BEEUNI_LLM_API_KEY", KEY)
        .env("BEEUNI_MODEL", "custom/scripted");
}
