//! What ends a turn from outside: signals and the time limit.
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::duration_in_words;
use crate::runtime::Interrupts;

/// How long a turn may take to end after it was told to. Its tools are given less than that.
const GRACE: Duration = Duration::from_secs(10);

/// Why a turn is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// A signal.
    Signal(Exit),
    /// Its time is over.
    TimedOut(Duration),
    /// Nobody reads what it prints.
    Unread,
}

impl Stop {
    /// The exit code of a turn that was stopped so.
    pub(super) fn exit(self) -> Exit {
        /// SIGPIPE.
        const PIPE: u8 = 13;
        match self {
            Self::Signal(exit) => exit,
            Self::TimedOut(_) => Exit::TIMED_OUT,
            Self::Unread => Exit::signal(PIPE),
        }
    }

    /// What a person is told when there was no turn yet.
    pub(super) fn before_the_turn(self) -> String {
        match self {
            Self::TimedOut(limit) => format!("Timed out after {}, before the turn began.", duration_in_words(limit)),
            Self::Signal(_) | Self::Unread => "Stopped before the turn began.".to_owned(),
        }
    }
}

/// Waits for what ends a turn.
pub(super) struct Watch {
    interrupts: Interrupts,
    limit: Duration,
    deadline: Option<Instant>,
    /// The first that came: the turn is ending since.
    pub(super) stopped: Option<Stop>,
}

impl Watch {
    /// From here on signals no longer end the process by themselves.
    pub(super) fn begin(limit: Option<Duration>) -> Result<Self, Failure> {
        Ok(Self {
            interrupts: Interrupts::listen()?,
            limit: limit.unwrap_or_default(),
            deadline: limit.map(|limit| Instant::now() + limit),
            stopped: None,
        })
    }

    /// Waits for the next reason to end. Cancel-safe.
    pub(super) async fn next(&mut self) -> Stop {
        let deadline = self.deadline;
        let time_is_over = async {
            match deadline {
                Some(deadline) => sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            exit = self.interrupts.next() => Stop::Signal(exit),
            () = time_is_over => {
                self.deadline = None;
                Stop::TimedOut(self.limit)
            }
        }
    }

    /// The turn was told to end, and has a time for that. Says whether this is the first reason.
    pub(super) fn stopping(&mut self, why: Stop) -> bool {
        if self.stopped.is_some() {
            return false;
        }
        self.stopped = Some(why);
        self.deadline = Some(Instant::now() + GRACE);
        true
    }
}
