//! The web router's callers: each agent has a token of its own for it, and may have provider keys of its own.
//!
//! The tools ask the router when `BEEUNI_API_URL` is set and a provider when it is not, and they send no key to the
//! router. So that an agent which was granted `TAVILY_API_KEY` still searches with it, its token tells the router
//! whose call it is: the agent's own key comes first, then the key in this process's environment, then what works
//! without a key.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use beeuni_gateway::web::{MAX_REQUEST_BYTES, WebConfig, WebRouter};
use beeuni_tools::{AgentSecrets, SecretValue};
use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::header::HeaderMap;
use subtle::ConstantTimeEq;

use crate::answer::{self, Answer};
use crate::body;
use crate::error::DaemonError;
use crate::identifier::random_key;
use crate::llm::streamed;
use crate::routes::WebRoute;
use crate::session::Session;

/// The variables that the router reads from an agent's secrets. An address counts together with its key only:
/// nobody else's key goes to an address that an agent names.
const OWN: [(&str, &str); 3] = [
    ("TAVILY_API_KEY", "TAVILY_API_URL"),
    ("SERPER_API_KEY", "SERPER_API_URL"),
    ("FIRECRAWL_API_KEY", "FIRECRAWL_API_URL"),
];

/// The variable in `context.env` that holds a caller's token.
const TOKEN: &str = "BEEUNI_TOKEN";

/// The variables of one caller's own providers.
type Own = BTreeMap<&'static str, SecretValue>;

/// Who may use the router, and what it is to each.
pub(crate) struct WebAccess {
    config: WebConfig,
    /// The router of whoever has no key of an agent.
    shared: Arc<WebRouter>,
    callers: Mutex<Vec<Caller>>,
}

struct Caller {
    agent: String,
    token: SecretValue,
    own: Own,
    router: Arc<WebRouter>,
}

impl WebAccess {
    /// The router with these providers. Setting it up opens nothing.
    pub(crate) fn new(config: WebConfig) -> Self {
        Self {
            shared: Arc::new(WebRouter::new(config.clone())),
            config,
            callers: Mutex::default(),
        }
    }

    /// The router with the keys of this process alone.
    pub(crate) fn shared(&self) -> Arc<WebRouter> {
        Arc::clone(&self.shared)
    }

    /// `secrets` with a token for each of `agents` and of those in it; from now on these tokens are the ones that
    /// are accepted. An agent keeps its token for as long as it is there.
    pub(crate) fn admit(&self, agents: &[String], mut secrets: AgentSecrets) -> Result<AgentSecrets, DaemonError> {
        for agent in agents {
            if !secrets.contains_key(agent) {
                secrets.insert(agent.clone(), BTreeMap::new());
            }
        }
        let mut callers = self.lock();
        let mut admitted = Vec::with_capacity(secrets.len());
        for (agent, set) in &mut secrets {
            let known = callers.iter().find(|caller| caller.agent == *agent);
            let token = match known {
                Some(caller) => caller.token.clone(),
                None => SecretValue::new(random_key()?),
            };
            let own = own(set);
            let router = match known {
                Some(caller) if caller.own == own => Arc::clone(&caller.router),
                _ => self.router_with(&own),
            };
            set.insert(TOKEN.to_owned(), token.clone());
            admitted.push(Caller {
                agent: agent.clone(),
                token,
                own,
                router,
            });
        }
        *callers = admitted;
        Ok(secrets)
    }

    /// The router that has the keys in `own` before those of this process.
    fn router_with(&self, own: &Own) -> Arc<WebRouter> {
        if own.is_empty() {
            return self.shared();
        }
        let theirs = WebConfig::from_vars(|name| Some(own.get(name)?.expose().to_owned()));
        let config = self.config.clone();
        Arc::new(WebRouter::new(WebConfig {
            tavily: theirs.tavily.or(config.tavily),
            serper: theirs.serper.or(config.serper),
            firecrawl: theirs.firecrawl.or(config.firecrawl),
            ..config
        }))
    }

