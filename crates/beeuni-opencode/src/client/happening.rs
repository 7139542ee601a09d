//! The events of OpenCode's stream.
use serde::Deserialize;

use super::wire::{ErrorInfo, MessageInfo, PartInfo, Permission, Questions, SessionInfo, Status};

/// One event of the stream.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Happening {
    /// The stream begins.
    Connected,
    /// The configuration was dropped and is read again; the stream ends.
    Disposed,
    /// A session was made.
    Session(SessionInfo),
    /// What a session is doing.
    Status {
        /// The session.
        session: String,
        /// What it is doing.
        status: Status,
    },
    /// Something went wrong.
    Error {
        /// The session; none when it concerns all.
        session: Option<String>,
        /// What.
        error: ErrorInfo,
    },
    /// A message began or changed.
    Message(MessageInfo),
    /// A part began or changed.
    Part(PartInfo),
    /// Text was added to a part.
    Delta {
        /// The part.
        part: String,
        /// The text.
        text: String,
    },
    /// A tool asks for a permission.
    PermissionAsked(Permission),
    /// A permission request was answered, by whoever did it.
    PermissionReplied {
        /// Its id.
        request: String,
    },
    /// The model asks a person.
    QuestionAsked(Questions),
    /// Questions were answered or rejected.
    QuestionReplied {
        /// Their id.
        request: String,
    },
    /// Nothing that matters here.
    Other,
}

/// Reads an event. What cannot be read is told in the log, and nothing depends on it: the end of a turn looks at the
/// messages again.
pub(crate) fn happening(json: &str) -> Happening {
    #[derive(Deserialize)]
    struct Envelope<'a> {
        #[serde(borrow, rename = "type")]
        kind: std::borrow::Cow<'a, str>,
        #[serde(borrow, default)]
        properties: Option<&'a serde_json::value::RawValue>,
    }
    let envelope: Envelope<'_> = match serde_json::from_str(json) {
        Ok(envelope) => envelope,
        Err(error) => {
            tracing::warn!(%error, "an event of OpenCode could not be understood");
            return Happening::Other;
        }
    };
    let properties = envelope.properties.map_or("{}", serde_json::value::RawValue::get);
    known(&envelope.kind, properties).unwrap_or_else(|error| {
        tracing::warn!(kind = %envelope.kind, %error, "an event of OpenCode could not be understood");
        Happening::Other
    })
}

fn known(kind: &str, properties: &str) -> serde_json::Result<Happening> {
    #[derive(Deserialize)]
    struct Of<T> {
        #[serde(alias = "part")]
        info: T,
    }
    #[derive(Deserialize)]
    struct OfStatus {
        #[serde(rename = "sessionID")]
        session: String,
        status: Status,
    }
    #[derive(Deserialize)]
    struct OfError {
        #[serde(default, rename = "sessionID")]
        session: Option<String>,
        #[serde(default)]
        error: ErrorInfo,
    }
    #[derive(Deserialize)]
    struct OfDelta {
        #[serde(rename = "partID")]
        part: String,
        field: String,
        delta: String,
    }
    #[derive(Deserialize)]
    struct Replied {
        #[serde(rename = "requestID")]
        request: String,
    }
    let read = properties;
    Ok(match kind {
        "server.connected" => Happening::Connected,
        "server.instance.disposed" => Happening::Disposed,
        "session.created" => Happening::Session(serde_json::from_str::<Of<_>>(read)?.info),
        "session.status" => {
            let OfStatus { session, status } = serde_json::from_str(read)?;
            Happening::Status { session, status }
        }
        "session.error" => {
            let OfError { session, error } = serde_json::from_str(read)?;
            Happening::Error { session, error }
        }
        "message.updated" => Happening::Message(serde_json::from_str::<Of<_>>(read)?.info),
        "message.part.updated" => Happening::Part(serde_json::from_str::<Of<_>>(read)?.info),
        "message.part.delta" => {
            let OfDelta { part, field, delta } = serde_json::from_str(read)?;
            if field == "text" {
                Happening::Delta { part, text: delta }
            } else {
                Happening::Other
            }
        }
        "permission.asked" => Happening::PermissionAsked(serde_json::from_str(read)?),
        "permission.replied" => Happening::PermissionReplied {
            request: serde_json::from_str::<Replied>(read)?.request,
        },
        "question.asked" => Happening::QuestionAsked(serde_json::from_str(read)?),
        "question.replied" | "question.rejected" => Happening::QuestionReplied {
            request: serde_json::from_str::<Replied>(read)?.request,
        },
        _ => Happening::Other,
    })
}
