//! One request: is it meant for us, which route, who asks, and then the route.
use hyper::body::Incoming;
use hyper::header::HeaderMap;
use hyper::http::request::Parts;
use hyper::{Request, StatusCode};

use crate::access::{self, Who};
use crate::answer::{self, Answer};
use crate::call::Door;
use crate::routes::{self, Access, Endpoint, Found, Segments};
use crate::server::Serve;
use crate::session::Session;
use crate::{asks, body, call, conversation, env, events, health, list, llm, reload, web};

impl Serve for Session {
    async fn serve(&self, over_network: bool, request: Request<Incoming>) -> Answer {
        serve(self, over_network, request).await
    }
}

/// Answers `request`. Whoever has no credential learns which routes there are (so do readers of the docs),
/// and nothing of the session.
async fn serve(session: &Session, over_network: bool, request: Request<Incoming>) -> Answer {
    let (parts, body) = request.into_parts();
    let refuse = async |body, answer| body::refuse(&parts.headers, body, answer).await;
    // No web page reaches a Unix socket, and its clients have no name to send.
    if over_network && !access::names_this_machine(&parts) {
        let text = "the Host header must name 127.0.0.1, localhost or [::1]";
        return refuse(body, answer::error(StatusCode::FORBIDDEN, text)).await;
    }
    let (route, segments) = match routes::find(&parts.method, parts.uri.path()) {
        Found::Route(route, segments) => (route, segments),
        Found::WrongMethod(allow) => return refuse(body, answer::wrong_method(&allow)).await,
        Found::Unknown => {
            return refuse(body, answer::error(StatusCode::NOT_FOUND, "there is no such route")).await;
        }
    };
    let who = match admitted(session, route.access, &parts.headers) {
        Ok(who) => who,
        Err(refused) => return refuse(body, refused.answer()).await,
    };
    if let Endpoint::CallTool = route.endpoint {
        let door = if who == Some(Who::Session) {
            Door::Token
        } else {
            Door::Key
        };
        return call::call(&session.core, door, segments[0], &parts.headers, body).await;
    }
    // Boxed: the future of a call, which is measured, need not have room for all the others.
    Box::pin(lead(session, route.endpoint, segments, &parts, body)).await
}

/// Why a caller may not use a route.
enum Refused {
    /// Its credential is nobody's.
    Unknown,
    /// The bridge key is not good for it.
    Bridge,
}

impl Refused {
    fn answer(self) -> Answer {
        match self {
            Self::Unknown => answer::unauthorized(),
            Self::Bridge => {
                let text = "this route takes the session token, not the tool-bridge key";
                answer::error(StatusCode::FORBIDDEN, text)
            }
        }
    }
}

/// Whose credential lets the caller use a route, `None` where none of the two is needed; or why it may not.
fn admitted(session: &Session, access: Access, headers: &HeaderMap) -> Result<Option<Who>, Refused> {
    if access == Access::Open || (access == Access::Web && session.web_router(headers).is_some()) {
        return Ok(None);
    }
    match (access, session.credentials.identify(headers)) {
        (_, None) => Err(Refused::Unknown),
        (Access::SessionToken | Access::Web, Some(Who::Bridge)) => Err(Refused::Bridge),
        (_, who) => Ok(who),
    }
}

async fn lead(
    session: &Session,
    endpoint: Endpoint,
    [first, second]: Segments<'_>,
    parts: &Parts,
    body: Incoming,
) -> Answer {
    let headers = &parts.headers;
    match endpoint {
        Endpoint::CallTool => call::call(&session.core, Door::Key, first, headers, body).await,
        Endpoint::ListTools => list::list(session),
        Endpoint::Health => health::health(session),
        Endpoint::PushEnv => env::push(session, headers, body).await,
        Endpoint::Reload => reload::asked(session, headers, body).await,
        Endpoint::Prompt => conversation::prompt(session, first, headers, body).await,
        Endpoint::Abort => conversation::abort(session, first, headers, body).await,
        Endpoint::Messages => conversation::messages(session, first, parts.uri.query()).await,
        Endpoint::State => conversation::state(session, first).await,
        Endpoint::Children => conversation::children(session, first).await,
        Endpoint::Permissions => asks::permissions(session, first).await,
        Endpoint::ReplyPermission => asks::reply(session, first, second, headers, body).await,
        Endpoint::Questions => asks::questions(session, first).await,
        Endpoint::AnswerQuestion => asks::answer(session, first, second, headers, body).await,
        Endpoint::RejectQuestion => asks::reject(session, first, second, headers, body).await,
        Endpoint::Events => events::events(session, headers, parts.uri.query()).await,
        Endpoint::Completions => llm::completions(&session.core, headers, body).await,
        Endpoint::Models => llm::models(&session.core).await,
        Endpoint::Web(route) => web::answer(session, route, headers, body).await,
    }
}
