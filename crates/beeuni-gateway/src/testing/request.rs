//! What a scripted server was sent.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::Value;
use tokio::sync::watch;

/// One request, as it came.
#[derive(Clone)]
pub struct RecordedRequest {
    /// The method.
    pub method: Method,
    /// Path and query, as sent.
    pub target: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body's bytes.
    pub body: Bytes,
    /// Which connection it came on: 0, 1, 2 … in the order in which they were opened.
    pub connection: usize,
    pub(super) hung_up: watch::Receiver<bool>,
}

impl RecordedRequest {
    /// The path without the query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// When it is no JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| {
            panic!(
                "the body of {} {} is no JSON: {error}\n{}",
                self.method,
                self.target,
                self.text()
            )
        })
    }

    /// The body as text; bytes that are no UTF-8 are replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A header's text; empty when it was not sent.
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// Waits until the client closed the connection before it had the whole answer.
    ///
    /// # Panics
    /// When it does not within 10 s.
    pub async fn hung_up(&self) {
        let mut hung_up = self.hung_up.clone();
        let waited = tokio::time::timeout(Duration::from_secs(10), hung_up.wait_for(|it| *it)).await;
        match waited {
            Ok(Ok(_)) => {}
            _ => panic!(
                "the client still waits for the answer to {} {}",
                self.method, self.target
            ),
        }
    }
}
