//! Who is asking: the session token, the tool-bridge key, and the `Host` header.
use std::net::IpAddr;

use beeuni_tools::SecretValue;
use hyper::header::{AUTHORIZATION, HOST, HeaderMap};
use hyper::http::request::Parts;
use subtle::ConstantTimeEq;

/// The credentials that a daemon accepts.
pub(crate) struct Credentials {
    /// The session token; `None` when the daemon was started without one.
    token: Option<SecretValue>,
    /// The tool-bridge key.
    bridge: SecretValue,
}

/// Whose credential a request carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// The holder of the session token.
    Session,
    /// The harness's plugin.
    Bridge,
}

impl Credentials {
    pub(crate) fn new(token: Option<SecretValue>, bridge: SecretValue) -> Self {
        // An empty token would let `Authorization: Bearer ` in.
        Self {
            token: token.filter(|token| !token.expose().is_empty()),
            bridge,
        }
    }

    /// Whether a session token is accepted at all.
    pub(crate) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Whose credential stands in `Authorization: Bearer …`; `None` when it is nobody's. Both are always
    /// compared, each in constant time: the answer's delay tells nothing about a guess.
    pub(crate) fn identify(&self, headers: &HeaderMap) -> Option<Who> {
        let presented = presented(headers)?;
        let session = match &self.token {
            Some(token) => token.expose().as_bytes().ct_eq(presented).into(),
            None => false,
        };
        let bridge = self.bridge.expose().as_bytes().ct_eq(presented).into();
        match (session, bridge) {
            (true, _) => Some(Who::Session),
            (false, true) => Some(Who::Bridge),
            (false, false) => None,
        }
    }
}

/// The credential that a request carries.
pub(crate) fn presented(headers: &HeaderMap) -> Option<&[u8]> {
    bearer(headers.get(AUTHORIZATION)?.as_bytes())
}

/// The credential of `Bearer <credential>`; the scheme's case does not matter.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, rest) = value.split_at_checked(7)?;
    let presented = rest.trim_ascii();
    (scheme.eq_ignore_ascii_case(b"bearer ") && !presented.is_empty()).then_some(presented)
}

/// Whether the request was meant for this machine. A web page whose name was made to point here (DNS
/// rebinding) sends its own name, so only loopback names pass. Both places that can hold it are checked.
pub(crate) fn names_this_machine(parts: &Parts) -> bool {
    let mut hosts = parts.headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return false;
    };
    let in_target = parts
        .uri
        .authority()
        .is_none_or(|target| is_loopback(target.as_str().as_bytes()));
    in_target && is_loopback(host.as_bytes())
}

/// Whether `host` (with or without a port) is `localhost` or a loopback address.
fn is_loopback(host: &[u8]) -> bool {
    let Ok(host) = std::str::from_utf8(host) else {
        return false;
    };
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((name, after)) => (name, after.strip_prefix(':').or(after.is_empty().then_some("0"))),
            None => return false,
        },
        None => match host.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (host, Some("0")),
        },
    };
    if port.is_none_or(|port| port.parse::<u16>().is_err()) {
        return false;
    }
    name == "127.0.0.1"
        || name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn asks(credentials: &Credentials, value: &str) -> Option<Who> {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_bytes(value.as_bytes()).ok()?);
        credentials.identify(&headers)
    }

    #[test]
    fn each_credential_is_told_apart_and_nothing_near_it_passes() {
        let both = Credentials::new(Some(SecretValue::new("session-token")), SecretValue::new("bridge"));
        assert_eq!(asks(&both, "Bearer session-token"), Some(Who::Session));
        assert_eq!(asks(&both, "bearer  session-token"), Some(Who::Session));
        assert_eq!(asks(&both, "Bearer bridge"), Some(Who::Bridge));
        for wrong in [
            "",
            "Bearer",
            "Bearer ",
            "Bearer session-toke",
            "Bearer session-token2",
            "Basic session-token",
            "session-token",
            "Bearersession-token",
            "Bearer SESSION-TOKEN",
            "Bearer session-token bridge",
        ] {
            assert_eq!(asks(&both, wrong), None, "{wrong:?}");
        }
        assert_eq!(both.identify(&HeaderMap::new()), None);
    }

    #[test]
    fn an_empty_session_token_is_no_token() {
        let bridge_only = Credentials::new(Some(SecretValue::new("")), SecretValue::new("bridge"));
        assert!(!bridge_only.has_token());
        assert_eq!(asks(&bridge_only, "Bearer "), None);
        assert_eq!(asks(&bridge_only, "Bearer bridge"), Some(Who::Bridge));
    }

    #[test]
    fn only_names_of_this_machine_pass_as_host() {
        for own in [
            "127.0.0.1",
            "127.0.0.1:4410",
            "localhost:1",
            "LOCALHOST",
            "[::1]",
            "[::1]:80",
            "127.8.8.8:80",
        ] {
            assert!(is_loopback(own.as_bytes()), "{own}");
        }
        for foreign in [
            "",
            "evil.example.com",
            "127.0.0.1.example.com",
            "localhost.example.com:80",
            "10.0.0.1",
            "[::2]:80",
            "[::1",
            "[::1]x",
            "127.0.0.1:",
            "127.0.0.1:x",
            "user@127.0.0.1",
            "::1",
            "0.0.0.0:80",
            "127.1:80",
            "[localhost",
        ] {
            assert!(!is_loopback(foreign.as_bytes()), "{foreign}");
        }
    }
}
