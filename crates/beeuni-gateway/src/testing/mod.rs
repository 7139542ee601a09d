//! A scripted HTTP server for tests: answers as told, cut at any byte, and records every request.
//!
//! It listens on a free loopback port, speaks HTTP/1.1 byte by byte (no HTTP library in between, so
//! that a cut is a cut), and plays a model provider as well as a web site:
//!
//! ```no_run
//! # use beeuni_gateway::testing::{Answer, ScriptedServer};
//! # async fn example() {
//! let server = ScriptedServer::start().await;
//! server.push(Answer::tool_calls(&[("call_1", "lookup_order", r#"{"id":"A-1042"}"#)]));
//! server.push(Answer::text("It has shipped."));
//! // … point a provider's base URL at `server.base_url()`, run something, then:
//! let requests = server.wait_for_requests(2).await;
//! assert_eq!(requests[1].json()["messages"][2]["role"], "tool");
//! # }
//! ```
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "test support: a test stops at the first surprise, with a message"
)]

mod answer;
mod connection;
mod request;
mod server;

pub use answer::{Answer, Gate, chunk};
pub use request::RecordedRequest;
pub use server::ScriptedServer;
