//! The last events of a session in memory, for readers that keep up.
use std::collections::VecDeque;
use std::sync::Arc;

use beeuni_protocol::session::{Event, EventBody, PartBody};

/// The last events, at most so many bytes of them.
#[derive(Debug)]
pub(crate) struct Ring {
    events: VecDeque<Arc<Event>>,
    bytes: usize,
    limit: usize,
    /// The id of the last event that is no longer here: readers behind it have missed something.
    lost: u64,
}

impl Ring {
    /// An empty ring of a session whose last event was `last`.
    pub(crate) fn new(limit: usize, last: u64) -> Self {
        Self {
            events: VecDeque::new(),
            bytes: 0,
            limit,
            lost: last,
        }
    }

    pub(crate) fn push(&mut self, event: Arc<Event>) {
        self.bytes += size(&event);
        self.events.push_back(event);
        // The newest stays whatever its size: readers that wait for it get it.
        while self.bytes > self.limit && self.events.len() > 1 {
            if let Some(old) = self.events.pop_front() {
                self.bytes -= size(&old);
                self.lost = old.id;
            }
        }
    }

    /// At most `most` events after `id`, or `None` when some of them are gone.
    pub(crate) fn after(&self, id: u64, most: usize) -> Option<Vec<Arc<Event>>> {
        if id < self.lost {
            return None;
        }
        let start = self.events.partition_point(|event| event.id <= id);
        Some(self.events.iter().skip(start).take(most).cloned().collect())
    }
}

/// About how many bytes an event holds.
fn size(event: &Event) -> usize {
    let text = match &event.body {
        EventBody::PartDelta(delta) => delta.text.len(),
        EventBody::PartUpdated { part } => match &part.body {
            PartBody::Text(text) => text.text.len(),
            PartBody::Reasoning(reasoning) => reasoning.text.len() + reasoning.details.as_ref().map_or(0, String::len),
            PartBody::Tool(call) => {
                call.arguments.len()
                    + call.output.as_ref().map_or(0, String::len)
                    + call.attachments.iter().map(|file| file.url.len()).sum::<usize>()
                    // Metadata is a tree: its text would have to be written to know its size.
                    + call.metadata.len() * 1024
            }
            PartBody::File(file) => file.url.len(),
            PartBody::Compaction(compaction) => compaction.summary.len(),
        },
        _ => 0,
    };
    text + 512
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
    use super::*;

    fn event(id: u64) -> Arc<Event> {
        Arc::new(Event {
            id,
            session: "s".to_owned(),
            time: 0,
            body: EventBody::SessionTitled { title: String::new() },
        })
    }

    #[test]
    fn a_reader_behind_the_ring_is_told_so() {
        let mut ring = Ring::new(512 * 3, 10);
        assert_eq!(ring.after(10, 9).unwrap().len(), 0);
        assert!(ring.after(9, 9).is_none());
        for id in 11..=15 {
            ring.push(event(id));
        }
        let ids = |events: Vec<Arc<Event>>| events.iter().map(|event| event.id).collect::<Vec<_>>();
        assert_eq!(ids(ring.after(12, 9).unwrap()), [13, 14, 15]);
        assert_eq!(ids(ring.after(12, 2).unwrap()), [13, 14]);
        assert_eq!(ids(ring.after(15, 9).unwrap()), [0; 0]);
        assert!(ring.after(11, 9).is_none());
    }
}
