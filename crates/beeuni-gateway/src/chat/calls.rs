//! Tool calls out of deltas: which call a delta belongs to, and what the call is called.

use super::ChatEvent;
use super::chunk::ToolCallDelta;

/// The calls of one answer so far.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
}

#[derive(Debug, Default)]
struct Call {
    /// As the provider numbers it.
    provider_index: Option<i64>,
    /// As the provider named it.
    provider_id: Option<String>,
    /// What the caller knows it by, once it was announced.
    announced: Option<(String, String)>,
    name: Option<String>,
    /// Everything so far.
    arguments: String,
}

impl Calls {
    /// Takes a delta in; the events that it makes go to `sink`.
    pub(super) fn add(&mut self, delta: &ToolCallDelta<'_>, sink: &mut impl FnMut(ChatEvent)) {
        let id = delta.id.as_deref().filter(|id| !id.is_empty());
        let arguments = delta.arguments();
        if self.repeats(delta, id, &arguments) {
            return;
        }
        let index = match self.find(delta, id, &arguments) {
            Some(index) => index,
            None => {
                self.calls.push(Call {
                    provider_index: delta.index,
                    ..Call::default()
                });
                self.calls.len() - 1
            }
        };
        let Some(call) = self.calls.get_mut(index) else { return };
        if call.provider_id.is_none() {
            call.provider_id = id.map(str::to_owned);
        }
        if call.name.is_none() {
            call.name = delta.name().map(str::to_owned);
        }
        call.arguments.push_str(&arguments);
        let event = match (&call.announced, &call.name) {
            (Some((id, name)), _) if !arguments.is_empty() => Some((id.clone(), name.clone(), arguments)),
            (None, Some(name)) => {
                let id = call.provider_id.clone().unwrap_or_else(new_id);
                call.announced = Some((id.clone(), name.clone()));
                // Arguments may have come before the name.
                Some((id, name.clone(), call.arguments.clone()))
            }
            _ => None,
        };
        if let Some((id, name, arguments_delta)) = event {
            sink(ChatEvent::ToolCall {
                index,
                id,
                name,
                arguments_delta,
            });
        }
        if let Some(extra) = delta.extra_content.filter(|it| it.get() != "null") {
            sink(ChatEvent::ToolCallExtra {
                index,
                json: extra.get().to_owned(),
            });
        }
    }

    /// Whether there is any call.
    pub(super) fn any(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Whether a call never got a name: it cannot be carried out.
    pub(super) fn any_nameless(&self) -> bool {
        self.calls.iter().any(|call| call.name.is_none())
    }

    /// Whether a delta only says again what is there: some servers send each call once more as a whole. To take it for
    /// another call would run it twice.
    fn repeats(&self, delta: &ToolCallDelta<'_>, id: Option<&str>, arguments: &str) -> bool {
        let (Some(id), Some(name)) = (id, delta.name()) else {
            return false;
        };
        self.calls.iter().any(|call| {
            call.provider_id.as_deref() == Some(id)
                && call.provider_index == delta.index
                && call.name.as_deref() == Some(name)
                && call.arguments == arguments
                && call.is_whole()
        })
    }

    /// The call that a delta goes on with; `None`: it begins a new one.
    fn find(&self, delta: &ToolCallDelta<'_>, id: Option<&str>, arguments: &str) -> Option<usize> {
        if let Some(id) = id {
            let same_id = |call: &Call| call.provider_id.as_deref() == Some(id);
            let same_index = |call: &Call| delta.index.is_none() || call.provider_index == delta.index;
            let calls = &self.calls;
            if let Some(known) = calls.iter().rposition(|call| same_id(call) && same_index(call)) {
                return self.calls.get(known)?.goes_on(delta, arguments).then_some(known);
            }
            // The same id under another number: some models give one id to all calls of an answer.
            if let Some(known) = calls.iter().rposition(same_id) {
                return delta.name().is_none().then_some(known);
            }
        }
        // By index; servers that leave it out mean the latest call.
        let candidate = match delta.index {
            Some(index) => self.calls.iter().rposition(|call| call.provider_index == Some(index))?,
            None => self.calls.len().checked_sub(1)?,
        };
        let call = self.calls.get(candidate)?;
        if delta.name().is_some() && id.is_some() && call.provider_id.is_some() {
            // A new id with a name: the next call, whatever its index says (Gemini sends 0 for all).
            return None;
        }
        call.goes_on(delta, arguments).then_some(candidate)
    }
}

impl Call {
    /// Whether a delta that nothing else tells apart from this call goes on with it. A name that is repeated does
    /// until the arguments are whole; another name, or arguments after whole ones, begin the next call. Without a
    /// name it always does: also an id that comes late, or changes from delta to delta.
    fn goes_on(&self, delta: &ToolCallDelta<'_>, arguments: &str) -> bool {
        let Some(name) = delta.name() else { return true };
        let repeated = self.name.as_deref().is_none_or(|known| known == name);
        repeated && (arguments.trim().is_empty() || !self.is_whole())
    }

    /// Whether its arguments are complete.
    fn is_whole(&self) -> bool {
        serde_json::from_str::<serde::de::IgnoredAny>(&self.arguments).is_ok()
    }
}

/// An id for a call that came without one: 9 letters and digits, the only form that every provider
/// accepts when it comes back (Mistral wants exactly that).
fn new_id() -> String {
    const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut random = getrandom::u64().unwrap_or_default();
    let letter = |random: &mut u64| {
        let at = (*random % 62) as usize;
        *random /= 62;
        LETTERS.get(at).copied().unwrap_or(b'0') as char
    };
    (0..9).map(|_| letter(&mut random)).collect()
}
