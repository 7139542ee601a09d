//! The routes of what waits for a person: permission requests and questions.
use beeuni_protocol::session::{PermissionAnswer, PermissionList, QuestionAnswer, QuestionList};
use hyper::body::Incoming;
use hyper::header::HeaderMap;

use crate::answer::Answer;
use crate::body;
use crate::conversation::{bad_request, given, read};
use crate::session::Session;

/// The answer of a reply that was taken: `{}`.
#[derive(serde::Serialize)]
struct Taken {}

/// Answers the permission requests that wait.
pub(crate) async fn permissions(session: &Session, id: &str) -> Answer {
    let waiting = session.core.harness.permissions(id).await;
    given(waiting.map(|permissions| PermissionList { permissions }))
}

/// Answers a reply to one.
pub(crate) async fn reply(session: &Session, id: &str, request: &str, headers: &HeaderMap, body: Incoming) -> Answer {
    let bytes = match body::collect(headers, body).await {
        Ok(bytes) => bytes,
        Err(answer) => return answer,
    };
    let form = "{ reply: \"once\", \"always\" or \"reject\", message? }";
    let reply: PermissionAnswer = match read(&bytes, "reply", form) {
        Ok(reply) => reply,
        Err(text) => return bad_request(text),
    };
    given(session.core.harness.reply(id, request, reply).await.map(|()| Taken {}))
}

/// Answers the questions that wait.
pub(crate) async fn questions(session: &Session, id: &str) -> Answer {
    let waiting = session.core.harness.questions(id).await;
    given(waiting.map(|questions| QuestionList { questions }))
}

/// Answers the answers to one request.
pub(crate) async fn answer(session: &Session, id: &str, request: &str, headers: &HeaderMap, body: Incoming) -> Answer {
    let bytes = match body::collect(headers, body).await {
        Ok(bytes) => bytes,
        Err(answer) => return answer,
    };
    let form = "{ answers: [[\"label or own text\", …], …] }, one list for each question";
    let answers: QuestionAnswer = match read(&bytes, "answer", form) {
        Ok(answers) => answers,
        Err(text) => return bad_request(text),
    };
    given(
        session
            .core
            .harness
            .answer(id, request, Some(answers))
            .await
            .map(|()| Taken {}),
    )
}

/// Answers a rejection.
pub(crate) async fn reject(session: &Session, id: &str, request: &str, headers: &HeaderMap, body: Incoming) -> Answer {
    if let Err(answer) = body::collect(headers, body).await {
        return answer;
    }
    given(session.core.harness.answer(id, request, None).await.map(|()| Taken {}))
}
