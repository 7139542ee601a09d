//! The forms of `POST /beeuni/tools/<name>`.
use std::borrow::Cow;
use std::ops::Deref;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The body of a call. Unknown fields are ignored, absent and `null` mean the same.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub struct CallRequest<'a> {
    /// The arguments, an object; none means `{}`. Kept as text so that numbers and escapes reach the
    /// tool as the model wrote them.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub args: Option<&'a RawValue>,
    /// The calling agent; none means the session's agent.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Text<'a>>,
    /// The working folder of the call, the checkout or a folder below it; none means the checkout.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<Text<'a>>,
    /// Which call of a harness this is; none where no turn of the session made it.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallOrigin<'a>>,
}

/// The call of a harness that a call of a tool comes from, by the harness's own ids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallOrigin<'a> {
    /// The session in which the turn runs.
    #[serde(borrow)]
    pub session: Text<'a>,
    /// The model's message that has the call.
    #[serde(borrow)]
    pub message: Text<'a>,
    /// The call's id in it.
    #[serde(borrow)]
    pub id: Text<'a>,
}

/// A string that points into the body where it can. serde borrows a bare `Cow` but not one inside an
/// `Option`, which would cost the call route an allocation for each field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// The answer of a call that gave an output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallAnswer<'a> {
    /// The text for the model, at most 51,200 bytes and 2,000 lines.
    #[serde(borrow)]
    pub output: Cow<'a, str>,
}
