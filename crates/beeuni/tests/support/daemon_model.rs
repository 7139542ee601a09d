//! A model that answers from a script and remembers what it was asked.
use beeuni_gateway::testing::{Answer, RecordedRequest, ScriptedServer};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::until;

/// The provider's key: it must show nowhere.
pub(crate) const KEY: &str = "sk-provider-0123456789abcdef";

/// A scripted model behind the provider `custom`.
pub(crate) struct Model {
    pub(crate) server: ScriptedServer,
    // After the server, which ends in it.
    runtime: Runtime,
}

impl Model {
    pub(crate) fn new() -> Self {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).enable_all().build().unwrap();
        let server = runtime.block_on(ScriptedServer::start());
        server.on(
            "/v1/models",
            Answer::json(200, &json!({ "data": [{ "id": "scripted" }] })),
        );
        Self { server, runtime }
    }

    /// The next answer is this text.
    pub(crate) fn says(&self, text: &str) -> &Self {
        self.server.push(Answer::text(text));
        self
    }

    /// The next answer is these calls: `(id, tool, arguments)`.
    pub(crate) fn calls(&self, calls: &[(&str, &str, Value)]) -> &Self {
        let texts: Vec<String> = calls.iter().map(|(.., arguments)| arguments.to_string()).collect();
        let calls: Vec<(&str, &str, &str)> = calls
            .iter()
            .zip(&texts)
            .map(|((id, tool, _), text)| (*id, *tool, text.as_str()))
            .collect();
        self.server.push(Answer::tool_calls(&calls));
        self
    }

    /// What it was asked so far.
    pub(crate) fn asked(&self) -> Vec<RecordedRequest> {
        let mut requests = self.server.requests();
        requests.retain(|request| request.path() == "/v1/chat/completions");
        requests
    }

    /// Waits until it was asked so often; the last request's body.
    pub(crate) fn until_asked(&self, times: usize) -> Value {
        until(&format!("{times} requests to the model"), || {
            self.asked().get(times - 1).map(RecordedRequest::json)
        })
    }

    /// Waits until the client of the request number `at` has left before its answer was whole.
    pub(crate) fn until_left(&self, at: usize) {
        self.runtime.block_on(self.asked()[at].hung_up());
    }
}

/// The names of the tools in a request.
pub(crate) fn offered(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    tools
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap().to_owned())
        .collect()
}
