//! What a prompt gives back: which turn answers it, and how that ends.
use beeuni_protocol::session::{TurnEnded, TurnOutcome, Usage};
use tokio::sync::watch;

/// The turn that answers a prompt. Dropping it changes nothing: the turn goes on.
#[derive(Debug, Clone)]
pub struct TurnHandle {
    turn: String,
    message: Option<String>,
    steering: bool,
    ended: watch::Receiver<Option<TurnEnded>>,
}

impl TurnHandle {
    pub(crate) fn new(turn: String, ended: watch::Receiver<Option<TurnEnded>>) -> Self {
        Self {
            turn,
            message: None,
            steering: false,
            ended,
        }
    }

    #[must_use]
    pub(crate) fn with_message(mut self, message: String) -> Self {
        self.message = Some(message);
        self
    }

    #[must_use]
    pub(crate) fn steering(mut self, message: String) -> Self {
        self.steering = true;
        self.with_message(message)
    }

    /// The turn's id.
    #[must_use]
    pub fn turn(&self) -> &str {
        &self.turn
    }

    /// The id of the message that the prompt became.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// Whether the turn ran already: the message is read at its next step.
    #[must_use]
    pub fn is_steering(&self) -> bool {
        self.steering
    }

    /// Waits for the turn's end.
    pub async fn ended(&mut self) -> TurnEnded {
        if let Ok(ended) = self.ended.wait_for(Option::is_some).await
            && let Some(ended) = ended.as_ref()
        {
            return ended.clone();
        }
        // Its task was dropped with the runtime.
        TurnEnded {
            turn: self.turn.clone(),
            outcome: TurnOutcome::Interrupted,
            steps: 0,
            usage: Usage::default(),
            error: None,
        }
    }
}
