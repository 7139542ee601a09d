//! The part of a transcript that the next request holds: everything, or a summary and what came after it.
mod request;

use beeuni_protocol::session::{Compaction, PartBody};

pub(crate) use request::{Head, History, joined, result};

use crate::store::{Journal, StoreError};

/// Bytes of one token until a provider says how many it counted. Low, so that the first guess is not too small.
const BYTES_PER_TOKEN: f64 = 3.5;

/// What requests of one session hold, kept up with its transcript.
#[derive(Debug)]
pub(crate) struct Conversation {
    session: String,
    model: String,
    history: History,
    /// The first message that `history` does not have yet.
    next: usize,
    /// The message whose summary `history` begins with.
    compaction: Option<String>,
    /// The first message that stands in `history` as it is.
    first: usize,
    /// What stands before it.
    summary: Option<String>,
    /// The model that refused images.
    blind: Option<String>,
    /// Learnt from what the provider counted.
    bytes_per_token: f64,
    /// How many tokens the last compaction left.
    pub(crate) least: f64,
}

impl Conversation {
    /// That of a session, still to be read.
    pub(crate) fn new(session: &str) -> Self {
        Self {
            session: session.to_owned(),
            model: String::new(),
            history: History::default(),
            next: 0,
            compaction: None,
            first: 0,
            summary: None,
            blind: None,
            bytes_per_token: BYTES_PER_TOKEN,
            least: 0.0,
        }
    }

    /// Its messages as `model` is sent them.
    pub(crate) fn history(&self) -> &History {
        &self.history
    }

    /// Leaves images out from here on, for the model that refused them. Says whether there were any.
    pub(crate) fn leave_out_images(&mut self) -> bool {
        let had = self.history.has_images();
        if had {
            self.blind = Some(std::mem::take(&mut self.model));
        }
        had
    }

    /// Reads the messages before number `end`, as `model` is sent them.
    pub(crate) fn read(&mut self, journal: &Journal, model: &str, end: usize) -> Result<(), StoreError> {
        let latest = journal.with(&self.session, |transcript| {
            transcript
                .last_compaction()
                .map(|(at, slot)| (at, transcript.messages[at].message.id.clone(), slot.place))
        });
        let latest = latest.flatten();
        let known = latest.as_ref().map(|(_, id, _)| id) == self.compaction.as_ref();
        if model != self.model || !known {
            self.begin(journal, model, latest)?;
        }
        let messages = journal.messages(&self.session, self.next..end.max(self.next))?;
        for message in &messages {
            self.history.add(message, model);
        }
        self.next += messages.len();
        Ok(())
    }

    fn begin(
        &mut self,
        journal: &Journal,
        model: &str,
        latest: Option<(usize, String, crate::store::Place)>,
    ) -> Result<(), StoreError> {
        let blind = self.blind.as_deref() == Some(model);
        self.history = if blind {
            History::without_images()
        } else {
            History::default()
        };
        model.clone_into(&mut self.model);
        self.next = 0;
        self.summary = None;
        self.compaction = None;
        if let Some((at, id, place)) = latest {
            if let PartBody::Compaction(Compaction { summary, keep_from, .. }) = journal.part(place)?.body {
                self.history.add_summary(&summary);
                let kept = keep_from.and_then(|kept| journal.with(&self.session, |all| all.position(&kept)).flatten());
                self.next = kept.unwrap_or(at + 1);
                self.summary = Some(summary);
            }
            self.compaction = Some(id);
        }
        self.first = self.next;
        Ok(())
    }

    /// The first message that its requests hold as it is.
    pub(crate) fn first(&self) -> usize {
        self.first
    }

    /// What its requests hold in place of what came before.
    pub(crate) fn summary(&self) -> Option<&str> {
        self.summary.as_deref()
    }

    /// How many bytes of text make a token here, as far as is known.
    pub(crate) fn bytes_per_token(&self) -> f64 {
        self.bytes_per_token
    }

    /// How many tokens another piece of history may have.
    pub(crate) fn tokens_of_history(&self, history: &History) -> f64 {
        history.tokens(self.bytes_per_token)
    }

    /// How many tokens a request with this head may have.
    pub(crate) fn tokens(&self, head: &Head) -> f64 {
        self.history.tokens(self.bytes_per_token) + self.head_tokens(head)
    }

    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn head_tokens(&self, head: &Head) -> f64 {
        (head.system.len() + head.tools.as_ref().map_or(0, String::len)) as f64 / self.bytes_per_token
    }

    /// Learns from what the provider counted for the last request.
    pub(crate) fn counted(&mut self, head: &Head, tokens: u64) {
        let estimated = self.tokens(head);
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let counted = tokens as f64;
        // A short request says little, and some servers count wrongly.
        if counted >= 500.0 && estimated >= 500.0 {
            self.bytes_per_token = (self.bytes_per_token * estimated / counted).clamp(1.0, 8.0);
        }
    }
}
