//! How a turn's end is told: exit code, error, what it used and how to go on.
use std::time::Duration;

use beeuni_protocol::session::{TurnEnded, TurnError, TurnOutcome, Usage};

use super::follow::Follow;
use super::watch::Stop;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{DIM, Output, count, duration, thousands, visible};

/// The exit code of a turn. `stopped` is why it was told to end, when it was.
pub(super) fn exit(ended: &TurnEnded, stopped: Option<Stop>) -> Exit {
    match ended.outcome {
        // The step limit is a limit that somebody set, and the model has summed up.
        TurnOutcome::Done | TurnOutcome::Steps => Exit::DONE,
        TurnOutcome::Blocked => Exit::BLOCKED,
        TurnOutcome::Aborted => stopped.map_or(Exit::FAILED, Stop::exit),
        TurnOutcome::Failed if kind(ended) == Some("unknown_model") => Exit::USAGE,
        TurnOutcome::Length | TurnOutcome::ContentFilter | TurnOutcome::Failed | TurnOutcome::Interrupted => {
            Exit::FAILED
        }
    }
}

/// What kept the turn from being done, for a person; `None` when nothing did or they know.
pub(super) fn failure(ended: &TurnEnded, stopped: Option<Stop>, asked: bool) -> Option<Failure> {
    let message = || {
        ended
            .error
            .as_ref()
            .map_or("the turn failed", |error| error.message.as_str())
    };
    let failure = match ended.outcome {
        TurnOutcome::Done | TurnOutcome::Steps => return None,
        TurnOutcome::Aborted if stopped.is_some() => return None,
        TurnOutcome::Aborted => Failure::user("the turn was stopped"),
        TurnOutcome::Failed => match kind(ended) {
            Some("unknown_model") => Failure::usage(message()).hint("`beeuni models` lists the models that are set up"),
            Some("internal") => Failure::internal(message()),
            Some("store" | "no_agent") => Failure::user(message()),
            _ => Failure::server(message()),
        },
        TurnOutcome::Blocked if asked => Failure::user(message()),
        TurnOutcome::Blocked => Failure::user(message()).hint(
            "nobody could be asked: run it at a terminal, choose --on-ask allow or deny, or change `permission` in \
             the agent's file",
        ),
        TurnOutcome::Length => Failure::user("the answer was cut at the model's output limit")
            .hint("`beeuni run --continue \"go on\"` asks for the rest"),
        TurnOutcome::ContentFilter => Failure::user("the provider filtered the answer"),
        TurnOutcome::Interrupted => Failure::internal("the turn ended without saying how"),
    };
    Some(failure.with_exit(exit(ended, stopped)))
}

fn kind(ended: &TurnEnded) -> Option<&str> {
    ended.error.as_ref().map(|TurnError { kind, .. }| kind.as_str())
}

/// Says on standard error what the turn used, and with which command the session goes on.
pub(super) fn tell(output: &Output, follow: &Follow, ended: &TurnEnded, again: &str, took: Duration) {
    if ended.outcome == TurnOutcome::Steps {
        output.warn(&format!(
            "the limit of {} was reached: the answer says what is done and what is not",
            count(ended.steps as usize, "step")
        ));
    }
    let mut facts: Vec<String> = follow.started.iter().map(|started| started.model.clone()).collect();
    facts.push(count(ended.steps as usize, "step"));
    facts.extend(usage(&ended.usage));
    facts.push(duration(took));
    let facts = visible(&facts.join(" · ")).into_owned();
    output.note(&format!("\n{}", output.err.paint(DIM, &facts)));
    let go_on = visible(&format!("Go on with: {again}")).into_owned();
    output.note(&output.err.paint(DIM, &go_on));
}

/// `1,204 tokens in (1,024 cached), 56 out`, and the cost where it is known.
fn usage(usage: &Usage) -> Vec<String> {
    let mut facts = Vec::new();
    if usage.input + usage.output > 0 {
        let cached = match usage.cached {
            0 => String::new(),
            cached => format!(" ({} cached)", thousands(cached)),
        };
        let (input, output) = (thousands(usage.input), thousands(usage.output));
        facts.push(format!("{input} tokens in{cached}, {output} out"));
    }
    // Four digits: most turns cost less than a cent.
    facts.extend(usage.cost.map(|cost| format!("${cost:.4}")));
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(outcome: TurnOutcome, kind: Option<&str>) -> TurnEnded {
        TurnEnded {
            turn: "turn_1".to_owned(),
            outcome,
            steps: 1,
            usage: Usage::default(),
            error: kind.map(|kind| TurnError {
                kind: kind.to_owned(),
                status: None,
                message: "why".to_owned(),
            }),
        }
    }

    #[test]
    fn each_outcome_has_its_exit_code() {
        let code = |outcome, stopped| exit(&ended(outcome, None), stopped).number();
        assert_eq!(code(TurnOutcome::Done, None), 0);
        assert_eq!(code(TurnOutcome::Steps, None), 0);
        assert_eq!(code(TurnOutcome::Failed, None), 1);
        assert_eq!(code(TurnOutcome::Length, None), 1);
        assert_eq!(code(TurnOutcome::ContentFilter, None), 1);
        assert_eq!(code(TurnOutcome::Interrupted, None), 1);
        assert_eq!(code(TurnOutcome::Blocked, None), 3);
        assert_eq!(code(TurnOutcome::Aborted, None), 1);
        assert_eq!(code(TurnOutcome::Aborted, Some(Stop::TimedOut(Duration::ZERO))), 124);
        assert_eq!(code(TurnOutcome::Aborted, Some(Stop::Signal(Exit::signal(2)))), 130);
        assert_eq!(code(TurnOutcome::Aborted, Some(Stop::Unread)), 141);
        // It was done in the moment in which it was stopped.
        assert_eq!(code(TurnOutcome::Done, Some(Stop::Signal(Exit::signal(2)))), 0);
        assert_eq!(
            exit(&ended(TurnOutcome::Failed, Some("unknown_model")), None),
            Exit::USAGE
        );
        assert_eq!(exit(&ended(TurnOutcome::Failed, Some("auth")), None), Exit::FAILED);
    }

    #[test]
    fn tokens_are_told_with_their_thousands() {
        let used = Usage {
            input: 1_234_567,
            output: 56,
            reasoning: 0,
            cached: 1_024,
            cost: Some(0.012_34),
        };
        assert_eq!(usage(&used), ["1,234,567 tokens in (1,024 cached), 56 out", "$0.0123"]);
        assert_eq!(usage(&Usage::default()), [""; 0]);
    }
}
