//! Which addresses may be opened for somebody else: what is checked of a URL, and of what its name
//! resolves to.

use std::error::Error;
use std::net::{IpAddr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use super::address::not_public;

/// Ports that browsers refuse because other protocols listen there and could be talked into something.
/// Those up to 1023 are refused anyway, except 80 and 443.
const BAD_PORTS: [u16; 25] = [
    1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697,
    9200, 10080, 11211, 27017, 2375, 2379,
];

/// Why an address is not opened. Shown as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    #[error("not a web address: {0}")]
    NoWebAddress(String),
    #[error("the address holds a user name or a password: leave them out")]
    Credentials,
    #[error("port {0} is not one that web pages are on")]
    Port(u16),
    #[error(
        "{host} is {what}; only public addresses are opened. Who runs Beeuni can allow it with BEEUNI_WEB_ALLOW={host}"
    )]
    NotPublic { host: String, what: String },
}

/// How an address may be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pass {
    /// Only where its name resolves to public addresses.
    Public,
    /// As it is: who runs this allows it.
    Allowed,
}

/// The hosts that are allowed whatever they resolve to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Guard {
    allowed: Vec<(String, Option<u16>)>,
}

impl Guard {
    /// From `host`, `host:port`, `[v6]:port`, as in `BEEUNI_WEB_ALLOW`.
    pub(crate) fn new<'a>(entries: impl IntoIterator<Item = &'a str>) -> Self {
        let allowed = entries.into_iter().filter_map(|entry| {
            let entry = entry.trim();
            // As a URL it gets the same normal form as what it is compared with.
            let url = Url::parse(&format!("http://{entry}/")).ok()?;
            let has_port = entry
                .rsplit_once(':')
                .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
            let port = if has_port { url.port_or_known_default() } else { None };
            Some((host_of(&url)?, port))
        });
        Self {
            allowed: allowed.collect(),
        }
    }

    /// Checks what a URL alone says.
    pub(crate) fn check(&self, url: &Url) -> Result<Pass, Refused> {
        if !matches!(url.scheme(), "http" | "https") {
            let problem = format!("it begins with {}:, not with https: or http:", url.scheme());
            return Err(Refused::NoWebAddress(problem));
        }
        let (Some(host), Some(port)) = (host_of(url), url.port_or_known_default()) else {
            return Err(Refused::NoWebAddress("it names no host".to_owned()));
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refused::Credentials);
        }
        let is_allowed = |(name, only): &(String, Option<u16>)| *name == host && only.is_none_or(|it| it == port);
        if self.allowed.iter().any(is_allowed) {
            return Ok(Pass::Allowed);
        }
        let known_port = matches!(port, 80 | 443 | 1024..) && !BAD_PORTS.contains(&port);
        if !known_port {
            return Err(Refused::Port(port));
        }
        // `url` has read 0x7f.1, 2130706433, 0177.0.0.1 and full-width digits as what they are.
        let ip: Option<IpAddr> = match url.host() {
            Some(Host::Ipv4(ip)) => Some(ip.into()),
            Some(Host::Ipv6(ip)) => Some(ip.into()),
            _ => None,
        };
        if let Some(what) = ip.and_then(not_public) {
            return Err(Refused::NotPublic {
                host,
                what: what.to_owned(),
            });
        }
        if ip.is_none() && is_inner_name(&host) {
            return Err(Refused::NotPublic {
                host,
                what: "a name of an inner network".to_owned(),
            });
        }
        Ok(Pass::Public)
    }
}

/// The host without a trailing dot; `url` has made it lower case.
fn host_of(url: &Url) -> Option<String> {
    let host = url.host_str()?.trim_end_matches('.');
    (!host.is_empty()).then(|| host.to_owned())
}

/// Names that no public resolver answers, whatever the local one says.
fn is_inner_name(host: &str) -> bool {
    const ENDINGS: [&str; 6] = ["localhost", "local", "internal", "lan", "intranet", "home.arpa"];
    let ends = |ending: &&str| {
        host.strip_suffix(*ending)
            .is_some_and(|it| it.is_empty() || it.ends_with('.'))
    };
    !host.contains('.') || ENDINGS.iter().any(ends)
}

