//! Why a worker ended, in words for the caller whose call it took along.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    Exited(i32),
    Signal(i32),
    /// The host ended it, for this reason.
    Killed(String),
    ChannelClosed,
}

impl Ending {
    pub(crate) fn of(status: Option<ExitStatus>) -> Self {
        match status.map(|s| (s.code(), s.signal())) {
            Some((Some(code), _)) => Self::Exited(code),
            Some((None, Some(signal))) => Self::Signal(signal),
            _ => Self::ChannelClosed,
        }
    }

    /// A sentence about the worker of `name`, without a capital at its start.
    pub(crate) fn text(&self, name: &str, memory_mib: u64) -> String {
        match self {
            Self::Exited(code) => {
                format!(
                    "the worker of {name} exited (code {code}): a tool returns or throws, it must not end its process"
                )
            }
            Self::Signal(number) => {
                let signal = signal_hook::low_level::signal_name(*number)
                    .map_or_else(|| format!("signal {number}"), str::to_owned);
                // What a runtime dies of when an allocation fails outside of its own checks.
                if ["SIGABRT", "SIGSEGV", "SIGTRAP", "SIGILL", "SIGBUS"].contains(&signal.as_str()) {
                    format!(
                        "the worker of {name} crashed ({signal}); it may have run out of memory (its limit is {memory_mib} MiB)"
                    )
                } else {
                    format!("the worker of {name} was killed ({signal})")
                }
            }
            Self::Killed(reason) => format!("the worker of {name} was ended: {reason}"),
            Self::ChannelClosed => format!("the worker of {name} closed its channel"),
        }
    }
}
