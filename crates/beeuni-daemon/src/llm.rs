//! `/beeuni/llm/v1/…`: models for whatever harness runs, with no key in its hands.
use beeuni_gateway::MAX_REQUEST_BYTES;
use hyper::Response;
use hyper::body::Incoming;
use hyper::header::HeaderMap;

use crate::answer::Answer;
use crate::answer_body::AnswerBody;
use crate::body;
use crate::session::Session;

/// Answers a chat completion: the provider's answer, streamed as it comes. A client that leaves ends the request.
pub(crate) async fn completions(session: &Session, headers: &HeaderMap, body: Incoming) -> Answer {
    match body::collect_up_to(MAX_REQUEST_BYTES, headers, body).await {
        Ok(bytes) => streamed(session.gateway.completions(headers, bytes).await),
        Err(answer) => answer,
    }
}

/// Answers the list of models.
pub(crate) async fn models(session: &Session) -> Answer {
    streamed(session.gateway.models_answer().await)
}

/// The gateway's answer as the daemon's.
pub(crate) fn streamed(answer: Response<beeuni_gateway::AnswerBody>) -> Answer {
    answer.map(AnswerBody::stream)
}
