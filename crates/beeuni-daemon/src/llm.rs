//! `/beeuni/llm/v1/…`: models for whatever harness runs, with no key in its hands.
use std::sync::Arc;

use beeuni_gateway::{MAX_REQUEST_BYTES, WrittenCall};
use hyper::Response;
use hyper::body::Incoming;
use hyper::header::HeaderMap;

use crate::answer::Answer;
use crate::answer_body::AnswerBody;
use crate::body;
use crate::local::core::Core;

/// Answers a chat completion: the provider's answer, streamed as it comes. A client that leaves ends the request.
pub(crate) async fn completions(core: &Core, headers: &HeaderMap, body: Incoming) -> Answer {
    match body::collect_up_to(MAX_REQUEST_BYTES, headers, body).await {
        Ok(bytes) => streamed(core.gateway.completions(headers, bytes).await),
        Err(answer) => answer,
    }
}

/// The same for a harness that is a process of its own, whose calls come back over the bridge: what the model writes as
/// their arguments is remembered.
pub(crate) async fn bridged_completions(core: &Core, headers: &HeaderMap, body: Incoming) -> Answer {
    let arguments = Arc::clone(&core.hosting.arguments);
    let note = move |call: WrittenCall| arguments.note(call.id, &call.arguments);
    match body::collect_up_to(MAX_REQUEST_BYTES, headers, body).await {
        Ok(bytes) => streamed(core.gateway.completions_noting(headers, bytes, note).await),
        Err(answer) => answer,
    }
}

/// Answers the list of models.
pub(crate) async fn models(core: &Core) -> Answer {
    streamed(core.gateway.models_answer().await)
}

/// The gateway's answer as the daemon's.
pub(crate) fn streamed(answer: Response<beeuni_gateway::AnswerBody>) -> Answer {
    answer.map(AnswerBody::stream)
}
