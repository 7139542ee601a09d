//! A session of this machine, put together from a project folder, a state folder and the environment: what
//! `beeuni daemon` and `beeuni run` share.
//!
//! ```no_run
//! # async fn example(bun: std::path::PathBuf, guard: std::path::PathBuf) -> Result<(), beeuni_daemon::DaemonError> {
//! use beeuni_daemon::local::{LocalOptions, LocalSession};
//!
//! let options = LocalOptions::new(".", "/home/me/.local/state/beeuni", bun, guard);
//! let local = LocalSession::start(options).await?;
//! let prompt = beeuni_protocol::session::PromptRequest {
//!     text: "Say hello.".to_owned(),
//!     ..Default::default()
//! };
//! if let Ok(turn) = local.prompt(prompt).await {
//!     println!("{} answers", turn.turn);
//! }
//! local.shutdown(std::time::Duration::from_secs(5)).await;
//! # Ok(())
//! # }
//! ```
mod conversation;
pub(crate) mod core;
pub(crate) mod hosting;
mod options;
mod pages;
pub(crate) mod project;
mod router_server;
pub(crate) mod session;

pub(crate) use conversation::open as open_conversation;

pub use options::{ControlPlane, LocalOptions};
pub use router_server::RouterServer;
pub use session::{LocalSession, ModelInUse, ReloadError};

pub use crate::harness::{BoxFuture, EventSource, Given, HarnessError, Replaced};
