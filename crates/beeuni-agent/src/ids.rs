//! Ids that sort in the order of creation.
use std::sync::atomic::{AtomicU64, Ordering};

use crate::clock;

/// The kinds of ids, by what they begin with.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A subagent's session, `ses_…`.
    Session,
    /// A turn, `turn_…`.
    Turn,
    /// A message, `msg_…`.
    Message,
    /// A part, `prt_…`.
    Part,
    /// A permission request, `per_…`.
    Permission,
    /// Questions, `que_…`.
    Question,
}

impl Kind {
    fn prefix(self) -> &'static str {
        match self {
            Self::Session => "ses_",
            Self::Turn => "turn_",
            Self::Message => "msg_",
            Self::Part => "prt_",
            Self::Permission => "per_",
            Self::Question => "que_",
        }
    }
}

/// The number of the last id: milliseconds with twelve bits for those made within one.
static LAST: AtomicU64 = AtomicU64::new(0);

/// How many hex digits of an id tell its place.
const PLACE: usize = 15;

/// A new id, greater than every one that this process made or [`observe`]d.
#[must_use]
pub fn new(kind: Kind) -> String {
    let now = clock::now() << 12;
    let last = LAST
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(now.max(last + 1)))
        .unwrap_or(now);
    let place = now.max(last + 1);
    let mut random = [0; 3];
    // Only for two processes in the same moment: the place alone is unique in this one.
    let _ = getrandom::fill(&mut random);
    let [a, b, c] = random;
    format!("{}{place:0PLACE$x}{a:02x}{b:02x}{c:02x}", kind.prefix())
}

/// Makes later ids greater than this stored one, though the clock may have been set back since.
pub(crate) fn observe(id: &str) {
    let place = id.split_once('_').and_then(|(_, digits)| digits.get(..PLACE));
    if let Some(place) = place.and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
        // A damaged id must not push all later ones to the end of the range.
        if place < (clock::now() << 12).saturating_mul(2) {
            LAST.fetch_max(place, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_in_the_order_of_creation() {
        let ids: Vec<String> = (0..5000).map(|_| new(Kind::Part)).collect();
        assert!(ids.is_sorted_by(|a, b| a < b));
        assert!(
            ids[0].starts_with("prt_") && ids[0].len() == 4 + PLACE + 6,
            "{}",
            ids[0]
        );
    }

    #[test]
    fn an_id_of_a_clock_that_ran_ahead_is_still_followed_by_greater_ones() {
        let ahead = format!("msg_{:0PLACE$x}000000", (clock::now() + 3_600_000) << 12);
        observe(&ahead);
        assert!(new(Kind::Message) > ahead);
        observe("msg_nonsense");
        observe("msg_fffffffffffffff000000");
        assert!(new(Kind::Message).as_str() < "msg_f");
    }
}
