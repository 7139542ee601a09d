//! The one table of routes: the dispatcher, the access test and the docs test all walk it.
use hyper::Method;

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Everybody who reaches the daemon.
    Open,
    /// The session token or the bridge key.
    Caller,
    /// The session token alone.
    SessionToken,
    /// The session token, or the router token that an agent's tools find in `context.env`.
    Web,
}

/// One line of the table.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// `GET` (which answers `HEAD` too) or `POST`.
    pub method: &'static str,
    /// The path; a part `{…}` stands for one segment.
    pub path: &'static str,
    /// Who may use it.
    pub access: Access,
    pub(crate) endpoint: Endpoint,
}

/// What a route does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Health,
    ListTools,
    CallTool,
    PushEnv,
    Reload,
    Prompt,
    Abort,
    Messages,
    State,
    Children,
    Permissions,
    ReplyPermission,
    Questions,
    AnswerQuestion,
    RejectQuestion,
    Events,
    Completions,
    Models,
    Web(WebRoute),
}

/// A route of the web router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WebRoute {
    /// Tavily's search.
    Search,
    /// Serper's images.
    Images,
    /// Firecrawl's scrape.
    Scrape,
}

const fn route(method: &'static str, path: &'static str, access: Access, endpoint: Endpoint) -> Route {
    Route {
        method,
        path,
        access,
        endpoint,
    }
}

/// Every route. A new one needs a line in `docs/daemon.md` and passes through the access test by itself. The call
/// of a tool comes first: it is the one that is measured.
pub const ROUTES: [Route; 21] = [
    route("POST", "/beeuni/tools/{name}", Access::Caller, Endpoint::CallTool),
    route("GET", "/beeuni/tools", Access::Caller, Endpoint::ListTools),
    route("GET", "/beeuni/health", Access::Open, Endpoint::Health),
    route("POST", "/beeuni/env", Access::SessionToken, Endpoint::PushEnv),
    route("POST", "/beeuni/reload", Access::SessionToken, Endpoint::Reload),
    route("GET", "/beeuni/events", Access::SessionToken, Endpoint::Events),
    route("GET", "/beeuni/sessions/{id}", Access::SessionToken, Endpoint::State),
    route(
        "POST",
        "/beeuni/sessions/{id}/prompt",
        Access::SessionToken,
        Endpoint::Prompt,
    ),
    route(
        "POST",
        "/beeuni/sessions/{id}/abort",
        Access::SessionToken,
        Endpoint::Abort,
    ),
    route(
        "GET",
        "/beeuni/sessions/{id}/messages",
        Access::SessionToken,
        Endpoint::Messages,
    ),
    route(
        "GET",
        "/beeuni/sessions/{id}/children",
        Access::SessionToken,
        Endpoint::Children,
    ),
    route(
        "GET",
        "/beeuni/sessions/{id}/permissions",
        Access::SessionToken,
        Endpoint::Permissions,
    ),
    route(
        "POST",
        "/beeuni/sessions/{id}/permissions/{request}",
        Access::SessionToken,
        Endpoint::ReplyPermission,
    ),
    route(
        "GET",
        "/beeuni/sessions/{id}/questions",
        Access::SessionToken,
        Endpoint::Questions,
    ),
    route(
        "POST",
        "/beeuni/sessions/{id}/questions/{request}",
        Access::SessionToken,
        Endpoint::AnswerQuestion,
    ),
    route(
        "POST",
        "/beeuni/sessions/{id}/questions/{request}/reject",
        Access::SessionToken,
        Endpoint::RejectQuestion,
    ),
    route(
        "POST",
        "/beeuni/llm/v1/chat/completions",
        Access::Caller,
        Endpoint::Completions,
    ),
    route("GET", "/beeuni/llm/v1/models", Access::Caller, Endpoint::Models),
    route(
        "POST",
        "/v1/router/tavily/search",
        Access::Web,
        Endpoint::Web(WebRoute::Search),
    ),
    route(
        "POST",
        "/v1/router/serper/images",
        Access::Web,
        Endpoint::Web(WebRoute::Images),
    ),
    route(
        "POST",
        "/v1/router/firecrawl/v2/scrape",
        Access::Web,
        Endpoint::Web(WebRoute::Scrape),
    ),
];

