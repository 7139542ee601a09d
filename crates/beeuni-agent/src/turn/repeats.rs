//! Notices when a turn goes in a circle: the same calls with the same results, time after time.
use std::hash::{DefaultHasher, Hash, Hasher};

use beeuni_protocol::session::{Part, PartBody};

/// So many equal rounds in a row, and the model is told.
pub(super) const TOLD: u32 = 5;
/// So many, and the turn ends: a model that goes on after that pays for the same answer until the step limit.
pub(super) const ENDED: u32 = 10;

/// The rounds of calls of one turn, as far as they say whether it gets anywhere.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    last: Option<u64>,
    count: u32,
}

/// What a round of calls means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Circle {
    /// Nothing: the turn goes on.
    None,
    /// The model should hear of it.
    Tell,
    /// It was told and goes on all the same.
    End,
}

impl Repeats {
    /// Takes in a round: calls that have ended. A result that differs, as of a job that is looked at again and again,
    /// begins anew.
    pub(super) fn round(&mut self, calls: &[Part]) -> Circle {
        let mut hasher = DefaultHasher::new();
        for part in calls {
            if let PartBody::Tool(call) = &part.body {
                (&call.tool, &call.arguments, &call.output, &call.error).hash(&mut hasher);
            }
        }
        let round = hasher.finish();
        self.count = if self.last == Some(round) { self.count + 1 } else { 1 };
        self.last = Some(round);
        match self.count {
            TOLD => Circle::Tell,
            count if count >= ENDED => Circle::End,
            _ => Circle::None,
        }
    }
}

/// What the model is told. In the form in which harnesses remind, so that it is not taken for the user's word.
pub(super) fn reminder() -> String {
    format!(
        "<system-reminder>The last {TOLD} answers made the same tool calls with the same arguments and got the same \
         results. Once more will not change that. Try something else, or say what stops you. If you wait for \
         something, wait longer within one call. After {ENDED} in a row the turn is ended.</system-reminder>"
    )
}

/// Why the turn ended.
pub(super) fn reason(calls: &[Part]) -> String {
    const SHOWN: usize = 200;
    let names: Vec<String> = calls
        .iter()
        .filter_map(|part| match &part.body {
            PartBody::Tool(call) => Some(format!("{} {}", call.tool, call.arguments)),
            _ => None,
        })
        .collect();
    let names = names.join(", ");
    let mut shown: String = names.chars().take(SHOWN).collect();
    if shown.len() < names.len() {
        shown.push('…');
    }
    format!("The model made the same call {ENDED} times in a row and got the same result each time: {shown}")
}

#[cfg(test)]
mod tests {
    use beeuni_protocol::session::{ToolCall, ToolStatus, ToolTime};

    use super::*;

    fn call(arguments: &str, output: &str) -> Vec<Part> {
        vec![Part {
            id: "p".to_owned(),
            message: "m".to_owned(),
            body: PartBody::Tool(ToolCall {
                call: "c".to_owned(),
                tool: "t".to_owned(),
                arguments: arguments.to_owned(),
                status: ToolStatus::Completed,
                title: None,
                output: Some(output.to_owned()),
                error: None,
                extra: None,
                metadata: serde_json::Map::new(),
                attachments: Vec::new(),
                time: ToolTime {
                    created: 0,
                    started: None,
                    ended: None,
                },
            }),
        }]
    }

    #[test]
    fn only_equal_calls_with_equal_results_in_a_row_count() {
        let mut repeats = Repeats::default();
        for round in 1..=ENDED {
            let expected = match round {
                TOLD => Circle::Tell,
                ENDED => Circle::End,
                _ => Circle::None,
            };
            assert_eq!(repeats.round(&call("{}", "same")), expected, "round {round}");
        }
        assert_eq!(repeats.round(&call("{\"n\":1}", "same")), Circle::None);
        for round in 0..50 {
            assert_eq!(repeats.round(&call("{}", &round.to_string())), Circle::None);
            assert_eq!(repeats.round(&call(&round.to_string(), "same")), Circle::None);
        }
    }

    #[test]
    fn a_reason_is_short_and_whole_at_a_characters_end() {
        let text = reason(&call(&"é".repeat(1000), ""));
        assert!(text.ends_with("é…") && text.chars().count() < 300, "{text}");
    }
}
