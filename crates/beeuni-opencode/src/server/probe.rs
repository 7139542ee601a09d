//! Whether OpenCode can work with the project's own configuration, found out in a folder that no session uses.
//!
//! A configuration that OpenCode refuses spoils the folder for which it was read: every request fails from then on,
//! also one to read it again. So it is read for another folder first.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use beeuni_tools::SecretValue;
use serde::Deserialize;

use super::layout::{Layout, percent_encoded};
use super::{StartError, files, loopback};

/// How long OpenCode may take to read a configuration.
const LONGEST: Duration = Duration::from_secs(30);
/// The user that the password belongs to.
const USER: &str = "opencode";
/// What asking needs.
const CATALOGUE: [&str; 2] = ["/experimental/tool/ids", "/agent"];

/// What OpenCode says.
#[derive(Debug)]
pub(super) enum Said {
    /// It can, and has these tools; one that stands twice is defined twice.
    Fine { tools: Vec<String> },
    /// It cannot, because of this file where it says so.
    Refused { file: Option<PathBuf>, reason: String },
}

#[derive(Deserialize, Default)]
struct Refusal {
    #[serde(default)]
    data: Data,
}

#[derive(Deserialize, Default)]
struct Data {
    path: Option<PathBuf>,
    message: Option<String>,
    #[serde(default)]
    issues: Vec<Issue>,
}

#[derive(Deserialize)]
struct Issue {
    #[serde(default)]
    path: Vec<serde_json::Value>,
    #[serde(default)]
    message: String,
}

/// Asks a running OpenCode.
#[derive(Debug)]
pub(super) struct Prober {
    client: reqwest::Client,
    next: AtomicU64,
}

impl Prober {
    pub(super) fn new() -> Result<Self, StartError> {
        Ok(Self {
            client: loopback::client(LONGEST).map_err(StartError::Probe)?,
            next: AtomicU64::new(0),
        })
    }

    /// Reads the configuration for a folder of its own.
    pub(super) async fn ask(&self, layout: &Layout, url: &str, password: &SecretValue) -> Result<Said, StartError> {
        let folder = layout
            .trials
            .join(self.next.fetch_add(1, Ordering::Relaxed).to_string());
        files::folder(&folder)?;
        let address = |path: &str| format!("{url}{path}?directory={}", percent_encoded(&folder));
        let asking = |request: reqwest::RequestBuilder| request.basic_auth(USER, Some(password.expose())).send();
        let mut tools = Vec::new();
        for (at, path) in CATALOGUE.iter().enumerate() {
            let answer = asking(self.client.get(address(path))).await;
            let answer = answer.map_err(|source| StartError::Probe(Box::new(source)))?;
            let status = answer.status();
            let body = answer
                .bytes()
                .await
                .map_err(|source| StartError::Probe(Box::new(source)))?;
            if !status.is_success() {
                return Ok(refused(&body));
            }
            if at == 0 {
                tools = serde_json::from_slice(&body).map_err(|source| StartError::Probe(Box::new(source)))?;
            }
        }
        // It costs memory as long as it is open; that it stays open would do no harm.
        let _ = asking(self.client.post(address("/instance/dispose"))).await;
        files::remove(&folder)?;
        Ok(Said::Fine { tools })
    }
}

impl Prober {
    /// Drops everything that was read, so that the next request reads it again. Ends turns and streams of events.
    ///
    /// Of one folder OpenCode would drop it some time after the answer; what a request reads in between stays for good,
    /// and it may be the configuration before the plugin has spoken.
    pub(super) async fn dispose(&self, url: &str, password: &SecretValue) -> Result<(), StartError> {
        let answer = self
            .client
            .post(format!("{url}/global/dispose"))
            .basic_auth(USER, Some(password.expose()))
            .send()
            .await;
        let answer = answer.and_then(reqwest::Response::error_for_status);
        answer.map(drop).map_err(|source| StartError::Probe(Box::new(source)))
    }

    /// The agents and the tools that there are in a folder.
    pub(super) async fn known(&self, folder: &Path, url: &str, password: &SecretValue) -> Result<Known, StartError> {
        #[derive(Deserialize)]
        struct Agent {
            name: String,
        }
        let failed = |source: reqwest::Error| StartError::Probe(Box::new(source));
        let mut bodies = Vec::new();
        for path in ["/agent", "/experimental/tool/ids"] {
            let url = format!("{url}{path}?directory={}", percent_encoded(folder));
            let asking = self.client.get(url).basic_auth(USER, Some(password.expose()));
            let answer = asking.send().await.map_err(failed)?;
            let is_fine = answer.status().is_success();
            let body = answer.bytes().await.map_err(failed)?;
            if !is_fine && let Said::Refused { reason, .. } = refused(&body) {
                return Err(StartError::Refused(reason));
            }
            bodies.push(body);
        }
        let understood = |source: serde_json::Error| StartError::Probe(Box::new(source));
        let agents: Vec<Agent> = serde_json::from_slice(&bodies[0]).map_err(understood)?;
        Ok(Known {
            agents: agents.into_iter().map(|agent| agent.name).collect(),
            tools: serde_json::from_slice(&bodies[1]).map_err(understood)?,
        })
    }
}

/// What OpenCode knows in a folder.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) agents: BTreeSet<String>,
    pub(super) tools: BTreeSet<String>,
}

fn refused(body: &[u8]) -> Said {
    let refusal: Refusal = serde_json::from_slice(body).unwrap_or_default();
    let issues = refusal.data.issues.iter().map(|issue| {
        let path: Vec<String> = issue
            .path
            .iter()
            .map(|part| part.as_str().map_or_else(|| part.to_string(), str::to_owned))
            .collect();
        format!("`{}`: {}", path.join("."), issue.message)
    });
    let mut reasons: Vec<String> = issues.collect();
    reasons.extend(refusal.data.message.map(|message| {
        // A parser's report of several lines.
        let parts: Vec<&str> = message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        parts.join(" ")
    }));
    Said::Refused {
        file: refusal.data.path,
        reason: if reasons.is_empty() {
            "OpenCode does not say why".to_owned()
        } else {
            reasons.join("; ")
        },
    }
}
