//! What a person said "always" to in a session.

use serde::{Deserialize, Serialize};

use super::access::{Access, Always};
use super::pattern::{Fit, Pattern};
use super::rules::{Level, Rank};

/// What one "always" allows, for the session. It can be stored, and given back when the session resumes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    /// The capability it is for; a tool's name where a rule for that tool had asked.
    pub capability: String,
    /// What it allows: a pattern, or one text when `exact`.
    pub pattern: String,
    /// Whether `pattern` is a text that has to be the same, not a glob pattern.
    #[serde(default)]
    pub exact: bool,
    /// How strong the rule was that asked: a stronger one that asks is not answered by this.
    #[serde(default)]
    pub(super) level: u8,
    #[serde(default)]
    pub(super) weight: usize,
}

impl Remembered {
    /// What "always" would remember of `access`, about which a rule of strength `rank` asks.
    pub(super) fn of(access: &Access, rank: Rank) -> Self {
        let tool_rule = rank.level == Level::Tool;
        Self {
            capability: if tool_rule { &access.tool } else { &access.capability }.clone(),
            pattern: access.always().to_owned(),
            exact: access.always == Always::Exact,
            level: level_number(rank.level),
            weight: rank.weight,
        }
    }

    /// Whether it answers a rule of strength `rank` that asks about `access`.
    pub(super) fn answers(&self, access: &Access, rank: Rank) -> bool {
        (self.capability == access.capability || self.capability == access.tool)
            && (level_number(rank.level), rank.weight) <= (self.level, self.weight)
            && if self.exact {
                self.pattern == access.subject
            } else {
                access.fit(&Pattern::new(&self.pattern)) == Fit::Yes
            }
    }
}

fn level_number(level: Level) -> u8 {
    match level {
        Level::Default => 0,
        Level::Any => 1,
        Level::Capability => 2,
        Level::Tool => 3,
    }
}