/// The segments of a path that stand for the pattern's `{…}`; empty where it has fewer.
pub(crate) type Segments<'p> = [&'p str; 2];

/// What a request's method and path lead to.
pub(crate) enum Found<'p> {
    /// A route, with the segments that stand for its `{…}`.
    Route(&'static Route, Segments<'p>),
    /// A path that is there, with another method: the value of `Allow`.
    WrongMethod(String),
    /// No such path.
    Unknown,
}

/// Looks a request up in the table.
pub(crate) fn find<'p>(method: &Method, path: &'p str) -> Found<'p> {
    let mut allowed: Vec<&str> = Vec::new();
    for route in &ROUTES {
        let Some(segments) = segments_of(route.path, path) else {
            continue;
        };
        if route.takes(method) {
            return Found::Route(route, segments);
        }
        allowed.push(route.method);
        if route.method == "GET" {
            allowed.push("HEAD");
        }
    }
    if allowed.is_empty() {
        Found::Unknown
    } else {
        Found::WrongMethod(allowed.join(", "))
    }
}

impl Route {
    fn takes(&self, method: &Method) -> bool {
        let method = if method == Method::HEAD { "GET" } else { method.as_str() };
        self.method == method
    }
}

/// The segments of `path` that stand for the pattern's `{…}`; `None` when the path is another one. Paths are
/// compared as sent: names and ids need no percent-encoding.
fn segments_of<'p>(mut pattern: &str, mut path: &'p str) -> Option<Segments<'p>> {
    let mut segments = [""; 2];
    for segment in &mut segments {
        let Some((before, after)) = pattern.split_once('{') else {
            break;
        };
        path = path.strip_prefix(before)?;
        *segment = path.split_once('/').map_or(path, |(first, _)| first);
        path = &path[segment.len()..];
        pattern = after.split_once('}')?.1;
        if segment.is_empty() {
            return None;
        }
    }
    (pattern == path).then_some(segments)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::panic, reason = "a test stops at the first surprise")]
    use super::*;

    fn leads_to(method: &Method, path: &str) -> String {
        match find(method, path) {
            Found::Route(route, segments) => format!("{:?} {}", route.endpoint, segments.join(" ")),
            Found::WrongMethod(allow) => format!("allow {allow}"),
            Found::Unknown => "unknown".to_owned(),
        }
    }

    #[test]
    fn every_route_of_the_table_is_found_by_its_own_method() {
        for route in &ROUTES {
            let path = route
                .path
                .replace("{name}", "show")
                .replace("{id}", "s-1")
                .replace("{request}", "r-1");
            let method = Method::from_bytes(route.method.as_bytes());
            let Ok(method) = method else {
                panic!("{} is no method", route.method)
            };
            assert!(leads_to(&method, &path).starts_with(&format!("{:?}", route.endpoint)));
        }
    }

    #[test]
    fn head_is_answered_where_get_is() {
        assert_eq!(leads_to(&Method::HEAD, "/beeuni/health"), "Health  ");
        assert_eq!(leads_to(&Method::HEAD, "/beeuni/env"), "allow POST");
    }

    #[test]
    fn another_method_names_what_is_allowed() {
        assert_eq!(leads_to(&Method::DELETE, "/beeuni/tools"), "allow GET, HEAD");
        assert_eq!(leads_to(&Method::GET, "/beeuni/tools/show"), "allow POST");
    }

    #[test]
    fn a_name_is_exactly_one_segment() {
        assert_eq!(leads_to(&Method::POST, "/beeuni/tools/show"), "CallTool show ");
        let reply = "/beeuni/sessions/s-1/permissions/per_1";
        assert_eq!(leads_to(&Method::POST, reply), "ReplyPermission s-1 per_1");
        for path in [
            "/beeuni/tools/",
            "/beeuni/tools/a/b",
            "/beeuni/tools/show/",
            "/beeuni",
            "/",
            "//beeuni/health",
            "/beeuni/sessions//prompt",
            "/beeuni/sessions/s-1/prompt/",
            "/beeuni/sessions/s-1/permissions/",
            "/beeuni/sessions/s-1/questions/q/reject/x",
        ] {
            assert_eq!(leads_to(&Method::POST, path), "unknown", "{path}");
        }
    }
}
