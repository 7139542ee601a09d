//! `context.env` of each agent: the sandbox's environment plus the secrets that the agent receives now.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::env::exempt_this_machine;
use crate::frames::{self, Message};
use crate::secret::{AgentSecrets, Redactor, SecretValue};

/// One agent's environment, ready to be sent to a worker.
pub(crate) struct AgentEnv {
    /// Differs whenever the content does: a worker holds the environment of this id or is sent it.
    pub(crate) id: u64,
    /// The frame that tells a worker.
    pub(crate) frame: Vec<u8>,
    /// Takes this agent's secrets out of what its calls return.
    pub(crate) redactor: Redactor,
}

/// The environments of all agents at one moment.
pub(crate) struct Environments {
    base: BTreeMap<String, String>,
    session_secrets: BTreeMap<String, SecretValue>,
    secrets: AgentSecrets,
    made: HashMap<String, Arc<AgentEnv>>,
    next_id: u64,
    /// Takes every agent's secrets out of what tools print.
    pub(crate) log_redactor: Arc<Redactor>,
}

/// The key under which agents without secrets share one environment; no agent can have this name.
const NO_SECRETS: &str = "";

impl Environments {
    pub(crate) fn new(base: BTreeMap<String, String>, session_secrets: BTreeMap<String, SecretValue>) -> Self {
        let mut environments = Self {
            base,
            session_secrets,
            secrets: AgentSecrets::new(),
            made: HashMap::new(),
            next_id: 1,
            log_redactor: Arc::default(),
        };
        environments.set_secrets(AgentSecrets::new());
        environments
    }

    pub(crate) fn set_secrets(&mut self, secrets: AgentSecrets) {
        self.secrets = secrets;
        self.made.clear();
        let all = self.secrets.values().flatten().chain(&self.session_secrets);
        self.log_redactor = Arc::new(Redactor::new(all.map(|(name, value)| (name.as_str(), value))));
    }

    pub(crate) fn of(&mut self, agent: &str) -> serde_json::Result<Arc<AgentEnv>> {
        let secrets = self.secrets.get(agent).filter(|secrets| !secrets.is_empty());
        let key = if secrets.is_some() { agent } else { NO_SECRETS };
        if let Some(env) = self.made.get(key) {
            return Ok(Arc::clone(env));
        }
        let empty = BTreeMap::new();
        let secrets = secrets.unwrap_or(&empty);
        let mut variables = self.base.clone();
        // The session's own variables come last: an agent's secret cannot take their place.
        for (name, value) in secrets.iter().chain(&self.session_secrets) {
            variables.insert(name.clone(), value.expose().to_owned());
        }
        // A proxy may be an agent's own.
        exempt_this_machine(&mut variables);
        let mut frame = Vec::new();
        frames::push(&mut frame, &Message::Env { v: &variables })?;
        let redactor = Redactor::new(
            secrets
                .iter()
                .chain(&self.session_secrets)
                .map(|(name, value)| (name.as_str(), value)),
        );
        let env = Arc::new(AgentEnv {
            id: self.next_id,
            frame,
            redactor,
        });
        self.next_id += 1;
        self.made.insert(key.to_owned(), Arc::clone(&env));
        Ok(env)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    fn secrets(entries: &[(&str, &str, &str)]) -> AgentSecrets {
        let mut all = AgentSecrets::new();
        for (agent, name, value) in entries {
            all.entry((*agent).to_owned())
                .or_default()
                .insert((*name).to_owned(), SecretValue::new(*value));
        }
        all
    }

    #[test]
    fn m4_an_agent_gets_its_own_secrets_and_no_other_agents() {
        let mut environments = Environments::new(
            BTreeMap::from([("PATH".to_owned(), "/bin".to_owned())]),
            BTreeMap::new(),
        );
        environments.set_secrets(secrets(&[("a", "KEY_A", "aaaa"), ("b", "KEY_B", "bbbb")]));
        let text = String::from_utf8(environments.of("a").unwrap().frame[4..].to_vec()).unwrap();
        assert_eq!(text, r#"{"t":"env","v":{"KEY_A":"aaaa","PATH":"/bin"}}"#);
    }

    #[test]
    fn sec_04_a_change_gives_a_new_environment() {
        let mut environments = Environments::new(BTreeMap::new(), BTreeMap::new());
        environments.set_secrets(secrets(&[("a", "KEY", "old")]));
        let (old, same) = (environments.of("a").unwrap().id, environments.of("a").unwrap().id);
        environments.set_secrets(secrets(&[("a", "KEY", "new")]));
        assert_eq!(old, same);
        assert_ne!(old, environments.of("a").unwrap().id);
        assert_eq!(
            environments.of("c").unwrap().id,
            environments.of("d").unwrap().id,
            "agents without secrets share one"
        );
    }
}
