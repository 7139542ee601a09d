//! The calls that an instruction asks for, in steps: those of one step are made at the same time.

/// One tool call to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlannedCall {
    pub(super) tool: String,
    /// JSON text of the arguments.
    pub(super) arguments: String,
    /// To be made even when the tool is not offered.
    pub(super) anyway: bool,
}

/// What to do, step by step.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) steps: Vec<Vec<PlannedCall>>,
}

/// The calls of one sentence, up to its end or a "then".
#[derive(Debug, Default)]
pub(super) struct Group {
    calls: Vec<(PlannedCall, usize)>,
    pub(super) parallel: bool,
}

impl Group {
    /// Adds a call to be made so many times.
    pub(super) fn push(&mut self, call: PlannedCall, times: usize) {
        self.calls.push((call, times));
    }

    /// Whether it has no call yet.
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Ends the group: one step when it is parallel, else one for each call.
    pub(super) fn close(&mut self, plan: &mut Plan) {
        let Self { calls, parallel } = std::mem::take(self);
        let calls = calls
            .into_iter()
            .flat_map(|(call, times)| std::iter::repeat_n(call, times));
        if parallel {
            let step: Vec<PlannedCall> = calls.collect();
            plan.steps.extend((!step.is_empty()).then_some(step));
        } else {
            plan.steps.extend(calls.map(|call| vec![call]));
        }
    }
}