    /// The router as it is to the caller with this token; `None` when it is nobody's. Every token is compared, each
    /// in constant time.
    pub(crate) fn identify(&self, presented: &[u8]) -> Option<Arc<WebRouter>> {
        let mut found = None;
        for caller in self.lock().iter() {
            if caller.token.expose().as_bytes().ct_eq(presented).into() {
                found = Some(Arc::clone(&caller.router));
            }
        }
        found
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Caller>> {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The variables of an agent's own providers among its secrets.
fn own(secrets: &BTreeMap<String, SecretValue>) -> Own {
    let mut own = Own::new();
    for (key, url) in OWN {
        if let Some(value) = secrets.get(key).filter(|value| !value.expose().trim().is_empty()) {
            own.insert(key, value.clone());
            own.extend(secrets.get(url).map(|url_value| (url, url_value.clone())));
        }
    }
    own
}

/// Answers a route of the web router on the daemon's own listener.
pub(crate) async fn answer(session: &Session, route: WebRoute, headers: &HeaderMap, body: Incoming) -> Answer {
    let Some(access) = &session.web else {
        let text = "this daemon has no web router of its own: it has a control plane (BEEUNI_API_URL)";
        return body::refuse(headers, body, answer::error(StatusCode::NOT_FOUND, text)).await;
    };
    // The holder of the session token has no keys of an agent.
    let router = session.web_router(headers).unwrap_or_else(|| access.shared());
    route_to(&router, route, headers, body).await
}

/// Answers a route with a router. A client that leaves ends what is asked for it.
pub(crate) async fn route_to(router: &WebRouter, route: WebRoute, headers: &HeaderMap, body: Incoming) -> Answer {
    let body = match body::collect_up_to(MAX_REQUEST_BYTES, headers, body).await {
        Ok(body) => body,
        Err(answer) => return answer,
    };
    streamed(match route {
        WebRoute::Search => router.search(body).await,
        WebRoute::Images => router.images(body).await,
        WebRoute::Scrape => router.scrape(body).await,
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    fn secrets(agent: &str, all: &[(&str, &str)]) -> AgentSecrets {
        let set = all
            .iter()
            .map(|(name, value)| ((*name).to_owned(), SecretValue::new(*value)));
        [(agent.to_owned(), set.collect())].into()
    }

    fn token(admitted: &AgentSecrets, agent: &str) -> String {
        admitted[agent][TOKEN].expose().to_owned()
    }

    #[test]
    fn each_agent_has_a_token_that_lasts_and_brings_its_own_keys() {
        let access = WebAccess::new(WebConfig::default());
        let agents = ["a".to_owned(), "b".to_owned()];
        let first = access
            .admit(&agents, secrets("a", &[("TAVILY_API_KEY", "tvly-a")]))
            .unwrap();
        assert_ne!(token(&first, "a"), token(&first, "b"));
        let router = |of: &AgentSecrets, agent: &str| access.identify(token(of, agent).as_bytes());
        let own = router(&first, "a").unwrap();
        assert!(!Arc::ptr_eq(&own, &access.shared()));
        assert!(Arc::ptr_eq(&router(&first, "b").unwrap(), &access.shared()));
        assert!(access.identify(b"").is_none() && access.identify(b"x").is_none());

        // Another secret changes: the router with its connections stays.
        let more = [("TAVILY_API_KEY", "tvly-a"), ("OTHER", "value")];
        let second = access.admit(&agents[..1], secrets("a", &more)).unwrap();
        assert_eq!(token(&second, "a"), token(&first, "a"));
        assert!(Arc::ptr_eq(&router(&second, "a").unwrap(), &own));
        assert!(router(&first, "b").is_none(), "an agent that is gone");
        let third = access.admit(&agents, secrets("a", &[])).unwrap();
        assert!(Arc::ptr_eq(&router(&third, "a").unwrap(), &access.shared()));
    }

    #[test]
    fn an_address_without_a_key_of_its_own_changes_nothing() {
        let access = WebAccess::new(WebConfig::from_vars(|name| {
            (name == "TAVILY_API_KEY").then(|| "tvly-daemon".to_owned())
        }));
        let evil = [("TAVILY_API_URL", "https://example.com"), ("FIRECRAWL_API_KEY", " ")];
        let admitted = access.admit(&[], secrets("a", &evil)).unwrap();
        let router = access.identify(token(&admitted, "a").as_bytes()).unwrap();
        assert!(Arc::ptr_eq(&router, &access.shared()));
    }
}
