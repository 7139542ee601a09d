//! The forms of `POST /beeuni/env`.
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The secrets of all agents, as they are now: what is absent is gone. Holds values, so `Debug` shows names only.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvPush {
    /// The sender's name for this set, given back in the answer and in the health.
    pub revision: String,
    /// Agent name to variable name to value.
    pub agents: BTreeMap<String, BTreeMap<String, String>>,
}

impl fmt::Debug for EnvPush {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: BTreeMap<&str, Vec<&str>> = self
            .agents
            .iter()
            .map(|(agent, set)| (agent.as_str(), set.keys().map(String::as_str).collect()))
            .collect();
        f.debug_struct("EnvPush")
            .field("revision", &self.revision)
            .field("names", &names)
            .finish()
    }
}

/// The answer of a push that was applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvAnswer {
    /// The revision that calls started from now on see.
    pub revision: String,
}
