//! A client of OpenCode's HTTP interface. Every request but the stream of events has a deadline: OpenCode accepts some
//! requests and never answers them.
mod happening;
mod stream;
mod wire;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use beeuni_tools::SecretValue;
use reqwest::{Method, RequestBuilder, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::server::{loopback, percent_encoded};

pub(crate) use happening::Happening;
#[cfg(test)]
pub(crate) use happening::happening;
pub(crate) use stream::{Events, Incoming};
pub(crate) use wire::{
    CallState, ErrorInfo, MessageInfo, PartInfo, Permission, Questions, SessionInfo, Status, Tokens, WholeMessage,
    millis,
};

/// The user that OpenCode's password belongs to.
const USER: &str = "opencode";

/// After so long an answer does not come.
const SOON: Duration = Duration::from_secs(3);

/// A request that OpenCode did not do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    /// There is no client: the system has no TLS or no randomness.
    #[error("the client for OpenCode could not be made")]
    Setup(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// It could not be reached, or did not answer in time.
    #[error("OpenCode did not answer `{what}`: {}", told(source))]
    Unreachable {
        /// Method and path.
        what: String,
        /// Why.
        source: reqwest::Error,
    },
    /// It refused.
    #[error("OpenCode answered `{what}` with {status}: {text}")]
    Refused {
        /// Method and path.
        what: String,
        /// The status.
        status: StatusCode,
        /// What it said.
        text: String,
    },
    /// It answered something else than it does in the version that Beeuni is made for.
    #[error("OpenCode's answer to `{what}` could not be understood")]
    Answer {
        /// Method and path.
        what: String,
        /// Why.
        source: serde_json::Error,
    },
}

impl ClientError {
    /// Whether there is no such thing.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Refused { status, .. } if *status == StatusCode::NOT_FOUND)
    }
}

/// An error with its causes: that of the HTTP library only says that there is one.
fn told(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// A client of one server. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    url: Arc<str>,
    password: Arc<SecretValue>,
    directory: Arc<str>,
    answer: Duration,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("url", &self.url).finish_non_exhaustive()
    }
}

/// What a prompt says.
#[derive(Debug, Clone)]
pub(crate) struct Said<'a> {
    pub(crate) message: &'a str,
    pub(crate) agent: &'a str,
    /// `provider/model`, Beeuni's.
    pub(crate) model: &'a str,
    pub(crate) text: &'a str,
    pub(crate) files: &'a [beeuni_protocol::session::Attachment],
}

impl Said<'_> {
    fn body(&self, no_reply: bool) -> Value {
        let mut parts = Vec::new();
        if !self.text.is_empty() {
            parts.push(json!({ "type": "text", "text": self.text }));
        }
        for file in self.files {
            let mut part = json!({ "type": "file", "mime": file.mime, "url": file.url });
            if let Some(name) = &file.name {
                part["filename"] = name.as_str().into();
            }
            parts.push(part);
        }
        let mut body = json!({
            "messageID": self.message,
            "agent": self.agent,
            "model": { "providerID": crate::server::PROVIDER, "modelID": self.model },
            "parts": parts,
        });
        if no_reply {
            body["noReply"] = true.into();
        }
        body
    }
}

impl Client {
    /// A client of the server at `url`, for sessions in `directory`.
    pub(crate) fn new(
        url: &str,
        password: &SecretValue,
        directory: &Path,
        answer: Duration,
    ) -> Result<Self, ClientError> {
        let setup = |error: Box<dyn std::error::Error + Send + Sync>| ClientError::Setup(error);
        let http = loopback::builder()
            .map_err(setup)?
            .connect_timeout(Duration::from_secs(5))
            .build()
            .map_err(|error| setup(error.into()))?;
        Ok(Self {
            http,
            url: url.trim_end_matches('/').into(),
            password: Arc::new(password.clone()),
            directory: directory.to_string_lossy().into(),
            answer,
        })
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http
            .request(method, format!("{}{path}", self.url))
            .basic_auth(USER, Some(self.password.expose()))
            .header("x-opencode-directory", percent_encoded(Path::new(&*self.directory)))
    }

    async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Result<String, ClientError> {
        let what = format!("{method} {path}");
        let mut request = self.request(method, path).timeout(self.answer);
        if let Some(body) = body {
            request = request
                .header("content-type", "application/json")
                .body(body.to_string());
        }
        let unreachable = |source| ClientError::Unreachable {
            what: what.clone(),
            source,
        };
        let response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        let text = response.text().await.map_err(unreachable)?;
        if !status.is_success() {
            let text = text.chars().take(500).collect();
            return Err(ClientError::Refused { what, status, text });
        }
        Ok(text)
    }

