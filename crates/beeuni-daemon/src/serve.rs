//! One request: is it meant for us, which route, who asks, and then the route.
use std::convert::Infallible;

use hyper::body::Incoming;
use hyper::{Request, StatusCode};

use crate::access::{self, Who};
use crate::answer::{self, Answer};
use crate::routes::{self, Access, Endpoint, Found};
use crate::session::Session;
use crate::{body, call, env, health, list};

/// Answers `request`. Whoever has no credential learns which routes there are (so do readers of the docs),
/// and nothing of the session.
pub(crate) async fn serve(
    session: &Session,
    over_network: bool,
    request: Request<Incoming>,
) -> Result<Answer, Infallible> {
    let (parts, body) = request.into_parts();
    let refuse = async |body, answer| Ok(body::refuse(&parts.headers, body, answer).await);
    // No web page reaches a Unix socket, and its clients have no name to send.
    if over_network && !access::names_this_machine(&parts) {
        let text = "the Host header must name 127.0.0.1, localhost or [::1]";
        return refuse(body, answer::error(StatusCode::FORBIDDEN, text)).await;
    }
    let (route, segment) = match routes::find(&parts.method, parts.uri.path()) {
        Found::Route(route, segment) => (route, segment),
        Found::WrongMethod(allow) => return refuse(body, answer::wrong_method(&allow)).await,
        Found::Unknown => {
            return refuse(body, answer::error(StatusCode::NOT_FOUND, "there is no such route")).await;
        }
    };
    if route.access != Access::Open {
        match (route.access, session.credentials.identify(&parts.headers)) {
            (_, None) => return refuse(body, answer::unauthorized()).await,
            (Access::SessionToken, Some(Who::Bridge)) => {
                let text = "this route takes the session token, not the tool-bridge key";
                return refuse(body, answer::error(StatusCode::FORBIDDEN, text)).await;
            }
            (_, Some(_)) => {}
        }
    }
    Ok(match route.endpoint {
        Endpoint::CallTool => call::call(session, segment, &parts.headers, body).await,
        Endpoint::ListTools => list::list(session),
        Endpoint::Health => health::health(session),
        Endpoint::PushEnv => env::push(session, &parts.headers, body).await,
    })
}
