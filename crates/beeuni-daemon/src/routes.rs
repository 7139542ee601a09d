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
}

/// One line of the table.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// `GET` (which answers `HEAD` too) or `POST`.
    pub method: &'static str,
    /// The path; a last part `{name}` stands for one segment.
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
}

/// Every route. A new one needs a line in `docs/daemon.md` and passes through the access test by itself.
pub const ROUTES: [Route; 4] = [
    Route {
        method: "POST",
        path: "/beeuni/tools/{name}",
        access: Access::Caller,
        endpoint: Endpoint::CallTool,
    },
    Route {
        method: "GET",
        path: "/beeuni/tools",
        access: Access::Caller,
        endpoint: Endpoint::ListTools,
    },
    Route {
        method: "GET",
        path: "/beeuni/health",
        access: Access::Open,
        endpoint: Endpoint::Health,
    },
    Route {
        method: "POST",
        path: "/beeuni/env",
        access: Access::SessionToken,
        endpoint: Endpoint::PushEnv,
    },
];

/// What a request's method and path lead to.
pub(crate) enum Found<'p> {
    /// A route, with the segment that stands for `{name}` (empty when it has none).
    Route(&'static Route, &'p str),
    /// A path that is there, with another method: the value of `Allow`.
    WrongMethod(String),
    /// No such path.
    Unknown,
}

/// Looks a request up in the table.
pub(crate) fn find<'p>(method: &Method, path: &'p str) -> Found<'p> {
    let mut allowed: Vec<&str> = Vec::new();
    for route in &ROUTES {
        let Some(segment) = segment_of(route.path, path) else {
            continue;
        };
        if route.takes(method) {
            return Found::Route(route, segment);
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

/// The segment of `path` that stands for the pattern's `{…}`, or `""` when the pattern has none; `None`
/// when the path is another one. Paths are compared as sent: tool names need no percent-encoding.
fn segment_of<'p>(pattern: &str, path: &'p str) -> Option<&'p str> {
    match pattern.split_once('{') {
        None => (pattern == path).then_some(""),
        Some((prefix, _)) => path
            .strip_prefix(prefix)
            .filter(|rest| !rest.is_empty() && !rest.contains('/')),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::panic, reason = "a test stops at the first surprise")]
    use super::*;

    fn leads_to(method: &Method, path: &str) -> String {
        match find(method, path) {
            Found::Route(route, segment) => format!("{:?} {segment}", route.endpoint),
            Found::WrongMethod(allow) => format!("allow {allow}"),
            Found::Unknown => "unknown".to_owned(),
        }
    }

    #[test]
    fn every_route_of_the_table_is_found_by_its_own_method() {
        for route in &ROUTES {
            let path = route.path.replace("{name}", "show");
            let method = Method::from_bytes(route.method.as_bytes());
            let Ok(method) = method else {
                panic!("{} is no method", route.method)
            };
            assert!(leads_to(&method, &path).starts_with(&format!("{:?}", route.endpoint)));
        }
    }

    #[test]
    fn head_is_answered_where_get_is() {
        assert_eq!(leads_to(&Method::HEAD, "/beeuni/health"), "Health ");
        assert_eq!(leads_to(&Method::HEAD, "/beeuni/env"), "allow POST");
    }

    #[test]
    fn another_method_names_what_is_allowed() {
        assert_eq!(leads_to(&Method::DELETE, "/beeuni/tools"), "allow GET, HEAD");
        assert_eq!(leads_to(&Method::GET, "/beeuni/tools/show"), "allow POST");
    }

    #[test]
    fn a_name_is_exactly_one_segment() {
        assert_eq!(leads_to(&Method::POST, "/beeuni/tools/show"), "CallTool show");
        for path in [
            "/beeuni/tools/",
            "/beeuni/tools/a/b",
            "/beeuni/tools/show/",
            "/beeuni",
            "/",
            "//beeuni/health",
        ] {
            assert_eq!(leads_to(&Method::POST, path), "unknown", "{path}");
        }
    }
}
