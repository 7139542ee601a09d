//! Model providers behind one typed interface, the built-in rehearsal model, and the web router.
//!
//! Nothing here listens on a socket: requests and answers are plain `http` types, so that the
//! daemon and the server mount the same code. Keys go in through [`GatewayConfig`] and never come
//! out again: no error, log line or `Debug` shows one.
mod chat;
mod classify;
mod config;
mod error;
mod gateway;
mod json;
mod models;
mod net;
mod page;
mod pass;
mod provider;
mod rehearsal;
mod send;
#[cfg(feature = "testing")]
pub mod testing;
pub mod web;

pub use chat::{ChatEvent, ChatRequest, ChatStream, FinishReason, Usage, WrittenCall};
pub use config::{ApiKey, GatewayConfig, Limits, OllamaConfig, ProviderConfig};
pub use error::{ChatError, ChatErrorKind};
pub use gateway::Gateway;
pub use models::{DefaultModel, DefaultSource, ModelInfo, ModelList, Price};
pub use net::{AnswerBody, BodyError};
pub use pass::MAX_REQUEST_BYTES;
pub use send::Retry;