/// Resolves names to public addresses only. The connection goes to the very address that was checked
/// here, so that a name cannot point elsewhere a moment later.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PublicOnly;

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        let name = name.as_str().to_owned();
        Box::pin(async move {
            let addresses: Addrs = Box::new(resolve_public(&name).await?.into_iter());
            Ok(addresses)
        })
    }
}

/// The public addresses of a name.
pub(crate) async fn resolve_public(name: &str) -> Result<Vec<SocketAddr>, Box<dyn Error + Send + Sync>> {
    let found: Vec<SocketAddr> = tokio::net::lookup_host((name, 0)).await?.collect();
    let public: Vec<SocketAddr> = found
        .iter()
        .filter(|it| not_public(it.ip()).is_none())
        .copied()
        .collect();
    match found.iter().find_map(|it| Some((it.ip(), not_public(it.ip())?))) {
        Some((ip, what)) if public.is_empty() => Err(Box::new(Refused::NotPublic {
            host: name.to_owned(),
            what: format!("at {ip}, {what}"),
        })),
        _ => Ok(public),
    }
}

/// The refusal of [`PublicOnly`] inside an error of the client.
pub(crate) fn refusal_in(error: &(dyn Error + 'static)) -> Option<Refused> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(refused) = error.downcast_ref::<Refused>() {
            return Some(refused.clone());
        }
        cause = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    fn check(guard: &Guard, url: &str) -> Result<Pass, Refused> {
        guard.check(&Url::parse(url).unwrap())
    }

    #[test]
    fn odd_forms_of_inner_addresses_are_seen_through() {
        let guard = Guard::default();
        for url in [
            "http://127.0.0.1/",
            "http://0x7f.1/",
            "http://2130706433/",
            "http://0177.0.0.1/",
            "http://127.1/",
            "http://127.0.0.1./",
            "http://１２７.０.０.１/",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::ffff:a9fe:a9fe]/",
            "http://[64:ff9b::7f00:1]/",
            "http://169.254.169.254/latest/meta-data/",
            "http://100.100.100.200/",
            "http://0/",
            "http://localhost/",
            "http://LOCALHOST./",
            "http://a.localhost/",
            "http://metadata.google.internal/",
            "http://printer.local/",
            "http://intranet/",
        ] {
            assert!(matches!(check(&guard, url), Err(Refused::NotPublic { .. })), "{url}");
        }
    }

    #[test]
    fn what_is_no_page_is_refused() {
        let guard = Guard::default();
        assert!(matches!(
            check(&guard, "file:///etc/passwd"),
            Err(Refused::NoWebAddress(_))
        ));
        assert!(matches!(
            check(&guard, "gopher://example.com/"),
            Err(Refused::NoWebAddress(_))
        ));
        assert_eq!(check(&guard, "http://me@example.com/"), Err(Refused::Credentials));
        for port in [1, 22, 25, 1023, 6379, 11211] {
            assert_eq!(
                check(&guard, &format!("http://example.com:{port}/")),
                Err(Refused::Port(port))
            );
        }
        for url in [
            "http://example.com/",
            "https://example.com:8443/",
            "http://8.8.8.8:8080/",
        ] {
            assert_eq!(check(&guard, url), Ok(Pass::Public), "{url}");
        }
    }

    #[test]
    fn only_what_is_allowed_is_allowed() {
        let guard = Guard::new(["Intranet", "10.0.0.7:22", "[::1]:8080", "wiki.local:80", "", "?"]);
        for url in [
            "http://intranet/",
            "https://intranet:9/",
            "http://10.0.0.7:22/",
            "http://[::1]:8080/",
            "http://wiki.local/",
        ] {
            assert_eq!(check(&guard, url), Ok(Pass::Allowed), "{url}");
        }
        for url in [
            "http://x.intranet/",
            "http://10.0.0.7/",
            "http://10.0.0.8:22/",
            "http://[::1]/",
            "https://wiki.local/",
        ] {
            assert!(check(&guard, url).is_err(), "{url}");
        }
        assert!(matches!(
            check(&guard, "http://me@intranet/"),
            Err(Refused::Credentials)
        ));
    }

    #[tokio::test]
    async fn a_name_that_resolves_to_an_inner_address_is_refused() {
        let error = resolve_public("localhost").await.unwrap_err();
        let refused = refusal_in(error.as_ref()).unwrap();
        assert!(refused.to_string().contains("a loopback address"), "{refused}");
    }
}