    /// Asks for something. What is not answered soon is asked for once more: OpenCode accepts some requests and never
    /// answers them.
    async fn ask(&self, path: &str) -> Result<String, ClientError> {
        let first = tokio::time::timeout(SOON, self.send(Method::GET, path, None)).await;
        match first {
            Ok(answered) => answered,
            Err(_) => self.send(Method::GET, path, None).await,
        }
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        let text = self.ask(path).await?;
        serde_json::from_str(&text).map_err(|source| ClientError::Answer {
            what: format!("GET {path}"),
            source,
        })
    }

    /// Makes a session. With a title: OpenCode would ask a model for one otherwise.
    pub(crate) async fn create(&self, title: &str, metadata: &Value) -> Result<String, ClientError> {
        #[derive(Deserialize)]
        struct Created {
            id: String,
        }
        let body = json!({ "title": title, "metadata": metadata });
        let text = self.send(Method::POST, "/session", Some(&body)).await?;
        let created: Created = serde_json::from_str(&text).map_err(|source| ClientError::Answer {
            what: "POST /session".to_owned(),
            source,
        })?;
        Ok(created.id)
    }

    /// Whether there is such a session.
    pub(crate) async fn has(&self, session: &str) -> Result<bool, ClientError> {
        match self.ask(&format!("/session/{session}")).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_missing() => Ok(false),
            // Ids of another form are refused as malformed.
            Err(ClientError::Refused { status, .. }) if status == StatusCode::BAD_REQUEST => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The newest messages of a session, oldest first; all of them without a limit.
    pub(crate) async fn messages(&self, session: &str, limit: Option<usize>) -> Result<Vec<WholeMessage>, ClientError> {
        let query = limit.map(|limit| format!("?limit={limit}")).unwrap_or_default();
        self.get(&format!("/session/{session}/message{query}")).await
    }

    /// The sessions that a session's calls made.
    pub(crate) async fn children(&self, session: &str) -> Result<Vec<SessionInfo>, ClientError> {
        self.get(&format!("/session/{session}/children")).await
    }

    /// Gives a prompt; OpenCode answers when it has stored it.
    pub(crate) async fn prompt(&self, session: &str, said: &Said<'_>) -> Result<(), ClientError> {
        let path = format!("/session/{session}/prompt_async");
        self.send(Method::POST, &path, Some(&said.body(false))).await.map(drop)
    }

    /// Stores a message without asking the model.
    pub(crate) async fn tell(&self, session: &str, said: &Said<'_>) -> Result<(), ClientError> {
        let path = format!("/session/{session}/message");
        self.send(Method::POST, &path, Some(&said.body(true))).await.map(drop)
    }

    /// Stops what a session is doing, and its subagents.
    pub(crate) async fn abort(&self, session: &str) -> Result<(), ClientError> {
        let path = format!("/session/{session}/abort");
        self.send(Method::POST, &path, None).await.map(drop)
    }

    /// What the sessions that are not idle are doing.
    pub(crate) async fn status(&self) -> Result<HashMap<String, Status>, ClientError> {
        self.get("/session/status").await
    }

    /// The permission requests that wait.
    pub(crate) async fn permissions(&self) -> Result<Vec<Permission>, ClientError> {
        self.get("/permission").await
    }

    /// The questions that wait.
    pub(crate) async fn questions(&self) -> Result<Vec<Questions>, ClientError> {
        self.get("/question").await
    }

    /// Answers a permission request: it may, or it may not for this reason.
    pub(crate) async fn reply(&self, request: &str, refusal: Option<&str>) -> Result<(), ClientError> {
        let body = match refusal {
            None => json!({ "reply": "once" }),
            Some(text) => json!({ "reply": "reject", "message": text }),
        };
        let path = format!("/permission/{request}/reply");
        self.send(Method::POST, &path, Some(&body)).await.map(drop)
    }

    /// Answers questions; with `None` they are rejected.
    pub(crate) async fn answer(&self, request: &str, answers: Option<&[Vec<String>]>) -> Result<(), ClientError> {
        let sent = match answers {
            Some(answers) => {
                let path = format!("/question/{request}/reply");
                self.send(Method::POST, &path, Some(&json!({ "answers": answers })))
                    .await
            }
            None => {
                let path = format!("/question/{request}/reject");
                self.send(Method::POST, &path, Some(&json!({}))).await
            }
        };
        sent.map(drop)
    }

    /// Follows what happens, from now on.
    pub(crate) fn events(&self) -> Events {
        Events::open(self.clone())
    }
}
